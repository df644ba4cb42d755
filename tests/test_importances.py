import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.feature_selection import SelectFromModel
from sklearn.inspection import permutation_importance

from vst import VSGBMClassifier, VSGBMRegressor, VSTClassifier, VSTRegressor, VSTRegressorCV
from vst.encoding import TableEncoder
from vst.importances import feature_columns
from vst.preprocessing import Standardiser

QUICK = {"steps": 600, "tol": 0.0}
MODELS = [
    VSTRegressor(depth=1, **QUICK),
    VSTRegressor(depth=2, whiten=True, **QUICK),
    VSGBMRegressor(depth=1, n_trees=2, **QUICK),
    VSGBMRegressor(depth=1, n_trees=3, training="joint", noise="tree", **QUICK),
    VSTRegressorCV(effort=0.2),
    VSTClassifier(depth=1, **QUICK),
    VSGBMClassifier(depth=1, n_trees=2, **QUICK),
]


def names(model):
    return f"{type(model).__name__}-{model.get_params().get('training', '')}"


def rows(rng, n=200):
    return pd.DataFrame(
        {
            "slope": rng.normal(size=n),
            "nothing": rng.normal(size=n),
            "kind": rng.choice(["u", "v", "w"], n),
        }
    )


@pytest.mark.parametrize("model", MODELS, ids=names)
def test_columns_that_matter_get_the_shares(model, rng):
    X = rows(rng)
    y = 1.5 * X["slope"] + 3 * (X["kind"] == "u") + 0.2 * rng.normal(size=len(X))
    target = (y > y.median()) if hasattr(model, "predict_proba") else y
    found = dict(zip(X.columns, model.fit(X, target).feature_importances_, strict=True))
    assert sum(found.values()) == pytest.approx(1)
    assert found["nothing"] < 0.15
    assert min(found["slope"], found["kind"]) > 2 * found["nothing"]


def test_a_straight_line_has_shares_proportional_to_its_slopes(rng):
    x = rng.normal(size=(500, 3)) * [1.0, 10.0, 0.1]  # shares are those of standardised features
    y = x @ [3.0, 0.1, 10.0] + 0.05 * rng.normal(size=500)
    model = VSTRegressor(depth=0, prior_scale=3.0).fit(x, y)
    np.testing.assert_allclose(model.feature_importances_, np.array([3, 1, 1]) / 5, atol=0.02)


def test_a_column_that_is_missing_where_the_target_is_high_matters(rng):
    X = rows(rng, 300)
    high = rng.random(300) < 0.5
    X.loc[high, "nothing"] = np.nan
    model = VSTRegressor(depth=1, **QUICK).fit(X, high + 0.1 * rng.normal(size=300))
    assert X.columns[model.feature_importances_.argmax()] == "nothing"


def test_features_know_their_columns(rng):
    X = rows(rng)
    X.loc[::5, "slope"] = np.nan
    encoder = TableEncoder.fit(X)
    standardiser = Standardiser.fit(encoder.encode(X))
    assert feature_columns(standardiser, encoder).tolist() == [0, 1, 2, 2, 2, 0]
    assert feature_columns(standardiser, None)[-1] == 0


def test_a_model_without_slopes_has_no_shares():
    model = VSTRegressor(depth=0, leaves="constant", rank=0, **QUICK)
    with pytest.warns(UserWarning, match="constant"):
        model.fit(np.zeros((30, 2)), np.ones(30))
    assert model.feature_importances_.tolist() == [0, 0]


def test_an_unfitted_model_has_none():
    with pytest.raises(NotFittedError):
        _ = VSTRegressor().feature_importances_


def test_scikit_learns_tools_understand_them(rng):
    X = rng.normal(size=(150, 4))
    y = 2 * X[:, 1] + 0.1 * rng.normal(size=150)
    model = VSTRegressor(depth=1, **QUICK).fit(X, y)
    chosen = SelectFromModel(model, prefit=True).get_support()
    assert chosen.tolist() == [False, True, False, False]
    permuted = permutation_importance(model, X, y, n_repeats=2, random_state=0)
    assert permuted.importances_mean.argmax() == 1
