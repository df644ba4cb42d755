"""Figures and tables of the uncertainty chapter."""

import sys
from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from vst.companion.experiments import Obtained, pictures
from vst.companion.experiments.cells import as_parameters
from vst.companion.experiments.pictures import (
    N_TREES,
    PROBLEMS,
    Drawn,
    curve_of,
    drawn,
    flat_rmse,
)
from vst.companion.models import label
from vst.companion.paper.claims.pictures import figure_errors
from vst.companion.protocol.synthetic import Curve
from vst.companion.report.style import COLOURS, GREY, styled
from vst.companion.report.tables import Html, Markdown, MarkdownTable, download, number
from vst.soft_trees import SoftTrees

TRUTH = "#222222"

#: Only a random sample of this many observations is drawn.
MOST_DOTS = 400


@styled
def functions(obtained: Obtained, picture: str, columns: int = 3) -> Figure:
    """Draw a picture's functions, one panel per model on shared axes, with the error in its title."""
    curve, several = curve_of(obtained.results, picture), drawn(obtained, picture)
    lines = -(-len(several) // columns)
    figure, axes = plt.subplots(
        lines, columns, sharex=True, sharey=True, squeeze=False,
        figsize=(9.2, 0.6 + 2.7 * lines),
    )  # fmt: skip
    for axis in axes.flat[len(several) :]:
        axis.set_visible(False)
    paper = figure_errors(picture)
    for axis, one in zip(axes.flat, several, strict=False):
        title = f"{label(one.model)}: RMSE {number(one.rmse)}"
        if one.model in paper:
            title += f" (paper {number(paper[one.model], 4)})"
        if len(errors := _errors(obtained.results, picture, one.model)) > 1:
            title += f"\nmedian of {len(errors)} data sets {number(errors.median())}"
        _panel(axis, curve, one)
        axis.set_title(title, fontsize=9.5)
    axes[0, 0].set_ylim(*_limits(curve, several))
    _finish(figure, bottom=list(axes[-1]), left=list(axes[:, 0]))
    return figure


def _errors(results: pd.DataFrame, picture: str, model: str) -> pd.Series:
    """A model's errors on all data sets of a picture; the claims use their median."""
    usual = results[(results["dataset"] == picture) & (results["variant"] == "usual")]
    return usual.loc[usual["model"] == model, "rmse"]


def _sizes(results: pd.DataFrame) -> dict[int, str]:
    """The variants of the wavelet that differ in their number of rows, by that number."""
    rows = results[results["dataset"] == "wavelet"]
    rows = rows[(rows["variant"] == "usual") | rows["variant"].str.startswith("rows ")]
    return dict(sorted(zip(rows["rows"].astype(int), rows["variant"], strict=True)))


@styled
def by_size(obtained: Obtained) -> Figure:
    """Draw the wavelet's functions: a row of panels per number of observations, a column per model."""
    sizes = _sizes(obtained.results)
    fits = {n: drawn(obtained, "wavelet", variant) for n, variant in sizes.items()}
    models = [one.model for one in next(iter(fits.values()))]
    figure, axes = plt.subplots(
        len(fits), len(models), sharex=True, sharey=True, squeeze=False,
        figsize=(1.2 + 2.1 * len(models), 0.6 + 1.75 * len(fits)),
    )  # fmt: skip
    for row, (n, several) in zip(axes, fits.items(), strict=True):
        curve = curve_of(obtained.results, "wavelet", sizes[n])
        for axis, one in zip(row, several, strict=True):
            _panel(axis, curve, one)
            axis.set_title(f"{label(one.model)}: {number(one.rmse)}", fontsize=9)
        row[0].set_ylabel(f"{n:,} rows\ny", fontsize=9)
    axes[0, 0].set_ylim(*_limits(curve_of(obtained.results, "wavelet"), []))
    _finish(figure, bottom=list(axes[-1]), left=[])
    return figure


@styled
def errors_by_size(results: pd.DataFrame) -> Figure:
    """Draw each model's error on the first wavelet against the number of observations."""
    sizes = _sizes(results)
    rows = results[(results["dataset"] == "wavelet") & results["variant"].isin(sizes.values())]
    table = rows[rows["seed"] == rows["seed"].min()].pivot_table(
        "rmse", "rows", "model", sort=False
    )
    table = table.sort_index()
    figure, axis = plt.subplots(figsize=(6.4, 3.0))
    for model in PROBLEMS["wavelet"].models:
        values = table[model].to_numpy()
        axis.plot(table.index, values, "o-", ms=4, color=COLOURS[model])
        axis.annotate(
            label(model), (table.index[-1], values[-1]), xytext=(7, 0), textcoords="offset points",
            va="center", color=TRUTH, fontsize=9,
        )  # fmt: skip
    flat = flat_rmse(curve_of(results, "wavelet"))
    axis.plot(table.index, [flat] * len(table), color=GREY, ls=":", lw=1.2)
    axis.annotate(
        "a flat line", (table.index[0], flat), xytext=(0, 10), textcoords="offset points",
        color=GREY, fontsize=9,
    )  # fmt: skip
    axis.set(
        xscale="log",
        xlabel="observations",
        ylabel="RMSE",
        ylim=(0, 1.25 * max(flat, *table.iloc[0])),
    )
    axis.set_xticks(table.index, [f"{n:,}" for n in table.index])
    axis.minorticks_off()
    axis.margins(x=0.14)
    return figure


@styled
def spreads(obtained: Obtained, pictures: Sequence[str] = ("tails", "gap")) -> Figure:
    """Draw the spread of the functions over the input, one panel per picture."""
    figure, axes = plt.subplots(1, len(pictures), figsize=(9.2, 3.0), sharey=True, squeeze=False)
    for axis, picture in zip(axes[0], pictures, strict=True):
        curve = curve_of(obtained.results, picture)
        for low, high in curve.support:
            axis.axvspan(low, high, color="#eeeeee", lw=0, zorder=0)
        for one in drawn(obtained, picture):
            axis.plot(
                one.x,
                one.draws.std(axis=0),
                color=COLOURS[one.model],
                label=label(one.model),
                lw=1.4,
            )
        axis.set(
            title=picture, xlabel="x", yscale="log", xlim=(curve.grid[0, 0], curve.grid[-1, 0])
        )
    axes[0, 0].set_ylabel("spread of the functions")
    handles, names = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside upper right", ncols=3, fontsize=8.5)
    return figure


def _panel(axis: Axes, curve: Curve, one: Drawn) -> None:
    x = curve.grid[:, 0]
    shown = np.random.default_rng(0).permutation(len(curve.x))[:MOST_DOTS]
    axis.scatter(curve.x[shown, 0], curve.y[shown], s=4, color=GREY, alpha=0.35, lw=0, zorder=1)
    axis.plot(one.x, one.draws.T, color=COLOURS[one.model], alpha=0.4, lw=0.8, zorder=2)
    axis.plot(x, curve.truth, color=TRUTH, ls="--", lw=1.1, zorder=3)
    axis.set_xlim(x[0], x[-1])


def _limits(curve: Curve, several: Sequence[Drawn]) -> tuple[float, float]:
    """Limits that fit the truth, the data and nearly all of the functions."""
    values = [curve.y, curve.truth]
    values += [np.quantile(one.draws, [0.01, 0.99]) for one in several]
    low, high = (edge(list(map(edge, values))) for edge in (np.min, np.max))
    margin = 0.06 * (high - low)
    return float(low - margin), float(high + margin)


def _finish(figure: Figure, *, bottom: Sequence[Axes], left: Sequence[Axes]) -> None:
    for axis in bottom:
        axis.set_xlabel("x")
    for axis in left:
        axis.set_ylabel("y")
    handles = [
        Line2D([], [], color=TRUTH, ls="--", lw=1.1, label="true mean"),
        Line2D([], [], color=GREY, marker="o", ms=3, ls="none", label="observations"),
        Line2D([], [], color="#555555", lw=0.9, alpha=0.7, label="functions from the model"),
    ]
    figure.legend(handles=handles, loc="outside upper right", ncols=3, fontsize=8)


#: Columns of the measures, and their headings in a table.
HEADINGS = {
    "rmse": "RMSE inside the data",
    "inside": "spread inside",
    "outside": "spread outside",
    "ratio": "outside / inside",
    "reached": "truth reached outside",
    "away": "RMSE away from the step",
}


#: Headings where "outside" means the gap.
GAP_HEADINGS = {
    "outside": "spread in the gap",
    "ratio": "gap / inside",
    "reached": "truth reached in the gap",
}


def setup(results: pd.DataFrame) -> Markdown:
    """Describe the models' settings."""
    tails = results[(results["dataset"] == "tails") & (results["variant"] == "usual")]
    described = as_parameters(tails.loc[tails["model"] == "vst", "parameters"].iloc[0])
    tree = SoftTrees(**described["setting"])
    usual = (results["variant"] == "usual") & (results["model"] == "vst")
    wavelets = results.loc[usual & (results["dataset"] == "wavelet"), "parameters"]
    other = ""
    if len(wavelets):
        wave = SoftTrees(**as_parameters(wavelets.iloc[0])["setting"])
        other = f" (on the wavelet β = {wave.beta:g}, and the best of {wave.members} starts)"
    repeats = tails["seed"].nunique()
    sets = "data set" if repeats == 1 else "data sets"
    return Markdown(
        f"Every picture has {repeats} {sets} of {described['rows']:,} rows, drawn with different "
        "seeds: the first is shown, all are measured. The soft trees have "
        f"linear leaves, depth {tree.depth}, posterior rank {tree.rank}, "
        f"β = {tree.beta:g}, a prior of standard deviation {tree.prior_scale:g} and "
        f"{tree.steps:,} steps{other}; the VSGBM has {N_TREES} of these trees with one level "
        "fewer. XBART and SGLB have their settings before tuning. Each model draws "
        f"{described['functions']} functions; SGLB has as many members."
    )


def flat_note(results: pd.DataFrame) -> Markdown:
    """Compare the errors on the wavelet, ours and the paper's, with that of a flat line."""
    flat = flat_rmse(curve_of(results, "wavelet"))
    paper = figure_errors("wavelet")
    above = [label(model) for model, error in paper.items() if error > flat]
    note = (
        f"A flat line has an error of {number(flat)} on this wavelet. This is the baseline for "
        "underfitting: a model with this error has learnt nothing."
    )
    if above:
        note += (
            f" The errors that the paper prints for {' and '.join(above)} are also above it, which "
            "means the same if its wavelet had the scale of ours."
        )
    return Markdown(note)


def measure_table(
    results: pd.DataFrame, picture: str, headings: Mapping[str, str] | None = None
) -> MarkdownTable:
    """Medians over a picture's data sets, one row per model, with the paper's printed errors."""
    headings = {**HEADINGS, **(headings or {})}
    usual = results[(results["dataset"] == picture) & (results["variant"] == "usual")]
    medians = usual.groupby("model", sort=False)[list(headings)].median()
    medians = medians.dropna(axis=1, how="all").loc[list(PROBLEMS[picture].models)]
    paper = figure_errors(picture)
    rows = []
    for model in medians.index:
        row = {"model": label(str(model))}
        for column in (name for name in headings if name in medians.columns):
            row[headings[column]] = _text(column, float(medians[column][model]))
            if column == "rmse" and paper:
                row["the paper's RMSE"] = number(paper[str(model)], 4)
        rows.append(row)
    return MarkdownTable(pd.DataFrame(rows))


def _text(column: str, value: float) -> str:
    if column == "reached":
        return f"{value:.0%}"
    return number(value, 1 if column == "ratio" else 3)


def downloads(results: pd.DataFrame) -> Html:
    """A link that saves the measures of all pictures, one row per data set and model."""
    frame = results.drop(columns=["key"]).rename(columns={"dataset": "picture"})
    text = "The measures of all pictures, one row per data set and model (CSV)"
    return download(frame, "uncertainty.csv", text, sys.modules[__name__], pictures)


def setting_table(
    results: pd.DataFrame, picture: str, name: str, values: Mapping[str, str], *, flat: bool = False
) -> MarkdownTable:
    """Median errors as one setting changes: one row per model, one column per variant.

    Parameters
    ----------
    values
        Variants and the setting's value in each; the table shows the models of the last variant.
    flat
        Add the error of a flat line.
    """
    part = results[results["dataset"] == picture]
    medians = part.groupby(["variant", "model"])["rmse"].median()
    models = [m for m in PROBLEMS[picture].models if (list(values)[-1], m) in medians.index]
    rows = [
        {"RMSE of": label(model)}
        | {f"{name} {value}": number(medians[variant, model]) for variant, value in values.items()}
        for model in models
    ]
    if flat:
        error = number(flat_rmse(curve_of(results, picture)))
        rows.append({"RMSE of": "a flat line"} | {f"{name} {v}": error for v in values.values()})
    return MarkdownTable(pd.DataFrame(rows))
