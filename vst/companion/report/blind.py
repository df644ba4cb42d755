"""The chapter on the blind replication: tables, the picture of ranks, and the claims again."""

from collections.abc import Hashable, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from vst.companion.experiments import Obtained, freeze
from vst.companion.experiments.datasets import label as dataset_label
from vst.companion.models import MODEL_BY_ID, MODELS, label
from vst.companion.paper.claims import Verdict
from vst.companion.paper.replication import HIGHER_IS_BETTER, Again, Ranks
from vst.companion.paper.scores import scores_of
from vst.companion.report.hover import Svg, hoverable
from vst.companion.report.style import GREY, styled
from vst.companion.report.tables import Html, Markdown, MarkdownTable, counted, listed, number
from vst.companion.report.wide import Row, wide, with_error

SCORES = {"log_likelihood": "log-likelihood", "rmse": "RMSE", "crps": "CRPS"}

#: Models that a sentence names, at most.
MOST_NAMES = 5

NOTHING = Markdown("There are no results yet: `vst run blind --profile paper` computes them.")


def progress(obtained: Obtained, shown: pd.DataFrame) -> Markdown:
    """What is there, and which commit fixed it."""
    fixed = (
        f"Commit `{freeze.COMMIT}` fixed the code before the first fit. " if freeze.COMMIT else ""
    )
    fits = len(obtained.results) + obtained.missing
    pairs = len(shown[["dataset", "fold"]].drop_duplicates())
    sets = counted(shown["dataset"].nunique(), "data set")
    if not obtained.missing:
        return Markdown(f"{fixed}All {fits:,} fits are done: {pairs} splits on {sets}.")
    return Markdown(
        f"{fixed}**The run has not ended**: {len(obtained.results):,} of {fits:,} fits are done. "
        f"This page counts what every model has finished: {counted(pairs, 'split')} on {sets}. "
        "`vst run blind --profile paper --publish` goes on."
    )


def settled(results: pd.DataFrame, splits: int) -> pd.DataFrame:
    """The rows of data sets with all of their splits, and at least two.

    From a single split there are no error bars, and the rules of the claims would take every difference
    for a clear one.
    """
    there = results.groupby("dataset")["fold"].transform("nunique")
    return results[there >= max(splits, 2)]


def answer(ranked: Ranks, again: Sequence[Again]) -> Markdown:
    """The finding in a few sentences."""
    if not len(ranked.mean):
        return NOTHING
    low = ranked.mean.min()
    first = [label(model) for model in ranked.mean.index[ranked.mean == low]]
    others = ranked.mean.index[ranked.mean > low]
    close = [
        label(model) for model in others if ranked.mean[model] < low + ranked.critical_difference
    ]
    verb = "has" if len(first) == 1 else "have"
    text = (
        f"**By log-likelihood {listed(first)} {verb} the best mean rank, "
        f"{number(low, 1)} of {len(ranked.mean)} models over {counted(ranked.datasets, 'data set')}.** "
    )
    if not can_differ(ranked):
        text += "So few data sets cannot tell models apart. "
    elif not close:
        text += "Every other model is behind by more than the critical difference. "
    else:
        names = listed(close) if len(close) <= MOST_NAMES else f"{len(close)} others"
        text += (
            f"It cannot be told from {names}: mean ranks have to be "
            f"{number(ranked.critical_difference, 1)} apart to differ. "
        )
    decided = [one for one in again if one.is_decided]
    robust = sum(one.is_robust for one in decided)
    claims = f"{robust} of the {len(decided)} claims that these splits decide have the same verdict"
    return Markdown(
        text + (f"{claims} as on the paper's split." if decided else "No claim is decided yet.")
    )


def can_differ(ranked: Ranks) -> bool:
    """Whether any distance of mean ranks could exceed the critical difference."""
    return ranked.critical_difference < len(ranked.mean) - 1


def score_table(results: pd.DataFrame, score: str) -> Html | Markdown:
    """Mean and standard deviation over splits; the best mean of each data set is bold."""
    scores = scores_of(results, score)
    if scores.empty:
        return NOTHING
    names = list(dict.fromkeys(results["dataset"]))
    best = scores.groupby("dataset")["mean"].agg("max" if HIGHER_IS_BETTER[score] else "min")
    found = {(row["model"], row["dataset"]): row for row in scores.to_dict("records")}
    rows = []
    for model in (m.id for m in MODELS if m.id in set(scores["model"])):
        cells = [_cell(found.get((model, name)), best[name]) for name in names]
        rows.append(Row([label(model)], cells))
    return wide(["Model"], [dataset_label(name) for name in names], rows)


def _cell(score: dict[Hashable, Any] | None, best: float) -> str:
    if score is None:
        return "<td>\N{EN DASH}</td>"
    error = "" if np.isnan(score["error"]) else number(score["error"])
    return f"<td>{with_error(number(score['mean']), error, bold=score['mean'] == best)}</td>"


def interval_table(results: pd.DataFrame) -> MarkdownTable:
    """Coverage and mean width of 90 % intervals, over all splits and data sets."""
    there = results.dropna(subset=["coverage"])
    groups = there.groupby("model")[["coverage", "width"]].mean()
    worst = there.groupby(["model", "dataset"])["coverage"].mean().groupby("model").min()
    rows = [
        {
            "model": label(model),
            "targets inside": f"{groups['coverage'][model]:.1%}",
            "lowest of a data set": f"{worst[model]:.1%}",
            "mean width": number(groups["width"][model], 2),
        }
        for model in (m.id for m in MODELS if m.id in groups.index)
    ]
    return MarkdownTable(pd.DataFrame(rows))


def rank_picture(ranked: Sequence[Ranks], scores: Sequence[str]) -> Svg | Markdown:
    """The mean ranks with tooltips, or a sentence if there are none."""
    return hoverable(rank_figure(ranked, scores)) if len(ranked[0].mean) else NOTHING


@styled
def rank_figure(ranked: Sequence[Ranks], scores: Sequence[str]) -> Figure:
    """Mean ranks, one panel a score; models within the bar of the best do not differ from it."""
    most = max(1, *(len(each.mean) for each in ranked))
    figure, axes = plt.subplots(
        1, len(ranked), figsize=(3.4 * len(ranked), 0.7 + 0.24 * most), squeeze=False
    )
    for axis, each, score in zip(axes.flat, ranked, scores, strict=True):
        places = range(len(each.mean))
        if can_differ(each):
            low = each.mean.iloc[0]
            axis.axvspan(low, low + each.critical_difference, color=GREY, alpha=0.15, lw=0)
        for place, (model, rank) in zip(places, each.mean.items(), strict=True):
            entry = MODEL_BY_ID[str(model)]
            words = f"{entry.label}: mean rank {rank:.2f}"
            axis.plot(rank, -place, entry.mark, color=entry.colour, ms=6, label=words)
        axis.set_yticks([-place for place in places], [label(str(m)) for m in each.mean.index])
        axis.set_title(SCORES[score])
        axis.set_xlabel("mean rank")
        axis.set_xlim(0.5, most + 0.5)
        axis.grid(axis="x", color="#eeeeee", lw=0.8)
    return figure


def rank_note(ranked: Sequence[Ranks], scores: Sequence[str]) -> Markdown:
    """Friedman's test and the critical difference, in a sentence for each score."""
    tested = [
        f"By {SCORES[score]}, Friedman's test of equal ranks has p = {each.p_value:.2g}, and mean ranks "
        f"must be {number(each.critical_difference, 1)} apart to differ."
        for each, score in zip(ranked, scores, strict=True)
        if not np.isnan(each.p_value) and can_differ(each)
    ]
    return Markdown(" ".join(tested) or "There are too few data sets for a test of the ranks.")


def missing_note(results: pd.DataFrame) -> Markdown:
    """Models whose log-likelihood was not finite somewhere, which their means leave out."""
    gaps = results[results["log_likelihood"].isna()]
    parts = [
        f"{label(str(model))} on {listed([dataset_label(name) for name in rows['dataset'].unique()])}"
        for model, rows in gaps.groupby("model", sort=False)
        if MODEL_BY_ID[str(model)].has_density
    ]
    if not parts:
        return Markdown("")
    return Markdown(f"No finite log-likelihood, so better ranks than deserved: {'; '.join(parts)}.")


def claims_table(again: Sequence[Again]) -> MarkdownTable:
    """Each claim with its verdict on the paper's split and on the blind ones."""
    rows = [
        {
            "the paper says": one.published.claim.says,
            "the paper's split": _verdict(one.published),
            "blind splits": _verdict(one.blind),
            "robust": _robust(one),
        }
        for one in again
    ]
    return MarkdownTable(pd.DataFrame(rows))


def _verdict(verdict: Verdict) -> str:
    if verdict.here.holds == "undecided":
        return "\N{EN DASH}"
    return f"*{verdict.word}*: {verdict.here.numbers}"


def _robust(one: Again) -> str:
    if not one.is_decided:
        return "not decided yet"
    return "yes" if one.is_robust else "**no**"
