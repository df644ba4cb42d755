"""One-hot columns and standardised arrays, from the training rows alone."""

import dataclasses

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vst import VSTRegressor, arrays
from vst.companion.protocol import prepare, split_rows
from vst.datasets import load_dataset
from vst.errors import DataError
from vst.preprocessing import Standardised, Standardiser, TableEncoder, check_new_data
from vst.tables import load_table

words = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), min_size=1, max_size=5)
columns = st.lists(words, min_size=1, max_size=30)


@given(values=columns)
def test_one_hot_columns_say_which_category_it_was(values):
    frame = pd.DataFrame({"kind": pd.Series(values, dtype=object)})
    encoder = TableEncoder.fit(frame)
    coded = encoder.encode(frame)
    np.testing.assert_array_equal(coded.sum(axis=1), 1)
    (known,) = encoder.categories
    assert [known[i] for i in coded.argmax(axis=1)] == values
    assert encoder.feature_names == [f"kind={category}" for category in known]


@given(values=columns, new=words)
def test_an_unseen_category_is_zeros_and_a_warning(values, new):
    values = [value for value in values if value != new] or [new + "!"]
    encoder = TableEncoder.fit(pd.DataFrame({"kind": pd.Series(values, dtype=object)}))
    with pytest.warns(UserWarning, match="training data did not have"):
        coded = encoder.encode(pd.DataFrame({"kind": pd.Series([new, values[0]], dtype=object)}))
    assert coded[0].sum() == 0
    assert coded[1].sum() == 1


def test_numbers_pass_beside_categories():
    frame = pd.DataFrame({"size": [1.5, 2.5], "kind": ["b", "a"]})
    encoder = TableEncoder.fit(frame)
    assert encoder.feature_names == ["size", "kind=a", "kind=b"]
    np.testing.assert_array_equal(encoder.encode(frame), [[1.5, 0, 1], [2.5, 1, 0]])


def test_mushrooms_become_117_columns_of_zeros_and_ones():
    coded = TableEncoder.fit(X := load_dataset("mushroom").X).encode(X)
    assert coded.shape == (8124, 117)
    np.testing.assert_array_equal(coded.sum(axis=1), 22)


@pytest.mark.parametrize("name", ["boston", "naval", "yacht", "protein"])
def test_training_rows_have_zero_mean_and_unit_variance(name):
    data = prepare(load_dataset(name))
    constant = np.ptp(data.x_train, axis=0) == 0
    np.testing.assert_allclose(data.x_train.mean(axis=0, dtype=float), 0, atol=1e-5)
    np.testing.assert_allclose(data.x_train.std(axis=0, dtype=float)[~constant], 1, rtol=1e-4)
    assert data.y_train.mean(dtype=float) == pytest.approx(0, abs=1e-5)
    assert data.y_train.std(dtype=float) == pytest.approx(1, rel=1e-4)


def test_constant_columns_become_zero():
    data = prepare(load_dataset("naval"))
    constant = [data.feature_names.index(f"gt_compressor_inlet_{x}") for x in ("temp", "pressure")]
    for x in (data.x_train, data.x_test):
        assert x.dtype == np.float32
        assert np.isfinite(x).all()
        assert (x[:, constant] == 0).all()


def test_test_rows_never_touch_the_statistics():
    """Test rows are changed beyond recognition; nothing that training sees may change."""
    dataset = load_dataset("boston")
    test = split_rows(dataset.n).test
    table = dataset.table.copy()
    table.iloc[test] = -1e6
    wild = dataclasses.replace(dataset, table=table)
    for whiten in (False, True):
        before, after = (prepare(d, whiten=whiten) for d in (dataset, wild))
        np.testing.assert_array_equal(before.x_train, after.x_train)
        np.testing.assert_array_equal(before.y_train, after.y_train)
        for one, other in zip(before.standardiser, after.standardiser, strict=True):
            np.testing.assert_array_equal(one, other)
        assert (before.target_mean, before.target_scale) == (after.target_mean, after.target_scale)
        assert not np.array_equal(before.x_test, after.x_test)


def test_categories_of_test_rows_never_touch_the_encoder():
    n = 50
    frame = pd.DataFrame({"kind": ["a", "b"] * (n // 2), "y": np.arange(n)})
    frame.loc[split_rows(n).test, "kind"] = "never seen"
    with pytest.warns(UserWarning, match="never seen"):
        data = prepare(load_table(frame, target="y"))
    assert data.feature_names == ["kind=a", "kind=b"]


def test_the_target_goes_back_to_its_units():
    dataset = load_dataset("concrete")
    data = prepare(dataset)
    back = data.y_test * data.target_scale + data.target_mean
    np.testing.assert_allclose(back, dataset.y.to_numpy()[data.split.test], rtol=1e-4)


def test_whitened_training_rows_are_uncorrelated():
    x = prepare(load_dataset("concrete"), whiten=True).x_train.astype(float)
    np.testing.assert_allclose(x.T @ x / len(x), np.eye(8), atol=1e-4)


def test_rows_looked_at_one_by_one_are_standardised_alike():
    x = load_dataset("yacht").X.to_numpy()
    standardiser = Standardiser.fit(x, whiten=True)
    seen = Standardised(x, standardiser)
    assert len(seen) == len(x)
    np.testing.assert_array_equal(seen[[3, 5]], standardiser(x)[[3, 5]])
    np.testing.assert_array_equal(seen[:], standardiser(x))


def test_a_standardiser_of_one_row_is_zero():
    x = np.array([[3.0, -1.0]])
    np.testing.assert_array_equal(Standardiser.fit(x)(x), [[0, 0]])


def test_what_cannot_be_prepared_is_refused():
    with pytest.raises(DataError, match="holds categories"):
        prepare(load_dataset("mushroom"))
    frame = pd.DataFrame({"a": [1.0, np.nan] * 10, "y": np.arange(20)})
    with pytest.raises(DataError, match=r"column 'a' of table is missing or infinite in 10 of 20"):
        prepare(load_table(frame, target="y"))
    with pytest.raises(DataError, match="nothing to predict"):
        prepare(load_table(pd.DataFrame({"a": np.arange(20), "y": [1.0] * 20}), target="y"))


@pytest.mark.parametrize("whiten", [False, True])
def test_blocks_of_rows_change_nothing(monkeypatch, whiten):
    x = np.random.default_rng(0).normal(3, [1e-3, 1, 1e6], size=(100, 3)).astype(np.float32)
    whole = Standardiser.fit(x, whiten=whiten)
    monkeypatch.setattr(arrays, "BLOCK_ROWS", 7)
    blocks = Standardiser.fit(x, whiten=whiten)
    np.testing.assert_allclose(blocks.mean, x.mean(axis=0, dtype=float), rtol=1e-12)
    np.testing.assert_allclose(blocks.scale, x.std(axis=0, dtype=float), rtol=1e-12)
    np.testing.assert_allclose(blocks(x), whole(x), rtol=1e-5, atol=1e-6)


@given(names=st.lists(st.sampled_from(["a", "a=u", "a=u (2)", "a=u=v"]), unique=True, min_size=1))
def test_features_of_different_columns_never_share_a_name(names):
    cells = {name: [1, 2] if name == "a=u (2)" else ["u", "u=v"] for name in names}
    encoder = TableEncoder.fit(frame := pd.DataFrame(cells))
    assert len(set(encoder.feature_names)) == encoder.encode(frame).shape[1]


def test_a_feature_name_that_is_taken_gets_a_number():
    frame = pd.DataFrame(
        {"a=u": [1.0, 2.0], "a": ["u", "v"], "b": pd.Series([1, "1"], dtype=object)}
    )
    names = TableEncoder.fit(frame).feature_names
    assert names == ["a=u", "a=u (2)", "a=v", "b=1", "b=1 (2)"]


def test_gaps_in_text_are_counted_and_the_advice_names_the_column():
    gaps = pd.DataFrame({"town": ["x", None, "y", None]})
    with pytest.raises(DataError, match=r"'town' has 2 missing values in 4 rows: .*df\['town'\]"):
        TableEncoder.fit(gaps)


DAYS = np.array(["2020-01-01", "NaT"], "M8[D]")
ROWS = np.array([[1.0], [2.0]])


@pytest.mark.parametrize(
    "dates",
    [
        DAYS[:, None],
        DAYS[:, None] - DAYS[0],
        np.array([[1.0, DAYS[0]], [2.0, DAYS[1]]], dtype=object),
        np.array([[1.0, pd.Timestamp("2020")], [2.0, pd.NaT]], dtype=object),
        np.array([[1.0, 3.0], [2.0, pd.NaT]], dtype=object),
        pd.DataFrame({"a": [1.0, 2.0], "when": pd.to_datetime(["2020", None])}),
    ],
)
def test_dates_are_never_numbers(dates):
    for arguments in (
        (dates, [1.0, 2.0]),
        (ROWS, dates[:, -1] if hasattr(dates, "flat") else DAYS),
    ):
        with pytest.raises(ValueError, match=r"holds dates|convert them to numbers"):
            VSTRegressor().fit(*arguments)


def test_a_number_does_not_become_a_date_after_training():
    frame = pd.DataFrame({"a": [1.0, 2.0]})
    dates = pd.DataFrame({"a": pd.to_datetime(["2020", None])})
    with pytest.raises(ValueError, match="column 'a' holds dates"):
        TableEncoder.fit(frame).encode(dates)
    for x in (dates, DAYS[:, None]):
        with pytest.raises(ValueError, match=r"column '\w' (of X )?holds dates"):
            check_new_data(VSTRegressor(), x, None, Standardiser.fit(ROWS))


def test_masked_values_are_refused():
    x = np.ma.masked_array([[1.0], [2.0], [3.0]], mask=[[0], [1], [0]])
    y = np.ma.masked_array([1.0, 2.0, 3.0], mask=[0, 0, 1])
    model = VSTRegressor(depth=1, steps=1)
    with pytest.raises(ValueError, match=r"X is a masked array with 1 of 3 values .* X\.filled"):
        model.fit(x, y.data)
    with pytest.raises(ValueError, match=r"y is a masked array with 1 of 3 values .* y\.filled"):
        model.fit(x.data, y)
    for table in (pd.DataFrame({"a": x.data[:, 0]}), x.data, np.ma.masked_array(x.data)):
        fitted = model.fit(table, y.data)
        with pytest.raises(ValueError, match="X is a masked array"):
            fitted.predict(x)
