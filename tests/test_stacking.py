import jax
import jax.numpy as jnp
import numpy as np
import pytest
from models import CHOOSING, matrix, table
from scipy.optimize import minimize
from scipy.stats import norm
from sklearn.base import clone

from vst import VSTRegressorCV
from vst.arrays import Rows
from vst.predictive import PredictiveDistribution, TreeDraws
from vst.selection import FEWEST_ROWS, _held_out, default_candidates
from vst.stacking import (
    AS_IT_IS,
    STRETCHES,
    MixedDraws,
    held_out_log_prob,
    shares,
    stacking_weights,
)
from vst.tree import TreeShape


def test_weights_maximise_the_mixtures_density(rng):
    """Against a general optimiser, on densities of which one model is useless."""
    log_probs = rng.normal(size=(60, 4)) - np.array([0, 0.2, 0.1, 9])
    found = stacking_weights(log_probs)
    density = np.exp(log_probs)
    best = minimize(
        lambda logits: -np.log(density @ (np.exp(logits) / np.exp(logits).sum())).mean(),
        np.zeros(4),
    )
    assert np.log(density @ found).mean() == pytest.approx(-best.fun, abs=1e-4)
    assert found.sum() == pytest.approx(1)
    assert found[3] < 1e-3


def test_far_too_small_densities_do_not_underflow():
    np.testing.assert_allclose(stacking_weights(np.array([[-2000.0, -2001.0]])), [1, 0], atol=1e-3)


@pytest.mark.parametrize("total", [1, 7, 100])
def test_shares_add_up(total, rng):
    weights = rng.dirichlet(np.ones(5))
    found = shares(weights, total)
    assert found.sum() == total
    assert np.abs(found - weights * total).max() < 1


def draws_of(key, depth, n):
    shape = TreeShape(2, depth)
    return TreeDraws(jax.random.normal(key, (n, shape.n_params)), jnp.float32(2), shape)


def as_they_are(*weights):
    """Weights of models whose scales are not stretched."""
    return jnp.outer(jnp.array(weights, jnp.float32), jnp.array(AS_IT_IS))


def test_a_mixture_of_models_has_the_weighted_density(key, rng):
    keys = jax.random.split(key)
    few, many = draws_of(keys[0], 1, 3), draws_of(keys[1], 2, 9)
    plain, wide = STRETCHES.index(1.0), len(STRETCHES) - 1
    stretches = np.zeros((2, len(STRETCHES)))
    stretches[0, plain], stretches[1, plain], stretches[1, wide] = 0.4, 0.1, 0.5
    mixed = MixedDraws((few, many), jnp.asarray(stretches), jnp.float32(0.7))
    x, y = rng.normal(size=(6, 2)).astype(np.float32), rng.normal(size=6)
    found = PredictiveDistribution(mixed, x)
    expected = np.zeros(6)
    for part, stretch_weights in zip((few, many), stretches, strict=True):
        weights, means, scales = map(np.asarray, part.mixture(jnp.asarray(x)))
        for stretch, weight in zip(STRETCHES, stretch_weights, strict=True):
            density = np.exp(weights) * norm.pdf(y, means, np.maximum(stretch * scales, 0.7))
            expected += weight * density.sum(axis=1).mean(axis=0)
    np.testing.assert_allclose(np.exp(found.log_prob(y)), expected, rtol=1e-4)
    functions = [np.asarray(part.means(jnp.asarray(x))) for part in (few, many)]
    mean = 0.4 * functions[0].mean(0) + 0.6 * functions[1].mean(0)
    np.testing.assert_allclose(found.mean, mean, rtol=1e-4, atol=1e-5)
    spread = [np.square(part - mean).mean(0) for part in functions]
    np.testing.assert_allclose(found.epistemic_var, 0.4 * spread[0] + 0.6 * spread[1], rtol=1e-3)
    np.testing.assert_allclose(found.cdf(found.quantile(0.9)), 0.9, atol=1e-4)
    assert np.isfinite(found.sample(5)).all()


def test_functions_of_a_mixture_come_in_proportion_to_the_weights(key, rng):
    keys = jax.random.split(key)
    parts = draws_of(keys[0], 1, 10), draws_of(keys[1], 1, 10)
    x = jnp.asarray(rng.normal(size=(4, 2)), jnp.float32)
    functions = MixedDraws(parts, as_they_are(0.3, 0.7), jnp.float32(0)).means(x)
    of_first = [
        (np.asarray(parts[0].means(x)) == f).all(axis=1).any() for f in np.asarray(functions)
    ]
    assert (len(of_first), sum(of_first)) == (20, 6)


def test_a_part_without_weight_counts_for_nothing(key, rng):
    keys = jax.random.split(key)
    parts = draws_of(keys[0], 1, 10), draws_of(keys[1], 1, 10)
    x = rng.normal(size=(4, 2)).astype(np.float32)
    mixed = PredictiveDistribution(MixedDraws(parts, as_they_are(1, 0), jnp.float32(0)), x)
    alone = PredictiveDistribution(parts[0], x)
    np.testing.assert_allclose(mixed.mean, alone.mean, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(mixed.std, alone.std, rtol=1e-4)
    np.testing.assert_allclose(mixed.quantile(0.2), alone.quantile(0.2), rtol=1e-3, atol=1e-4)
    assert np.isfinite(mixed.sample(7)).all()


def test_held_out_rows_are_scored_with_every_stretch(key, rng):
    draws = draws_of(key, 1, 5)
    x, y = rng.normal(size=(6, 2)).astype(np.float32), rng.normal(size=6).astype(np.float32)
    found = held_out_log_prob(draws, x, y, 0.1)
    assert found.shape == (len(STRETCHES), 6)
    for i, weights in enumerate(jnp.eye(len(STRETCHES))):
        mixed = MixedDraws((draws,), weights[None], jnp.float32(0.1))
        np.testing.assert_allclose(
            found[i], PredictiveDistribution(mixed, x).log_prob(y), rtol=1e-4, atol=1e-4
        )


@pytest.mark.parametrize("n", [30, 999, 5000, 40_000])
def test_parts_are_disjoint_and_leave_rows_to_train_on(n, key):
    parts = _held_out(key, n)
    together = np.concatenate(parts)
    assert len(np.unique(together)) == len(together)
    assert all(0 < len(part) <= n / 2 for part in parts)
    assert Rows.of(parts).counts.sum() == len(together)
    assert n > 4000 or len(together) == n


def test_the_estimator_says_what_it_chose(rng):
    x, y = matrix(rng)
    model = clone(CHOOSING).fit(x, y)
    assert model.weights_.sum() == pytest.approx(1)
    assert set(model.weights_.index) == {each.name for each in default_candidates(y)}
    assert sorted(part.weight for part in model.parts_) == sorted(
        model.weights_[model.weights_ > 0]
    )
    assert "log_likelihood" in model.summary()
    assert model.summary().splitlines()[2].startswith(model.weights_.index[0])


@pytest.mark.parametrize("make", [matrix, table])
def test_the_mixture_predicts_like_the_other_estimators(make, rng):
    x, y = make(rng)
    model = clone(CHOOSING).set_params(effort=0.3).fit(x, y)
    distribution = model.predict_dist(x)
    assert np.corrcoef(distribution.mean, y)[0, 1] > 0.9
    lower, upper = distribution.interval(0.9)
    assert ((lower < y) & (y < upper)).mean() > 0.8
    mean, std = model.predict(x, return_std=True)
    np.testing.assert_array_equal(mean, distribution.mean)
    np.testing.assert_allclose(std**2, distribution.epistemic_var + distribution.aleatoric_var)
    assert model.sample_functions(x, 4).shape == (4, len(y))


def test_same_seed_same_mixture(rng):
    x, y = matrix(rng)
    first, second = (clone(CHOOSING).fit(x, y).predict(x) for _ in range(2))
    np.testing.assert_array_equal(first, second)


def test_scaling_and_shifting_the_target_scales_and_shifts_the_mixture(rng):
    x, y = matrix(rng)
    plain, moved = (clone(CHOOSING).fit(x, t).predict_dist(x) for t in (y, 64 + 8 * y))
    np.testing.assert_allclose(moved.mean, 64 + 8 * plain.mean, rtol=1e-3, atol=2e-2)
    np.testing.assert_allclose(moved.std, 8 * plain.std, rtol=3e-2)


def test_thirty_rows_are_enough_and_fewer_get_a_sentence(rng):
    x, y = matrix(rng, FEWEST_ROWS)
    enough = clone(CHOOSING).set_params(effort=0.5).fit(x, y)
    assert enough.score(x, y) > 0.5
    with pytest.warns(UserWarning, match="12 rows are too few to hold some out: the mixture is"):
        few = clone(CHOOSING).fit(x[:12], y[:12])
    assert list(few.weights_) == [1.0]
    assert np.isfinite(few.predict(x)).all()
    few.summary()


@pytest.mark.parametrize("effort", [0, -1, "much", float("nan")])
def test_effort_must_be_a_positive_number(effort, rng):
    with pytest.raises(ValueError, match="effort must be a positive number"):
        VSTRegressorCV(effort=effort).fit(*matrix(rng))


def test_whole_number_targets_have_a_bounded_density(rng):
    x = rng.normal(size=(120, 2))
    y = np.round(2 * np.abs(x[:, 0]))
    model = clone(CHOOSING).fit(x, y)
    # A rounded value cannot be told from its neighbours within the rounding error.
    assert model.predict_dist(x).log_prob(y).max() < -np.log(np.sqrt(2 * np.pi / 12)) + 1e-3
