"""The rank chapter: scores and costs against the rank of the posterior's covariance."""

from collections.abc import Sequence
from math import ceil

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, NullLocator

from vst.companion.experiments.datasets import label as dataset_label
from vst.companion.models import label
from vst.companion.report.scores import ROUNDED
from vst.companion.report.style import BLUE, ORANGE, styled
from vst.companion.report.tables import Markdown, MarkdownTable, counted, listed, number

COLOURS = {"vst-const": ORANGE, "vst-linear": BLUE}

#: The scores that can be drawn, and the labels of their axes.
SCORES = {
    "auroc": "AUROC",
    "log_likelihood": "test log-likelihood",
    "elbo": "ELBO, nats per row",
    "seconds": "seconds per fold",
    "state_bytes": "trained state, kB",
}


@styled
def curves(results: pd.DataFrame, score: str, datasets: Sequence[str]) -> Figure:
    """Draw one score against the rank, one panel per data set; the last point is full rank."""
    columns = max(1, min(5, len(datasets)))
    lines = max(1, ceil(len(datasets) / columns))
    figure, axes = plt.subplots(
        lines, columns, figsize=(2.0 * columns + 0.8, 1.75 * lines + 0.4), squeeze=False
    )
    for axis in axes.flat[len(datasets) :]:
        axis.set_visible(False)
    for axis, dataset in zip(axes.flat, datasets, strict=False):
        for model, group in results[results["dataset"] == dataset].groupby("model"):
            _curve(axis, group, score, str(model))
        axis.set_title(dataset_label(dataset))
    for axis in axes[-1]:
        axis.set_xlabel("rank")
    for axis in axes[:, 0]:
        axis.set_ylabel(SCORES[score])
    handles, names = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside upper right", ncols=2, fontsize=8)
    return figure


def _curve(axis: Axes, group: pd.DataFrame, score: str, model: str) -> None:
    scale = 1e-3 if score == "state_bytes" else 1.0
    by_rank = (scale * group.set_index("rank")[score].astype(float)).groupby(level=0)
    means, errors = by_rank.mean(), by_rank.std().fillna(0.0)
    ranks = means.index.to_numpy(float)
    # A logarithmic axis has no zero: rank 0 is drawn half a step before rank 1.
    at = np.where(ranks == 0, 0.5, ranks)
    colour = COLOURS[model]
    axis.errorbar(
        at, means, yerr=errors, fmt="o-", ms=3.5, color=colour, lw=1.3, label=label(model)
    )
    axis.plot(at[-1], means.iloc[-1], "o", ms=7, mfc="none", mec=colour)
    axis.set_xscale("log")
    ticks = [0.5, 1, 10, 100]
    axis.xaxis.set_major_locator(FixedLocator(ticks))
    axis.xaxis.set_minor_locator(NullLocator())
    axis.set_xticklabels(["0", "1", "10", "100"])
    if score in ("seconds", "state_bytes"):
        axis.set_yscale("log")
    axis.tick_params(labelsize=8)


def nested_table(checked: pd.DataFrame) -> MarkdownTable:
    """The outcome of `vst.companion.experiments.rank.nested` as a table."""
    return MarkdownTable(
        pd.DataFrame(
            {
                "data set": checked["dataset"].map(dataset_label),
                "model": checked["model"].map(label),
                "bound at rank 0": checked["rank 0"].map(number),
                "at full rank": checked["full"].map(number),
                "clearest fall": checked["fall"].map(number),
                "two standard errors": checked["error"].map(number),
                "rises or stays": [
                    _held(holds=holds, told=told)
                    for holds, told in zip(checked["holds"], checked["told"], strict=True)
                ],
                "converged": [f"{share:.0%}" for share in checked["converged"]],
            }
        )
    )


def _held(*, holds: bool, told: bool) -> str:
    if not holds:
        return "**no**"
    return "yes" if told else "cannot be told"


def nested_summary(checked: pd.DataFrame) -> Markdown:
    """The outcome in a sentence, with what is special about rounded targets."""
    bounded = checked[~checked["dataset"].isin(ROUNDED)]
    falls = len(bounded) - int(bounded["holds"].sum())
    open_ = bounded[bounded["holds"] & ~bounded["told"]]
    text = (
        f"The bound clearly falls in {falls} of {len(bounded)} configurations with a bounded "
        "likelihood."
    )
    if len(open_):
        named = [
            f"*{dataset_label(row['dataset'])}* with {label(row['model'])}"
            for row in open_.to_dict("records")
        ]
        text += f" It cannot be told on {listed(named)}; it rises or stays in all others."
    text += f" {bounded['converged'].mean():.0%} of these fits converged."
    left_out = [dataset_label(name) for name in ROUNDED if name in set(checked["dataset"])]
    if left_out:
        text += (
            f" The likelihood of {', '.join(left_out)} has no bound: its targets are whole numbers, and "
            "the density of a leaf at one of them grows until it meets the floor on its scale."
        )
    return Markdown(text)


def slope_table(found: pd.DataFrame) -> MarkdownTable:
    """The slopes of `vst.companion.paper.claims.slopes` as a table."""
    return MarkdownTable(
        pd.DataFrame(
            {
                "data set": found["dataset"].map(dataset_label),
                "model": found["model"].map(label),
                "AUROC at rank 1": found["rank 1"].map(number),
                "at full rank": found["full"].map(number),
                "per doubling": [
                    # Where all scores are the same, the line has no error.
                    number(slope, 4) + ("" if np.isnan(error) else f" ± {number(error, 4)}")
                    for slope, error in zip(found["slope"], found["error"], strict=True)
                ],
                "rank": found["effect"],
            }
        )
    )


def clear_note(found: pd.DataFrame, results: pd.DataFrame) -> Markdown:
    """The configurations in which rank has a clear effect, and how far their fits can be trusted."""
    parts = []
    for row in found[found["effect"] != "no clear effect"].to_dict("records"):
        place = (results["model"] == row["model"]) & (results["dataset"] == row["dataset"])
        share = results.loc[place, "converged"].astype(bool).mean()
        flat = results[place & (results["rank"] == 0)]["auroc"].mean()
        parts.append(
            f"It {row['effect']} on *{dataset_label(row['dataset'])}* with {label(row['model'])}, "
            f"of whose fits {share:.0%} converged; there the AUROC at rank 0 is {number(flat)}, and "
            f"{number(row['full'])} at full rank."
        )
    if not parts:
        return Markdown("In no configuration does rank have a clear effect.")
    return Markdown(
        f"{' '.join(parts)} Of {counted(len(found), 'configuration')} about {len(found) / 20:.0f} "
        "would be clear by chance, since two standard errors leave one in twenty outside."
    )


def largest(found: pd.DataFrame, count: int = 4) -> list[str]:
    """The data sets with the largest increase, as the paper selects them."""
    ordered = found.sort_values("slope", ascending=False)["dataset"]
    return list(dict.fromkeys(ordered))[:count]


def size_table(results: pd.DataFrame) -> MarkdownTable:
    """Depth and number of parameters of each model: its full rank."""
    sizes = results.groupby(["dataset", "model"], sort=False).agg(
        p=("n_params", "max"), full=("rank", "max")
    )
    rows = [
        {
            "data set": dataset_label(dataset),
            "model": label(model),
            "parameters p": int(p),
            "factors at the rightmost point": int(full),
        }
        for (dataset, model), p, full in zip(sizes.index, sizes["p"], sizes["full"], strict=True)
    ]
    return MarkdownTable(pd.DataFrame(rows))
