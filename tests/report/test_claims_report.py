import numpy as np
import pandas as pd
import pytest

from vst.companion.paper import printed
from vst.companion.paper.claims import printed_scores
from vst.companion.report import claims


def as_fits(table, column):
    """Fits whose mean and deviation over folds are the printed ones."""
    rows = printed(table)
    frames = []
    for row in rows.itertuples():
        spread = np.array([-1.0, 0.0, 1.0]) * row.error
        frames.append(
            pd.DataFrame({"model": row.model, "dataset": row.dataset, column: row.mean + spread})
        )
    return pd.concat(frames, ignore_index=True)


def all_fits():
    parts = (as_fits(table, column) for table, column in claims.COLUMNS.items())
    return pd.concat(parts, ignore_index=True)


def all_scores(fits):
    return {**claims.regression_scores(fits), "bandit_regret": printed_scores("bandit_regret")}


def test_the_papers_own_numbers_as_results_give_its_own_verdicts():
    found = claims.judged(all_scores(all_fits()))
    for claim in found.to_dict("records"):
        paper, _, numbers = claim["in the paper's table"].partition(": ")
        assert claim["verdict"] == claims.VERDICTS[paper]
        assert claim["here"] == numbers


def test_without_results_nothing_is_decided():
    none = {table: scores.iloc[:0] for table, scores in all_scores(all_fits()).items()}
    found = claims.judged(none)
    assert set(found["verdict"]) == {"not testable here"}
    assert f"<b>{len(found)}</b> not testable here" in claims.scoreboard(found).text


def test_the_tables_have_a_row_per_claim_and_contradiction():
    found = claims.judged(all_scores(all_fits()))
    assert len(claims.table(found)._repr_markdown_().splitlines()) == len(found) + 2
    assert "-0.462" in claims.inconsistencies()._repr_markdown_()


def run(regrets, steps=100):
    """A run whose regret is written down every ten steps, and its history."""
    runs = pd.DataFrame(
        [
            {
                "key": "a",
                "model": "vst",
                "dataset": "financial",
                "steps": steps,
                "random_regret": 100.0,
            }
        ]
    )
    history = [("a", step, regret) for step, regret in regrets.items()]
    return pd.DataFrame(history, columns=["key", "step", "regret"]), runs


def test_instantaneous_regret_is_that_of_the_last_tenth():
    histories, runs = run({80: 50.0, 90: 60.0, 100: 60.2})
    assert claims.final_share(histories, runs, "vst", "financial") == pytest.approx(0.02)
    [row] = claims.about_instantaneous_regret(histories, runs).to_dict("records")
    assert row["verdict"] == "reproduced"
    [row] = claims.about_instantaneous_regret(histories, runs.iloc[:0]).to_dict("records")
    assert row["verdict"] == "not testable here"


@pytest.mark.parametrize(
    ("soft", "verdict"), [(9.0, "reproduced"), (2.0, "not reproduced"), (None, "not testable here")]
)
def test_soft_trees_are_slower_if_they_take_longer_than_all(soft, verdict):
    peers = {"xbart-1": 1.0, "sglb-1": 3.0, "xgboost-1": 0.1}
    seconds = {"vst-const": soft, "vst-linear": 10.0, **peers}
    rows = [("boston", model, value) for model, value in seconds.items() if value is not None]
    results = pd.DataFrame(rows, columns=["dataset", "model", "seconds"])
    [row] = claims.about_time(results, {"boston": 506}).to_dict("records")
    assert row["verdict"] == verdict


def test_captions_keep_the_verdict_of_their_experiment():
    found = pd.DataFrame(
        [{"picture": "step", "says": "it fits", "rule": "r", "measured": "m", "printed": "False",
          "verdict": "partly reproduced"}]
    )  # fmt: skip
    [row] = claims.about_pictures(found).to_dict("records")
    assert (row["where"], row["in the paper's table"]) == ("figure 6", "fails")
    assert row["verdict"] == "partly reproduced"
