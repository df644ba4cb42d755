"""The score tables as a picture: a dot with an error bar for every model and data set."""

from collections.abc import Sequence
from math import ceil

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from vst.companion.experiments.datasets import label as dataset_label
from vst.companion.models import MODEL_BY_ID, MODELS, label
from vst.companion.paper import TABLES, printed
from vst.companion.report.scores import WHOLE, Score, scores_of
from vst.companion.report.style import BLUE, GREY, styled

#: Size of the invisible disc around a mark that a pointer has to hit, in points.
REACH = 9


@styled
def dots(results: pd.DataFrame, table: str, datasets: Sequence[str]) -> Figure:
    """Draw every model's score on every data set, ours as a dot and the paper's as a ring.

    A score far below the others would squeeze them together, so it is an arrow at the edge.
    """
    column = table
    ours = scores_of(results, column)
    paper = printed(table)
    rows = [m for m in MODELS if m.id in set(ours["model"]) | set(paper["model"])]
    places = {m.id: -i for i, m in enumerate(rows)}
    columns = min(5, len(datasets))
    lines = ceil(len(datasets) / columns)
    figure, axes = plt.subplots(
        lines,
        columns,
        figsize=(1.2 + 2.0 * columns, 0.5 + 0.23 * len(rows) * lines + 0.5 * lines),
        squeeze=False,
        sharey=True,
    )
    for axis in axes.flat[len(datasets) :]:
        axis.set_visible(False)
    higher = bool(TABLES[table].higher_is_better)
    for axis, dataset in zip(axes.flat, datasets, strict=False):
        name = WHOLE.get(dataset) or dataset
        _panel(
            axis,
            ours[ours["dataset"] == dataset],
            paper[paper["dataset"] == name],
            places,
            higher=higher,
        )
        axis.set_title(dataset_label(dataset))
    for axis in axes[:, 0]:
        axis.set_yticks(list(places.values()), [m.label for m in rows], fontsize=8)
    handles = [
        Line2D([], [], marker="o", ls="-", color=BLUE, label="this book, mean ± sd over folds"),
        Line2D([], [], marker="o", ls="none", mfc="none", mec=GREY, label="the paper"),
    ]
    figure.legend(handles=handles, loc="outside upper right", ncols=2, fontsize=8)
    return figure


def _panel(
    axis: Axes,
    ours: pd.DataFrame,
    paper: pd.DataFrame,
    places: dict[str, int],
    *,
    higher: bool,
) -> None:
    every = np.concatenate([ours["mean"], paper["mean"]])
    worst, ideal = (every.min(), every.max()) if higher else (every.max(), every.min())
    # The scale shows the better nine tenths of the scores.
    edge = np.quantile(every, 0.1 if higher else 0.9)
    edge = worst if abs(worst - ideal) < 1.6 * abs(edge - ideal) else edge
    low, high = sorted((edge, ideal))
    margin = 0.08 * (high - low) or 0.1
    left, right = low - margin, high + margin
    axis.set_xlim(left, right)
    for model, mean, error in zip(paper["model"], paper["mean"], paper["error"], strict=True):
        x = np.clip(mean, left, right)
        axis.plot(x, places[model], "o", mfc="none", mec=GREY, ms=4.5, clip_on=False)
        _say(axis, x, places[model], f"{label(model)}, the paper: {Score(mean, error).text()}")
    for model, mean, error in zip(ours["model"], ours["mean"], ours["error"], strict=True):
        colour, y = MODEL_BY_ID[model].colour, places[model]
        x = np.clip(mean, left, right)
        if x == mean:
            axis.errorbar(x, y, xerr=error, fmt="o", ms=4, color=colour, lw=1.4)
        else:
            axis.plot(x, y, marker="<" if x > mean else ">", color=colour, ms=5, clip_on=False)
        _say(axis, x, y, f"{label(model)}, this book: {Score(mean, error).text()}")
    groups = [MODEL_BY_ID[model].group for model in places]
    for i in range(1, len(groups)):
        if groups[i] != groups[i - 1]:
            axis.axhline(-i + 0.5, color="#cccccc", lw=0.8, zorder=0)
    axis.set_ylim(-len(places) + 0.4, 0.6)
    axis.grid(axis="x", color="#eeeeee", lw=0.8)
    axis.tick_params(axis="x", labelsize=8)
    axis.tick_params(axis="y", length=0)


def _say(axis: Axes, x: float, y: float, words: str) -> None:
    """Add an invisible label above a mark: see :func:`vst.companion.report.hover.hoverable`."""
    axis.plot(x, y, "o", ms=REACH, mew=0, alpha=0, clip_on=False, zorder=9, label=words)
