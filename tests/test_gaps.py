"""Missing values in the features of all estimators."""

import warnings

import numpy as np
import pandas as pd
import pytest
from models import CHOOSING, FAST, VSGBM, VST, matrix
from sklearn.base import clone
from sklearn.inspection import permutation_importance
from sklearn.utils import get_tags

from vst import VSTRegressor
from vst.gates import feature_use

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

MODELS = [VST, VSGBM, clone(CHOOSING).set_params(effort=0.02)]
every = pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)


def gappy(rng):
    """A table with gaps in numbers and in text; where ``a`` is missing, the target is high."""
    x, y = matrix(rng)
    frame = pd.DataFrame(x, columns=["a", "b", "c"])
    missing = rng.random(len(y)) < 0.3
    frame.loc[missing, "a"] = np.nan
    frame["town"] = np.where(rng.random(len(y)) < 0.5, "x", None)
    return frame, y + 3 * missing


@every
def test_a_table_with_gaps_is_fitted_and_predicted(model, rng, tmp_path):
    frame, y = gappy(rng)
    fitted = clone(model).fit(frame, y)
    found = fitted.predict_dist(frame).log_prob(y)
    assert found.shape == y.shape
    assert np.isfinite(found).all()
    fitted.save(tmp_path / "model.vst")
    loaded = type(fitted).load(tmp_path / "model.vst")
    np.testing.assert_array_equal(loaded.predict(frame), fitted.predict(frame))
    assert get_tags(fitted).input_tags.allow_nan


def test_that_a_value_is_missing_can_matter(rng):
    frame, y = gappy(rng)
    fitted = VSTRegressor(depth=0).fit(frame, y)
    there = frame.fillna({"a": frame["a"].mean()})
    gone = frame.assign(a=np.nan)
    assert (fitted.predict(gone) - fitted.predict(there)).mean() > 1.5
    used = feature_use(clone(MODELS[0]).fit(frame, y), frame)
    assert {"a is missing", "town is missing", "town=x"} <= set(used.index)


@every
@pytest.mark.parametrize("kind", ["NaN", "None", "NA"])
def test_arrays_may_have_gaps_of_any_kind(model, kind, rng):
    x, y = matrix(rng)
    gap = {"NaN": np.nan, "None": None, "NA": pd.NA}[kind]
    gaps = x.astype(object if gap is not np.nan else float)
    gaps[::4, 1] = gap
    numbers = np.where(pd.isna(gaps), np.nan, gaps).astype(float)
    fitted = clone(model).fit(gaps, y)
    np.testing.assert_array_equal(
        fitted.predict(gaps), clone(model).fit(numbers, y).predict(numbers)
    )


def test_a_gap_where_training_had_none_is_filled_in_with_a_warning(rng):
    x, y = matrix(rng)
    frame = pd.DataFrame(x, columns=["a", "b", "c"])
    fitted = clone(MODELS[0]).fit(frame, y)
    new = frame.assign(b=np.where(np.arange(len(y)) < 2, np.nan, frame["b"]))
    with pytest.warns(UserWarning, match=r"column's mean: 'b' \(2 of 80 rows\)") as caught:
        found = fitted.predict(new)
    assert [warning.filename for warning in caught] == [__file__]
    mean = frame["b"].mean()
    np.testing.assert_allclose(found, fitted.predict(new.fillna({"b": mean})), rtol=1e-4)


def test_gaps_that_training_had_too_do_not_warn(rng):
    frame, y = gappy(rng)
    fitted = clone(MODELS[0]).fit(frame, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fitted.predict(frame)
    permutation_importance(fitted, frame, y, n_repeats=1, random_state=0)


def test_features_taken_as_they_are_cannot_have_gaps(rng):
    x, y = matrix(rng)
    x[0, 0] = np.nan
    with pytest.raises(ValueError, match="set standardise=True"):
        VSTRegressor(**FAST, standardise=False).fit(x, y)


def test_a_target_with_gaps_is_an_error(rng):
    x, y = matrix(rng)
    y[3] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        clone(MODELS[0]).fit(x, y)
