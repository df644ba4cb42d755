"""Figures and tables of the uncertainty chapter, on hand-made fits."""

from base64 import b64decode
from dataclasses import asdict, replace
from io import StringIO

import numpy as np
import pandas as pd
import pytest

from vst.companion.experiments import PICTURES, Obtained
from vst.companion.experiments.cells import as_text
from vst.companion.experiments.pictures import EVERY, MEASURES, PROBLEMS, TREE, curve_of, flat_rmse
from vst.companion.report import uncertainty


def fits(picture, variant="usual", seeds=(0,), rows=250, errors=None, **columns):
    """One row per model and data set, as the experiment stores it; measures may be given."""
    described = {"rows": rows, "functions": 2, "setting": asdict(TREE)}
    frame = pd.DataFrame(
        [
            {"key": f"{picture} {variant} {model} {seed}", "dataset": picture, "model": model,
             "seed": seed, "variant": variant, "rows": rows, "seconds": 1.0,
             "rmse": (errors or {}).get(model, 0.25), "parameters": as_text(described)}
            for seed in seeds
            for model in PROBLEMS[picture].models
        ]
    ).assign(**columns)  # fmt: skip
    return frame.reindex(columns=list(PICTURES.columns))


def obtained(*frames):
    """The fits with two functions of each one's first data set, 0.1 below and above its error."""
    results = pd.concat(frames, ignore_index=True)
    lines = []
    for row in results[results["seed"] == 0].itertuples():
        truth = curve_of(results, row.dataset, row.variant).truth
        lines += [
            {"key": row.key, "point": point, "values": f"{value - 0.1} {value + 0.1}"}
            for point, value in list(enumerate(truth + row.rmse))[::EVERY]
        ]
    parts = {"functions": pd.DataFrame(lines)}
    return Obtained(results, parts, list(PROBLEMS), [], missing=0, absent=[])


def titles(figure):
    return [axis.get_title(loc="left") for axis in figure.axes if axis.get_visible()]


def test_a_picture_has_a_panel_per_model_with_both_errors_in_its_title():
    found = obtained(fits("step"))
    curve = curve_of(found.results, "step")
    figure = uncertainty.functions(found, "step")
    assert titles(figure) == [
        "VST: RMSE 0.250 (paper 0.2121)",
        "XBART: RMSE 0.250 (paper 0.0982)",
        "SGLB: RMSE 0.250 (paper 0.3014)",
    ]
    first, *others = figure.axes
    for axis in figure.axes:
        assert axis.get_ylim() == first.get_ylim()
        low, high, truth = axis.lines
        np.testing.assert_allclose(high.get_ydata() - low.get_ydata(), 0.2)
        np.testing.assert_allclose(truth.get_ydata()[::EVERY], low.get_ydata() - 0.15)
        np.testing.assert_allclose(truth.get_xdata()[::EVERY], low.get_xdata())
        assert len(axis.collections[0].get_offsets()) == min(len(curve.x), uncertainty.MOST_DOTS)
    assert len(others) == 2


def test_pictures_without_printed_errors_show_ours_only():
    assert titles(uncertainty.functions(obtained(fits("tails")), "tails"))[0] == "VST: RMSE 0.250"


def test_the_first_data_set_is_shown():
    found = obtained(fits("tails", seeds=(0, 1)))
    assert titles(uncertainty.functions(found, "tails")) == [
        *(
            f"{model}: RMSE 0.250\nmedian of 2 data sets 0.250" for model in ("VST", "XBART", "SGLB")
        ),
    ]  # fmt: skip


def sizes():
    """Fits of the wavelet with few rows and with many, and what has nothing to do with the number."""
    return [
        fits(
            "wavelet", "rows 900", rows=900, errors=dict.fromkeys(PROBLEMS["wavelet"].models, 0.1)
        ),
        fits("wavelet", rows=100, errors=dict.fromkeys(PROBLEMS["wavelet"].models, 0.2)),
        fits("wavelet", rows=100, seeds=(1,), errors={"vst": 0.9}),
        fits("wavelet", "kl_weight 0", rows=100, errors={"vst": 0.7}),
    ]


def test_sizes_are_rows_and_models_are_columns():
    found = obtained(*sizes())
    figure = uncertainty.by_size(found)
    assert titles(figure) == [
        *("VST: 0.200", "VSGBM: 0.200", "XBART: 0.200", "SGLB: 0.200"),
        *("VST: 0.100", "VSGBM: 0.100", "XBART: 0.100", "SGLB: 0.100"),
    ]
    assert figure.axes[0].get_ylabel().startswith("100 rows")
    assert figure.axes[4].get_ylabel().startswith("900 rows")
    lines = uncertainty.errors_by_size(found.results).axes[0].lines
    for line in lines[:4]:
        np.testing.assert_allclose(line.get_xydata(), [[100, 0.2], [900, 0.1]])
    np.testing.assert_allclose(
        lines[4].get_ydata(), flat_rmse(PROBLEMS["wavelet"].make(n=100, seed=0))
    )


def test_spreads_are_drawn_over_shaded_data():
    figure = uncertainty.spreads(obtained(fits("gap")), ["gap"])
    (axis,) = figure.axes
    assert len(axis.patches) == 2
    for line in axis.lines:
        np.testing.assert_allclose(line.get_ydata(), 0.1)


def test_measures_are_medians_beside_the_papers_errors():
    three = [fits("step", seeds=(i,), rmse=e, away=0.0) for i, e in enumerate((0.1, 0.2, 0.9))]
    other = fits("step", "beta 5", rmse=7.0, away=7.0)
    results = pd.concat([*three, other], ignore_index=True)
    frame = uncertainty.measure_table(results, "step", {"rmse": "error"}).frame
    assert frame["model"].tolist() == ["VST", "XBART", "SGLB"]
    assert frame.to_dict("records")[0] == {
        "model": "VST",
        "error": "0.200",
        "the paper's RMSE": "0.2121",
        "RMSE away from the step": "0.000",
    }


def test_the_gap_has_headings_of_its_own():
    gap = fits("gap", inside=0.1, outside=0.25, ratio=2.5, reached=0.5)
    frame = uncertainty.measure_table(gap, "gap", uncertainty.GAP_HEADINGS).frame
    assert frame.to_dict("records")[0] == {
        "model": "VST",
        "RMSE inside the data": "0.250",
        "spread inside": "0.100",
        "spread in the gap": "0.250",
        "gap / inside": "2.5",
        "truth reached in the gap": "50%",
    }


def test_a_flat_line_is_the_yardstick(monkeypatch):
    note = uncertainty.flat_note(fits("wavelet")).text
    assert "0.229" in note
    assert "VST and VSGBM are also above" in note
    high = PROBLEMS["wavelet"].make()
    monkeypatch.setattr(uncertainty, "curve_of", lambda *_: high._replace(truth=10 * high.truth))
    assert "above" not in uncertainty.flat_note(fits("wavelet")).text


def test_settings_are_told_in_words():
    described = as_text(
        {"rows": 1250, "functions": 7, "setting": asdict(replace(TREE, depth=3, steps=1234))}
    )
    text = uncertainty.setup(fits("tails", rows=1250, parameters=described)).text
    assert "depth 3" in text
    assert "1,234 steps" in text
    assert "1 data set of 1,250 rows" in text
    assert "draws 7 functions" in text
    assert "2 data sets of 250 rows" in uncertainty.setup(fits("tails", seeds=(0, 1))).text


def test_a_changed_setting_is_a_column():
    results = pd.concat(
        [
            fits("step", errors={"vst": 0.15}),
            fits("step", "beta 5", rmse=0.2).query("model == 'vst'"),
            *(fits("step", "beta 50", (i,), rmse=e) for i, e in enumerate((0.0, 0.1, 0.9))),
        ],
        ignore_index=True,
    )
    values = {"beta 5": "5", "usual": "20", "beta 50": "50"}
    flat = f"{flat_rmse(PROBLEMS['step'].make()):.3f}"
    only = results[(results["model"] == "vst") | (results["variant"] == "usual")]
    rows = uncertainty.setting_table(only, "step", "beta", values, flat=True).frame
    assert rows.to_dict("records") == [
        {"RMSE of": "VST", "beta 5": "0.200", "beta 20": "0.150", "beta 50": "0.100"},
        {"RMSE of": "a flat line", "beta 5": flat, "beta 20": flat, "beta 50": flat},
    ]
    assert len(uncertainty.setting_table(only, "step", "beta", values).frame) == 1


@pytest.mark.parametrize("name", ["tails", "gap"])
def test_the_download_names_the_picture(name):
    html = uncertainty.downloads(fits(name)).text
    assert 'download="uncertainty.csv"' in html
    encoded = html.partition("base64,")[2].partition('"')[0]
    frame = pd.read_csv(StringIO(b64decode(encoded).decode()))
    assert set(frame["picture"]) == {name}
    assert {"variant", "rows", *MEASURES} <= set(frame)
