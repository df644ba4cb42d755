import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm

from vst import blocks, memory, predictive
from vst.blocks import map_rows
from vst.boosting import EnsembleDraws
from vst.posterior import LowRankGaussian
from vst.predictive import PredictiveDistribution, TreeDraws, draw_parameters
from vst.tree import SoftTree, TreeShape


def tree_draws(rng, n_draws=7, depth=2, leaves="linear"):
    shape = TreeShape(2, depth, leaves)
    thetas = rng.normal(size=(n_draws, shape.n_params))
    return TreeDraws(jnp.asarray(thetas, jnp.float32), jnp.float32(3), shape)


def ensemble_draws(rng, n_draws=7):
    shape = TreeShape(2, 1, "constant", "shared")
    thetas = jnp.asarray(rng.normal(size=(n_draws, 3, shape.n_params)), jnp.float32)
    noise = jnp.asarray(rng.uniform(0.1, 1, n_draws), jnp.float32)
    return EnsembleDraws(thetas, noise, jnp.float32(3), shape)


def inputs(rng, n=9):
    return rng.normal(size=(n, 2)).astype(np.float32)


def dense_mixture(draws, x):
    """Weights, means and scales over all components of each row: (n, draws * components)."""
    parts = [np.asarray(part, float) for part in draws.mixture(x)]
    weights, means, scales = (part.transpose(2, 0, 1).reshape(len(x), -1) for part in parts)
    return np.exp(weights) / draws.n_draws, means, scales


MODELS = pytest.mark.parametrize("make", [tree_draws, ensemble_draws])


@MODELS
def test_moments_are_the_mixtures(make, rng):
    draws, x = make(rng), inputs(rng)
    d = PredictiveDistribution(draws, x)
    weights, means, scales = dense_mixture(draws, x)
    mean = (weights * means).sum(axis=1)
    variance = (weights * (scales**2 + means**2)).sum(axis=1) - mean**2
    np.testing.assert_allclose(d.mean, mean, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(d.std**2, variance, rtol=1e-4)
    np.testing.assert_allclose(d.epistemic_var, np.asarray(draws.means(x)).var(axis=0), rtol=1e-4)


@MODELS
def test_log_density_and_cdf_are_the_mixtures(make, rng):
    draws, x, y = make(rng), inputs(rng), rng.normal(size=9)
    d = PredictiveDistribution(draws, x)
    weights, means, scales = dense_mixture(draws, x)
    density = (weights * norm.pdf(y[:, None], means, scales)).sum(axis=1)
    below = (weights * norm.cdf(y[:, None], means, scales)).sum(axis=1)
    np.testing.assert_allclose(d.log_prob(y), np.log(density), rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(d.cdf(y), below, rtol=1e-4, atol=1e-6)


@MODELS
def test_density_integrates_to_one_in_the_targets_units(make, rng):
    d = PredictiveDistribution(make(rng), inputs(rng, 1), shift=50.0, scale=20.0)
    grid = np.linspace(d.mean[0] - 30 * d.std[0], d.mean[0] + 30 * d.std[0], 100_001)
    wide = PredictiveDistribution(d._draws, np.repeat(d._x, len(grid), axis=0), 50.0, 20.0)
    np.testing.assert_allclose(np.trapezoid(np.exp(wide.log_prob(grid)), grid), 1, rtol=1e-3)


@given(q=st.floats(0.001, 0.999), seed=st.integers(0, 2**31))
def test_quantile_inverts_the_cdf(q, seed):
    rng = np.random.default_rng(seed)
    d = PredictiveDistribution(tree_draws(rng), inputs(rng), shift=-3.0, scale=2.0)
    np.testing.assert_allclose(d.cdf(d.quantile(q)), q, atol=2e-4)


@given(seed=st.integers(0, 2**31))
def test_the_mixture_is_a_distribution(seed):
    rng = np.random.default_rng(seed)
    d = PredictiveDistribution(tree_draws(rng, leaves="constant"), inputs(rng))
    levels = d.quantile(np.array([0.05, 0.3, 0.5, 0.7, 0.95]))
    assert (np.diff(levels, axis=0) >= 0).all()
    assert (d.epistemic_var >= 0).all()
    assert (d.aleatoric_var > 0).all()
    assert (np.diff([d.cdf(row) for row in levels], axis=0) >= 0).all()


@MODELS
def test_ninety_percent_intervals_cover_ninety_percent_of_the_models_own_data(make, rng):
    draws, x = make(rng, 20), inputs(rng, 4000)
    weights, means, scales = dense_mixture(draws, x)
    component = (rng.random((4000, 1)) > weights.cumsum(axis=1)).sum(axis=1)
    rows = np.arange(4000), component.clip(max=weights.shape[1] - 1)
    y = rng.normal(means[rows], scales[rows])
    lower, upper = PredictiveDistribution(draws, x).interval(0.9)
    assert abs(((lower <= y) & (y <= upper)).mean() - 0.9) < 0.02


@MODELS
def test_samples_follow_the_distribution(make, rng):
    d = PredictiveDistribution(make(rng), inputs(rng, 5), shift=10.0, scale=3.0)
    samples = d.sample(20_000, random_state=4)
    assert samples.shape == (20_000, 5)
    np.testing.assert_allclose(samples.mean(axis=0), d.mean, atol=5 * d.std.max() / np.sqrt(2e4))
    np.testing.assert_allclose(samples.std(axis=0), d.std, rtol=0.05)
    np.testing.assert_allclose((samples < d.quantile(0.3)).mean(axis=0), 0.3, atol=0.02)
    np.testing.assert_array_equal(samples, d.sample(20_000, random_state=4))


def test_units_of_the_target(rng):
    draws, x, y = tree_draws(rng), inputs(rng), rng.normal(size=9)
    standard = PredictiveDistribution(draws, x)
    d = PredictiveDistribution(draws, x, shift=100.0, scale=7.0)
    target = 100 + 7 * y
    np.testing.assert_allclose(d.mean, 100 + 7 * standard.mean)
    np.testing.assert_allclose(d.std, 7 * standard.std)
    np.testing.assert_allclose(d.epistemic_var, 49 * standard.epistemic_var)
    np.testing.assert_allclose(d.log_prob(target), standard.log_prob(y) - np.log(7), rtol=1e-4)
    np.testing.assert_allclose(d.standardised().mean, standard.mean)
    np.testing.assert_allclose(
        d.interval(0.5), 100 + 7 * np.array(standard.interval(0.5)), rtol=1e-6
    )


def test_blocks_of_rows_do_not_change_the_result(rng, monkeypatch):
    draws, x = tree_draws(rng), inputs(rng, 700)
    whole = map_rows(predictive.mean_functions, draws, x)
    monkeypatch.setattr(blocks, "BLOCK_COMPONENTS", 1)
    monkeypatch.setattr(blocks, "AHEAD", 3)
    blocked = map_rows(predictive.mean_functions, draws, x)
    assert whole.shape == (7, 700)
    np.testing.assert_allclose(blocked, whole, rtol=1e-5, atol=1e-6)


def test_draws_come_evenly_from_the_members_of_a_mixture(key):
    p = 3
    means = jnp.arange(4.0)[:, None] * jnp.ones(p)
    members = LowRankGaussian(means, jnp.full((4, p), 1e-3), jnp.zeros((4, p, 1)))
    draws = np.asarray(draw_parameters(key, members, 100))
    assert draws.shape == (100, p)
    np.testing.assert_array_equal(np.bincount(draws[:, 0].round().astype(int)), [25] * 4)


def test_trees_of_one_draw_come_from_the_same_member(key):
    means = jnp.arange(4.0)[:, None, None] * jnp.ones((4, 5, 3))
    members = LowRankGaussian(means, jnp.full((4, 5, 3), 1e-3), jnp.zeros((4, 5, 3, 1)))
    draws = np.asarray(draw_parameters(key, members, 8))
    assert draws.shape == (8, 5, 3)
    assert (np.ptp(draws.round(), axis=(1, 2)) == 0).all()
    assert not np.array_equal(draws[:, 0], draws[:, 1])


def test_ensemble_means_add_up_its_trees(rng):
    draws, x = ensemble_draws(rng), inputs(rng)
    total = sum(SoftTree(draws.shape, theta, 3.0).mean(x) for theta in draws.thetas[0])
    np.testing.assert_allclose(draws.means(x)[0], total, rtol=1e-5)


@pytest.mark.parametrize("q", [0.0, 1.0, 1 - 1e-9, [0.5, 1.2]])
def test_levels_outside_zero_and_one_are_refused(q, rng):
    d = PredictiveDistribution(tree_draws(rng), inputs(rng))
    with pytest.raises(ValueError, match="strictly between 0 and 1"):
        d.quantile(q)
    with pytest.raises(ValueError, match="strictly between 0 and 1"):
        d.interval(1.0)
    with pytest.raises(ValueError, match="one number strictly between 0 and 1"):
        d.interval([0.5, 0.9])


@pytest.mark.parametrize("n", [0, -1, 2.5])
def test_a_sample_of_no_whole_number_is_refused(n, rng):
    with pytest.raises(ValueError, match="n must be an integer >= 1"):
        PredictiveDistribution(tree_draws(rng), inputs(rng)).sample(n)


def test_targets_must_match_the_rows(rng):
    d = PredictiveDistribution(tree_draws(rng), inputs(rng))
    with pytest.raises(ValueError, match="y must have one target per row"):
        d.log_prob(np.zeros(3))


def test_the_distribution_says_what_it_is(rng):
    d = PredictiveDistribution(tree_draws(rng), inputs(rng))
    assert repr(d) == "PredictiveDistribution(9 rows, 7 posterior draws)"


@MODELS
def test_more_samples_than_memory_holds_are_refused(make, rng):
    d = PredictiveDistribution(make(rng), inputs(rng))
    with pytest.raises(
        MemoryError, match=r"100000000000 values for each of 9 rows .* ask for fewer"
    ):
        d.sample(10**11)


def test_more_draws_than_memory_holds_are_refused(rng, key):
    members = LowRankGaussian(jnp.zeros((2, 3)), jnp.ones((2, 3)), jnp.ones((2, 3, 1)))
    with pytest.raises(MemoryError, match="10000000000000 posterior draws of 3 parameters"):
        draw_parameters(key, members, 10**13)


def test_a_result_larger_than_memory_is_refused_after_its_first_rows(rng, monkeypatch):
    monkeypatch.setattr(memory, "SMALL", 0)
    monkeypatch.setattr(memory, "memory_limit", lambda: 10**5)
    draws = tree_draws(rng)
    with pytest.raises(MemoryError, match="7 values for each of 2000 rows"):
        map_rows(predictive.mean_functions, draws, inputs(rng, 2000))
    assert map_rows(predictive.mean_functions, draws, inputs(rng, 1000)).shape == (7, 1000)
