"""The estimators are what people who know scikit-learn expect."""

import numpy as np
import pytest
from models import BOTH, CHOOSING, CHOOSING_CLASSES, CLASSIFIERS, VSGBM, VST, matrix, name
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

both = pytest.mark.parametrize("model", BOTH, ids=name)


# Ten of scikit-learn's own checks fit constant targets or tables of a few rows: warnings are expected.
@pytest.mark.filterwarnings(
    "ignore:the target is constant",
    "ignore:.* rows are too few to hold some out",
    "ignore::sklearn.exceptions.SkipTestWarning",
)
@parametrize_with_checks(
    [
        *BOTH,
        *CLASSIFIERS,
        clone(CHOOSING).set_params(effort=0.01),
        clone(CHOOSING_CLASSES).set_params(effort=0.01),
    ],
    expected_failed_checks=lambda _: {
        "check_sample_weight_equivalence_on_dense_data": "another order gives other minibatches"
    },
)
def test_scikit_learns_estimator_checks(estimator, check):
    check(estimator)


@both
def test_parameters_survive_cloning_and_setting(model):
    assert clone(model).get_params() == model.get_params()
    assert clone(model).set_params(depth=3).depth == 3


@both
def test_pipelines_cross_validation_and_grid_search(model, rng):
    x, y = matrix(rng)
    pipeline = make_pipeline(StandardScaler(), clone(model))
    assert cross_val_score(pipeline, x, y, cv=2).mean() > 0.3
    search = GridSearchCV(clone(model), {"beta": [1.0, 5.0]}, cv=2).fit(x, y)
    assert search.best_params_["beta"] in (1.0, 5.0)


def test_defaults_are_documented_and_alike():
    shared = VST.get_params().keys() & VSGBM.get_params().keys()
    defaults = [type(model)().get_params() for model in BOTH]
    different = {key for key in shared if defaults[0][key] != defaults[1][key]}
    assert different == {"steps"}
    for model in BOTH:
        assert "Parameters" in type(model).__doc__


@both
def test_score_is_r_squared(model, rng):
    x, y = matrix(rng)
    fitted = clone(model).fit(x, y)
    residual = np.sum((y - fitted.predict(x)) ** 2) / np.sum((y - y.mean()) ** 2)
    assert fitted.score(x, y) == pytest.approx(1 - residual)
