"""One-hot columns and standardised arrays, from the training rows alone."""

import dataclasses

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import pdist
from sklearn.impute import SimpleImputer

from vst import VSTRegressor, arrays, preprocessing
from vst.companion.protocol import prepare, split_rows
from vst.datasets import load_dataset
from vst.encoding import TableEncoder
from vst.errors import DataError
from vst.moments import location_and_scale
from vst.preprocessing import (
    Standardised,
    Standardiser,
    check_new_data,
    rounding_error,
)
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
    for axes in ("features", "principal", "whitened"):
        before, after = (prepare(d, axes=axes) for d in (dataset, wild))
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
    x = prepare(load_dataset("concrete"), axes="whitened").x_train.astype(float)
    np.testing.assert_allclose(x.T @ x / len(x), np.eye(8), atol=1e-4)


def test_turning_to_principal_axes_keeps_all_distances(rng):
    x = rng.normal(size=(100, 5)) @ rng.normal(size=(5, 5)) * [1e-3, 1, 1, 20, 1e6] + 3
    plain, turned = (Standardiser.fit(x[:60], axes) for axes in ("features", "principal"))
    np.testing.assert_allclose(turned.rotation @ turned.rotation.T, np.eye(5), atol=1e-12)
    np.testing.assert_allclose(pdist(turned(x)), pdist(plain(x)), rtol=1e-4)
    assert not np.allclose(turned(x), plain(x), atol=0.1)


def test_turned_training_rows_are_uncorrelated_and_keep_their_variance():
    x = prepare(load_dataset("concrete"), axes="principal").x_train.astype(float)
    products = x.T @ x / len(x)
    np.testing.assert_allclose(products, np.diag(np.diag(products)), atol=1e-4)
    assert np.trace(products) == pytest.approx(8, rel=1e-4)


@pytest.mark.parametrize("axes", ["principal", "whitened"])
def test_axes_do_not_depend_on_the_order_of_the_rows_or_the_signs_of_lapack(axes, rng, monkeypatch):
    x = rng.normal(size=(50, 4)) @ rng.normal(size=(4, 4))
    found = Standardiser.fit(x, axes).rotation
    largest = np.abs(found).argmax(axis=0)
    assert (found[largest, range(4)] > 0).all()
    np.testing.assert_allclose(Standardiser.fit(x[::-1], axes).rotation, found, atol=1e-9)
    eigh = np.linalg.eigh
    monkeypatch.setattr(np.linalg, "eigh", lambda a: (eigh(a)[0], -eigh(a)[1]))
    np.testing.assert_allclose(Standardiser.fit(x, axes).rotation, found, atol=1e-9)


def test_a_wide_table_keeps_its_axes(monkeypatch):
    monkeypatch.setattr(preprocessing, "MOST_TURNED", 8)
    concrete = load_dataset("concrete")  # eight features
    turned = prepare(concrete, axes="principal")
    assert turned.standardiser.rotation is not None
    assert turned.feature_names == [f"direction {i}" for i in range(1, 9)]
    monkeypatch.setattr(preprocessing, "MOST_TURNED", 7)
    kept, plain = prepare(concrete, axes="principal"), prepare(concrete)
    assert kept.standardiser.rotation is None
    assert kept.feature_names == plain.feature_names
    np.testing.assert_array_equal(kept.x_train, plain.x_train)
    assert prepare(concrete, axes="whitened").standardiser.rotation is not None


@pytest.mark.parametrize(
    ("target", "distance"),
    [
        pytest.param([0, 1, 1, 2, 7, 7, 0, 2], 1, id="counts"),
        pytest.param([1.5, 2.0, 3.0, 2.0, 1.5, 3.0], 0.5, id="grades"),
        pytest.param([0, 1, 1, 0, 1], 1, id="binary"),
        pytest.param([-100, 100] * 5, 200, id="binary, of other values"),
        pytest.param(np.linspace(0, 1, 200), 0, id="continuous"),
        pytest.param([1, 2, 3, 3, 2], 0, id="fewer rows than twice the values"),
        pytest.param([1, 2, 3, 3, 2, 1], 1, id="twice as many rows as values"),
        pytest.param(list(range(20)) * 10, 1, id="twenty values"),
        pytest.param(list(range(21)) * 10, 0, id="twenty-one values"),
        pytest.param([4.0] * 9, 0, id="constant"),
        pytest.param([4.0], 0, id="one row"),
    ],
)
def test_only_targets_with_few_values_have_a_rounding_error(target, distance):
    assert rounding_error(np.array(target)) == pytest.approx(distance / np.sqrt(12))


def test_the_rounding_error_is_the_deviation_of_what_rounding_removes(rng):
    exact = rng.uniform(0, 5, 10_000)
    for step in (0.5, 1.0):
        rounded = step * np.round(exact / step)
        assert rounding_error(rounded) == pytest.approx(np.std(rounded - exact), rel=0.03)


def test_rows_looked_at_one_by_one_are_standardised_alike():
    x = load_dataset("yacht").X.to_numpy()
    standardiser = Standardiser.fit(x, "whitened")
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
    frame = pd.DataFrame({"a": [1.0, np.inf] * 10, "y": np.arange(20)})
    with pytest.raises(DataError, match=r"column 'a' of table is infinite in 10 of 20"):
        prepare(load_table(frame, target="y"))
    with pytest.raises(DataError, match="column 'a' of table has no values: drop it"):
        prepare(load_table(frame.assign(a=np.nan), target="y"))
    with pytest.raises(DataError, match="nothing to predict"):
        prepare(load_table(pd.DataFrame({"a": np.arange(20), "y": [1.0] * 20}), target="y"))


def test_a_table_with_gaps_is_prepared_with_indicators():
    frame = pd.DataFrame({"a": [1.0, np.nan] * 10, "b": np.arange(20.0), "y": np.arange(20)})
    data = prepare(load_table(frame, target="y"))
    assert data.feature_names == ["a", "b", "a is missing"]
    assert np.isfinite(data.x_train).all()
    assert np.isfinite(data.x_test).all()


@pytest.mark.parametrize("axes", ["features", "principal", "whitened"])
def test_blocks_of_rows_change_nothing(monkeypatch, axes):
    x = np.random.default_rng(0).normal(3, [1e-3, 1, 1e6], size=(100, 3)).astype(np.float32)
    whole = Standardiser.fit(x, axes)
    monkeypatch.setattr(arrays, "BLOCK_ROWS", 7)
    blocks = Standardiser.fit(x, axes)
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


def test_a_gap_in_text_is_a_category_of_its_own():
    town = pd.Series(["x", None, "y", np.nan], name="town")
    for gaps in (town, town.astype("category"), town.astype("string")):
        encoder = TableEncoder.fit(gaps.to_frame())
        assert encoder.feature_names == ["town=x", "town=y", "town is missing"]
        np.testing.assert_array_equal(
            encoder.encode(gaps.to_frame()), np.eye(3)[[0, 2, 1, 2]], err_msg=str(gaps.dtype)
        )


def test_a_gap_in_text_that_training_did_not_have_is_unseen():
    encoder = TableEncoder.fit(pd.DataFrame({"town": ["x", "y"]}))
    with pytest.warns(UserWarning, match="'town' holds categories .* as zeros: missing values"):
        encoded = encoder.encode(pd.DataFrame({"town": ["y", None]}))
    np.testing.assert_array_equal(encoded, [[0, 1], [0, 0]])


@pytest.mark.parametrize(
    "column",
    [
        pd.Series([1, None, 3], dtype=object),
        pd.Series([1, None, 3], dtype="Int64"),
        pd.Series([1.0, pd.NA, 3.0], dtype=object),
        pd.Series([1, np.nan, 3]),
    ],
    ids=["None", "Int64", "NA", "NaN"],
)
def test_numbers_with_gaps_are_numbers(column):
    frame = column.to_frame("a")
    np.testing.assert_array_equal(TableEncoder.fit(frame).encode(frame), [[1], [np.nan], [3]])


def with_gaps(rng, shape=(500, 3)):
    x = rng.normal(5, 3, shape)
    x[rng.random(shape) < 0.2] = np.nan
    x[:, -1] = rng.normal(size=len(x))  # no gaps
    return x


def test_gaps_become_means_and_indicators(rng):
    x = with_gaps(rng)
    fitted = Standardiser.fit(x)
    assert fitted.gaps == (0, 1)
    z = fitted(x)
    imputed = SimpleImputer(add_indicator=True).fit_transform(x)
    spread = np.nanstd(x, axis=0)
    np.testing.assert_allclose(z[:, :3], (imputed[:, :3] - np.nanmean(x, 0)) / spread, atol=1e-5)
    indicators = imputed[:, 3:]
    np.testing.assert_allclose(z[:, 3:], 2 * (indicators - indicators.mean(axis=0)), atol=1e-5)


def test_a_rare_category_has_no_larger_value_than_a_frequent_one():
    X = pd.DataFrame({"kind": ["a"] * 50 + ["b"] * 49 + ["c"], "x": np.arange(100.0)})
    encoder = TableEncoder.fit(X)
    assert encoder.indicators == [0, 1, 2]
    encoded = encoder.encode(X)
    z = Standardiser.fit(encoded, categories=encoder.indicators)(encoded)
    np.testing.assert_allclose(np.ptp(z[:, :3], axis=0), 2.0, rtol=1e-6)
    np.testing.assert_allclose(z[:, 3].std(), 1.0, rtol=1e-5)


@pytest.mark.parametrize("axes", ["principal", "whitened"])
def test_columns_and_indicators_turn_together(axes, rng):
    x = with_gaps(rng)
    z = Standardiser.fit(x, axes)(x)
    assert z.shape == (500, 5)
    covariance = z.T.astype(float) @ z / len(z)
    diagonal = np.diag(np.diag(covariance))
    np.testing.assert_allclose(covariance, np.eye(5) if axes == "whitened" else diagonal, atol=1e-4)


def test_statistics_of_blocks_agree_with_and_without_gaps(rng, monkeypatch):
    """Some blocks have gaps, others have none; one column has a value in the last block only."""
    x = rng.normal(size=(70, 2))
    x[:60, 1] = np.nan
    monkeypatch.setattr("vst.preprocessing.row_blocks", lambda a: np.array_split(a, 7))
    mean, scale = location_and_scale(x)
    np.testing.assert_allclose(mean, np.nanmean(x, axis=0))
    np.testing.assert_allclose(scale, np.nanstd(x, axis=0))


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
