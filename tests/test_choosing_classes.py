"""The mixture of models for classes that are weighed by held-out rows."""

import numpy as np
import pytest
from models import CHOOSING_CLASSES
from scipy.special import expit
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss

from vst import VSTClassifierCV, load_model
from vst.selection import CLASS_CANDIDATES, class_draws


def straight(rng, n=300):
    x = rng.normal(size=(n, 3))
    return x, np.where(rng.random(n) < expit(2 * x[:, 0] - x[:, 1]), "yes", "no")


@pytest.fixture(scope="module")
def fitted():
    x, y = straight(np.random.default_rng(0))
    return clone(CHOOSING_CLASSES).fit(x, y), x, y


def test_weights_are_convex_and_in_the_order_of_size(fitted):
    model, *_ = fitted
    assert model.weights_.sum() == pytest.approx(1)
    assert (model.weights_ >= 0).all()
    assert model.weights_.is_monotonic_decreasing
    assert set(model.weights_.index) == {name for name, _ in CLASS_CANDIDATES}
    assert len(model.parts_) == (model.weights_ > 0).sum()


def test_where_logistic_regression_is_right_it_is_as_good(rng):
    (x, y), (new, truth) = straight(rng), straight(rng, 2000)
    model = VSTClassifierCV(effort=0.5).fit(x, y)
    plain = LogisticRegression().fit(x, y)
    ours, theirs = (log_loss(truth, m.predict_proba(new)) for m in (model, plain))
    assert ours < theirs + 0.01


def test_where_trees_are_right_they_get_the_weight(rng):
    x = rng.uniform(-1, 1, size=(500, 2))
    y = (x[:, 0] > 0) ^ (x[:, 1] > 0)
    model = VSTClassifierCV(effort=0.5).fit(x, y)
    linear = [name for name in model.weights_.index if name.startswith("linear")]
    assert model.weights_[linear].sum() < 0.1
    assert model.score(x, y) > 0.95


def test_the_results_are_those_of_the_rows_left_out(fitted):
    model, *_ = fitted
    found = model.cv_results_
    assert set(found) == {"candidate", "weight", "log_likelihood", "error", "stretch", "seconds"}
    assert set(found["stretch"]) == {1.0}
    # They are between those of a coin and those of the training rows.
    assert -np.log(2) < max(found["log_likelihood"]) < 0
    assert "error" in model.summary()


def test_a_saved_mixture_predicts_the_same(fitted, tmp_path):
    model, x, _ = fitted
    model.save(tmp_path / "a.vst")
    for loaded in (load_model(tmp_path / "a.vst"), VSTClassifierCV.load(tmp_path / "a.vst")):
        np.testing.assert_allclose(loaded.predict_proba(x), model.predict_proba(x), atol=1e-6)
        assert loaded.weights_.to_dict() == pytest.approx(model.weights_.to_dict())


def test_draws_are_shared_by_weight(fitted, key):
    model, *_ = fitted
    draws = class_draws(key, model.parts_, 100)
    assert draws.n_draws == 100
    assert draws.n_classes == 2


def test_probabilities_and_functions_agree(fitted):
    model, x, _ = fitted
    proba = model.predict_proba(x)
    np.testing.assert_allclose(proba.sum(axis=1), 1, atol=1e-6)
    functions = model.sample_functions(x, 400)
    assert functions.shape == (400, len(x), 2)
    assert np.abs(functions.mean(axis=0) - proba).mean() < 0.03


def test_the_same_seed_gives_the_same_mixture(fitted):
    model, x, y = fitted
    again = clone(CHOOSING_CLASSES).fit(x, y)
    np.testing.assert_array_equal(again.predict_proba(x), model.predict_proba(x))


def test_weights_of_rows_count(rng):
    """Rows of weight zero have the other label everywhere."""
    x, y = straight(rng, 200)
    wrong = np.where(y == "yes", "no", "yes")
    model = clone(CHOOSING_CLASSES).fit(
        np.r_[x, x], np.r_[y, wrong], sample_weight=np.r_[np.ones(200), np.zeros(200)]
    )
    assert model.score(x, y) > 0.7


def test_few_rows_get_one_tree_and_a_sentence(rng):
    x, y = straight(rng, 20)
    with pytest.warns(UserWarning, match="20 rows are too few to hold some out"):
        model = clone(CHOOSING_CLASSES).fit(x, y)
    assert model.weights_.to_dict() == {"tree": 1.0}


def test_one_class_and_bad_effort_are_refused(rng):
    x, y = straight(rng, 60)
    with pytest.raises(ValueError, match="one class"):
        VSTClassifierCV().fit(x, np.full(60, "a"))
    with pytest.raises(ValueError, match="effort must be a positive number"):
        VSTClassifierCV(effort=0).fit(x, y)
