import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from jax.test_util import check_grads
from scipy.stats import multivariate_normal

from vst.posterior import LowRankGaussian

P = 12
RANKS = [0, 1, 5, P]


def gaussian(rank, rng, p=P, size=1.0):
    return LowRankGaussian(
        jnp.asarray(rng.normal(size=p)),
        jnp.asarray(rng.uniform(0.1, 2, p)),
        jnp.asarray(size * rng.normal(size=(p, rank))),
    )


def dense_kl(mean, covariance, prior_scale):
    """KL between dense Gaussians, from the textbook formula."""
    p = len(mean)
    precision = np.eye(p) / prior_scale**2
    return 0.5 * (
        np.trace(precision @ covariance)
        + mean @ precision @ mean
        - p
        + p * np.log(prior_scale**2)
        - np.linalg.slogdet(covariance)[1]
    )


@pytest.mark.parametrize("rank", RANKS)
@pytest.mark.parametrize("prior_scale", [0.01, 1.0, 2.5])
def test_kl_equals_the_dense_gaussian_kl(rank, prior_scale, rng, float64):
    q = gaussian(rank, rng)
    expected = dense_kl(np.asarray(q.mean), np.asarray(q.covariance()), prior_scale)
    np.testing.assert_allclose(q.kl(prior_scale), expected, rtol=1e-9)


@given(
    p=st.integers(1, 20),
    share=st.floats(0, 1),
    size=st.sampled_from([1e-3, 1.0, 30.0]),
    seed=st.integers(0, 2**31),
)
def test_kl_is_right_for_any_size_and_rank_and_never_negative(p, share, size, seed):
    with jax.enable_x64(True):
        q = gaussian(round(share * p), np.random.default_rng(seed), p, size)
        value = float(q.kl(1.0))
        expected = dense_kl(np.asarray(q.mean), np.asarray(q.covariance()), 1.0)
    np.testing.assert_allclose(value, expected, rtol=1e-9, atol=1e-9)
    assert value >= 0


def test_kl_to_itself_is_zero(float64):
    q = LowRankGaussian(jnp.zeros(P), jnp.full(P, 0.7), jnp.zeros((P, 3)))
    np.testing.assert_allclose(q.kl(0.7), 0, atol=1e-12)


@pytest.mark.parametrize("rank", RANKS)
def test_log_density_matches_scipy(rank, rng, float64):
    q = gaussian(rank, rng)
    theta = rng.normal(size=(7, P))
    expected = multivariate_normal(q.mean, q.covariance()).logpdf(theta)
    np.testing.assert_allclose(q.log_prob(theta), expected, rtol=1e-9)
    np.testing.assert_allclose(q.log_prob(theta[0]), expected[0], rtol=1e-9)


@pytest.mark.parametrize("rank", RANKS)
def test_samples_have_the_stated_mean_and_covariance(rank, rng, key):
    q = jax.tree.map(lambda a: a.astype(jnp.float32), gaussian(rank, rng))
    n = 200_000
    draws = np.asarray(q.sample(key, n), float)
    covariance = np.asarray(q.covariance(), float)
    spread = np.sqrt(np.diag(covariance))
    np.testing.assert_allclose((draws.mean(axis=0) - q.mean) / spread, 0, atol=5 / np.sqrt(n))
    error = (np.cov(draws.T) - covariance) / np.outer(spread, spread)
    np.testing.assert_allclose(error, 0, atol=7 / np.sqrt(n))


def test_full_rank_represents_any_covariance(rng, float64):
    root = rng.normal(size=(P, P))
    target = root @ root.T + 0.1 * np.eye(P)
    diagonal = 1e-3
    factor = np.linalg.cholesky(target - diagonal**2 * np.eye(P))
    q = LowRankGaussian(jnp.zeros(P), jnp.full(P, diagonal), jnp.asarray(factor))
    np.testing.assert_allclose(q.covariance(), target, rtol=1e-10, atol=1e-12)
    assert q.rank == P


@pytest.mark.parametrize("rank", RANKS)
def test_gradients_agree_with_finite_differences(rank, rng, seed, float64):
    q = gaussian(rank, rng)

    @jax.jit
    def cubes_of_samples(q):
        return (q.sample(jax.random.key(seed), 3) ** 3).sum()

    check_grads(jax.jit(lambda q: q.kl(0.8)), (q,), order=1, modes=["rev"])
    check_grads(cubes_of_samples, (q,), order=1, modes=["rev"])
