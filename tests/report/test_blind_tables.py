"""The tables of the blind replication, on made-up scores."""

import pandas as pd
import pytest
from bs4 import BeautifulSoup

from vst.companion.experiments import BLIND, Obtained, freeze
from vst.companion.paper.replication import decide_again, ranks
from vst.companion.report import blind

SCORES = ["log_likelihood", "rmse", "crps"]


def results(models=("vst-cv", "sglb", "xgboost"), datasets=("boston", "wine"), folds=(1, 2)):
    rows = [
        {
            "dataset": dataset, "model": model, "fold": fold,
            "log_likelihood": None if model == "xgboost" else -float(i) - 0.1 * fold,
            "rmse": 0.3 + 0.1 * i, "crps": 0.2 + 0.1 * i, "coverage": 0.9 - 0.1 * i, "width": 1.0 + i,
            "auroc": 0.5, "seconds": 1.0,
        }
        for dataset in datasets for i, model in enumerate(models) for fold in folds
    ]  # fmt: skip
    return pd.DataFrame(
        rows, columns=["dataset", "model", "fold", *SCORES, "coverage", "width", "auroc", "seconds"]
    )


def obtained(frame, missing):
    return Obtained(frame, {}, ["boston"], ["vst-cv"], missing, [])


def test_a_run_that_has_not_ended_says_so():
    text = blind.progress(obtained(results(), 3), results()).text
    assert "has not ended" in text
    assert "12 of 15 fits" in text
    assert "not ended" not in blind.progress(obtained(results(), 0), results()).text


def test_the_page_names_the_commit_that_fixed_it(monkeypatch):
    monkeypatch.setattr(freeze, "COMMIT", "abc123")
    assert "`abc123`" in blind.progress(obtained(results(), 0), results()).text


def test_the_best_mean_of_each_data_set_is_bold():
    table = BeautifulSoup(blind.score_table(results(), "log_likelihood").text, "html.parser")
    heads = [head.get_text() for head in table.select("thead th")]
    assert heads == ["Model", "boston", "wine"]
    rows = {row.th.get_text(): row for row in table.select("tbody tr")}
    assert rows["VST (CV)"].b.get_text() == "\N{MINUS SIGN}0.150"
    assert rows["SGLB"].b is None
    assert "XGBoost" not in rows


def test_the_answer_names_the_best_model_and_those_beside_it():
    found = results()
    text = blind.answer(ranks(found, "log_likelihood"), decide_again(found, found)).text
    assert "VST (CV) has the best mean rank, 1.0 of 2 models over 2 data sets" in text
    assert "No claim is decided yet" in text
    swapped = found.assign(log_likelihood=-found["log_likelihood"])
    assert "SGLB has the best" in blind.answer(ranks(swapped, "log_likelihood"), []).text


def test_few_data_sets_tell_no_models_apart():
    """Two data sets, and the ranks of two models, could never differ by the critical difference."""
    ranked = ranks(results(), "log_likelihood")
    assert not blind.can_differ(ranked)
    assert "cannot tell models apart" in blind.answer(ranked, []).text
    many = ranks(results(datasets=[f"set {i}" for i in range(20)]), "log_likelihood")
    assert blind.can_differ(many)
    assert "behind by more than the critical difference" in blind.answer(many, []).text


def test_models_that_share_the_first_place_are_all_named():
    found = results()
    found.loc[found["dataset"] == "wine", "log_likelihood"] *= -1
    text = blind.answer(ranks(found, "log_likelihood"), []).text
    assert "VST (CV) and SGLB have the best mean rank, 1.5 of 2" in text


def test_a_single_split_settles_nothing():
    assert blind.settled(results(folds=(1,)), 1).empty
    assert len(blind.settled(results(folds=(1, 2)), 2)) == len(results())
    assert blind.settled(results(folds=(1, 2)), 5).empty


def test_a_model_without_a_finite_score_is_named():
    found = results()
    assert blind.missing_note(found).text == ""  # XGBoost has no density
    found.loc[(found["model"] == "sglb") & (found["dataset"] == "wine"), "log_likelihood"] = None
    assert "SGLB on wine" in blind.missing_note(found).text


def test_intervals_show_the_data_set_where_they_hold_least():
    found = results()
    found.loc[(found["model"] == "sglb") & (found["dataset"] == "wine"), "coverage"] = 0.5
    row = blind.interval_table(found).frame.set_index("model").loc["SGLB"]
    assert row["lowest of a data set"] == "50.0%"
    assert row["targets inside"] == "65.0%"


def test_the_picture_orders_models_by_rank():
    ranked = [ranks(results(), score) for score in SCORES]
    figure = blind.rank_figure(ranked, SCORES)
    labels = [tick.get_text() for tick in figure.axes[1].get_yticklabels()]
    assert labels == ["VST (CV)", "SGLB", "XGBoost"]
    assert "VST (CV): mean rank 1.00" in blind.rank_picture(ranked, SCORES).text


def test_every_claim_has_a_row():
    found = results()
    frame = blind.claims_table(decide_again(found, found)).frame
    assert set(frame["robust"]) == {"not decided yet"}
    assert frame["the paper says"].is_unique


@pytest.mark.filterwarnings("error")
def test_without_results_the_chapter_says_how_to_get_them():
    nothing = results().iloc[:0]
    ranked = [ranks(nothing, score) for score in SCORES]
    assert "vst run blind" in blind.answer(ranked[0], []).text
    assert "vst run blind" in blind.rank_picture(ranked, SCORES).text
    assert "vst run blind" in blind.score_table(nothing, "rmse").text
    assert "too few data sets" in blind.rank_note(ranked, SCORES).text


def test_the_experiment_keeps_the_scores_that_the_tables_need():
    assert {*SCORES, "coverage", "width", "auroc", "fold"} <= set(BLIND.scores)
