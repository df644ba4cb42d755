"""The chapter on classification: tables and figures."""

from collections.abc import Sequence
from html import escape

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from scipy.stats import binom

from vst.companion.classifiers import CLASSIFIERS
from vst.companion.experiments.classification import BINS, MEASURES, load
from vst.companion.report.style import GREY, label_logarithmic, styled
from vst.companion.report.tables import Html, Markdown, MarkdownTable, listed, number
from vst.companion.report.wide import Row, wide, with_error

#: Log losses that differ by no more than this are level.
LEVEL = 0.005

#: A calibration error is judged where at least this many test rows tell it.
ENOUGH_ROWS = 500

#: How far our best classifier may be behind logistic regression, and the largest calibration error.
MOST_BEHIND, LARGEST_ECE = 0.02, 0.04

SCORES = {
    "log_loss": "log loss", "brier": "Brier score", "accuracy": "accuracy",
    "ece": "expected calibration error", "seconds": "seconds",
}  # fmt: skip

OURS = tuple(name for name, row in CLASSIFIERS.items() if row.is_ours)
PEERS = tuple(name for name in CLASSIFIERS if name not in OURS)

#: Shown for a score that is not there.
MISSING = "\N{EN DASH}"

NOTHING = Markdown(
    "There are no results yet: `vst run classification --profile paper` computes them."
)


def means(results: pd.DataFrame, score: str = "log_loss") -> pd.DataFrame:
    """The mean of a score over splits: one row per classifier, one column per table."""
    wide = results.pivot_table(index="model", columns="dataset", values=score, sort=False)
    return wide.loc[[name for name in CLASSIFIERS if name in wide.index]]


def deviations(results: pd.DataFrame, score: str) -> pd.DataFrame:
    """The standard deviation over splits, in the form of `means`; zero for a single split."""
    wide = results.pivot_table(
        index="model", columns="dataset", values=score, sort=False, aggfunc="std", dropna=False
    )
    return wide.reindex_like(means(results, score)).fillna(0.0)


def behind(results: pd.DataFrame, model: str, rivals: Sequence[str] = PEERS) -> pd.Series:
    """By how much a classifier's log loss is above that of its best rival, by table."""
    by_table = means(results).T
    present = [name for name in rivals if name in by_table]
    if model not in by_table or not present:
        return pd.Series(dtype=float)
    return (by_table[model] - by_table[present].min(axis=1)).dropna()


def level_count(results: pd.DataFrame, model: str) -> tuple[int, int]:
    """On how many tables a classifier is best or level with the best peer, and of how many."""
    gaps = behind(results, model)
    return int((gaps <= LEVEL).sum()), len(gaps)


def answer(results: pd.DataFrame) -> Markdown:
    """What the chapter finds, from the numbers."""
    rows = [(name, *level_count(results, name)) for name in OURS]
    rows = [row for row in rows if row[2]]
    if not rows:
        return NOTHING
    parts = [
        f"`{CLASSIFIERS[name].label}` on **{count} of {_tables(total)}**"
        for name, count, total in rows
    ]
    worst = {name: behind(results, name, ["logistic"]) for name in OURS}
    sentences = [
        f"`{CLASSIFIERS[name].label}` is {_against_logistic(gaps)}"
        for name, gaps in worst.items()
        if len(gaps)
    ]
    return Markdown(
        f"Untuned, these models have a log loss at most {LEVEL} above that of the best of the "
        f"{len(PEERS)} peers: {listed(parts)}. Against logistic regression, {listed(sentences)}."
    )


def _against_logistic(gaps: pd.Series) -> str:
    most = float(gaps.max())
    if most <= 0:
        return "better on all tables"
    return f"at most {number(most)} worse, on *{_label(str(gaps.idxmax()))}*"


def score_table(results: pd.DataFrame, tables: Sequence[str], score: str = "log_loss") -> Html:
    """A score of every classifier on every table, with its standard deviation over splits.

    Bold: the best, and those whose error bars overlap with it, as in the paper's tables.
    """
    mean, error = means(results, score), deviations(results, score)
    shown = [name for name in tables if name in mean.columns]
    rows = []
    for row in (row for row in CLASSIFIERS.values() if row.id in mean.index):
        cells = []
        for name in shown:
            values, bars = mean[name].to_dict(), error[name].to_dict()
            value, bar = values[row.id], bars[row.id]
            if np.isnan(value):
                cells.append(f"<td>{MISSING}</td>")
                continue
            known = {model: each for model, each in values.items() if not np.isnan(each)}
            best = (max if score == "accuracy" else min)(known, key=known.__getitem__)
            level = abs(value - values[best]) <= bar + bars[best]
            cells.append(f"<td>{with_error(number(value), number(bar), bold=level)}</td>")
        rows.append(Row([escape(row.label)], cells, rule=row.id == PEERS[0]))
    return wide(["Model"], [_label(name) for name in shown], rows, choose="table")


def table_facts(results: pd.DataFrame, tables: Sequence[str]) -> MarkdownTable:
    """The tables: rows, columns, classes, text and gaps."""
    rows = []
    for name in (name for name in tables if name in set(results["dataset"])):
        data = load(name)
        text = sum(not pd.api.types.is_numeric_dtype(dtype) for dtype in data.X.dtypes)
        shares = data.y.value_counts(normalize=True)
        rows.append(
            {
                "table": _label(name),
                "rows": data.n,
                "columns": data.d,
                "of text": text,
                "cells missing": f"{data.X.isna().to_numpy().mean():.1%}",
                "classes": len(shares),
                "largest class": f"{shares.iloc[0]:.0%}",
            }
        )
    return MarkdownTable(pd.DataFrame(rows))


@styled
def dots(results: pd.DataFrame, tables: Sequence[str]) -> Figure:
    """Draw every classifier's log loss on every table: a panel per table, a row per classifier."""
    mean, error = means(results), deviations(results, "log_loss")
    present = [CLASSIFIERS[str(name)] for name in mean.index]
    shown = [name for name in tables if name in mean.columns]
    columns = min(4, max(len(shown), 1))
    lines = -(-len(shown) // columns)
    figure, axes = plt.subplots(
        lines, columns, figsize=(1.6 + 2.0 * columns, 0.4 + 2.0 * lines), squeeze=False, sharey=True
    )
    for axis in axes.flat[len(shown) :]:
        axis.set_visible(False)
    for axis, name in zip(axes.flat, shown, strict=False):
        for i, (row, x, bar) in enumerate(zip(present, mean[name], error[name], strict=True)):
            axis.errorbar(x, -i, xerr=bar, fmt=row.mark, ms=5, lw=1.3, color=row.colour)
        axis.set_title(_label(name))
        axis.set_xlim(left=min(0.0, axis.get_xlim()[0]))
        axis.grid(axis="x", color="#eeeeee", lw=0.8)
        axis.tick_params(axis="x", labelsize=8)
        axis.tick_params(axis="y", length=0)
    for axis in axes[:, 0]:
        axis.set_yticks([-i for i in range(len(present))], [row.label for row in present])
    figure.supxlabel("log loss of test rows, mean and standard deviation over splits", fontsize=9)
    return figure


@styled
def reliability(parts: pd.DataFrame, results: pd.DataFrame) -> Figure:
    """Draw how often predictions of a given confidence are right, over all tables and splits.

    The bars are where nine of ten such shares would lie if the confidence were right.
    """
    frame = parts.merge(results[["key", "model"]], on="key")
    present = [row for row in CLASSIFIERS.values() if row.id in set(frame["model"])]
    columns = min(4, max(len(present), 1))
    lines = -(-len(present) // columns)
    figure, axes = plt.subplots(
        lines,
        columns,
        figsize=(2.4 * columns, 2.5 * lines),
        squeeze=False,
        sharex=True,
        sharey=True,
    )
    for axis in axes.flat[len(present) :]:
        axis.set_visible(False)
    for axis, row in zip(axes.flat, present, strict=False):
        pooled = _pooled(frame[frame["model"] == row.id])
        reliability_panel(axis, pooled, row.colour, row.mark)
        axis.set_title(f"{row.label}: {number(_calibration_error(pooled))}")
    figure.supxlabel("confidence in the predicted class", fontsize=9)
    figure.supylabel("share of correct predictions", fontsize=9)
    return figure


def reliability_panel(axis: Axes, pooled: pd.DataFrame, colour: str, mark: str) -> None:
    """Draw the bins of one model, and where they would lie by chance."""
    low, high = (
        binom.ppf(level, pooled["number"], pooled["confidence"]) / pooled["number"]
        for level in (0.05, 0.95)
    )
    axis.plot([0, 1], [0, 1], color=GREY, lw=0.8, ls="--")
    axis.vlines(pooled["confidence"], low, high, color="#cccccc", lw=5)
    sizes = 6 + 60 * pooled["number"] / pooled["number"].max()
    axis.scatter(
        pooled["confidence"], pooled["correct"], sizes, color=colour, marker=mark, zorder=3
    )
    axis.set(xlim=(0, 1.03), ylim=(0, 1.03))


def _pooled(frame: pd.DataFrame) -> pd.DataFrame:
    """The bins of several fits together."""
    total = frame.assign(
        confidence=frame["confidence"] * frame["number"], correct=frame["correct"] * frame["number"]
    )
    sums = (
        total.groupby("bin")[["confidence", "correct", "number"]]
        .sum()
        .reindex(range(BINS))
        .dropna()
    )
    return sums.assign(
        confidence=sums["confidence"] / sums["number"], correct=sums["correct"] / sums["number"]
    )


def _calibration_error(pooled: pd.DataFrame) -> float:
    off = np.abs(pooled["confidence"] - pooled["correct"])
    return float(np.average(off, weights=pooled["number"]))


@styled
def abstention(parts: pd.DataFrame, results: pd.DataFrame) -> Figure:
    """Draw the accuracy on the most certain rows, averaged over tables and splits."""
    frame = parts.merge(results[["key", "model"]], on="key")
    curves = frame.pivot_table(index="kept", columns=["model", "measure"], values="accuracy")
    figure, axis = plt.subplots(figsize=(7.2, 3.8))
    for row in CLASSIFIERS.values():
        for measure, dashes in zip(MEASURES, ("-", ":"), strict=True):
            if (row.id, measure) not in curves:
                continue
            curve = curves[row.id, measure]
            words = measure.replace("_", " ")
            label = f"{row.label}, by {words}" if row.is_ours else row.label
            axis.plot(
                1 - curves.index.to_numpy(), 100 * curve, dashes, marker=row.mark, ms=4,
                color=row.colour, lw=1.8 if row.is_ours else 1.0, label=label,
            )  # fmt: skip
    axis.set(xlabel="share of the rows left undecided", ylabel="accuracy on the others (%)")
    axis.grid(color="#eeeeee")
    axis.legend(fontsize=8, ncols=2)
    return figure


def detection_table(results: pd.DataFrame, tables: Sequence[str]) -> MarkdownTable:
    """AUROC of test rows against shuffled rows, by entropy and, for ours, by mutual information."""
    shown = [name for name in tables if name in set(results["dataset"])]
    rows = []
    for row in CLASSIFIERS.values():
        for measure in MEASURES:
            found = (
                results[results["model"] == row.id].groupby("dataset")[f"auroc_{measure}"].mean()
            )
            if found.isna().all():
                continue
            cells = {
                _label(name): number(found[name]) if name in found.index else MISSING
                for name in shown
            }
            rows.append({"model": f"{row.label}, {measure.replace('_', ' ')}", **cells})
    return MarkdownTable(pd.DataFrame(rows), choose="table")


def detection_summary(results: pd.DataFrame) -> Markdown:
    """Whether mutual information tells shuffled rows better than entropy does."""
    sentences = []
    for name in OURS:
        own = results[results["model"] == name]
        if own.empty:
            continue
        by_measure = {m: own.groupby("dataset")[f"auroc_{m}"].mean() for m in MEASURES}
        better = (by_measure["mutual_information"] > by_measure["entropy"]).sum()
        middle = {m: number(float(values.median())) for m, values in by_measure.items()}
        sentences.append(
            f"For `{CLASSIFIERS[name].label}`, mutual information detects the shuffled rows better than "
            f"entropy on {better} of {_tables(own['dataset'].nunique())} (medians "
            f"{middle['mutual_information']} and {middle['entropy']})."
        )
    return Markdown(" ".join(sentences)) if sentences else NOTHING


@styled
def times(results: pd.DataFrame) -> Figure:
    """Draw the seconds of each classifier: one mark per table, the median over its splits."""
    seconds = results.pivot_table(
        index="model", columns="dataset", values="seconds", aggfunc="median"
    )
    present = [row for row in CLASSIFIERS.values() if row.id in seconds.index]
    figure, axis = plt.subplots(figsize=(7.2, 0.7 + 0.28 * len(present)))
    for i, row in enumerate(present):
        values = np.maximum(seconds.loc[row.id].dropna().to_numpy(float), 1e-3)
        axis.plot(values, np.full(len(values), -i), "o", ms=4, alpha=0.5, color=row.colour, mew=0)
        axis.plot(np.median(values), -i, "|", ms=13, mew=2.4, color=row.colour)
    axis.set_xscale("log")
    label_logarithmic(axis.xaxis)
    axis.set_yticks([-i for i in range(len(present))], [row.label for row in present])
    axis.tick_params(axis="y", length=0)
    axis.grid(axis="x", color="#eeeeee")
    axis.set_xlabel("seconds to fit and predict on one core (bar: median over tables)")
    return figure


def targets(results: pd.DataFrame) -> MarkdownTable:
    """What was asked of our classifiers, and what came out."""
    rows = []
    for name in OURS:
        count, total = level_count(results, name)
        if not total:
            continue
        gaps = behind(results, name, ["logistic"])
        own = results[(results["model"] == name) & (results["rows"] >= ENOUGH_ROWS)]
        calibration = own.groupby("dataset")["ece"].mean()
        known = len(calibration) > 0
        rows.append(
            {
                "model": CLASSIFIERS[name].label,
                f"level ({LEVEL}) with the best peer": f"{count} of {total}",
                "asked: half": _yes(count >= total / 2),
                "most behind logistic regression": number(float(gaps.max())) if len(gaps) else "",
                f"asked: {MOST_BEHIND}": _yes(len(gaps) == 0 or gaps.max() <= MOST_BEHIND),
                f"calibration error, over {ENOUGH_ROWS} test rows": number(float(calibration.max()))
                if known
                else "no such table",
                f"asked: {LARGEST_ECE}": _yes(not known or calibration.max() <= LARGEST_ECE),
            }
        )
    return MarkdownTable(pd.DataFrame(rows))


def _yes(holds: bool) -> str:
    return "holds" if holds else "**does not hold**"


def _label(name: str) -> str:
    return load(name).label


def _tables(count: int) -> str:
    return f"{count} table" if count == 1 else f"{count} tables"
