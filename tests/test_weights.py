"""Rows with weights: 0 leaves a row out, 2 counts it twice."""

import jax
import numpy as np
import pandas as pd
import pytest
from models import BOTH, CHOOSING, matrix, name
from sklearn.base import clone

from vst import VSTRegressor
from vst.arrays import COPIES, FEW_COPIES, MOST_COPIES, MOST_FEW_COPIES, Rows, copies
from vst.bound import Hyperparameters
from vst.inference import Program, fit
from vst.moments import location_and_scale
from vst.preprocessing import Standardiser
from vst.stacking import stacking_weights
from vst.tree import TreeShape

ALL = [*BOTH, clone(CHOOSING).set_params(effort=0.01)]
every = pytest.mark.parametrize("model", ALL, ids=name)


@every
def test_weight_zero_is_leaving_the_row_out(model, rng):
    x, y = matrix(rng)
    kept = rng.random(len(x)) < 0.7
    y_changed = np.where(kept, y, 1e6)
    weighted = clone(model).fit(x, y_changed, sample_weight=kept)
    # Row numbers and random numbers are the same; only sums of weights may round differently.
    alone = clone(model).fit(x[kept], y[kept], sample_weight=np.ones(kept.sum()))
    np.testing.assert_array_equal(weighted.predict(x), alone.predict(x))
    np.testing.assert_allclose(
        weighted.predict(x), clone(model).fit(x[kept], y[kept]).predict(x), rtol=1e-3, atol=1e-3
    )


@every
def test_rows_of_weight_zero_do_not_leave_categories(model):
    table = pd.DataFrame({"kind": ["a", "b"] * 20 + ["c"], "size": np.arange(41.0)})
    fitted = clone(model).fit(table, np.arange(41.0) % 7, sample_weight=[1] * 40 + [0])
    assert fitted.encoder_.categories[0] == ("a", "b")


def exact_posterior(x, y, weights, noise, prior_scale=1.0):
    """Mean and covariance of Bayesian linear regression with weighted rows."""
    z = np.c_[x, np.ones(len(x))]
    precision = np.eye(z.shape[1]) / prior_scale**2 + (z.T * weights) @ z / noise**2
    covariance = np.linalg.inv(precision)
    return covariance @ (z.T * weights) @ y / noise**2, covariance


@pytest.mark.parametrize("whole", [True, False])
def test_posterior_agrees_with_exact_weighted_regression(rng, key, whole):
    n = 400
    x = rng.normal(size=(n, 2)).astype(np.float32)
    y = (x @ [0.5, -0.3] + np.where(x[:, 0] > 0, 0.8, 0) + 0.3 * rng.normal(size=n)).astype(
        np.float32
    )
    weights = rng.integers(0, 4, n).astype(float) if whole else rng.exponential(size=n)
    program = Program(TreeShape(2, 0, noise=0.4), rank=3)
    rows = Rows.of([np.arange(n)], weights)
    fitted = fit(key, program, Hyperparameters(), x, y, rows, steps=4000)
    posterior = jax.tree.map(lambda a: a[0], fitted.posteriors)
    mean, covariance = exact_posterior(x, y, weights, 0.4)
    spread = np.sqrt(np.diag(covariance))
    unweighted, _ = exact_posterior(x, y, np.ones(n), 0.4)
    error = np.abs(np.asarray(posterior.mean) - mean) / spread
    assert error.max() < 0.3
    assert (np.abs(unweighted - mean) / spread).max() > 0.6  # the weights matter here
    found = np.sqrt(np.diag(np.asarray(posterior.covariance())))
    np.testing.assert_allclose(found, spread, rtol=0.1)


def test_a_weight_of_two_is_a_row_twice_in_the_standardisation(rng):
    x = rng.normal(size=(50, 3))
    x[rng.random(x.shape) < 0.1] = np.nan
    times = rng.integers(1, 4, 50)
    for axes in ("features", "principal", "whitened"):
        weighted = Standardiser.fit(x, axes, times.astype(float))
        repeated = Standardiser.fit(np.repeat(x, times, axis=0), axes)
        np.testing.assert_allclose(weighted(x), repeated(x), rtol=1e-4, atol=1e-5)
    for part in zip(
        location_and_scale(x, times), location_and_scale(x.repeat(times, 0)), strict=True
    ):
        np.testing.assert_allclose(*part)


def test_stacking_counts_rows_by_weight(rng):
    log_probs = rng.normal(size=(30, 3))
    times = rng.integers(1, 5, 30)
    np.testing.assert_allclose(
        stacking_weights(log_probs, times), stacking_weights(log_probs.repeat(times, 0)), atol=1e-6
    )


@pytest.mark.parametrize("n", [2, 100, 10_000])
def test_copies_are_proportional_to_weights(rng, n):
    weights = rng.exponential(size=n)
    found = copies(weights)
    assert found.sum() == COPIES * n
    assert np.abs(found - weights / weights.sum() * found.sum()).max() <= 1


def test_the_list_of_copies_is_bounded():
    assert copies(np.full(MOST_COPIES // FEW_COPIES, 0.3)).sum() == MOST_COPIES
    assert copies(np.full(MOST_COPIES, 0.3)).sum() == FEW_COPIES * MOST_COPIES
    assert copies(np.full(2 * MOST_FEW_COPIES, 0.3)).sum() == 2 * MOST_FEW_COPIES
    assert copies(np.array([1e9, 1.0])).sum() == 2 * COPIES


def test_a_set_without_the_heaviest_row_keeps_its_rows():
    weights = np.ones(100)
    weights[0] = 1e7
    rows = Rows.of([np.arange(1, 100)], weights)
    assert set(rows.rows(0)) == set(range(1, 100))
    assert rows.sizes.tolist() == [99]


def test_weighted_and_unweighted_fits_share_a_program(rng, compilations):
    x, y = matrix(rng, n=200)
    for weights in (None, np.ones(200), rng.integers(0, 3, 200), rng.exponential(size=200)):
        VSTRegressor(depth=1, steps=10, tol=0).fit(x, y, weights)
    assert len(compilations) == 1


@every
@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (lambda n: np.ones(n - 1), "sample_weight"),
        (lambda n: -np.ones(n), "[Nn]egative"),
        (lambda n: np.full(n, np.nan), "NaN"),
        (lambda n: np.eye(1, n)[0], "zero for all rows but 1"),
    ],
)
def test_bad_weights_are_refused(model, rng, weights, message):
    x, y = matrix(rng)
    with pytest.raises(ValueError, match=message):
        clone(model).fit(x, y, sample_weight=weights(len(x)))


@every
def test_score_takes_weights(model, rng):
    x, y = matrix(rng)
    fitted = clone(model).fit(x, y)
    half = np.arange(len(x)) % 2
    assert fitted.score(x, y, half) == pytest.approx(fitted.score(x[half == 1], y[half == 1]))
