"""Tables and pictures of the chapters, on hand-made results."""

import re

import numpy as np
import pandas as pd
import pytest

from vst.companion.experiments import RANK, REGRESSION, Obtained
from vst.companion.models import MODELS
from vst.companion.paper import printed
from vst.companion.report import rank, regression
from vst.companion.report.dots import dots
from vst.companion.report.hover import hoverable
from vst.companion.report.tables import download, number


def fits(models=("vst-linear", "sglb-1", "xgboost-1"), datasets=("boston", "wine"), folds=3):
    rng = np.random.default_rng(0)
    rows = [
        {"model": m, "dataset": d, "fold": f, "seconds": 1.0, "rmse": rng.uniform(0.3, 0.5),
         "log_likelihood": np.nan if m.startswith("xgb") else rng.normal()}
        for m in models for d in datasets for f in range(folds)
    ]  # fmt: skip
    return pd.DataFrame(rows)


def markdown_rows(table):
    return table._repr_markdown_().splitlines()[2:]


def test_dots_have_a_panel_per_data_set_and_a_row_per_model():
    figure = dots(fits(), "log_likelihood", ["boston", "wine"])
    panels = [axis for axis in figure.axes if axis.get_visible()]
    assert [axis.get_title(loc="left") for axis in panels] == ["boston", "wine"]
    labels = [tick.get_text() for tick in panels[0].get_yticklabels()]
    assert "VST (linear)" in labels
    assert "XGBoost" not in labels  # it has no density, here or in the paper


def test_a_far_score_is_an_arrow_at_the_edge():
    results = fits(("vst-linear", "vst-const", "xbart-1", "sglb-1", "xbart", "sglb"))
    results.loc[results["model"] == "sglb", "log_likelihood"] = -1e4
    axis = dots(results, "log_likelihood", ["boston"]).axes[0]
    assert axis.get_xlim()[0] > -100
    assert any(line.get_marker() == "<" for line in axis.lines)


def test_every_mark_says_its_numbers_to_a_pointer():
    results = fits(("vst-linear",), ("boston",))
    scores = results["log_likelihood"]
    drawn = hoverable(dots(results, "log_likelihood", ["boston"]))._repr_svg_()
    titles = re.findall(r"<title>(.*?)</title>", drawn)
    ours = f"{number(scores.mean())} ± {number(scores.std())}"
    assert f"VST (linear), this book: {ours}" in titles
    assert "VST (linear), the paper: \N{MINUS SIGN}0.682 ± 0.004" in titles
    assert len(titles) == 1 + len(printed("log_likelihood").query("dataset == 'boston'"))


def test_duels_count_data_sets_that_both_sides_have():
    everyone = ("vst-const", "vst-linear", "deep-ensemble", "xbart-1", "sglb-1", "xgboost-1")
    results = fits(everyone)
    results.loc[results["model"] == "vst-linear", "log_likelihood"] = [5.0, 5.1, 5.2] * 2
    results = results[~((results["model"] == "xbart-1") & (results["dataset"] == "wine"))]
    rows = markdown_rows(regression.duel_table(results, "log_likelihood"))
    here = [row for row in rows if "| here |" in row]
    assert here == ["| VST against the paper's peers | here | 1 | 0 | 0 |"]
    printed = [row for row in rows if "as printed" in row]
    assert printed[0] == "| VST against the paper's peers | as printed | 7 | 1 | 2 |"


def test_chapters_without_results_say_so():
    empty = fits().iloc[:0]
    nothing = Obtained(empty, {}, ["boston"], ["sglb"], missing=10, absent=[])
    for experiment in (REGRESSION, RANK):
        text = regression.completeness(nothing, experiment).text
        assert "**10 more are not there yet**" in text
        assert f"`vst run {experiment.name} --profile paper`" in text
    assert (
        regression.winners_table(empty, "log_likelihood")._repr_markdown_() == "*Nothing to show.*"
    )
    assert rank.curves(empty.assign(rank=0), "seconds", []) is not None


def test_tuned_values_stand_beside_their_ranges():
    html = regression.tuned_values(["boston"])._repr_html_()
    assert "[0.0001, 0.001]" in html
    assert "{0.001, 0.01, 0.1}" in html
    assert "{1, …, 10}" in html


def test_times_are_added_up_over_folds():
    rows = markdown_rows(regression.time_table(fits(("sglb-1",), ("boston",), folds=120)))
    assert rows[0].split("|")[4].strip() == "2.0"
    assert "**all**" in rows[-1]


def test_a_download_holds_the_table():
    link = download(pd.DataFrame({"a": [1]}), "x.csv", "All")._repr_html_()
    assert 'download="x.csv"' in link
    assert "YQoxCg==" in link  # "a\n1\n"


@pytest.mark.parametrize(
    ("value", "text"), [(0.0004, "0.000"), (-0.0004, "0.000"), (1.25, "1.250")]
)
def test_numbers_have_no_negative_zero(value, text):
    assert number(value) == text


def test_the_ceiling_is_the_density_of_the_best_normal_for_the_error():
    results = fits(("vsgbm-linear",), ("wine",)).assign(log_likelihood=-2.0, rmse=1.0)
    [row] = regression.ceiling_table(results, ["vsgbm-linear"]).frame.to_dict("records")
    errors = np.array([1.0, -1.0])
    best = np.mean(-0.5 * np.log(2 * np.pi * np.mean(errors**2)) - 0.5)
    assert row["best constant-width Normal"] == number(best)
    assert row["paper"] == "\N{MINUS SIGN}1.167 ± 0.004"


def test_the_conclusion_counts():
    results = fits(("vst-linear", "vst-cv", "sglb-1"), ("boston", "wine"))
    for model, value in (("vst-linear", -0.5), ("vst-cv", 9.0), ("sglb-1", -5.0)):
        at = results["model"] == model
        results.loc[at, "log_likelihood"] = value + 0.01 * results.loc[at, "fold"]
    text = regression.conclusion(results).text
    assert "reaches the paper's log-likelihood on 1 of 2 data sets with linear leaves" in text
    assert (
        "of their 2 log-likelihoods that can be compared, 0 are better than the paper's beyond the "
        "error bars, and 2 are worse" in text
    )
    assert "on 0 of the 0 data sets on which all of them have run" in text
    everyone = [m.id for m in MODELS if m.origin != "today"]
    there = ("vst-linear", "vst-cv", "sglb-1")
    others = fits([name for name in everyone if name not in there])
    others["log_likelihood"] -= 10
    text = regression.conclusion(pd.concat([results, others])).text
    assert "on 2 of the 2 data sets on which all of them have run" in text
    assert "**VST (CV)** has the best log-likelihood of all models on 2 of" in text
    assert "**VSGBM (joint)** has the best log-likelihood of all models on 0 of" in text


def test_other_test_rows_give_other_errors():
    found = {"yacht": [0.3, 0.1, 0.2], "boston": [0.5, 0.5]}
    first, second = regression.split_table("rmse", "xgboost", found).frame.to_dict("records")
    assert first == {
        "model": "XGBoost",
        "data set": "yacht",
        "least": "0.100",
        "median": "0.200",
        "most": "0.300",
        "paper": "0.041",
    }
    assert second["least"] == second["most"] == "0.500"
    note = regression.split_note("rmse", "xgboost", found | {"wine": [0.7, 0.8]}).text
    assert "between the smallest and the largest on *wine*" in note
    assert "below all on *yacht* and *boston*" in note


def test_the_coverage_table_counts_the_data_sets_where_intervals_are_right():
    results = pd.DataFrame(
        {
            "model": ["vst-cv", "vst-cv", "vst-cv", "sglb"],
            "dataset": ["boston", "boston", "yacht", "yacht"],
            "coverage": [0.88, 0.94, 0.97, None],
        }
    )
    table = regression.coverage_table(results, ["boston", "yacht"]).frame
    assert table.to_dict("records") == [
        {"model": "VST (CV)", "boston": "91.0 %", "yacht": "97.0 %", "86 to 94 %": "1 of 2"}
    ]
