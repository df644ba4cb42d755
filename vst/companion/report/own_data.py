"""Figures and tables of the chapter on your own data, for a target that holds numbers."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from scipy.stats import binom, norm

from vst.companion.experiments.detection import auroc
from vst.companion.experiments.own_data import Held, OwnFit, coverage, pit
from vst.companion.report.style import BLUE, GREY, VERMILLION, label_logarithmic, styled
from vst.companion.report.tables import Markdown, MarkdownTable, code, number, verbatim
from vst.gates import Gates, feature_names, feature_use, gates

DARK = "#222222"
LEVELS = np.linspace(0.02, 0.98, 49)


def colour(fit: OwnFit) -> str:
    """The colour of a model."""
    return VERMILLION if fit.is_first else BLUE


class Scores(NamedTuple):
    """How well held-out targets are predicted, in units of the target."""

    rmse: float
    log_likelihood: float
    inside: float  #: share of the targets inside their 90 % intervals
    width: float  #: mean width of these intervals


def scores(held: Held, fit: OwnFit) -> Scores:
    """The scores of a model on the held-out rows."""
    y, predicted = held.y_test, fit.predicted
    lower, upper = predicted.interval(0.9)
    return Scores(
        float(np.sqrt(np.mean((predicted.mean - y) ** 2))),
        float(np.mean(predicted.log_prob(y))),
        float(np.mean((lower <= y) & (y <= upper))),
        float(np.mean(upper - lower)),
    )


def scores_without_features(held: Held) -> Scores:
    """The scores of a Normal with the training targets' mean and standard deviation."""
    y, mean, scale = held.y_test, held.y_train.mean(), held.y_train.std()
    half = norm.ppf(0.95) * scale
    return Scores(
        float(np.sqrt(np.mean((mean - y) ** 2))),
        float(np.mean(norm.logpdf(y, mean, scale))),
        float(np.mean(np.abs(y - mean) <= half)),
        float(2 * half),
    )


def answer(held: Held, fit: OwnFit) -> Markdown:
    """What the chapter finds, and on which table."""
    found, plain = scores(held, fit), scores_without_features(held)
    gain = 1 - found.rmse / plain.rmse
    compared = f"{gain:.0%} less than" if gain > 0 else "no less than"
    verdict = width_word(found.inside, 0.9, len(held.y_test))
    judged = "as expected" if verdict == "as expected" else f"the intervals are {verdict}"
    return Markdown(
        f"**The predictions of {code(held.dataset.y.name)} have a root mean squared error of "
        f"{_units(found.rmse)}, {compared} without the features ({_units(plain.rmse)}). The 90 % "
        f"intervals hold {found.inside:.0%} of the targets: {judged}.**\n\n"
        f"{introduction(held).text}"
    )


def introduction(held: Held) -> Markdown:
    """Describe the table."""
    data = held.dataset
    return Markdown(
        f"The table is *{verbatim(data.label)}*: {data.n:,} rows, {data.d} columns to predict "
        f"{code(data.y.name)} from. {len(held.y_test):,} rows were drawn at random and held out; "
        "all scores and intervals of this chapter are for these rows, except where it says otherwise."
    )


def score_table(held: Held, fits: Sequence[OwnFit]) -> MarkdownTable:
    """Scores on the held-out rows, and those of a Normal that ignores the features."""
    rows = [_score_row(fit.label, scores(held, fit), fit.seconds) for fit in fits]
    rows.append(_score_row("no features", scores_without_features(held), 0.0))
    return MarkdownTable(pd.DataFrame(rows))


def _score_row(name: str, found: Scores, seconds: float) -> dict[str, str]:
    return {
        "model": name,
        "RMSE": _units(found.rmse),
        "log-likelihood": number(found.log_likelihood),
        "inside 90 % intervals": f"{found.inside:.0%}",
        "their mean width": _units(found.width),
        "seconds": number(seconds, 1),
    }


def choices(fit: OwnFit) -> pd.DataFrame:
    """The candidates by weight, with their scores in units of the target.

    A regressor's own scores are those of the standardised target. With too few rows there are none.
    """
    model = fit.mixture
    frame = pd.DataFrame(model.cv_results_).sort_values("weight", ascending=False, kind="stable")
    if "log_likelihood" not in frame:
        return frame[["candidate", "weight"]].reset_index(drop=True)
    if "rmse" not in frame:  # classes have no units
        return frame.reset_index(drop=True)
    scale = float(fit.model.target_scale_)
    scored = frame.assign(
        log_likelihood=frame["log_likelihood"] - np.log(scale), rmse=frame["rmse"] * scale
    )
    return scored[["candidate", "weight", "log_likelihood", "rmse"]].reset_index(drop=True)


def choice(fit: OwnFit) -> Markdown:
    """Which candidate got the most weight, and whether it is the best one alone."""
    frame = choices(fit)
    first = frame.iloc[0]
    if "log_likelihood" not in frame:
        return Markdown(
            f"The table has too few rows to leave some out: the model is *{first['candidate']}* alone."
        )
    used = int((frame["weight"] > 0).sum())
    best = frame["candidate"].iloc[int(frame["log_likelihood"].argmax())]
    if used == 1:
        return Markdown(
            f"*{first['candidate']}* got all the weight: no other candidate added to it."
        )
    most = f"*{first['candidate']}* got the most weight, {first['weight']:.0%}"
    alone = (
        "and has the highest log-likelihood alone"
        if best == first["candidate"]
        else f"although *{best}* has a higher log-likelihood alone"
    )
    return Markdown(
        f"{used} of {len(frame)} candidates are in the mixture. {most}, {alone}. A weight is not a rank"
        ": a weaker candidate gets weight if it is better on rows where the others are wrong."
    )


def choice_table(fit: OwnFit) -> MarkdownTable:
    """The candidates: their weights, and their scores on training rows that were left out."""
    frame = choices(fit)
    shown = {"candidate": frame["candidate"], "weight": [f"{w:.0%}" for w in frame["weight"]]}
    if "log_likelihood" in frame:
        shown["log-likelihood, rows left out"] = [number(v) for v in frame["log_likelihood"]]
        shown["RMSE, rows left out"] = [_units(v) for v in frame["rmse"]]
    return MarkdownTable(pd.DataFrame(shown))


@styled
def fit_figure(held: Held, fits: Sequence[OwnFit]) -> Figure:
    """Draw targets against predictions, with the 90 % interval of every held-out row."""
    figure, axes = plt.subplots(
        1, len(fits), figsize=(8.4, 3.8), sharex=True, sharey=True, squeeze=False
    )
    for axis, fit in zip(axes[0], fits, strict=True):
        mean, (lower, upper) = fit.predicted.mean, fit.predicted.interval(0.9)
        axis.vlines(mean, lower, upper, color=colour(fit), alpha=0.25, lw=1)
        axis.plot(mean, held.y_test, "o", ms=2.5, color=DARK, mew=0)
        ends = [min(held.y_test.min(), mean.min()), max(held.y_test.max(), mean.max())]
        axis.plot(ends, ends, color=GREY, lw=0.8, ls="--")
        axis.set(title=fit.label, xlabel="predicted mean")
    axes[0, 0].set_ylabel(str(held.dataset.y.name), parse_math=False)
    return figure


@styled
def calibration(held: Held, fits: Sequence[OwnFit], bins: int = 10) -> Figure:
    """Draw PIT histograms, and the coverage of intervals of all levels."""
    figure, axes = plt.subplots(1, len(fits) + 1, figsize=(9.6, 3.1))
    m = len(held.y_test)
    low, high = binom.ppf([0.05, 0.95], m, 1 / bins) / m * bins
    last = axes[-1]
    last.plot([0, 1], [0, 1], color=GREY, lw=0.8, ls="--")
    for axis, fit in zip(axes, fits, strict=False):
        values = pit(fit, held.y_test)
        axis.axhspan(low, high, color="#e4e4e4", lw=0)
        axis.hist(
            values,
            bins=bins,
            range=(0, 1),
            density=True,
            color=colour(fit),
            alpha=0.75,
            rwidth=0.94,
        )
        axis.set(title=f"{fit.label}: PIT", xlabel="PIT value", xlim=(0, 1))
        dashes = "-" if fit.is_first else "-."
        last.plot(LEVELS, coverage(values, LEVELS), dashes, color=colour(fit), label=fit.label)
    axes[0].set_ylabel("density")
    last.set(
        title="coverage", xlabel="level of the interval", ylabel="share of rows inside",
        xlim=(0, 1), ylim=(0, 1),
    )  # fmt: skip
    last.legend(loc="upper left", fontsize=8.5)
    return figure


def calibration_table(held: Held, fits: Sequence[OwnFit]) -> MarkdownTable:
    """The share of rows inside intervals of three levels, and whether chance explains it.

    If intervals hold each row with the probability of their level, the number of rows inside is
    binomial: it is *as expected* if it lies in the central 90 % of that distribution.
    """
    m = len(held.y_test)
    rows = []
    for fit in fits:
        values = pit(fit, held.y_test)
        row = {"model": fit.label}
        for level in (0.5, 0.8, 0.95):
            share = float(coverage(values, np.array([level]))[0])
            row[f"{level:.0%} intervals"] = f"{share:.0%}, {width_word(share, level, m)}"
        rows.append(row)
    return MarkdownTable(pd.DataFrame(rows))


def width_word(share: float, level: float, rows: int) -> str:
    """Whether intervals that hold this share of the rows are as wide as their level requires.

    Examples
    --------
    >>> width_word(0.99, 0.8, 200), width_word(0.79, 0.8, 200), width_word(0.5, 0.8, 200)
    ('too wide', 'as expected', 'too narrow')
    """
    low, high = binom.ppf([0.05, 0.95], rows, level)
    inside = round(share * rows)
    if inside > high:
        return "too wide"
    return "too narrow" if inside < low else "as expected"


def share_word(share: float, expected: float, rows: int) -> str:
    """Whether predictions are right as often as their confidence says.

    Examples
    --------
    >>> share_word(0.8, 0.95, 200), share_word(0.94, 0.95, 200)
    ('overconfident', 'as expected')
    """
    words = {"too narrow": "overconfident", "too wide": "not confident enough"}
    found = width_word(share, expected, rows)
    return words.get(found, found)


@styled
def rows_figure(held: Held, fits: Sequence[OwnFit], rows: int = 80) -> Figure:
    """Draw the 50 and 90 % intervals of some held-out rows, ordered by their predicted mean."""
    figure, axes = plt.subplots(
        len(fits), 1, figsize=(8.4, 2.3 * len(fits) + 0.3), sharex=True, sharey=True, squeeze=False
    )
    shown = np.arange(len(held.y_test))[:rows]
    for axis, fit in zip(axes[:, 0], fits, strict=True):
        order = shown[np.argsort(fit.predicted.mean[shown])]
        place = np.arange(len(order))
        for level, width in ((0.9, 2.0), (0.5, 4.5)):
            lower, upper = (end[order] for end in fit.predicted.interval(level))
            axis.vlines(place, lower, upper, color=colour(fit), lw=width, alpha=0.45)
        axis.plot(place, held.y_test[order], "o", ms=3, color=DARK, mew=0)
        axis.set(title=fit.label, xlim=(-1, len(order)))
        axis.set_ylabel(str(held.dataset.y.name), parse_math=False)
    axes[-1, 0].set_xlabel("held-out rows, by predicted mean")
    return figure


def epistemic(fit: OwnFit, rows: pd.DataFrame) -> Float[np.ndarray, " n"]:
    """Standard deviation of each row's mean over posterior draws."""
    return np.sqrt(fit.model.predict_dist(rows).epistemic_var)


@styled
def outside(held: Held, fits: Sequence[OwnFit], other: pd.DataFrame) -> Figure:
    """Draw the epistemic scores of the held-out rows and of other rows, one panel per model."""
    pairs = [(fit, epistemic(fit, held.x_test), epistemic(fit, other)) for fit in fits]
    return histograms(pairs, "epistemic standard deviation")


def histograms(
    pairs: Sequence[tuple[OwnFit, Float[np.ndarray, " n"], Float[np.ndarray, " m"]]], words: str
) -> Figure:
    """Draw the uncertainty of held-out rows and of other rows on a logarithmic axis."""
    figure, axes = plt.subplots(1, len(pairs), figsize=(8.4, 3.0), squeeze=False)
    for axis, (fit, inside, out) in zip(axes[0], pairs, strict=True):
        least = max(np.finfo(float).tiny, 0.5 * min(inside.min(), out.min()))
        edges = np.geomspace(least, 1.5 * max(inside.max(), out.max()), 31)
        for values, shade, name in ((inside, GREY, "held-out rows"), (out, colour(fit), "others")):
            axis.hist(values, edges, density=False, color=shade, alpha=0.6, label=name)
        axis.set(xscale="log", xlabel=words)
        label_logarithmic(axis.xaxis)
        axis.set_title(f"{fit.label}: AUROC {number(auroc(inside, out))}")
    axes[0, 0].set_ylabel("rows")
    axes[0, 0].legend(fontsize=8.5)
    return figure


@styled
def features(held: Held, fit: OwnFit, most: int = 15) -> Figure:
    """Draw how much the gates of a tree use each feature, the most used first."""
    use = feature_use(fit.tree, held.x_train)[:most]
    figure, axis = plt.subplots(figsize=(7.2, 0.9 + 0.26 * len(use)))
    axis.barh(range(len(use)), use, 0.7, color=colour(fit))
    axis.set_yticks(range(len(use)), list(use.index), parse_math=False)
    axis.tick_params(axis="y", length=0)
    axis.invert_yaxis()
    axis.set_xlabel("share of the gates' weight")
    return figure


@styled
def learned_tree(held: Held, fit: OwnFit) -> Figure:
    """Draw a tree: the main features of each gate, and the mean of each leaf."""
    units: Any = fit.tree
    shift, scale = units.target_mean_, units.target_scale_
    return draw_tree(held, fit, lambda z: f"{shift + scale * z:.3g}")


def draw_tree(held: Held, fit: OwnFit, leaf_text: Callable[[float], str]) -> Figure:
    """Draw a tree: the main features of each gate, and how many rows go where.

    The width of an edge is the share of the rows that take it. A gate names the two features with the
    largest weights; a positive weight sends high values right. Leaves show their share, and what
    ``leaf_text`` makes of their value.
    """
    model = fit.tree
    found, names = gates(model, held.x_train)[0], feature_names(model)
    depth = model.shape_.depth
    width = max(8.4, 0.62 * 2**depth)
    figure, axis = plt.subplots(figsize=(width, 1.15 * depth + 1.6))
    axis.set(xlim=(-0.6, 2**depth - 0.4), ylim=(-0.5, depth + 0.4))
    axis.axis("off")
    shares = np.concatenate([found.shares, found.leaf_shares])
    for i, share in enumerate(shares):
        x, y = _place(i, depth)
        if i:
            x0, y0 = _place((i - 1) // 2, depth)
            axis.plot([x0, x], [y0, y], color=colour(fit), alpha=0.55, lw=0.4 + 9 * share, zorder=0)
        if i < len(found.shares):
            _text(axis, x, y, _gate_text(found, i, names), 8.5 if y > 1 or depth < 4 else 7.5)
        else:
            words = leaf_text(float(found.leaf_means[i - len(found.shares)]))
            _text(axis, x, y - 0.12, f"{share:.0%}\n{words}", 7.5)
    return figure


def _place(i: int, depth: int) -> tuple[float, float]:
    """Position of node ``i``, counted breadth-first with the leaves last."""
    level = (i + 1).bit_length() - 1
    position = i + 1 - 2**level
    return (position + 0.5) * 2 ** (depth - level) - 0.5, float(depth - level)


def _gate_text(found: Gates, node: int, names: Sequence[str]) -> str:
    weights = found.weights[node]
    largest = np.argsort(-np.abs(weights))[:2]
    return "\n".join(f"{number(weights[j], 1)} {_short(names[j])}" for j in largest)


def _short(name: str, most: int = 11) -> str:
    return name if len(name) <= most else name[: most - 1] + "…"


def _text(axis: Axes, x: float, y: float, text: str, size: float) -> None:
    axis.text(
        x, y, text, ha="center", va="center", fontsize=size, color=DARK, parse_math=False,
        bbox={"facecolor": "white", "edgecolor": "#bbbbbb", "pad": 1.6, "lw": 0.6},
    )  # fmt: skip


def _units(value: float) -> str:
    """A number in the target's units, with three digits; with an exponent only if it is tiny or huge.

    Examples
    --------
    >>> _units(16.0), _units(45231.0), _units(0.01234), _units(1.2e-9)
    ('16.0', '45,200', '0.0123', '1.2e-09')
    """
    rounded = float(f"{value:.3g}")
    if rounded and not 1e-4 <= abs(rounded) < 1e7:
        return f"{rounded:.3g}"
    decimals = 2 - int(np.floor(np.log10(abs(rounded)))) if rounded else 2
    return f"{rounded:,.{max(decimals, 0)}f}"
