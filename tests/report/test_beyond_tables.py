import numpy as np
import pandas as pd
import pytest

from vst.companion.experiments.beyond import VARIANTS
from vst.companion.report import beyond


@pytest.fixture
def results():
    """Two data sets and three folds: whitening gains 1 on one of them and loses 1 on the other."""
    rows = []
    for dataset, change in (("boston", 1.0), ("yacht", -1.0)):
        for fold in range(3):
            for variant in VARIANTS:
                score = 10.0 * fold + (change + 0.1 * fold if variant == "whiten" else 0.0)
                rows.append((dataset, fold, variant, score, 0.5, 2.0 if variant == "all" else 1.0))
    return pd.DataFrame(
        rows, columns=["dataset", "fold", "variant", "log_likelihood", "auroc", "seconds"]
    )


def test_changes_are_taken_fold_by_fold(results):
    found = beyond.gains(results, "log_likelihood").set_index(["dataset", "variant"])
    assert found.loc[("boston", "whiten"), "mean"] == pytest.approx(1.1)
    assert found.loc[("boston", "whiten"), "error"] == pytest.approx(0.1)
    assert found.loc[("yacht", "whiten"), "mean"] == pytest.approx(-0.9)
    assert found.loc[("yacht", "members"), "mean"] == 0


def test_the_text_says_where_an_option_hurts(results):
    text = beyond.hurts(results, "log_likelihood").text
    assert (
        "**Whitening**: clearly better on 1 of 2 data sets, and clearly worse on 1: yacht" in text
    )
    assert (
        "**Several posteriors**: clearly better on 0 of 2 data sets, and clearly worse on none"
        in text
    )


def test_tables_and_figure_are_made_of_all_data_sets(results):
    table = beyond.gain_table(results, "log_likelihood", ["boston", "yacht"]).frame
    assert table["data set"].tolist() == ["boston", "yacht"]
    assert table["whitening"][0] == "**+1.100 ± 0.100**"
    found = beyond.costs(results).frame.set_index("option").iloc[:, 0]
    assert found["all three"] == "2.0"
    assert found["whitening"] == "at most 1"  # a shared program does not make a fit faster
    figure = beyond.gain_dots(results, "log_likelihood", ["boston", "yacht"])
    assert [label.get_text() for label in figure.axes[0].get_yticklabels()] == ["boston", "yacht"]


def test_without_results_the_tables_are_empty(results):
    none = results[:0]
    assert beyond.gains(none, "auroc").empty
    assert np.array(beyond.gain_table(none, "auroc", ["boston"]).frame).size == 0
    assert beyond.costs(none).frame.empty
    assert beyond.gain_dots(none, "auroc", ["boston"]).axes
