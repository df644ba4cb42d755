import pandas as pd
import pytest

from vst.companion.report import caveats
from vst.companion.report.wide import Row, wide, with_error


def fits(models, datasets):
    rows = [(m, d, f, i + 0.01 * f) for i, m in enumerate(models) for d in datasets for f in (0, 1)]
    return pd.DataFrame(rows, columns=["model", "dataset", "fold", "log_likelihood"])


def test_totals_leave_out_parts_of_data_sets():
    text = caveats.denominators(fits(("sglb", "xbart"), ("boston", "wine", "song_8k"))).text
    assert "We fit on 3 data sets" in text
    assert "are out of 2, since *song (8k)* is only a part" in text
    assert text.endswith("With 2 peers that makes 4 scores to compare.")


def test_a_single_peer_is_singular():
    text = caveats.denominators(fits(("sglb",), ("boston",))).text
    assert text.endswith("With 1 peer that makes 1 score to compare.")


def test_counts_without_rounded_targets_leave_wine_out():
    models = ("deep-ensemble", "xbart-1", "sglb-1", "vst-const", "vst-linear")
    text = caveats.rounded_note(fits(models, ("boston", "yacht", "wine"))).text
    assert "Without *wine*, VST is better on 2, equal on 0 and worse on 0" in text
    assert text.endswith("the best of all models is VST (linear) on 2.")
    assert caveats.rounded_note(fits(models, ("boston",))).text == ""


@pytest.mark.parametrize(
    ("error", "html"), [("", "<b>1</b>"), ("2", '<b>1</b><span class="bar"> ± 2</span>')]
)
def test_an_error_bar_is_set_apart(error, html):
    assert with_error("1", error, bold=True) == html


def test_a_wide_table_says_what_its_columns_are():
    html = wide(["model", "<b>"], ["a"], [Row(["VST", "x"], ["<td>1</td>"])], choose="table").text
    assert '<div class="scores" data-choose="table" data-keep="2">' in html
    assert "<th class=kept>&lt;b&gt;</th><th>a</th>" in html
    assert "<tr><th>VST</th><td class=kept>x</td><td>1</td></tr>" in html


def test_a_mean_that_one_fold_drags_down_is_explained():
    scores = [-0.3, -0.2, -90.0]
    rows = [
        {"model": model, "dataset": "protein", "fold": fold, "log_likelihood": score}
        for model, shift in (("gaussian-process", 0.0), ("vst-cv", None))
        for fold, score in enumerate(scores if shift is not None else [-0.3, -0.2, -0.1])
    ]
    text = caveats.outlier_note(pd.DataFrame(rows)).text
    assert "Gaussian process on *protein* has one fold at \N{MINUS SIGN}90.0" in text
    assert "median of \N{MINUS SIGN}0.300" in text
    assert "VST (CV)" not in text
    assert caveats.outlier_note(pd.DataFrame(rows[3:])).text == ""
