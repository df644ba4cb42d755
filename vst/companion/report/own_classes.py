"""Figures and tables of the chapter on your own data, for a target that holds classes."""

from collections.abc import Sequence

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from jaxtyping import Int
from matplotlib.figure import Figure

from vst.companion.experiments.classification import reliability as bins_of
from vst.companion.experiments.classification import scores as class_scores
from vst.companion.experiments.own_data import Held, OwnFit
from vst.companion.report.classification import reliability_panel
from vst.companion.report.own_data import (
    choice,
    choices,
    colour,
    draw_tree,
    histograms,
    share_word,
)
from vst.companion.report.style import styled
from vst.companion.report.tables import Markdown, MarkdownTable, code, number, verbatim

__all__ = ["choice"]  # the same sentence as for numbers

#: More classes than this do not fit into a figure: the most frequent are shown.
MOST_CLASSES = 12


def truth(held: Held, fit: OwnFit) -> Int[np.ndarray, " m"]:
    """The number of each held-out row's class."""
    return np.searchsorted(fit.model.classes_, held.y_test)


def scores_without_features(held: Held) -> dict[str, float]:
    """The scores of the classes' shares among the training rows."""
    classes, counts = np.unique(held.y_train, return_counts=True)
    proba = np.tile(counts / counts.sum(), (len(held.y_test), 1))
    return class_scores(proba, np.searchsorted(classes, held.y_test))


def answer(held: Held, fit: OwnFit) -> Markdown:
    """What the chapter finds, and on which table."""
    found, plain = (
        class_scores(fit.predicted.proba, truth(held, fit)),
        scores_without_features(held),
    )
    return Markdown(
        f"**The class {code(held.dataset.y.name)} is predicted right for {found['accuracy']:.0%} of the "
        f"held-out rows ({plain['accuracy']:.0%} without the features), with a log loss of "
        f"{number(found['log_loss'])} ({number(plain['log_loss'])} without).**\n\n"
        f"{introduction(held).text}"
    )


def introduction(held: Held) -> Markdown:
    """Describe the table."""
    data = held.dataset
    return Markdown(
        f"The table is *{verbatim(data.label)}*: {data.n:,} rows, {data.d} columns to predict "
        f"{code(data.y.name)} from, which has {data.y.nunique()} classes. {len(held.y_test):,} rows "
        "were drawn at random, by class, and held out; all scores of this chapter are for these rows, "
        "except where it says otherwise."
    )


def score_table(held: Held, fits: Sequence[OwnFit]) -> MarkdownTable:
    """Scores on the held-out rows, and those of the classes' shares."""
    each = [
        (fit.label, class_scores(fit.predicted.proba, truth(held, fit)), fit.seconds)
        for fit in fits
    ]
    each.append(("no features", scores_without_features(held), 0.0))
    return MarkdownTable(
        pd.DataFrame(
            {
                "model": name,
                "log loss": number(found["log_loss"]),
                "accuracy": f"{found['accuracy']:.1%}",
                "Brier score": number(found["brier"]),
                "calibration error": number(found["ece"]),
                "seconds": number(seconds, 1),
            }
            for name, found, seconds in each
        )
    )


@styled
def fit_figure(held: Held, fits: Sequence[OwnFit]) -> Figure:
    """Draw how the rows of each class are spread over the predicted classes."""
    shown = pd.Series(held.y_train).value_counts().index[:MOST_CLASSES].tolist()
    figure, axes = plt.subplots(1, len(fits), figsize=(8.4, 4.2), squeeze=False, sharey=True)
    for axis, fit in zip(axes[0], fits, strict=True):
        best = fit.model.classes_[fit.predicted.proba.argmax(axis=1)]
        counts = pd.crosstab(held.y_test, best).reindex(index=shown, columns=shown, fill_value=0)
        shares = counts.to_numpy() / np.maximum(counts.to_numpy().sum(axis=1, keepdims=True), 1)
        axis.imshow(shares, cmap="Blues" if not fit.is_first else "Oranges", vmin=0, vmax=1.3)
        for (i, j), count in np.ndenumerate(counts.to_numpy()):
            if count:
                axis.text(j, i, str(count), ha="center", va="center", fontsize=8.5)
        axis.set_xticks(range(len(shown)), shown, rotation=45, ha="right", parse_math=False)
        axis.set_yticks(range(len(shown)), shown, parse_math=False)
        axis.set(title=fit.label, xlabel="predicted class")
    axes[0, 0].set_ylabel("class")
    return figure


def choice_table(fit: OwnFit) -> MarkdownTable:
    """The candidates: their weights, and their scores on training rows that were left out."""
    frame = choices(fit)
    shown = {"candidate": frame["candidate"], "weight": [f"{w:.0%}" for w in frame["weight"]]}
    if "log_likelihood" in frame:
        shown["log loss, rows left out"] = [number(-value) for value in frame["log_likelihood"]]
        shown["wrong, rows left out"] = [f"{value:.1%}" for value in frame["error"]]
    return MarkdownTable(pd.DataFrame(shown))


@styled
def calibration(held: Held, fits: Sequence[OwnFit]) -> Figure:
    """Draw how often predictions of a given confidence are right."""
    figure, axes = plt.subplots(1, len(fits), figsize=(7.2, 3.4), squeeze=False, sharey=True)
    for axis, fit in zip(axes[0], fits, strict=True):
        bins = pd.DataFrame(bins_of(fit.predicted.proba, truth(held, fit)))
        reliability_panel(axis, bins, colour(fit), "o")
        axis.set(title=fit.label, xlabel="confidence in the predicted class")
    axes[0, 0].set_ylabel("share of correct predictions")
    return figure


def calibration_table(held: Held, fits: Sequence[OwnFit]) -> MarkdownTable:
    """How sure the model was of all rows and of the half it was surest of, and how often right."""
    rows = []
    for fit in fits:
        proba = fit.predicted.proba
        confidence, right = proba.max(axis=1), proba.argmax(axis=1) == truth(held, fit)
        surest = np.argsort(-confidence, kind="stable")[: max(len(right) // 2, 1)]
        row = {"model": fit.label}
        for name, chosen in (("all rows", slice(None)), ("the surest half", surest)):
            expected, share = confidence[chosen].mean(), right[chosen].mean()
            word = share_word(share, expected, len(right[chosen]))
            row[name] = f"{share:.0%} right, {expected:.0%} expected: {word}"
        rows.append(row)
    return MarkdownTable(pd.DataFrame(rows))


@styled
def rows_figure(held: Held, fits: Sequence[OwnFit], most: int = 80) -> Figure:
    """Draw the probabilities of the right class of some rows, in order, wrong ones marked."""
    figure, axes = plt.subplots(len(fits), 1, figsize=(8.4, 2.3 * len(fits)), squeeze=False)
    for axis, fit in zip(axes[:, 0], fits, strict=True):
        proba, own = fit.predicted.proba[:most], truth(held, fit)[:most]
        of_truth = proba[np.arange(len(own)), own]
        order = np.argsort(of_truth, kind="stable")
        wrong = (proba.argmax(axis=1) != own)[order]
        place = np.arange(len(order))
        axis.vlines(place, 0, of_truth[order], color=colour(fit), alpha=0.45, lw=3)
        axis.plot(place[wrong], of_truth[order][wrong], "x", color="#222222", ms=5)
        axis.set(title=fit.label, ylim=(0, 1.03), ylabel="probability of its class")
    axes[-1, 0].set_xlabel(
        "held-out rows, by this probability; crosses: another class was predicted"
    )
    return figure


@styled
def outside(held: Held, fits: Sequence[OwnFit], other: pd.DataFrame) -> Figure:
    """Draw the mutual information of the held-out rows and of other rows, one panel per model."""
    pairs = [
        (
            fit,
            np.maximum(fit.predicted.mutual_information, 1e-6),
            np.maximum(fit.model.predict_dist(other).mutual_information, 1e-6),
        )
        for fit in fits
    ]
    return histograms(pairs, "mutual information (nats)")


@styled
def learned_tree(held: Held, fit: OwnFit) -> Figure:
    """Draw a tree: the main features of each gate, and the most probable class of each leaf."""
    classes = fit.model.classes_
    return draw_tree(held, fit, lambda value: _short(classes[int(value)]))


def _short(label: object) -> str:
    text = str(label)
    return text if len(text) <= 8 else text[:7] + "…"
