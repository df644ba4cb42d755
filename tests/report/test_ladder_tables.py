import numpy as np
import pandas as pd
import pytest

from vst.companion.experiments.ladder import BESIDE, RUNGS
from vst.companion.report import ladder

#: Log-likelihood of each rung: joint training gains 1, the noise tree loses 0.5, and so on.
SCORES = dict(zip((*RUNGS, *BESIDE), (0.0, 1.0, 0.5, 0.7, 2.0, 0.4), strict=True))
ERRORS = dict(zip((*RUNGS, *BESIDE), (1.0, 0.5, 0.55, 0.5, 0.4, 0.55), strict=True))
TIMES = dict(zip((*RUNGS, *BESIDE), (2.0, 1.0, 1.5, 6.0, 60.0, 3.0), strict=True))
COVERED = dict(zip((*RUNGS, *BESIDE), (0.8, 0.85, 0.91, 0.92, 0.9, 0.91), strict=True))

DATASETS = ["boston", "yacht", "naval"]


@pytest.fixture
def results():
    """Three data sets and two folds that differ by 10; on naval joint training loses 1 instead."""
    rows = []
    for dataset in DATASETS:
        for fold in range(2):
            for rung, score in SCORES.items():
                lost = 2.0 if dataset == "naval" and rung == "joint training" else 0.0
                rows.append(
                    {
                        "dataset": dataset, "fold": fold, "rung": rung,
                        "log_likelihood": score - lost + 10 * fold,
                        "rmse": ERRORS[rung], "seconds": TIMES[rung], "coverage": COVERED[rung],
                    }
                )  # fmt: skip
    return pd.DataFrame(rows)


def by_rung(table):
    return table.frame.set_index("rung")


def test_changes_are_of_folds_that_both_rungs_have(results):
    """Folds differ by 10: a fold that one rung lacks must not count."""
    lacks = (results["rung"] == "joint training") & (results["fold"] == 1)
    found = ladder.changes(results[~lacks], "log_likelihood", "joint training", "Algorithm 1")
    assert found.to_dict() == {"boston": 1.0, "yacht": 1.0, "naval": -1.0}


def test_the_best_rung_of_each_data_set_is_bold(results):
    table = ladder.score_table(results, DATASETS).frame
    assert table["data set"].tolist() == DATASETS
    assert list(table)[1:] == list(RUNGS)
    assert table["stacking"].tolist() == ["**7.000**"] * 3
    assert table["joint training"].tolist() == ["6.000", "6.000", "4.000"]


def test_of_errors_the_smallest_is_bold(results):
    table = ladder.score_table(results, ["yacht"], "rmse").frame
    assert table["stacking"].tolist() == ["**0.400**"]
    assert table["Algorithm 1"].tolist() == ["1.000"]


def test_the_steps_are_compared_with_the_rung_below(results):
    table = by_rung(ladder.step_table(results))
    assert table.loc["Algorithm 1", "log-likelihood"] == ""
    assert table.loc["joint training", ["log-likelihood", "better on"]].tolist() == [
        "+1.000", "2 of 3",
    ]  # fmt: skip
    assert table.loc["joint training", ["RMSE", "smaller on"]].tolist() == ["−50 %", "3 of 3"]  # noqa: RUF001
    assert table.loc["noise tree", ["log-likelihood", "better on"]].tolist() == ["−0.500", "1 of 3"]  # noqa: RUF001
    assert table.loc["noise tree", "coverage of 90%"] == "91%"
    assert table["time"].tolist()[:5] == [
        f"\N{MULTIPLICATION SIGN} {factor}" for factor in ("1", "0.5", "0.75", "3", "30")
    ]


def test_a_side_step_is_compared_with_its_own_rung(results):
    last = ladder.step_table(results).frame.iloc[-1]
    assert last["rung"] == "*rank 5*, beside noise tree"
    assert last["log-likelihood"] == "−0.100"  # noqa: RUF001
    assert last["better on"] == "0 of 3"


def test_the_text_says_where_a_step_does_not_help(results):
    text = ladder.summary(results).text
    assert (
        "**Joint training**, compared with Algorithm 1, raises the log-likelihood by 1.000 (median), "
        "and improves it on 2 of 3 data sets, but not on naval. It cuts the error by 50 % (median). "
        "It takes 0.5 times as long."
    ) in text
    assert (
        "**Noise tree**, compared with joint training, lowers the log-likelihood by 0.500 (median), and "
        "improves it on 1 of 3 data sets, but not on boston, yacht. It raises the error by 10 %"
    ) in text


def test_the_text_sums_up_the_whole_ladder(results):
    text = ladder.summary(results).text
    assert "from Algorithm 1 to stacking, gains 2.000 (median), and takes 30 times as long" in text
    assert "The top rung is the best on 3 of 3 data sets" in text
    worse = results.assign(
        log_likelihood=results["log_likelihood"] - 5.0 * (results["rung"] == "stacking")
    )
    text = ladder.summary(worse).text
    assert "from Algorithm 1 to stacking, loses 3.000" in text
    assert "The top rung is the best on 0 of 3 data sets" in text


def test_the_side_step_is_never_the_best_rung(results):
    best = results.assign(
        log_likelihood=results["log_likelihood"] + 50.0 * (results["rung"] == "rank 5")
    )
    assert "The top rung is the best on 3 of 3 data sets" in ladder.summary(best).text


def test_the_answer_names_the_step_that_buys_most(results):
    text = ladder.answer(results).text
    assert "**stacking** buys most, 1.300 nats per row" in text
    assert "beat Algorithm 1 on **3 of 3 data sets** and take 30 times as long" in text


def test_the_answer_can_be_that_nothing_helps(results):
    order = {name: -float(i) for i, name in enumerate(SCORES)}
    worse = results.assign(log_likelihood=results["rung"].map(order))
    text = ladder.answer(worse).text
    assert "**no step** raises the median log-likelihood" in text
    assert "on **0 of 3 data sets**" in text


def test_one_data_set_is_one(results):
    assert "1 of 1 data set." in ladder.summary(results[results["dataset"] == "yacht"]).text


def test_the_figure_has_a_row_per_data_set_and_a_mark_per_rung(results):
    figure = ladder.rungs(results, DATASETS)
    [axis] = figure.axes
    assert [label.get_text() for label in axis.get_yticklabels()] == DATASETS
    marks = {line.get_label(): line for line in axis.lines if line.get_marker() not in ("None", "")}
    assert list(marks) == list(RUNGS)[1:]
    np.testing.assert_allclose(marks["joint training"].get_xdata(), [1, 1, -1])
    assert len({(line.get_marker(), line.get_color()) for line in marks.values()}) == len(marks)
    assert len({line.get_marker() for line in marks.values()}) == len(marks)  # the second cue


def test_rungs_that_are_not_there_yet_are_left_out(results):
    some = results[~results["rung"].isin(["stacking", "rank 5"])]
    assert list(ladder.score_table(some, DATASETS).frame)[1:] == list(RUNGS)[:-1]
    assert "stacking" not in ladder.summary(some).text
    assert ladder.answer(some) == ladder.NOTHING
    without_first = results[results["rung"] != "Algorithm 1"]
    assert "Joint training" not in ladder.summary(without_first).text
    assert ladder.rungs(without_first, DATASETS).axes


def test_a_data_set_that_lacks_a_rung_has_a_gap(results):
    some = results[(results["rung"] != "mixture") | (results["dataset"] != "yacht")]
    assert ladder.score_table(some, DATASETS).frame["mixture"].tolist()[1] == ""


def test_without_results_the_page_says_what_to_run(results):
    none = results[:0]
    for made in (
        ladder.score_table(none, DATASETS),
        ladder.step_table(none),
        ladder.summary(none),
        ladder.answer(none),
    ):
        assert "vst run ladder --profile paper" in made.text
    assert ladder.rungs(none, DATASETS).axes
