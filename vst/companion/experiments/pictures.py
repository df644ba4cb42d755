"""The paper's pictures of uncertainty: four functions of one variable, and draws of their fits.

The paper shows the pictures and prints the errors of two of them, but does not define the functions
(beyond "step function" and "Daubechies wavelet") or give the number of rows and the noise. We use the
problems of `vst.companion.protocol.synthetic`.

A cell is one model fitted to one data set of a picture. Its row holds measures of what the captions
claim; an additional table holds the drawn functions.
"""

import time
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import jax
import numpy as np
import pandas as pd
from jaxtyping import Bool, Float
from sklearn.exceptions import ConvergenceWarning

from vst.companion.experiments.cells import Cell, as_parameters, as_text
from vst.companion.experiments.experiment import Experiment, Job, Obtained, Option, Part, obtain
from vst.companion.experiments.profiles import Profile
from vst.companion.models import Setting, check_names, parameters
from vst.companion.peers.sglb import SGLB
from vst.companion.peers.xbart import XBART
from vst.companion.protocol import synthetic
from vst.companion.protocol.synthetic import Curve
from vst.errors import UserError
from vst.estimators import VSTRegressor, estimator
from vst.moments import location_and_scale
from vst.soft_trees import SoftTrees

NAME = "pictures"


class Problem(NamedTuple):
    """One of the paper's pictures."""

    make: Callable[..., Curve]  #: draws the data: ``make(n=..., seed=...)``
    models: tuple[str, ...]  #: the paper's panels, in order
    figure: str  #: in the paper


THREE, FOUR = ("vst", "xbart", "sglb"), ("vst", "vsgbm", "xbart", "sglb")

PROBLEMS: dict[str, Problem] = {
    "tails": Problem(synthetic.tails, THREE, "figure-2"),
    "gap": Problem(synthetic.gap, THREE, "figure-5"),
    "step": Problem(synthetic.step, THREE, "figure-6"),
    "wavelet": Problem(synthetic.wavelet, FOUR, "figure-7"),
}

#: The soft tree of all four pictures. The paper calls depth 5 reasonable.
TREE = SoftTrees(depth=5, beta=20.0)

#: Trees of a VSGBM, each one level shallower than the VST.
N_TREES = 5

#: The wavelet has softer gates: steep ones find its waves less often.
WAVELET_BETA = 10.0

#: Functions drawn from each model; fewer for more rows.
FUNCTIONS, FEWER = 20, 10

#: Number of last training steps over which the ELBO is averaged.
ELBO_STEPS = 500

#: Half the width of the strip around the jump that the error ``away`` excludes.
STRIP = 0.05

#: Functions are stored at every second point of the grid.
EVERY = 2

MEASURES = ("rmse", "inside", "outside", "ratio", "reached", "away")


@dataclass(frozen=True)
class Variant:
    """One way to fit a picture's models."""

    name: str
    tree: SoftTrees
    models: tuple[str, ...]
    seeds: Sequence[int]
    rows: int
    functions: int
    drawn: int | None = None  #: the seed whose functions are stored


def jobs(
    profile: Profile,
    *,
    compute: bool = True,
    pictures: Sequence[str] = (),
    rows: int = 0,
    functions: int = 0,
    repeats: int = 0,
    sizes: Sequence[int] = (),
    depth: int = 0,
    beta: float = 0.0,
    wavelet_beta: float = 0.0,
    starts: int = 0,
    steps: int = 0,
    seed: int = 0,
) -> list[Job]:
    """All jobs: the figures' fits, and fits with a few other settings; 0 means the default."""
    check_names("picture", list(pictures), tuple(PROBLEMS))
    if functions == 1:
        raise UserError(
            "functions must be an integer >= 2, since one function has no spread, got 1"
        )
    tree = replace(
        TREE, depth=depth or TREE.depth, beta=beta or TREE.beta, steps=steps or TREE.steps
    )
    seeds = range(seed, seed + (repeats or profile.repeats))
    usual = Variant("usual", tree, (), seeds, rows or 250, functions or FUNCTIONS, drawn=seed)
    work = []
    for picture in pictures or PROBLEMS:
        variants = _variants(
            picture,
            usual,
            wavelet=replace(
                tree, beta=wavelet_beta or WAVELET_BETA, members=starts or profile.starts
            ),
            sizes=sizes or profile.sizes,
        )
        work += [
            Job((cell,), compute_cells, note=variant.name, fitted_by=fitted_by(cell.model))
            for variant in variants
            for cell in _cells(picture, variant, profile)
        ]
    return work


def _variants(
    picture: str, usual: Variant, *, wavelet: SoftTrees, sizes: Sequence[int]
) -> list[Variant]:
    usual = replace(usual, models=PROBLEMS[picture].models)
    if picture == "step":
        others = [
            replace(usual, name=f"beta {beta:g}", models=("vst",), drawn=None,
                    tree=replace(usual.tree, beta=beta))
            for beta in (5.0, 50.0) if beta != usual.tree.beta
        ]  # fmt: skip
        return [usual, *others]
    if picture == "wavelet":
        usual = replace(usual, tree=wavelet)
        first = usual.seeds[:1]
        fewer = min(usual.functions, FEWER)
        larger = [
            replace(usual, name=f"rows {n}", rows=n, seeds=first, functions=fewer)
            for n in sizes if n != usual.rows
        ]  # fmt: skip
        weighted = [
            replace(usual, name=f"kl_weight {weight:g}", models=("vst", "vsgbm"), drawn=None,
                    tree=replace(wavelet, kl_weight=weight, members=1))
            for weight in (1.0, 0.0)
        ]  # fmt: skip
        return [usual, *larger, *weighted]
    return [usual]


def _cells(picture: str, variant: Variant, profile: Profile) -> Iterable[Cell]:
    for seed in variant.seeds:
        for model in variant.models:
            setting = _setting(model, variant)
            # Peers have one member or draw per drawn function, whatever the profile.
            limited = profile.limited(setting) if isinstance(setting, SoftTrees) else setting
            described = {
                "variant": variant.name,
                "rows": variant.rows,
                "functions": variant.functions,
                "drawn": seed == variant.drawn,
                "setting": parameters(limited),
            }
            yield Cell(NAME, picture, model, 0, seed, as_text(described))


def _setting(model: str, variant: Variant) -> Setting:
    tree = variant.tree
    settings: dict[str, Setting] = {
        "vst": tree,
        "vsgbm": replace(tree, depth=max(tree.depth - 1, 0), n_trees=N_TREES, members=1),
        "xbart": XBART(draws=variant.functions),
        "sglb": SGLB(members=variant.functions),
    }
    return settings[model]


#: The settings of a model.
KINDS: dict[str, type] = {"vst": SoftTrees, "vsgbm": SoftTrees, "xbart": XBART, "sglb": SGLB}


def fitted_by(model: str) -> str:
    """The model in the registry whose code fits a picture's method."""
    return {"vst": "vst-linear", "vsgbm": "vsgbm-linear"}.get(model, model)


def compute_cells(cells: Sequence[Cell]) -> list[dict[str, Any]]:
    """Fit each cell's model, draw functions, and measure them."""
    return [_compute(cell) for cell in cells]


def _compute(cell: Cell) -> dict[str, Any]:
    described = as_parameters(cell.parameters)
    setting = KINDS[cell.model](**described["setting"])
    curve = PROBLEMS[cell.dataset].make(n=described["rows"], seed=cell.seed)
    start = time.process_time()
    draws = sample(setting, curve, described["functions"], seed=cell.seed)
    seconds = time.process_time() - start
    measured = {
        name: round(value, 6) for name, value in measure(cell.dataset, curve, draws).items()
    }
    return {
        **measured,
        "variant": described["variant"],
        "rows": described["rows"],
        "seconds": round(seconds, 2),
        "functions": _lines(curve, draws) if described["drawn"] else [],
    }


def _lines(curve: Curve, draws: Float[np.ndarray, "draws m"]) -> list[dict[str, Any]]:
    """Functions as text: one line per point of a coarser grid."""
    return [
        {"point": point, "values": " ".join(f"{value:.4g}" for value in draws[:, point])}
        for point in range(0, len(curve.grid), EVERY)
    ]


def sample(
    setting: Setting, curve: Curve, functions: int, *, seed: int
) -> Float[np.ndarray, "draws m"]:
    """Fit a model to a curve's observations and draw mean functions from its posterior."""
    if isinstance(setting, SoftTrees):
        model = estimator(setting, random_state=seed)
        with warnings.catch_warnings():  # the profiles smoke and quick stop early
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(curve.x, curve.y)
        if isinstance(model, VSTRegressor):
            _keep_best_start(model)
        return model.sample_functions(curve.grid, functions, seed)
    # Peers take standardised inputs and targets; soft trees standardise them themselves.
    x_mean, x_scale = location_and_scale(curve.x)
    y_mean, y_scale = location_and_scale(curve.y)
    fitted = setting.fit((curve.x - x_mean) / x_scale, (curve.y - y_mean) / y_scale, seed=seed)
    return y_mean + y_scale * fitted.mean_draws((curve.grid - x_mean) / x_scale)


def _keep_best_start(model: VSTRegressor) -> None:
    """Keep only the member with the highest ELBO."""
    best = int(np.argmax(model.elbo_[:, -ELBO_STEPS:].mean(axis=1)))
    model.stacked_posteriors_ = jax.tree.map(
        lambda part: part[best : best + 1], model.stacked_posteriors_
    )


def rmse(
    curve: Curve, draws: Float[np.ndarray, "draws m"], where: Bool[np.ndarray, " m"] | None = None
) -> float:
    """Root mean square error of the draws' mean against the true function, where there are data.

    Parameters
    ----------
    where
        Use these points of the grid instead.
    """
    error = draws.mean(axis=0) - curve.truth
    return float(np.sqrt(np.mean(error[curve.inside() if where is None else where] ** 2)))


def flat_rmse(curve: Curve) -> float:
    """The error of a constant at the true function's mean, where there are data: a baseline."""
    return float(np.std(curve.truth[curve.inside()]))


def spread(draws: Float[np.ndarray, "draws m"], where: Bool[np.ndarray, " m"]) -> float:
    """Standard deviation over the draws, averaged over points of the grid."""
    return float(np.mean(draws.std(axis=0)[where]))


def measure(picture: str, curve: Curve, draws: Float[np.ndarray, "draws m"]) -> dict[str, float]:
    """Measures of what the paper's captions claim.

    Returns
    -------
    dict
        ``rmse``; for the tails and the gap, the spread ``inside`` and ``outside`` the data, their
        ``ratio``, and ``reached``, the share of points outside where the functions enclose the truth;
        for the step, the error ``away`` from it.
    """
    found = {"rmse": rmse(curve, draws)}
    if picture in ("tails", "gap"):
        elsewhere = curve.between() if picture == "gap" else ~curve.inside()
        inside, outside = spread(draws, curve.inside()), spread(draws, elsewhere)
        reached = (draws.min(axis=0) <= curve.truth) & (curve.truth <= draws.max(axis=0))
        found |= {
            "inside": inside,
            "outside": outside,
            "ratio": outside / inside,
            "reached": float(reached[elsewhere].mean()),
        }
    if picture == "step":
        far = np.abs(curve.grid[:, 0] - 0.5) > STRIP
        found["away"] = rmse(curve, draws, far)
    return found


class Drawn(NamedTuple):
    """Functions drawn from a model, and their error."""

    model: str
    x: Float[np.ndarray, " m"]
    draws: Float[np.ndarray, "draws m"]
    rmse: float


def curve_of(results: pd.DataFrame, picture: str, variant: str = "usual") -> Curve:
    """The data set whose fits are shown: the first."""
    rows = _rows(results, picture, variant)
    return PROBLEMS[picture].make(n=int(rows["rows"].iloc[0]), seed=int(rows["seed"].min()))


def drawn(obtained: Obtained, picture: str, variant: str = "usual") -> list[Drawn]:
    """The functions of a picture's models on its first data set, in the order of its panels."""
    results, lines = obtained.results, obtained.parts["functions"]
    grid = curve_of(results, picture, variant).grid[:, 0]
    found = []
    for row in _rows(results, picture, variant).to_dict("records"):
        own = lines[lines["key"] == row["key"]].sort_values("point")
        if len(own):
            draws = np.array([text.split() for text in own["values"]], float).T
            points = own["point"].to_numpy(int)
            found.append(Drawn(str(row["model"]), grid[points], draws, float(row["rmse"])))
    return sorted(found, key=lambda one: PROBLEMS[picture].models.index(one.model))


def measures(profile: str = "paper") -> pd.DataFrame:
    """The measures of all fits in a profile."""
    return obtain(PICTURES, profile).results


def _rows(results: pd.DataFrame, picture: str, variant: str) -> pd.DataFrame:
    return results[(results["dataset"] == picture) & (results["variant"] == variant)]


PICTURES = Experiment(
    NAME,
    "functions drawn for the paper's pictures of uncertainty, and measures of their captions",
    (
        Option("pictures", "names", "pictures (default: all)"),
        Option("rows", "count", "observations in each data set (default 250)"),
        Option("functions", "count", f"functions drawn from each model (default {FUNCTIONS})"),
        Option("repeats", "count", "data sets of each picture (default: the profile's)"),
        Option(
            "sizes", "numbers", "larger numbers of rows of the wavelet (default: the profile's)"
        ),
        Option("depth", "count", f"depth of the soft tree (default {TREE.depth})"),
        Option("beta", "real", f"inverse temperature of the gates (default {TREE.beta:g})"),
        Option("wavelet_beta", "real", f"beta for the wavelet (default {WAVELET_BETA:g})"),
        Option("starts", "count", "fits of a VST to the wavelet (the best counts)"),
        Option("steps", "count", f"gradient steps of each soft tree (default {TREE.steps})"),
        Option(
            "seed", "number", "seed of the first data set; the others count up from it (default 0)"
        ),
    ),
    jobs,
    ("variant", "rows", *MEASURES),
    parts={"functions": Part(("point", "values"), unique=1)},
    by=("dataset", "variant", "model"),
    summarised=("rmse", "ratio"),
    fitted_by=fitted_by,
)
