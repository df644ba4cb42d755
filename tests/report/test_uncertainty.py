import numpy as np
import pandas as pd
import pytest

from vst.companion.experiments.pictures import Sampled, Settings, flat_rmse
from vst.companion.protocol import synthetic
from vst.companion.report import uncertainty


def sampled(curve, models=("vst", "xbart", "sglb"), error=0.25):
    draws = np.stack([curve.truth + error - 0.1, curve.truth + error + 0.1])
    return [Sampled(model, draws, 1.0) for model in models]


def titles(figure):
    return [axis.get_title(loc="left") for axis in figure.axes if axis.get_visible()]


def test_a_picture_has_a_panel_per_model_with_both_errors_in_its_title():
    curve = synthetic.step()
    figure = uncertainty.functions("step", curve, sampled(curve))
    assert titles(figure) == [
        "VST: RMSE 0.250 (paper 0.2121)",
        "XBART: RMSE 0.250 (paper 0.0982)",
        "SGLB: RMSE 0.250 (paper 0.3014)",
    ]
    first, *others = figure.axes
    for axis in figure.axes:
        assert axis.get_ylim() == first.get_ylim()
        assert len(axis.lines) == 3  # two functions and the truth
        assert len(axis.collections[0].get_offsets()) == min(len(curve.x), uncertainty.MOST_DOTS)
    assert len(others) == 2


def test_pictures_without_printed_errors_show_ours_only():
    curve = synthetic.tails()
    assert titles(uncertainty.functions("tails", curve, sampled(curve)))[0] == "VST: RMSE 0.250"


def test_sizes_are_rows_and_models_are_columns():
    models = ("vst", "vsgbm", "xbart", "sglb")
    fits = {
        n: (synthetic.wavelet(n=n), sampled(synthetic.wavelet(n=n), models, error))
        for n, error in ((100, 0.2), (900, 0.1))
    }
    figure = uncertainty.by_size(fits)
    assert titles(figure) == [
        *("VST: 0.200", "VSGBM: 0.200", "XBART: 0.200", "SGLB: 0.200"),
        *("VST: 0.100", "VSGBM: 0.100", "XBART: 0.100", "SGLB: 0.100"),
    ]
    assert figure.axes[4].get_ylabel().startswith("900 rows")
    lines = uncertainty.errors_by_size(fits).axes[0].lines
    for line in lines[:4]:
        np.testing.assert_allclose(line.get_xydata(), [[100, 0.2], [900, 0.1]])
    np.testing.assert_allclose(lines[4].get_ydata(), flat_rmse(fits[100][0]))


def test_spreads_are_drawn_over_shaded_data():
    curve = synthetic.gap()
    figure = uncertainty.spreads({"gap": (curve, sampled(curve))})
    (axis,) = figure.axes
    assert len(axis.patches) == 2
    for line in axis.lines:
        np.testing.assert_allclose(line.get_ydata(), 0.1)


def test_measures_are_medians_beside_the_papers_errors():
    measures = pd.DataFrame(
        {"seed": [0, 1, 2], "model": "vst", "rmse": [0.1, 0.2, 0.9], "away": 0.0, "seconds": 1.0}
    )
    frame = uncertainty.measure_table("step", measures, {"rmse": "error"}).frame
    assert frame.to_dict("records") == [
        {
            "model": "VST",
            "error": "0.200",
            "the paper's RMSE": "0.2121",
            "RMSE away from the step": "0.000",
            "seconds": "1.0",
        }
    ]


def test_a_flat_line_is_the_yardstick():
    note = uncertainty.flat_note(synthetic.wavelet()).text
    assert "0.229" in note
    assert "VST and VSGBM are above" in note
    high = synthetic.wavelet()
    assert "above" not in uncertainty.flat_note(high._replace(truth=10 * high.truth)).text


def test_settings_are_told_in_words():
    text = uncertainty.setup(Settings(depth=3, steps=1234), rows=250, repeats=1).text
    assert "depth 3" in text
    assert "1,234 steps" in text
    assert "1 data set of 250 rows" in text


def test_a_changed_setting_is_a_column():
    errors = pd.DataFrame({5: {"vst": 0.2}, 50: {"vst": 0.1}})
    rows = uncertainty.setting_table("beta", errors, flat=0.3).frame.to_dict("records")
    assert rows[0] == {"RMSE of": "VST", "beta 5": "0.200", "beta 50": "0.100"}
    assert rows[1] == {"RMSE of": "a flat line", "beta 5": "0.300", "beta 50": "0.300"}


@pytest.mark.parametrize("name", ["tails", "gap"])
def test_the_download_names_the_picture(name):
    html = uncertainty.downloads({name: pd.DataFrame({"rmse": [1.0]})}).text
    assert 'download="uncertainty.csv"' in html
