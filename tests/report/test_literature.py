"""Our models and peers beside printed numbers."""

import numpy as np
import pandas as pd
import pytest

from vst.companion.experiments.literature import DATASETS, MODELS
from vst.companion.report import literature
from vst.datasets import load_dataset


def results(model="stopped-ensemble", **scores):
    return pd.DataFrame(
        [
            {
                "model": model, "dataset": name, "fold": fold, "log_likelihood": value + move,
                "rmse": 1.0, "coverage": 0.9,
            }
            for name, value in scores.items()
            for fold, move in enumerate((-0.1, 0.1))
        ]
    )  # fmt: skip


def test_printed_numbers_are_converted_to_standardised_units():
    y = load_dataset("yacht").y.to_numpy(float)
    assert literature.standardised("NGBoost", "yacht") == pytest.approx(-0.20 + np.log(y.std()))


def test_every_method_has_every_data_set_and_a_reference():
    """But naval, of which publications predict one or the other target."""
    frame = literature.printed_elsewhere()
    assert set(frame["dataset"]) == set(DATASETS) - {"naval"}
    assert not frame.duplicated(["method", "dataset"]).any()
    assert len(frame) == (len(DATASETS) - 1) * len(literature.methods())
    with open("book/references.bib", encoding="utf-8") as file:
        text = file.read()
    assert all(f"{{{source}," in text for source in set(frame["source"]))


def test_peers_stand_beside_the_same_method():
    frame = literature.peers_table(results(yacht=2.5)).frame.set_index("data set")
    assert frame.loc["yacht", "Deep ensemble, printed"] == "1.54"
    assert frame.loc["yacht", "Ensemble of ten, printed"] == "1.99"
    assert frame.loc["yacht", "Stopped ensemble, here"] == "2.50"
    assert set(literature.peers()) == {"Deep ensemble", "Ensemble of ten", "NGBoost"}


def test_the_summary_of_peers_follows_the_scores():
    better = literature.peers_summary(results(yacht=2.5, energy=1.8)).text
    worse = literature.peers_summary(results(yacht=1.5, energy=1.8)).text
    begins = "**Stopped ensemble** reaches the best number printed for its method on"
    assert better == f"{begins} 2 of 2 data sets."
    assert worse == f"{begins} 1 of 2 data sets, and is below on yacht by 0.49."


def test_the_tree_with_four_members_has_a_name_of_its_own():
    assert (
        "VST (mixture) on **1** of 1"
        in literature.own_answer(results("vst-linear", yacht=9.0)).text
    )
    assert literature.own_label("vst-cv") == "VST (CV)"


def test_the_answer_counts_where_ours_is_at_least_the_best_printed_number():
    ours = results("vst-cv", yacht=-0.2, energy=-0.61)
    assert "VST (CV) on **1** of 2 data sets" in literature.own_answer(ours).text
    ours = results("vst-cv", yacht=-0.2, energy=-0.60)
    assert "VST (CV) on **2** of 2 data sets" in literature.own_answer(ours).text
    ours = results("vst-cv", yacht=-0.2, naval=9.9)  # without a printed number
    assert "VST (CV) on **1** of 1 data set" in literature.own_answer(ours).text


@pytest.mark.parametrize(("score", "bold"), [(0.5, True), (-0.5, False)])
def test_the_best_of_ours_and_the_printed_numbers_is_bold(score, bold):
    text = literature.own_table(results("vst-cv", yacht=score)).text
    assert (f"<b>{score:.2f}</b>".replace("-", "\N{MINUS SIGN}") in text) == bold
    assert ("<b>\N{MINUS SIGN}0.20</b>" in text) != bold


def test_errors_and_coverage_have_a_column_for_each_estimator():
    both = pd.concat([results(model, yacht=0.1) for model in MODELS])
    frame = literature.own_errors(both).frame
    assert frame["VST (CV), RMSE"].tolist() == ["1"]
    assert frame["VST (CV), coverage"].tolist() == ["90.0%"]


def test_without_runs_the_page_says_how_to_get_them():
    nothing = results("vst-cv", yacht=1.0)[:0]
    assert "vst run literature" in literature.own_answer(nothing).text
    assert "vst run literature" in literature.own_table(nothing).text
    assert literature.own_errors(nothing).frame.empty
