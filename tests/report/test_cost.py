import pandas as pd
import pytest

from vst.companion.models import MODELS
from vst.companion.report import cost
from vst.errors import UserError


@pytest.fixture
def results():
    """XBART is fast, the soft tree good, and the deep ensemble neither."""
    rows = [
        ("xbart", "boston", -1.0, 1.0),
        ("vst-linear", "boston", 0.0, 4.0),
        ("deep-ensemble", "boston", -2.0, 8.0),
        ("xgboost", "boston", None, 0.1),
    ]
    frame = pd.DataFrame(rows, columns=["model", "dataset", "log_likelihood", "seconds"])
    return pd.concat([frame.assign(fold=fold) for fold in (0, 1)])


def test_the_front_holds_what_nothing_beats_in_both(results):
    found = cost.quality(results).set_index("model")
    assert found["best"].to_dict() == {"xbart": True, "vst-linear": True, "deep-ensemble": False}


def test_the_front_goes_from_fast_to_good(results):
    [row] = cost.front_table(results, ["boston"]).frame["from fast to good"]
    assert row == "XBART (\N{MINUS SIGN}1.00, 1 s) → VST (linear) (0.00, 4 s)"


def test_times_are_multiples_of_the_reference(results):
    table = cost.ratio_table(results).frame.set_index("model")
    assert table["time per fold, median multiple"]["XBART"] == "0.25"
    assert table["better log-likelihood on"]["XBART"] == "0 of 1"


def test_forms_of_a_soft_tree_stand_side_by_side_with_the_best_in_bold(results):
    more = results[results["model"] == "vst-linear"].assign(
        model="vst-cv", log_likelihood=0.5, seconds=3.0
    )
    [row] = cost.forms_table(pd.concat([results, more]), ["boston"]).frame.to_dict("records")
    assert row == {
        "data set": "boston",
        "VST (linear)": "0.000 (4 s)",
        "VST (CV)": "**0.500** (3 s)",
    }


def test_models_can_be_told_apart():
    marks = [(model.mark, model.colour) for model in MODELS]
    assert len(set(marks)) == len(marks)


def test_every_model_is_drawn(results):
    figure = cost.quality_against_time(results, ["boston"])
    names = [text.get_text() for text in figure.legends[0].get_texts()]
    assert len(names) == 3 + 1
    assert names[-1] == "far below the others"


def test_the_legend_has_a_models_own_mark_where_it_is_off_the_scale(results):
    far = results.assign(dataset="boston")
    far.loc[far["model"] == far["model"].iloc[0], "log_likelihood"] = -1e4
    *lines, _ = cost.quality_against_time(far, ["boston"]).legends[0].get_lines()
    marks = {model.label: model.mark for model in MODELS}
    assert {line.get_label(): line.get_marker() for line in lines}.items() <= marks.items()


def test_more_workers_help_until_the_longest_job_is_left(results):
    table = cost.estimate_table(results.assign(seconds=1800.0), workers=(1, 2, 100)).frame
    # Two folds of a soft tree are one job of an hour; six fits of peers are jobs of half an hour.
    assert table["hours"].tolist() == ["4.00", "2.00", "1.00"]


def test_an_unknown_reference_is_an_error(results):
    with pytest.raises(UserError, match="no scores of bartz"):
        cost.ratio_table(results, "bartz")
