"""The soft tree that readers can change: its page element, and a picture for those without scripts."""

import json
from html import escape
from io import StringIO
from typing import Any

import jax
import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from vst.companion.report.style import BLUE, styled
from vst.companion.report.tables import Html
from vst.posterior import LowRankGaussian
from vst.tree import SoftTree, TreeShape

#: The sliders: label, and the choice that they begin with.
SLIDERS = {
    "depth": ("depth", 1),
    "beta": ("sharpness of the gates (beta)", 1),
    "rank": ("rank of the posterior", 1),
    "kl_weight": ("weight of the KL term", 1),
}

#: Where functions are drawn, beyond the rows on both sides.
FARTHEST = 3.0


def widget(found: dict[str, Any]) -> Html:
    """Sliders, and a picture that ``explorer.js`` draws again with every change.

    Without scripts there is the picture of the first choice.
    """
    rows = "".join(
        f'<label>{escape(label)} <input type="range" min="0" max="{len(found["choices"][name]) - 1}" '
        f'value="{first}" data-setting="{name}"><output>{found["choices"][name][first]}</output></label>'
        for name, (label, first) in SLIDERS.items()
    )
    probe = (
        f'<label>where to look (x) <input type="range" min="-{FARTHEST}" max="{FARTHEST}" step="0.05" '
        'value="0" data-setting="x"><output>0</output></label>'
    )
    data = json.dumps(found, separators=(",", ":"))
    return Html(
        f'<div class="explorer"><div class="controls" hidden>{rows}{probe}'
        '<button type="button">draw other functions</button></div>'
        f'<div class="picture">{_svg(still(found))}</div><p class="said" aria-live="polite"></p>'
        f'<script type="application/json">{data}</script></div>'
    )


@styled
def still(found: dict[str, Any], draws: int = 12) -> Figure:
    """The rows, and functions drawn from the posterior of the first choice."""
    name, shape, q = first_choice(found)
    beta = float(name.split()[1])
    grid = jnp.linspace(-FARTHEST, FARTHEST, 241)[:, None]
    figure, axis = plt.subplots(figsize=(6.4, 3.2))
    noise = jax.random.normal(jax.random.key(0), (draws, sum(q.factor.shape)))
    for theta in q.transform(noise):
        axis.plot(
            grid[:, 0], SoftTree(shape, theta, beta).mean(grid), color=BLUE, lw=0.8, alpha=0.6
        )
    axis.plot(found["x"], found["y"], "o", ms=2.5, color="0.3")
    axis.set(xlabel="x", ylabel="y", ylim=(-2.6, 2.6))
    return figure


def first_choice(found: dict[str, Any]) -> tuple[str, TreeShape, LowRankGaussian]:
    """The choice that the sliders begin with: its name, its tree, and its posterior."""
    chosen = [found["choices"][name][first] for name, (_, first) in SLIDERS.items()]
    name = " ".join(str(value) for value in chosen)
    mean, scale, *columns = (np.asarray(part, np.float32) for part in found["fits"][name])
    factor = np.stack(columns, axis=1) if columns else np.zeros((len(mean), 0), np.float32)
    q = LowRankGaussian(jnp.asarray(mean), jnp.asarray(scale), jnp.asarray(factor))
    return name, TreeShape(1, int(chosen[0])), q


def _svg(figure: Figure) -> str:
    drawn = StringIO()
    figure.savefig(drawn, format="svg", bbox_inches="tight", metadata={"Date": None})
    text = drawn.getvalue()
    said = "functions drawn from a posterior: close together at the points, spread beyond them"
    return text[text.index("<svg") :].replace("<svg", f'<svg role="img" aria-label="{said}"', 1)
