import pandas as pd
import pytest

from vst.companion.paper import printed
from vst.companion.paper.claims import (
    CLAIMS,
    Counts,
    comparable_to_random,
    count,
    duel,
    favourable,
    on_sets,
    printed_scores,
    ranked,
)

BY_ID = {claim.id: claim for claim in CLAIMS}


def test_every_claim_can_be_decided_from_the_papers_own_tables():
    for claim in CLAIMS:
        judgement = claim.judge(printed_scores(claim.table))
        assert judgement.holds in ("holds", "partly", "fails"), claim.id
        assert judgement.numbers


@pytest.mark.parametrize(
    ("claim", "numbers"),
    [
        ("vst-likelihood", "better 7, equal 1, worse 2 of 10"),
        ("vst-rmse", "better 3, equal 3, worse 4 of 10"),
        ("vsgbm-likelihood", "better 7, equal 2, worse 1 of 10"),
    ],
)
def test_the_papers_counts_come_out_of_its_tables(claim, numbers):
    judgement = BY_ID[claim].judge(printed(BY_ID[claim].table))
    assert judgement == ("holds", numbers)


def scores(**means):
    """Scores of two models on data sets a, b, c, ... with error bars of 0.1."""
    rows = [
        {"model": model.replace("_", "-"), "dataset": name, "mean": mean, "error": 0.1}
        for model, values in means.items()
        for name, mean in zip("abcdefghij", values, strict=False)
    ]
    return pd.DataFrame(rows)


def test_counts_are_of_data_sets_that_all_have():
    frame = scores(vst_linear=[1.0, 0.0, 0.5, 1.0, 9.0], sglb_1=[0.0, 1.0, 0.45, 0.0])
    assert count(frame, "log_likelihood", ["vst-linear"], ["sglb-1"]) == Counts(2, 1, 1)
    assert count(frame, "rmse", ["vst-linear"], ["sglb-1"]) == Counts(1, 1, 2)
    assert count(frame, "rmse", ["vst-linear"], ["xbart-1"]) is None


def test_a_model_that_the_papers_table_has_not_is_no_rival():
    frame = scores(vst_linear=[1.0], sglb_1=[0.0])
    with_xgboost = ["sglb-1", "xgboost-1"]
    assert count(frame, "log_likelihood", ["vst-linear"], with_xgboost) == Counts(1, 0, 0)
    assert count(frame, "rmse", ["vst-linear"], with_xgboost) is None


@pytest.mark.parametrize(
    ("ours", "expected"),
    [
        ([1.0] * 7 + [0.0] + [-1.0] * 2, "holds"),
        ([1.0] * 6 + [0.0] * 4, "partly"),
        ([1.0] * 7 + [-1.0] * 3, "partly"),
        ([1.0] * 4 + [-1.0] * 6, "fails"),
        ([1.0] * 9, "undecided"),
    ],
)
def test_a_duel_follows_its_rule(ours, expected):
    rule = duel("log_likelihood", ["vst-linear"], ["sglb-1"], better=7, at_least_equal=8)
    assert rule(scores(vst_linear=ours, sglb_1=[0.0] * 10)).holds == expected


@pytest.mark.parametrize(("better", "expected"), [(6, "holds"), (5, "partly"), (4, "fails")])
def test_favourable_is_better_more_often_than_worse(better, expected):
    rule = favourable("log_likelihood", ["vst-linear"], ["sglb-1"])
    ours = [1.0] * better + [-1.0] * (10 - better)
    assert rule(scores(vst_linear=ours, sglb_1=[0.0] * 10)).holds == expected


def test_a_claim_on_named_sets_looks_at_these_only():
    rule = on_sets("rmse", ["vst-linear"], ["sglb-1"], {"a": "better", "b": "worse"})
    frame = scores(vst_linear=[0.0, 1.0, 1.0], sglb_1=[1.0, 0.0, 0.0])
    assert rule(frame) == ("holds", "a better, b worse")
    assert rule(scores(vst_linear=[1.0, 1.0], sglb_1=[0.0, 0.0])).holds == "partly"
    assert rule(frame[frame["dataset"] == "c"]).holds == "undecided"


def regrets(**means):
    rows = [{"model": model, "dataset": "mushroom", "mean": mean} for model, mean in means.items()]
    return pd.DataFrame(rows)


@pytest.mark.parametrize(
    ("means", "expected"),
    [
        ({"vst": 1.0, "xbart": 2.0, "sglb": 3.0}, ("holds", "mushroom first")),
        ({"vst": 2.0, "xbart": 1.0, "sglb": None}, ("fails", "mushroom second")),
        ({"vst": 2.0, "sglb": 3.0}, ("undecided", "no regret of both sides")),
        ({"vst": 3.0}, ("undecided", "no regret of both sides")),
    ],
)
def test_a_place_is_counted_among_the_agents_that_have_a_regret(means, expected):
    assert ranked("vst", ("xbart", "sglb"), {"mushroom": 1})(regrets(**means)) == expected


def test_an_agent_is_compared_with_the_random_policy():
    rule = comparable_to_random(("vst", "xbart"), "mushroom")
    assert rule(regrets(random=10.0, vst=9.0, xbart=8.5)).holds == "holds"
    assert rule(regrets(random=10.0, vst=9.0, xbart=1.0)).holds == "partly"
    assert rule(regrets(random=10.0, vst=9.0)) == ("undecided", "so far VST 90% of random")


def test_the_papers_bandits_stand_as_it_says():
    assert BY_ID["bandits-lowest"].judge(printed_scores("bandit_regret")) == (
        "holds",
        "financial first, mushroom first",
    )
