import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.test_util import check_grads

from vst import minibatches
from vst.bound import (
    Hyperparameters,
    Noise,
    draw_normal,
    elbo,
    objective,
    posterior_of,
    tangent,
    variational_of,
)
from vst.posterior import LowRankGaussian
from vst.tree import TreeShape

SHAPES = [TreeShape(3, 2), TreeShape(3, 2, "constant"), TreeShape(3, 1, "linear", "shared")]


def posterior(rng, p, rank):
    return LowRankGaussian(
        jnp.asarray(rng.normal(size=p)),
        jnp.asarray(rng.uniform(0.1, 0.5, p)),
        jnp.asarray(0.3 * rng.normal(size=(p, rank))),
    )


def batch(rng, shape, rank, rows=7):
    x, y = rng.normal(size=(rows, shape.in_features)), rng.normal(size=rows)
    noise = Noise(
        jnp.asarray(rng.normal(size=(2, shape.n_outputs, rows))),
        jnp.asarray(rng.normal(size=(2, rank))),
    )
    return jnp.asarray(x), jnp.asarray(y), noise


@pytest.mark.parametrize("rank", [0, 1, 12])
def test_variational_parameters_describe_the_posterior(rank, rng, float64):
    q = posterior(rng, 12, rank)
    for expected, found in zip(q, posterior_of(variational_of(q)), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize("rank", [0, 3])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_where_the_determinant_is_linearised_the_objective_is_the_elbo(shape, rank, rng, float64):
    """Value and gradient, so that training climbs the exact bound."""
    q = posterior(rng, shape.n_params, rank)
    x, y, noise = batch(rng, shape, rank)
    hyper = Hyperparameters(prior_scale=0.7, beta=2.0, kl_weight=0.4)
    variational = variational_of(q)
    volume = tangent(variational)

    def exact(variational):
        return elbo(noise, posterior_of(variational), shape, hyper, x, y, 50) / 50

    def linearised(variational):
        return objective(variational, noise, volume, shape, hyper, x, y, 50)

    value, gradient = jax.value_and_grad(exact)(variational)
    found_value, found_gradient = jax.value_and_grad(linearised)(variational)
    np.testing.assert_allclose(found_value, value, rtol=1e-10)
    np.testing.assert_allclose(found_gradient, gradient, rtol=1e-8, atol=1e-12)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_turning_inputs_and_posterior_together_leaves_the_bound(shape, rng, float64):
    """With equal scales. Others would not stay diagonal, so their best fit depends on the axes."""
    x, y, noise = batch(rng, shape, rank=2)
    d, affine = shape.in_features, shape.n_affine * (shape.in_features + 1)
    rotation = np.eye(d + 1)
    rotation[:d, :d] = np.linalg.qr(rng.normal(size=(d, d)))[0]

    def turn(column):
        return jnp.concatenate(
            [(column[:affine].reshape(-1, d + 1) @ rotation).ravel(), column[affine:]]
        )

    q = posterior(rng, shape.n_params, 2)._replace(scale=jnp.full(shape.n_params, 0.3))
    turned = LowRankGaussian(turn(q.mean), q.scale, jax.vmap(turn, 1, 1)(q.factor))
    hyper = Hyperparameters(prior_scale=0.7, beta=2.0)
    before = elbo(noise, q, shape, hyper, x, y, 50)
    after = elbo(noise, turned, shape, hyper, x @ rotation[:d, :d], y, 50)
    np.testing.assert_allclose(after, before, rtol=1e-10)
    np.testing.assert_allclose(turned.kl(0.7), q.kl(0.7), rtol=1e-10)
    assert not np.allclose(elbo(noise, turned, shape, hyper, x, y, 50), before, rtol=1e-3)


def test_away_from_there_the_linear_determinant_errs_to_second_order(rng, float64):
    variational = variational_of(posterior(rng, 9, 4))
    direction = jnp.asarray(rng.normal(size=variational.shape))

    def error(size):
        moved = variational + size * direction
        (constant, slope), exact = tangent(variational), tangent(moved)
        truth = exact.constant + jnp.sum(exact.slope * moved[2:])
        return abs(float(constant + jnp.sum(slope * moved[2:]) - truth))

    assert error(1e-3) < 1e-4
    assert error(1e-3) == pytest.approx(error(1e-2) / 100, rel=0.2)


def test_outputs_drawn_for_a_row_are_those_of_drawn_parameters(rng, float64):
    """A depth-0 tree's mean is an affine map: its draws have the mean and variance of the posterior."""
    shape, draws = TreeShape(3, 0, "linear", 0.5), 200_000
    q = posterior(rng, shape.n_params, 2)
    x = rng.normal(size=3)
    noise = Noise(
        jnp.asarray(rng.normal(size=(draws, shape.n_outputs, 1))),
        jnp.asarray(rng.normal(size=(draws, 2))),
    )
    # The log-likelihood of y is quadratic in the output, so three targets show its first two moments.
    values = [
        float(elbo(noise, q, shape, Hyperparameters(kl_weight=0.0), x[None], jnp.array([y]), 1))
        for y in (-1.0, 0.0, 1.0)
    ]
    inputs = np.r_[x, 1.0]
    mean = float(inputs @ q.mean)
    second = float(inputs @ np.asarray(q.covariance()) @ inputs) + mean**2
    scale = -0.5 / 0.25
    assert (values[2] - values[0]) / (-4 * scale) == pytest.approx(mean, abs=0.02)
    constant = -0.5 * np.log(2 * np.pi) - np.log(0.5)
    assert (values[1] - constant) / scale == pytest.approx(second, rel=0.02)


def test_rows_do_not_share_the_noise_of_the_diagonal_part(rng, float64):
    """Which is why the estimate has less noise than with one draw for all rows."""
    shape = TreeShape(2, 2)
    q = posterior(rng, shape.n_params, 0)
    rows, draws = 100, 300
    x, y = jnp.asarray(rng.normal(size=(rows, 2))), jnp.asarray(rng.normal(size=rows))

    def estimates(noise):
        def one(outputs):
            given = Noise(outputs[None], jnp.zeros((1, 0)))
            return elbo(given, q, shape, Hyperparameters(kl_weight=0.0), x, y, 1)

        return np.asarray(jax.vmap(one)(jnp.asarray(noise)))

    own = estimates(rng.normal(size=(draws, shape.n_outputs, rows)))
    same = np.broadcast_to(
        rng.normal(size=(draws, shape.n_outputs, 1)), (draws, shape.n_outputs, rows)
    )
    assert own.std() < 0.5 * estimates(same).std()


def test_gradients_of_drawn_outputs_agree_with_finite_differences(rng, float64):
    mean, noise = jnp.asarray(rng.normal(size=(3, 4))), jnp.asarray(rng.normal(size=(3, 4)))
    variance = jnp.asarray(rng.uniform(0.1, 2.0, size=(3, 4)))
    np.testing.assert_allclose(
        draw_normal(mean, variance, noise), mean + np.sqrt(variance) * noise, rtol=1e-12
    )
    check_grads(lambda m, v: draw_normal(m, v, noise), (mean, variance), order=1, modes=["rev"])


@pytest.mark.parametrize("outputs", [1, 5, 47])
def test_the_noise_of_a_step_is_normal_and_independent(outputs, key):
    noise = np.asarray(minibatches.draw_noise(key, 2, outputs, 128, np.dtype("float32")))
    assert noise.shape == (minibatches.NOISE_BLOCK, 2, outputs, 128)
    for step in noise:
        assert len(np.unique(step)) > 0.99 * step.size
        assert abs(step.mean()) < 5 / np.sqrt(step.size)
        assert abs(step.std() - 1) < 5 / np.sqrt(2 * step.size)
    assert not np.array_equal(noise[0], noise[1])
