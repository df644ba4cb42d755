from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from vst.companion.paper import DATASETS, printed
from vst.companion.paper.claims import CLAIMS, NEAR_ZERO, WORDS, slopes, verdicts
from vst.companion.paper.claims.bandits import (
    comparable_to_random,
    end_share,
    near_zero_at_the_end,
    ranked,
)
from vst.companion.paper.claims.rank import generally_helps
from vst.companion.paper.claims.tables import (
    COLUMNS,
    Counts,
    count,
    duel,
    favourable,
    on_sets,
    our_scores,
    printed_scores,
)
from vst.companion.paper.claims.timing import slower_on_few_rows
from vst.companion.paper.evidence import Evidence, gather

BOOK = Path(__file__).parents[1] / "book"
BY_ID = {claim.id: claim for claim in CLAIMS}

#: What each chapter shows, and so what its claims may be decided by.
PARTS = {
    "regression": {"regression"},
    "ood": {"regression"},
    "rank": {"rank"},
    "bandits": {"runs", "histories"},
    "uncertainty": {"pictures"},
}


def test_every_claim_has_a_name_of_its_own():
    assert len(BY_ID) == len(CLAIMS) == 36
    assert len({claim.says for claim in CLAIMS}) == len(CLAIMS)


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.id)
def test_a_claim_is_decided_by_the_evidence_of_its_chapter(claim):
    assert (BOOK / f"{claim.chapter}.ipynb").is_file()
    assert set(claim.needs) <= PARTS[claim.chapter]


def test_a_chapter_has_the_verdicts_of_its_claims():
    assert [v.claim.id for v in verdicts(Evidence(), "ood")] == ["vst-ood", "vsgbm-ood"]
    by_chapter = [v.claim for chapter in PARTS for v in verdicts(Evidence(), chapter)]
    assert sorted(c.id for c in by_chapter) == sorted(BY_ID)


def test_without_evidence_nothing_is_decided():
    assert {verdict.word for verdict in verdicts(Evidence())} == {"not testable here"}


def test_the_published_results_decide_every_claim():
    evidence = gather("paper")
    found = verdicts(evidence)
    assert {verdict.word for verdict in found} <= set(WORDS.values()) - {"not testable here"}
    for chapter, parts in PARTS.items():
        alone = evidence._replace(**dict.fromkeys(set(Evidence._fields) - parts))
        here = [verdict for verdict in found if verdict.claim.chapter == chapter]
        assert verdicts(alone, chapter) == here


def test_the_rules_can_decide_the_papers_own_numbers():
    for verdict in verdicts(Evidence()):
        if verdict.paper is not None:
            assert verdict.paper.holds in ("holds", "partly", "fails"), verdict.claim.id
            assert verdict.paper.numbers
    unprinted = {claim.id for claim in CLAIMS if claim.printed is None}
    assert {"rank-auroc", "bandits-financial-end", "time-small-data", "tails-spread"} <= unprinted
    assert not {"vst-likelihood", "bandits-second", "wavelet-boosting"} & unprinted


@pytest.mark.parametrize(
    ("claim", "numbers"),
    [
        ("vst-likelihood", "better 7, equal 1, worse 2 of 10"),
        ("vst-rmse", "better 3, equal 3, worse 4 of 10"),
        ("vsgbm-likelihood", "better 7, equal 2, worse 1 of 10"),
        ("bandits-lowest", "financial first of 3, mushroom first of 2"),
    ],
)
def test_the_papers_counts_come_out_of_its_tables(claim, numbers):
    assert BY_ID[claim].printed() == ("holds", numbers)


def as_fits(table, column):
    """Fits whose mean and deviation over folds are the printed ones."""
    frames = []
    for row in printed(table).itertuples():
        spread = np.array([-1.0, 0.0, 1.0]) * row.error
        frames.append(
            pd.DataFrame({"model": row.model, "dataset": row.dataset, column: row.mean + spread})
        )
    return pd.concat(frames, ignore_index=True)


def test_the_papers_own_numbers_as_results_give_its_own_verdicts():
    fits = pd.concat(as_fits(table, column) for table, column in COLUMNS.items())
    regret = printed_scores("bandit_regret").rename(columns={"mean": "regret"})
    evidence = Evidence(regression=fits.assign(seconds=np.nan), runs=regret)
    found = [v for v in verdicts(evidence) if v.paper and v.claim.chapter != "uncertainty"]
    assert len(found) == 20
    for verdict in found:
        assert verdict.here == verdict.paper


def test_a_part_stands_in_the_column_of_a_data_set_that_is_not_there():
    fits = pd.DataFrame({"model": "sglb", "dataset": ["song_8k", "boston", "homes"], "rmse": 1.0})
    assert list(our_scores(fits, "rmse")["dataset"]) == ["song", "boston"]
    both = pd.concat([fits, pd.DataFrame({"model": "sglb", "dataset": ["song"], "rmse": 2.0})])
    scores = our_scores(both, "rmse").set_index("dataset")["mean"]
    assert scores["song"] == 2


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
        ({"vst": 1.0, "xbart": 2.0, "sglb": 3.0}, ("holds", "mushroom first of 2")),
        ({"vst": 2.0, "xbart": 1.0, "sglb": None}, ("fails", "mushroom second of 2")),
        ({"vst": 2.0, "sglb": 3.0}, ("undecided", "regret is missing")),
        ({"vst": 3.0}, ("undecided", "regret is missing")),
    ],
)
def test_a_place_is_counted_among_the_agents_that_have_a_regret(means, expected):
    assert ranked("vst", ("xbart", "sglb"), {"mushroom": 1})(regrets(**means)) == expected


def test_an_agent_is_compared_with_the_random_policy():
    rule = comparable_to_random(("vst", "xbart"), "mushroom")
    assert rule(regrets(random=10.0, vst=9.0, xbart=8.5)).holds == "holds"
    assert rule(regrets(random=10.0, vst=9.0, xbart=1.0)).holds == "partly"
    assert rule(regrets(random=10.0, vst=9.0)) == ("undecided", "so far VST 90% of random")


@pytest.mark.parametrize(("vst", "expected"), [(10, "holds"), (60, "holds"), (99, "fails")])
def test_a_place_or_a_better_one_is_what_was_claimed(vst, expected):
    """One rule: the lowest regret is no less than "second lowest"."""
    rule = ranked("vst", ("sglb", "xbart"), {"mushroom": 2})
    printed_rivals = regrets(vst=vst, sglb=50, xbart=70)
    # SGLB has no number on mushroom in the paper, so that XBART is the only rival there.
    assert rule(printed_rivals).numbers == f"mushroom {'first' if vst < 70 else 'second'} of 2"
    jester = ranked("vst", ("sglb", "xbart"), {"jester": 2})
    assert jester(printed_rivals.assign(dataset="jester")).holds == expected


def run(regrets, steps=100):
    """A run whose regret is written down every ten steps, and its history."""
    run = {
        "key": "a", "model": "vst", "dataset": "financial", "steps": steps, "random_regret": 100.0,
    }  # fmt: skip
    history = [("a", step, regret) for step, regret in regrets.items()]
    return pd.DataFrame([run]), pd.DataFrame(history, columns=["key", "step", "regret"])


def test_instantaneous_regret_is_that_of_the_last_tenth():
    runs, histories = run({80: 50.0, 90: 60.0, 100: 60.2})
    assert end_share(runs, histories, "vst", "financial") == pytest.approx(0.02)
    assert near_zero_at_the_end(runs, histories) == ("holds", "2.0% of the random policy's")
    assert near_zero_at_the_end(runs, histories.iloc[:0]).holds == "undecided"


@pytest.mark.parametrize(("share", "expected"), [(0.8, "holds"), (1.2, "fails")])
def test_near_zero_has_one_limit(share, expected):
    late = 10 * NEAR_ZERO * share
    assert near_zero_at_the_end(*run({90: 60.0, 100: 60.0 + late})).holds == expected


def ablation(**curves):
    """AUROC of both types of leaf on every data set at ranks 1, 2 and 4, in three folds."""
    return pd.DataFrame(
        [
            {"model": model, "dataset": dataset, "rank": rank, "fold": fold,
             "auroc": score + 0.001 * fold, "converged": True}
            for model, dataset in product(["vst-const", "vst-linear"], DATASETS)
            for rank, score in zip((1, 2, 4), curves.get(dataset, curves["others"]), strict=True)
            for fold in range(3)
        ]
    )  # fmt: skip


UP, DOWN = [0.5, 0.6, 0.7], [0.7, 0.6, 0.5]


@pytest.mark.parametrize(
    ("curves", "expected"),
    [
        ({"others": UP}, ("holds", "helps in 20, hurts in 0 of 20")),
        ({"others": UP, "wine": DOWN}, ("partly", "helps in 18, hurts in 2 of 20")),
        ({"others": DOWN, "wine": UP}, ("fails", "helps in 2, hurts in 18 of 20")),
    ],
)
def test_rank_helps_if_it_does_so_in_most_configurations(curves, expected):
    assert generally_helps(ablation(**curves)) == expected


def test_some_configurations_do_not_decide_what_rank_does():
    some = ablation(others=UP)
    some = some[some["dataset"] == "boston"]
    assert generally_helps(some) == ("undecided", "so far helps in 2, hurts in 0 of 2")
    part = ablation(others=UP).replace({"dataset": {"song": "song_8k"}})
    assert generally_helps(part).holds == "holds"


def test_fits_that_did_not_converge_do_not_decide_what_rank_does():
    rows = ablation(others=UP, boston=DOWN, yacht=DOWN, wine=DOWN)
    rows["converged"] = ~rows["dataset"].isin(["boston", "yacht", "wine"])
    assert generally_helps(rows) == ("undecided", "so far helps in 14, hurts in 0 of 14")
    rows["converged"] = ~rows["dataset"].isin(["boston", "yacht"])
    assert generally_helps(rows) == ("partly", "helps in 14, hurts in 2 of 16")


@pytest.mark.parametrize(
    ("scores", "effect"),
    [(UP, "helps"), (DOWN, "hurts"), ([0.6, 0.7, 0.6], "no clear effect")],
)
def test_a_slope_is_what_a_doubling_is_worth(scores, effect):
    row = slopes(ablation(others=scores)).iloc[0]
    assert row["slope"] == pytest.approx((scores[-1] - scores[0]) / 2)
    assert row["effect"] == effect


def seconds(soft, boosted, datasets=DATASETS):
    """Seconds of all models, the same on every data set; hard trees take between 1 and 3."""
    times = {
        "vst-const": soft, "vst-linear": 10.0, "xbart-1": 1.0, "sglb-1": 3.0, "xgboost-1": 0.1,
        "vsgbm-const": boosted, "vsgbm-linear": 10.0, "xbart": 1.0, "sglb": 3.0, "xgboost": 0.1,
    }  # fmt: skip
    rows = [(d, model, value) for d in datasets for model, value in times.items()]
    return pd.DataFrame(rows, columns=["dataset", "model", "seconds"])


@pytest.mark.parametrize(
    ("soft", "boosted", "expected"),
    [
        (9.0, 9.0, ("holds", "VST on 7 of 7, VSGBM on 7 of 7")),
        (9.0, 2.0, ("partly", "VST on 7 of 7, VSGBM on 0 of 7")),
        (2.0, 2.0, ("fails", "VST on 0 of 7, VSGBM on 0 of 7")),
    ],
)
def test_soft_trees_are_slower_if_they_take_longer_than_all_on_small_data(soft, boosted, expected):
    assert slower_on_few_rows(seconds(soft, boosted)) == expected


def test_one_data_set_does_not_decide_who_is_slower():
    found = slower_on_few_rows(seconds(9.0, 9.0, ["boston", "protein"]))
    assert found == ("undecided", "so far VST on 1 of 1, VSGBM on 1 of 1")
