import re
from io import StringIO

import numpy as np
import pandas as pd
import pytest

from vst import VSTClassifier, VSTClassifierCV, VSTRegressor
from vst.companion.experiments import own_data as experiment
from vst.companion.report import own_classes, own_columns, own_data
from vst.errors import DataError
from vst.tables import split_table


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    """A table with classes, gaps and text; ten rows have no class."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"size": rng.normal(size=150), "town": rng.choice(["north", "south"], 150)})
    X["noise"] = rng.normal(size=150)
    X["rooms"] = rng.integers(1, 6, 150)
    X["kind"] = np.where(X["size"] + (X["town"] == "north") > 0.5, "$big_$", "small")
    X.loc[:9, "kind"] = None
    X.loc[20:30, "noise"] = np.nan
    file = tmp_path_factory.mktemp("classes") / "homes.csv"
    X.to_csv(file, index=False)
    return str(file)


@pytest.fixture(scope="module")
def held(path):
    return experiment.hold_out(path, "kind")


@pytest.fixture(scope="module")
def fits(held):
    return [
        experiment.fit(held, VSTClassifierCV(effort=0.2)),
        experiment.fit(held, VSTClassifier(depth=2, members=1, steps=1000)),
    ]


def test_the_target_decides_and_a_parameter_may(path, tmp_path):
    assert experiment.hold_out(path, "kind").classes
    assert not experiment.hold_out(path, "size").classes
    numbers = pd.read_csv(path).assign(kind=lambda X: (X["size"] > 0).astype(int))
    numbers.to_csv(tmp_path / "two.csv", index=False)
    assert experiment.hold_out(str(tmp_path / "two.csv"), "kind").classes
    assert not experiment.hold_out(str(tmp_path / "two.csv"), "kind", task="regression").classes
    with pytest.raises(DataError, match="must hold numbers"):
        experiment.hold_out(path, "kind", task="regression")
    with pytest.raises(DataError, match="task must be"):
        experiment.hold_out(path, "kind", task="clustering")


def test_the_models_fit_the_task(held, path):
    assert isinstance(experiment.first_model(held, 0.3, 0), VSTClassifierCV)
    assert isinstance(experiment.single_tree(held, 3, 0), VSTClassifier)
    numbers = experiment.hold_out(path, "size")
    assert isinstance(experiment.single_tree(numbers, 3, 0), VSTRegressor)


def test_rows_without_a_class_are_set_aside_and_predicted(held, fits):
    assert held.dataset.n == 140
    assert len(held.unknown) == 10
    assert "10 rows have no `kind`" in own_columns.set_aside(held).text
    page = own_columns.unknown_rows(held, fits[0]).text
    assert re.findall(r'download="(\w+\.csv)"', page) == [
        "homes_predicted.csv",
        "homes_held_out.csv",
    ]
    assert "10 rows" in page


def test_a_table_without_unknown_rows_says_so(path, fits, held):
    whole = experiment.hold_out(path, "size")
    assert own_columns.set_aside(whole).text == ""
    shown = experiment.Held(**{**held.__dict__, "unknown": pd.DataFrame()})
    assert "Every row of the table has a target" in own_columns.unknown_rows(shown, fits[0]).text


def test_a_target_without_values_is_refused():
    frame = pd.DataFrame({"x": [1.0, 2.0], "y": [None, None]})
    with pytest.raises(DataError, match="has no values"):
        split_table(frame, target="y")
    with pytest.raises(DataError, match="is a in every row, so there is nothing to predict"):
        split_table(frame.assign(y="a"), target="y")


def test_both_models_beat_the_shares_of_the_classes(held, fits):
    table = own_classes.score_table(held, fits).frame.set_index("model")
    losses = table["log loss"].astype(float)
    assert losses["VSTClassifierCV"] < losses["no features"]
    assert losses["VSTClassifier"] < losses["no features"]
    assert "without the features" in own_classes.answer(held, fits[0]).text


def test_every_figure_can_be_drawn(held, fits):
    first, tree = fits
    others, _ = experiment.other_rows(held)
    figures = [
        own_classes.fit_figure(held, fits),
        own_classes.calibration(held, fits),
        own_classes.rows_figure(held, fits),
        own_classes.outside(held, fits, others),
        own_classes.learned_tree(held, tree),
        own_data.features(held, tree),
        own_columns.importance_figure(held, first),
        own_columns.dependence_figure(held, first),
    ]
    for figure in figures:
        figure.savefig(StringIO(), format="svg")
    assert [len(figure.axes) for figure in figures[:4]] == [2, 2, 2, 2]
    counts = [int(text.get_text()) for text in figures[0].axes[0].texts]
    assert sum(counts) == len(held.y_test)
    leaves = [text.get_text().splitlines()[1] for text in figures[4].axes[0].texts[3:]]
    assert set(leaves) <= {"$big_$", "small"}


def test_the_choice_is_shown_with_its_scores(held, fits):
    table = own_classes.choice_table(fits[0]).frame
    assert sum(int(weight.rstrip("%")) for weight in table["weight"]) == pytest.approx(100, abs=2)
    assert (table["log loss, rows left out"].astype(float) > 0).all()
    assert "weight" in own_classes.choice(fits[0]).text
    words = own_classes.calibration_table(held, fits).frame["all rows"]
    assert words.str.contains("expected").all()


def test_importances_find_the_column_that_matters(held, fits):
    found = own_columns.importances(held, fits[0])
    assert found["share"].idxmax() == "size"
    assert found["lost"].idxmax() == "size"
    assert found["share"].idxmin() in ("noise", "rooms")
