"""Rules for table 3 and figure 4: the regret of the paper's agents on its bandits."""

from collections.abc import Sequence

import pandas as pd

from vst.companion.paper.claims.claim import Judgement, decided, undecided
from vst.companion.paper.claims.tables import Rule, printed_scores

#: Regret of at least this share of the random policy's is comparable to it.
COMPARABLE = 0.8

#: Regret per step below this share of the random policy's is near zero.
NEAR_ZERO = 0.05

#: The end of a run, as a share of its steps.
END = 0.1

_ORDINALS = ("first", "second", "third", "fourth")
_NOTHING = "regret is missing"


def mean_regrets(runs: pd.DataFrame) -> pd.DataFrame:
    """Our mean regret over seeds, in the form of the paper's table."""
    means = runs.groupby(["model", "dataset"], sort=False)["regret"].mean()
    return means.rename("mean").reset_index()


def ranked(ours: str, rivals: Sequence[str], expected: dict[str, int]) -> Rule:
    """A rule for an agent's place among some agents, by regret, on named bandits."""

    def judge(scores: pd.DataFrame) -> Judgement:
        places, rows = {}, {}
        printed = printed_scores("bandit_regret")
        for bandit in expected:
            # An agent that fails on a bandit in the paper's table does not compete there.
            there = [rival for rival in rivals if rival in _regrets(printed, bandit)]
            means = _regrets(scores, bandit)
            if {ours, *there} <= set(means):
                places[bandit] = 1 + sum(means[rival] < means[ours] for rival in there)
                rows[bandit] = f"{bandit} {_ORDINALS[places[bandit] - 1]} of {len(there) + 1}"
        text = ", ".join(rows.values())
        if len(places) < len(expected):
            return undecided(text, _NOTHING)
        hits = sum(place <= expected[bandit] for bandit, place in places.items())
        return decided(text, holds=hits == len(places), partly=hits > 0)

    return judge


def comparable_to_random(agents: Sequence[str], bandit: str) -> Rule:
    """A rule for agents that do little better than the random policy."""

    def judge(scores: pd.DataFrame) -> Judgement:
        means = _regrets(scores, bandit)
        shares = {a: means[a] / means["random"] for a in agents if {a, "random"} <= set(means)}
        text = ", ".join(
            f"{agent.upper()} {share:.0%} of random" for agent, share in shares.items()
        )
        if len(shares) < len(agents):
            return undecided(text, _NOTHING)
        hits = sum(share >= COMPARABLE for share in shares.values())
        return decided(text, holds=hits == len(shares), partly=hits > 0)

    return judge


def near_zero_at_the_end(runs: pd.DataFrame, histories: pd.DataFrame) -> Judgement:
    """Figure 4: VST's regret per step at the end of the financial bandit."""
    share = end_share(runs, histories, "vst", "financial")
    if share is None:
        return undecided()
    return decided(f"{share:.1%} of the random policy's", holds=share < NEAR_ZERO, partly=False)


def end_share(runs: pd.DataFrame, histories: pd.DataFrame, agent: str, bandit: str) -> float | None:
    """Mean regret at the end of an agent's runs, as a share of the random policy's.

    None if no run has a history.
    """
    shares = []
    by_key = dict(iter(histories.groupby("key")))
    chosen = runs[(runs["model"] == agent) & (runs["dataset"] == bandit)]
    for row in chosen[chosen["key"].isin(by_key)].to_dict("records"):
        history = by_key[row["key"]].set_index("step")["regret"]
        start = history.index[history.index <= (1 - END) * row["steps"]].max()
        late = (history[row["steps"]] - history[start]) / (row["steps"] - start)
        shares.append(late / (row["random_regret"] / row["steps"]))
    return float(sum(shares) / len(shares)) if shares else None


def _regrets(scores: pd.DataFrame, bandit: str) -> dict[str, float]:
    part = scores[scores["dataset"] == bandit].dropna(subset=["mean"])
    return dict(zip(part["model"], part["mean"], strict=True))
