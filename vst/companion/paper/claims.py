"""What the paper claims of its tables, each with a rule that decides it from a table of scores.

The same rule is applied to the printed numbers and to others, so that a claim can be checked against
the paper's own table before it is checked against ours. A claim *holds* if the count it states is
reached, holds *partly* if it points the right way, and otherwise *fails*. It is undecided as long as a
model or a data set that it is about has no scores.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import pandas as pd

from vst.companion.paper.compare import outcomes
from vst.companion.paper.tables import DATASETS, TABLES, printed

Holds = Literal["holds", "partly", "fails", "undecided"]

VST, VSGBM = ("vst-const", "vst-linear"), ("vsgbm-const", "vsgbm-linear")
ONE_TREE = ("deep-ensemble", "xbart-1", "sglb-1", "xgboost-1")
MANY_TREES = ("deep-ensemble", "xbart", "sglb", "xgboost")


class Judgement(NamedTuple):
    """What a rule found."""

    holds: Holds
    numbers: str


#: Decides a claim from scores: one row a cell, with model, dataset, mean and error.
Rule = Callable[[pd.DataFrame], Judgement]


@dataclass(frozen=True)
class Claim:
    """A statement of the paper that its tables can decide.

    Attributes
    ----------
    id
        A short name.
    where
        The place in the paper.
    says
        The claim, in our words.
    rule
        When it holds, in words.
    table
        The table that decides it, a name in `vst.companion.paper.TABLES`.
    judge
        The rule.
    """

    id: str
    where: str
    says: str
    rule: str
    table: str
    judge: Rule


def printed_scores(table: str) -> pd.DataFrame:
    """The paper's numbers as a rule takes them: a bandit counts as a data set."""
    return printed(table).rename(columns={"bandit": "dataset"})


class Counts(NamedTuple):
    """On how many data sets one side is better, equal or worse."""

    better: int
    equal: int
    worse: int

    @property
    def total(self) -> int:
        """Data sets that both sides have scores of."""
        return sum(self)

    def text(self) -> str:
        """In words."""
        return f"better {self.better}, equal {self.equal}, worse {self.worse} of {self.total}"


def count(
    scores: pd.DataFrame, table: str, ours: Sequence[str], rivals: Sequence[str]
) -> Counts | None:
    """Compare two sides on the data sets on which all of them that the paper's table has have scores."""
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
    """A rule for "better on so many of ten, and at least equal on so many"."""

    def judge(scores: pd.DataFrame) -> Judgement:
        counts = count(scores, table, ours, rivals)
        if counts is None or counts.total < len(DATASETS):
            return _undecided(counts)
        if counts.better >= better and counts.better + counts.equal >= at_least_equal:
            return Judgement("holds", counts.text())
        return Judgement("partly" if counts.better > counts.worse else "fails", counts.text())

    return judge


def favourable(table: str, ours: Sequence[str], rivals: Sequence[str]) -> Rule:
    """A rule for "compares favourably": better more often than worse."""

    def judge(scores: pd.DataFrame) -> Judgement:
        counts = count(scores, table, ours, rivals)
        if counts is None or counts.total < len(DATASETS):
            return _undecided(counts)
        if counts.better > counts.worse:
            return Judgement("holds", counts.text())
        return Judgement("partly" if counts.better == counts.worse else "fails", counts.text())

    return judge


def _undecided(counts: Counts | None) -> Judgement:
    """Some data sets are not a verdict on all of them."""
    return Judgement(
        "undecided", f"so far {counts.text()}" if counts else "no scores of both sides"
    )


def on_sets(
    table: str,
    ours: Sequence[str],
    rivals: Sequence[str],
    expected: dict[str, Literal["better", "equal", "worse"]],
) -> Rule:
    """A rule for what is said of data sets by name."""

    def judge(scores: pd.DataFrame) -> Judgement:
        found = {}
        for dataset in expected:
            counts = count(scores[scores["dataset"] == dataset], table, ours, rivals)
            if counts is not None:
                found[dataset] = next(k for k in Counts._fields if getattr(counts, k))
        text = ", ".join(f"{name} {outcome}" for name, outcome in found.items())
        if len(found) < len(expected):
            return Judgement("undecided", f"so far {text}" if text else "no scores of both sides")
        hits = [name for name, outcome in found.items() if outcome == expected[name]]
        if len(hits) == len(found):
            return Judgement("holds", text)
        return Judgement("partly" if 2 * len(hits) >= len(found) else "fails", text)

    return judge


def ranked(ours: str, rivals: Sequence[str], expected: dict[str, int]) -> Rule:
    """A rule for the place of an agent's regret among some agents' on bandits by name."""
    table = "bandit_regret"

    def judge(scores: pd.DataFrame) -> Judgement:
        places = {}
        for bandit in expected:
            # An agent that fails on a bandit in the paper's table is no rival there.
            there = [rival for rival in rivals if rival in _regrets(printed_scores(table), bandit)]
            means = _regrets(scores, bandit)
            if {ours, *there} <= set(means):
                places[bandit] = 1 + sum(means[rival] < means[ours] for rival in there)
        text = ", ".join(f"{bandit} {_ORDINALS[place - 1]}" for bandit, place in places.items())
        if len(places) < len(expected):
            return Judgement("undecided", f"so far {text}" if text else "no regret of both sides")
        hits = sum(place <= expected[bandit] for bandit, place in places.items())
        if hits == len(places):
            return Judgement("holds", text)
        return Judgement("partly" if hits else "fails", text)

    return judge


def _regrets(scores: pd.DataFrame, bandit: str) -> dict[str, float]:
    part = scores[scores["dataset"] == bandit].dropna(subset=["mean"])
    return dict(zip(part["model"], part["mean"], strict=True))


_ORDINALS = ("first", "second", "third", "fourth")

#: Regret of at least this share of the random policy's is comparable to it.
COMPARABLE = 0.8


def comparable_to_random(agents: Sequence[str], bandit: str) -> Rule:
    """A rule for agents that do little better than the random policy."""

    def judge(scores: pd.DataFrame) -> Judgement:
        means = scores[scores["dataset"] == bandit].set_index("model")["mean"].dropna()
        shares = {
            a: means[a] / means["random"] for a in agents if {a, "random"} <= set(means.index)
        }
        text = ", ".join(
            f"{agent.upper()} {share:.0%} of random" for agent, share in shares.items()
        )
        if len(shares) < len(agents):
            return Judgement("undecided", f"so far {text}" if text else "no regret of both sides")
        hits = sum(share >= COMPARABLE for share in shares.values())
        if hits == len(shares):
            return Judgement("holds", text)
        return Judgement("partly" if hits else "fails", text)

    return judge


def _duel(
    name: str,
    where: str,
    says: str,
    table: str,
    ours: Sequence[str],
    rivals: Sequence[str],
    better: int,
    at_least_equal: int,
) -> Claim:
    rule = (
        f"better on at least {better} of the ten data sets, and better or equal on at least "
        f"{at_least_equal}; partly if better more often than worse"
    )
    judge = duel(table, ours, rivals, better=better, at_least_equal=at_least_equal)
    return Claim(name, where, says, rule, table, judge)


CLAIMS: tuple[Claim, ...] = (
    _duel(
        "vst-likelihood", "section 5.1, table 1",
        "VST has a better log-likelihood than its peers on 7 of 10 data sets, and an equal one on 1",
        "log_likelihood", VST, ONE_TREE, 7, 8,
    ),
    _duel(
        "vst-rmse", "section 5.1, table 6",
        "VST has a lower error than its peers on 3 of 10 data sets, and an equal one on 3",
        "rmse", VST, ONE_TREE, 3, 6,
    ),
    _duel(
        "vst-linear-likelihood", "section 5.1",
        "VST with linear leaves has a better log-likelihood than with constant ones on 8 of 10",
        "log_likelihood", ["vst-linear"], ["vst-const"], 8, 8,
    ),
    _duel(
        "vst-linear-rmse", "section 5.1",
        "VST with linear leaves has a lower error than with constant ones on 5 of 10",
        "rmse", ["vst-linear"], ["vst-const"], 5, 5,
    ),
    Claim(
        "vst-small-data", "section 5.1",
        "VST is less competitive on the small data sets boston and yacht",
        "worse than the best peer on both; partly if on one",
        "log_likelihood",
        on_sets("log_likelihood", VST, ONE_TREE, {"boston": "worse", "yacht": "worse"}),
    ),
    _duel(
        "vsgbm-likelihood", "section 5.1, table 1",
        "VSGBM has the best log-likelihood on 7 of 10 data sets, and is on par on 2",
        "log_likelihood", VSGBM, MANY_TREES, 7, 9,
    ),
    Claim(
        "vsgbm-sets", "section 5.1",
        "VSGBM is on par with its peers on power and boston, and worse on yacht",
        "these three outcomes; partly if most of them",
        "log_likelihood",
        on_sets(
            "log_likelihood", VSGBM, MANY_TREES,
            {"power": "equal", "boston": "equal", "yacht": "worse"},
        ),
    ),
    _duel(
        "xgboost-rmse", "section 5.1 and supplement",
        "XGBoost has a lower error than VSGBM on all but three data sets, and an equal one on 2",
        "rmse", ["xgboost"], VSGBM, 7, 9,
    ),
    _duel(
        "vsgbm-deep-ensemble", "section 5.1 and supplement",
        "VSGBM has a lower error than the deep ensemble on every data set",
        "rmse", VSGBM, ["deep-ensemble"], 10, 10,
    ),
    Claim(
        "vsgbm-sglb", "section 5.1 and supplement",
        "VSGBM's error compares favourably with SGLB's",
        "better on more data sets than worse; partly if on as many",
        "rmse", favourable("rmse", VSGBM, ["sglb"]),
    ),
    Claim(
        "vsgbm-xbart", "section 5.1 and supplement",
        "VSGBM's error compares favourably with XBART's",
        "better on more data sets than worse; partly if on as many",
        "rmse", favourable("rmse", VSGBM, ["xbart"]),
    ),
    _duel(
        "vsgbm-linear-likelihood", "section 5.1",
        "VSGBM with linear leaves has a better log-likelihood than with constant ones on 4 of 10, "
        "and an equal one on 5",
        "log_likelihood", ["vsgbm-linear"], ["vsgbm-const"], 4, 9,
    ),
    _duel(
        "vsgbm-linear-rmse", "section 5.1",
        "VSGBM with linear leaves has a lower error than with constant ones on 3 of 10, and an equal "
        "one on 6",
        "rmse", ["vsgbm-linear"], ["vsgbm-const"], 3, 9,
    ),
    _duel(
        "boosting-rmse", "section 5.1 and supplement",
        "VSGBM has a lower error than VST on 8 of 10 data sets, and an equal one on the other 2",
        "rmse", VSGBM, VST, 8, 10,
    ),
    _duel(
        "boosting-likelihood", "section 5.1",
        "VST has a better log-likelihood than VSGBM on 5 of 10 data sets, and an equal one on 2",
        "log_likelihood", VST, VSGBM, 5, 7,
    ),
    _duel(
        "vst-ood", "section 5.2, table 2",
        "VST detects OOD rows better than its peers on 6 of 10 data sets, and as well on the others",
        "ood_auroc", VST, ONE_TREE, 6, 10,
    ),
    _duel(
        "vsgbm-ood", "section 5.2, table 2",
        "VSGBM detects OOD rows best on 5 of 10 data sets, and as well as the best on 2",
        "ood_auroc", VSGBM, MANY_TREES, 5, 7,
    ),
    Claim(
        "bandits-lowest", "section 5.3, table 3",
        "VST has the lowest cumulative regret on the financial and the mushroom bandit",
        "first of the paper's three agents on both; partly if on one",
        "bandit_regret",
        ranked("vst", ("xbart", "sglb"), {"financial": 1, "mushroom": 1}),
    ),
    Claim(
        "bandits-second", "section 5.3, table 3",
        "VST has the second lowest regret on the exploration and the jester bandit",
        "first or second of the paper's three agents on both; partly if on one",
        "bandit_regret",
        ranked("vst", ("xbart", "sglb"), {"exploration": 2, "jester": 2}),
    ),
    Claim(
        "bandits-jester", "section 5.3",
        "All three agents are comparable to the random policy on jester",
        f"each has at least {COMPARABLE:.0%} of its regret; partly if some have",
        "bandit_regret",
        comparable_to_random(("vst", "xbart", "sglb"), "jester"),
    ),
)  # fmt: skip
