import dataclasses

import pytest

from vst.companion.models import MODEL_BY_ID, NAMES
from vst.companion.peers import Choices, Interval, Whole
from vst.companion.peers.ranges import without


@pytest.mark.parametrize("name", NAMES)
def test_defaults_lie_inside_the_ranges(name):
    model = MODEL_BY_ID[name]
    values = dataclasses.asdict(model.settings)
    for hyperparameter, range_ in model.all_ranges().items():
        assert values[hyperparameter] in range_, hyperparameter


def test_ranges_are_those_that_the_paper_prints():
    """Spot values of the supplement's table, and the number of its rows."""
    counts = {"deep-ensemble": 5, "xbart": 7, "sglb": 3, "xgboost": 5, "vst-linear": 3}
    counts |= {"vsgbm-linear": 6}  # without their learning rates
    assert {name: len(MODEL_BY_ID[name].ranges) for name in counts} == counts
    assert MODEL_BY_ID["xbart"].ranges["s"] == Interval(1.0, 300.0, log=True)
    assert MODEL_BY_ID["xbart"].ranges["burn_in"] == Choices((15,))
    assert MODEL_BY_ID["sglb"].ranges["learning_rate"] == Choices((0.001, 0.01, 0.1))
    assert MODEL_BY_ID["xgboost"].ranges["depth"] == Whole(1, 6)
    assert MODEL_BY_ID["deep-ensemble"].ranges["prior_scale"] == Interval(0.001, 2.5, log=True)
    assert MODEL_BY_ID["vst-const"].ranges["depth"] == Whole(1, 5)
    assert MODEL_BY_ID["vsgbm-const"].ranges["prior_sigma_alpha"] == Interval(2.5, 5.0)


@pytest.mark.parametrize("name", ["xbart-1", "sglb-1", "xgboost-1"])
def test_one_tree_has_no_range_for_the_number_of_trees(name):
    assert MODEL_BY_ID[name].settings.n_learners == 1
    assert "n_learners" not in MODEL_BY_ID[name].ranges


@pytest.mark.parametrize(
    ("range_", "inside", "outside"),
    [
        (Interval(0.1, 0.4), (0.1, 0.2, 0.4), (0.0999, 0.41, float("nan"))),
        (Whole(2, 5), (2, 5), (1, 6, 2.5)),
        (Choices((0.1, "a")), (0.1, "a"), (0.2, "b")),
    ],
)
def test_membership(range_, inside, outside):
    assert all(value in range_ for value in inside)
    assert not any(value in range_ for value in outside)


def test_a_range_that_is_not_there_cannot_be_left_out():
    with pytest.raises(ValueError, match="there is no range for colour"):
        without({"depth": Whole(1, 6)}, "colour")
