import numpy as np
import pandas as pd
import pytest

from vst.companion.paper import printed
from vst.companion.report.scores import (
    Score,
    best,
    compare,
    compared,
    reached,
    score_table,
    scores_of,
)


def fits(values, model="vst-linear", dataset="power", column="log_likelihood"):
    return pd.DataFrame(
        {"model": model, "dataset": dataset, "fold": range(len(values)), column: values}
    )


def test_scores_are_means_and_sample_deviations_over_folds():
    frame = scores_of(
        pd.concat([fits([1.0, 2.0, 4.0]), fits([np.nan], "xgboost")]), "log_likelihood"
    )
    assert frame["model"].tolist() == ["vst-linear"]
    assert frame["mean"].item() == pytest.approx(7 / 3)
    assert frame["error"].item() == pytest.approx(np.std([1, 2, 4], ddof=1))
    assert frame["folds"].item() == 3


@pytest.mark.parametrize(
    ("ours", "higher", "expected"),
    [(1.0, True, "better"), (1.0, False, "worse"), (0.25, True, "same"), (-1.0, True, "worse")],
)
def test_comparison_with_the_paper_looks_at_both_error_bars(ours, higher, expected):
    assert compare(Score(ours, 0.2), Score(0.0, 0.1), higher_is_better=higher) == expected


def test_a_score_of_one_fold_has_no_error_bar():
    assert Score(0.5, float("nan")).text() == "0.500"
    assert compare(Score(1.0, float("nan")), Score(0.0, 0.1), higher_is_better=True) == "better"


def table_of(frame, datasets, table="log_likelihood"):
    return score_table(scores_of(frame, table), table, datasets)._repr_html_()


def test_the_table_shows_ours_above_the_papers_with_a_sign():
    paper = printed("log_likelihood").set_index(["model", "dataset"])["mean"]
    html = table_of(fits([0.9, 1.1]), ["power"])
    ours = '<b>1.000</b><span class="bar"> ± 0.141</span>'
    theirs = '▲ 0.024<span class="bar"> ± 0.002</span>'
    assert f'<td class="better">{ours}<br><small>{theirs}</small></td>' in html
    assert paper["vst-linear", "power"] == 0.024
    # Rows of the paper that have no fits are there, with a dash.
    assert "XBART (1 tree)" in html
    assert "BART (bartz)" not in html


def test_the_best_of_a_group_is_bold_and_the_groups_are_ruled():
    rows = [fits([0.0, 0.02], "vst-const"), fits([1.0, 1.02]), fits([-1.0, -1.02], "vsgbm-const")]
    html = table_of(pd.concat(rows), ["power"])
    assert "<b>1.010" in html
    assert "<b>−1.010" in html  # noqa: RUF001
    assert "<b>0.010" not in html
    assert html.count("class=rule") == 2


def test_a_part_of_a_data_set_is_not_compared_with_the_whole():
    html = table_of(fits([5.0, 5.1], dataset="song_8k"), ["song_8k"])
    assert "song (8k)" in html
    assert "▲" not in html
    assert '0.579<span class="bar"> ± 0.002</span>' in html


def test_reached_allows_the_printed_error_bar():
    frame = scores_of(
        pd.concat([fits([0.0222] * 2), fits([0.0218] * 2, "vst-linear", "wine")]), "log_likelihood"
    )
    found = reached(frame, "log_likelihood", ["vst-linear"]).set_index("dataset")["reached"]
    assert found.to_dict() == {"power": True, "wine": False}


def test_a_miss_that_the_printed_precision_hides_is_none():
    frame = scores_of(fits([0.0216] * 2), "log_likelihood")  # the paper: 0.024 ± 0.002
    assert reached(frame, "log_likelihood", ["vst-linear"])["reached"].item()


def test_reached_turns_round_for_errors():
    frame = scores_of(fits([9.0, 9.0], column="rmse"), "rmse")
    assert not reached(frame, "rmse", ["vst-linear"])["reached"].item()


def test_the_best_of_all_has_its_equals_beside_it():
    rows = [fits([1.0, 1.2]), fits([1.05, 1.25], "bartz"), fits([0.0, 0.1], "sglb")]
    row = best(scores_of(pd.concat(rows), "log_likelihood"), higher_is_better=True).iloc[0]
    assert row["model"] == "bartz"
    assert row["on par"] == ["vst-linear"]


def test_scores_are_compared_with_the_papers_of_the_same_data():
    ours = printed("log_likelihood").query("model == 'vst-linear'").drop(columns="bold")
    same = compared(ours, "log_likelihood", ["vst-linear"])
    assert set(same) == {"same"}
    assert len(same) == 10
    better = compared(ours.assign(mean=ours["mean"] + 9), "log_likelihood", ["vst-linear"])
    assert set(better) == {"better"}
    assert compared(ours.assign(dataset="song_8k"), "log_likelihood", ["vst-linear"]).empty
