"""Rules for the paper's claims about tables 1, 2 and 6, each a function of a table of scores.

The same rule is applied to the printed numbers and to ours, so that a claim is checked against the
paper's own table first. A claim *holds* if the count it states is reached, holds *partly* if the
numbers point the right way, and otherwise *fails*. It is undecided while a model or data set that it
needs has no scores.
"""

from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

import pandas as pd

from vst.companion.paper.claims.claim import Judgement, decided, undecided
from vst.companion.paper.compare import outcomes
from vst.companion.paper.scores import column_of, scores_of
from vst.companion.paper.tables import DATASETS, TABLES, printed

VST, VSGBM = ("vst-const", "vst-linear"), ("vsgbm-const", "vsgbm-linear")
ONE_TREE = ("deep-ensemble", "xbart-1", "sglb-1", "xgboost-1")
MANY_TREES = ("deep-ensemble", "xbart", "sglb", "xgboost")

#: The column of our results for each of the paper's tables.
COLUMNS = {"log_likelihood": "log_likelihood", "rmse": "rmse", "ood_auroc": "auroc"}

#: Decides a claim from scores: one row per cell, with model, dataset, mean and error.
Rule = Callable[[pd.DataFrame], Judgement]

_NOTHING = "scores are missing"


def printed_scores(table: str) -> pd.DataFrame:
    """The paper's numbers in the form that rules use: a bandit counts as a data set."""
    return printed(table).rename(columns={"bandit": "dataset"})


def our_scores(results: pd.DataFrame, table: str) -> pd.DataFrame:
    """Our scores in the paper's columns, where a part stands in for a missing data set."""
    scores = scores_of(results, COLUMNS[table])
    columns = scores["dataset"].map(column_of)
    stands_in = (columns != scores["dataset"]) & columns.isin(set(scores["dataset"]))
    return scores.assign(dataset=columns)[columns.isin(DATASETS) & ~stands_in]


class Counts(NamedTuple):
    """On how many data sets one side is better, equal or worse."""

    better: int
    equal: int
    worse: int

    @property
    def total(self) -> int:
        """Number of data sets on which both sides have scores."""
        return sum(self)

    def text(self) -> str:
        """In words."""
        return f"better {self.better}, equal {self.equal}, worse {self.worse} of {self.total}"


def count(
    scores: pd.DataFrame, table: str, ours: Sequence[str], rivals: Sequence[str]
) -> Counts | None:
    """Compare two sides on the data sets where all their models in the paper's table have scores."""
    printed_models = set(printed(table)["model"])
    models = [m for m in (*ours, *rivals) if m in printed_models]
    competing = scores[scores["model"].isin(models)].dropna(subset=["mean"])
    full = competing.groupby("dataset")["model"].nunique() == len(models)
    competing = competing[competing["dataset"].isin(full.index[full])]
    if competing.empty:
        return None
    higher = bool(TABLES[table].higher_is_better)
    found = outcomes(competing, ours, rivals, higher_is_better=higher).value_counts()
    return Counts(*(int(found.get(kind, 0)) for kind in Counts._fields))


def duel(
    table: str, ours: Sequence[str], rivals: Sequence[str], *, better: int, at_least_equal: int
) -> Rule:
    """A rule for "better on x of ten data sets, and at least equal on y"."""

    def judge(scores: pd.DataFrame) -> Judgement:
        counts = count(scores, table, ours, rivals)
        if counts is None or counts.total < len(DATASETS):
            return _not_all(counts)
        holds = counts.better >= better and counts.better + counts.equal >= at_least_equal
        return decided(counts.text(), holds=holds, partly=counts.better > counts.worse)

    return judge


def favourable(table: str, ours: Sequence[str], rivals: Sequence[str]) -> Rule:
    """A rule for "compares favourably": better more often than worse."""

    def judge(scores: pd.DataFrame) -> Judgement:
        counts = count(scores, table, ours, rivals)
        if counts is None or counts.total < len(DATASETS):
            return _not_all(counts)
        holds, partly = counts.better > counts.worse, counts.better == counts.worse
        return decided(counts.text(), holds=holds, partly=partly)

    return judge


def _not_all(counts: Counts | None) -> Judgement:
    """Undecided, since only some data sets have scores."""
    return undecided(counts.text() if counts else "", _NOTHING)


def on_sets(
    table: str,
    ours: Sequence[str],
    rivals: Sequence[str],
    expected: dict[str, Literal["better", "equal", "worse"]],
) -> Rule:
    """A rule for claims about named data sets."""

    def judge(scores: pd.DataFrame) -> Judgement:
        found = {}
        for dataset in expected:
            counts = count(scores[scores["dataset"] == dataset], table, ours, rivals)
            if counts is not None:
                found[dataset] = next(k for k in Counts._fields if getattr(counts, k))
        text = ", ".join(f"{name} {outcome}" for name, outcome in found.items())
        if len(found) < len(expected):
            return undecided(text, _NOTHING)
        hits = sum(outcome == expected[name] for name, outcome in found.items())
        return decided(text, holds=hits == len(found), partly=2 * hits >= len(found))

    return judge
