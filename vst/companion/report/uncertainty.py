"""Figures and tables of the uncertainty chapter."""

import sys
from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from vst.companion.experiments import pictures
from vst.companion.experiments.pictures import (
    Sampled,
    Settings,
    flat_rmse,
    printed_rmse,
    rmse,
    size_errors,
)
from vst.companion.paper import label
from vst.companion.protocol.synthetic import Curve
from vst.companion.report.style import COLOURS, GREY, styled
from vst.companion.report.tables import Html, Markdown, MarkdownTable, download, number

TRUTH = "#222222"

#: More observations than this are drawn as a random part of them.
MOST_DOTS = 400


@styled
def functions(problem: str, curve: Curve, sampled: Sequence[Sampled], columns: int = 3) -> Figure:
    """Draw sampled functions, one panel per model on shared axes, with the error in its title."""
    lines = -(-len(sampled) // columns)
    figure, axes = plt.subplots(
        lines, columns, sharex=True, sharey=True, squeeze=False,
        figsize=(9.2, 0.6 + 2.7 * lines),
    )  # fmt: skip
    for axis in axes.flat[len(sampled) :]:
        axis.set_visible(False)
    paper = printed_rmse(problem)
    for axis, one in zip(axes.flat, sampled, strict=False):
        title = f"{label(one.model)}: RMSE {number(rmse(curve, one.draws))}"
        if one.model in paper:
            title += f" (paper {number(paper[one.model], 4)})"
        _panel(axis, curve, one)
        axis.set_title(title, fontsize=9.5)
    axes[0, 0].set_ylim(*_limits(curve, sampled))
    _finish(figure, bottom=list(axes[-1]), left=list(axes[:, 0]))
    return figure


@styled
def by_size(fits: Mapping[int, tuple[Curve, Sequence[Sampled]]]) -> Figure:
    """Draw sampled functions, a row of panels per number of observations, a column per model."""
    models = [one.model for one in next(iter(fits.values()))[1]]
    figure, axes = plt.subplots(
        len(fits), len(models), sharex=True, sharey=True, squeeze=False,
        figsize=(1.2 + 2.1 * len(models), 0.6 + 1.75 * len(fits)),
    )  # fmt: skip
    for row, (n, (curve, sampled)) in zip(axes, fits.items(), strict=True):
        for axis, one in zip(row, sampled, strict=True):
            _panel(axis, curve, one)
            axis.set_title(f"{label(one.model)}: {number(rmse(curve, one.draws))}", fontsize=9)
        row[0].set_ylabel(f"{n:,} rows\ny", fontsize=9)
    curve = next(iter(fits.values()))[0]
    axes[0, 0].set_ylim(*_limits(curve, []))
    _finish(figure, bottom=list(axes[-1]), left=[])
    return figure


@styled
def errors_by_size(fits: Mapping[int, tuple[Curve, Sequence[Sampled]]]) -> Figure:
    """Draw each model's error against the number of observations, labelled at its end."""
    figure, axis = plt.subplots(figsize=(6.4, 3.0))
    table = size_errors(fits)
    sizes = list(table)
    for model in table[sizes[0]]:
        values = [table[n][model] for n in sizes]
        axis.plot(sizes, values, "o-", ms=4, color=COLOURS[model])
        axis.annotate(
            label(model), (sizes[-1], values[-1]), xytext=(7, 0), textcoords="offset points",
            va="center", color=TRUTH, fontsize=9,
        )  # fmt: skip
    flat = flat_rmse(fits[sizes[0]][0])
    axis.plot(sizes, [flat] * len(sizes), color=GREY, ls=":", lw=1.2)
    axis.annotate(
        "a flat line", (sizes[0], flat), xytext=(0, 10), textcoords="offset points",
        color=GREY, fontsize=9,
    )  # fmt: skip
    axis.set(
        xscale="log",
        xlabel="observations",
        ylabel="RMSE",
        ylim=(0, 1.25 * max(flat, *table[sizes[0]].values())),
    )
    axis.set_xticks(sizes, [f"{n:,}" for n in sizes])
    axis.minorticks_off()
    axis.margins(x=0.14)
    return figure


@styled
def spreads(panels: Mapping[str, tuple[Curve, Sequence[Sampled]]]) -> Figure:
    """Draw the spread of the sampled functions over the input, one panel per problem."""
    figure, axes = plt.subplots(1, len(panels), figsize=(9.2, 3.0), sharey=True, squeeze=False)
    for axis, (title, (curve, sampled)) in zip(axes[0], panels.items(), strict=True):
        x = curve.grid[:, 0]
        for low, high in curve.support:
            axis.axvspan(low, high, color="#eeeeee", lw=0, zorder=0)
        for one in sampled:
            axis.plot(
                x, one.draws.std(axis=0), color=COLOURS[one.model], label=label(one.model), lw=1.4
            )
        axis.set(title=title, xlabel="x", yscale="log", xlim=(x[0], x[-1]))
    axes[0, 0].set_ylabel("spread of the functions")
    handles, names = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside upper right", ncols=3, fontsize=8.5)
    return figure


def _panel(axis: Axes, curve: Curve, one: Sampled) -> None:
    x = curve.grid[:, 0]
    shown = np.random.default_rng(0).permutation(len(curve.x))[:MOST_DOTS]
    axis.scatter(curve.x[shown, 0], curve.y[shown], s=4, color=GREY, alpha=0.35, lw=0, zorder=1)
    axis.plot(x, one.draws.T, color=COLOURS[one.model], alpha=0.4, lw=0.8, zorder=2)
    axis.plot(x, curve.truth, color=TRUTH, ls="--", lw=1.1, zorder=3)
    axis.set_xlim(x[0], x[-1])


def _limits(curve: Curve, sampled: Sequence[Sampled]) -> tuple[float, float]:
    """Room for the truth, the data and nearly all of the functions; a few may leave the picture."""
    values = [curve.y, curve.truth]
    values += [np.quantile(one.draws, [0.01, 0.99]) for one in sampled]
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


#: Columns of the measures, and what they are called in a table.
HEADINGS = {
    "rmse": "RMSE inside the data",
    "inside": "spread inside",
    "outside": "spread outside",
    "ratio": "outside / inside",
    "reached": "truth reached outside",
    "away": "RMSE away from the step",
    "seconds": "seconds",
}


#: Where "outside" is the gap.
GAP_HEADINGS = {
    "outside": "spread in the gap",
    "ratio": "gap / inside",
    "reached": "truth reached in the gap",
}


def setup(settings: Settings, rows: int, repeats: int) -> Markdown:
    """Say how the models are set."""
    sets = "data set" if repeats == 1 else "data sets"
    return Markdown(
        f"Every picture has {repeats} {sets} of {rows:,} rows, drawn with different seeds: the "
        "first is shown, all are measured. The soft trees have the same settings in all of them: "
        f"linear leaves, depth {settings.depth}, posterior rank {settings.rank}, "
        f"β = {settings.beta:g}, a prior of standard deviation {settings.prior_scale:g} and "
        f"{settings.steps:,} steps; the VSGBM has {settings.n_trees} such trees of one level "
        "fewer. XBART and SGLB have the "
        f"settings from which they are tuned in the other chapters. Each model draws "
        f"{settings.functions} functions; SGLB has as many members."
    )


def flat_note(curve: Curve) -> Markdown:
    """Say what the errors on a curve are to be compared with, ours and the paper's."""
    flat = flat_rmse(curve)
    paper = printed_rmse("wavelet")
    above = [label(model) for model, error in paper.items() if error > flat]
    note = (
        f"A flat line has an error of {number(flat)} on this wavelet. It is the yardstick for "
        "underfitting: a model at this error has found nothing."
    )
    if above:
        note += (
            f" The errors that the paper prints for {' and '.join(above)} are above it too, which "
            "means the same if its wavelet had the scale of ours."
        )
    return Markdown(note)


def measure_table(
    problem: str, measures: pd.DataFrame, headings: Mapping[str, str] | None = None
) -> MarkdownTable:
    """Medians over the data sets, one row per model, with the paper's printed errors."""
    headings = {**HEADINGS, **(headings or {})}
    medians = measures.groupby("model", sort=False).median(numeric_only=True)
    paper = printed_rmse(problem)
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
    return number(value, 1 if column in ("ratio", "seconds") else 3)


def downloads(measures: Mapping[str, pd.DataFrame]) -> Html:
    """A link that saves the measures of all pictures, one row per data set and model."""
    frame = pd.concat(
        [table.assign(picture=name) for name, table in measures.items()], ignore_index=True
    )
    columns = ["picture", *(column for column in frame.columns if column != "picture")]
    text = "The measures of all pictures, one row per data set and model (CSV)"
    return download(frame[columns], "uncertainty.csv", text, sys.modules[__name__], pictures)


def setting_table(name: str, errors: pd.DataFrame, flat: float | None = None) -> MarkdownTable:
    """Errors of some models as one setting changes: a row per model, a column per value."""
    rows = [
        {"RMSE of": label(str(model))}
        | {f"{name} {value:g}": number(float(error)) for value, error in row.items()}
        for model, row in errors.iterrows()
    ]
    if flat is not None:
        rows.append(
            {"RMSE of": "a flat line"}
            | {key: number(flat) for key in list(rows[0]) if key != "RMSE of"}
        )
    return MarkdownTable(pd.DataFrame(rows))
