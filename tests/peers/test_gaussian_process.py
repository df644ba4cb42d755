"""The Gaussian process, against dense formulas and finite differences."""

from dataclasses import fields, replace
from typing import get_args

import numpy as np
import pytest
from scipy.optimize import approx_fprime
from scipy.stats import multivariate_normal, norm

from vst.companion.peers import ConstantTargetError
from vst.companion.peers import gaussian_process as gp
from vst.companion.peers.gaussian_process import GaussianProcess

KERNELS = get_args(gp.Kernel)


def rows(rng, n=40, d=3):
    """A sine of the first feature, and noise."""
    x = rng.normal(size=(n, d))
    return x, np.sin(2 * x[:, 0]) + 0.1 * rng.normal(size=n)


def dense_kernel(kernel, theta, a, b):
    """The covariance of two tables, entry by entry, from the formulas in the literature."""
    lengths, (signal, _, alpha) = np.exp(theta[:-3]), np.exp(theta[-3:])
    r = np.array([[np.sqrt(np.sum(((p - q) / lengths) ** 2)) for q in b] for p in a])
    return (
        signal**2
        * {
            "rbf": np.exp(-(r**2) / 2),
            "matern32": (1 + np.sqrt(3) * r) * np.exp(-np.sqrt(3) * r),
            "matern52": (1 + np.sqrt(5) * r + 5 * r**2 / 3) * np.exp(-np.sqrt(5) * r),
            "rational-quadratic": (1 + r**2 / (2 * alpha)) ** -alpha,
        }[kernel]
    )


def dense_posterior(model, y, x):
    """Mean and covariance of the function at ``x``, with the inverse of the covariance."""
    noise = np.exp(2 * model.theta[-2])
    inverse = np.linalg.inv(
        dense_kernel(model.kernel, model.theta, model.x, model.x) + noise * np.eye(len(y))
    )
    cross = dense_kernel(model.kernel, model.theta, x, model.x)
    within = dense_kernel(model.kernel, model.theta, x, x)
    return cross @ inverse @ y, within - cross @ inverse @ cross.T


def targets(model):
    """The targets of the model's rows, in its order of rows."""
    return model.factor @ (model.factor.T @ model.weights)


@pytest.mark.parametrize("kernel", KERNELS)
def test_the_posterior_is_that_of_the_dense_formula(kernel, rng):
    model = GaussianProcess(kernel=kernel).fit(*rows(rng))
    new = rng.normal(size=(7, 3))
    mean, covariance = dense_posterior(model, targets(model), new)
    draws = model.mean_draws(new)
    np.testing.assert_allclose(draws.mean(axis=0), mean, atol=1e-6)
    np.testing.assert_allclose(draws.var(axis=0), np.diag(covariance), rtol=1e-4, atol=1e-8)
    scale = np.sqrt(np.diag(covariance) + np.exp(2 * model.theta[-2]))
    y = rng.normal(size=7)
    np.testing.assert_allclose(model.log_prob(new, y), norm(mean, scale).logpdf(y), rtol=1e-4)


@pytest.mark.parametrize("kernel", KERNELS)
def test_the_loss_is_the_density_of_all_targets(kernel, rng):
    x, y = rows(rng, n=12)
    theta = rng.normal(size=6)
    covariance = dense_kernel(kernel, theta, x, x) + np.exp(2 * theta[-2]) * np.eye(12)
    expected = -multivariate_normal(np.zeros(12), covariance).logpdf(y) / 12
    assert gp.loss_and_gradient(kernel, theta, x, y)[0] == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("kernel", KERNELS)
def test_the_gradient_is_that_of_finite_differences(kernel, rng):
    x, y = rows(rng)
    x[5] = x[6]  # the distance has no derivative at zero, but the kernel has
    theta = 0.5 * rng.normal(size=6)
    _, gradient = gp.loss_and_gradient(kernel, theta, x, y)
    numerical = approx_fprime(theta, lambda t: gp.loss_and_gradient(kernel, t, x, y)[0], 1e-6)
    np.testing.assert_allclose(gradient, numerical, atol=2e-5)
    assert np.abs(gradient[:-1]).min() > 1e-4
    assert (gradient[-1] != 0) == (kernel == "rational-quadratic")


def test_length_scales_and_noise_are_recovered(rng):
    x = rng.uniform(-2, 2, (400, 2))
    covariance = dense_kernel("rbf", np.log([0.5, 2, 1, 0.1, 1]), x, x)
    y = rng.multivariate_normal(np.zeros(400), covariance + 0.01 * np.eye(400))
    model = GaussianProcess(kernel="rbf").fit(x, y)
    assert np.exp(model.theta[:2]) == pytest.approx([0.5, 2], rel=0.25)
    assert np.exp(model.theta[-2]) == pytest.approx(0.1, rel=0.15)


def test_a_feature_without_effect_gets_a_longer_length_scale(rng):
    lengths = np.exp(GaussianProcess().fit(*rows(rng, n=150)).theta[:3])
    assert lengths[1:].min() > 5 * lengths[0]


def test_far_from_the_rows_the_posterior_is_the_prior(rng):
    model = GaussianProcess().fit(*rows(rng))
    far = np.full((1, 3), 1e7)
    draws = model.mean_draws(far)
    assert draws.mean() == pytest.approx(0, abs=1e-9)
    assert draws.std() == pytest.approx(np.exp(model.theta[-3]))


def test_a_target_without_noise_is_interpolated(rng):
    x = rng.uniform(-2, 2, (300, 2))
    y = np.sin(x[:, 0]) * x[:, 1]
    model = GaussianProcess(kernel="rbf").fit(x[:200], y[:200])
    assert np.sqrt(np.mean((model.mean_draws(x[200:]).mean(axis=0) - y[200:]) ** 2)) < 3e-3
    assert np.isfinite(model.log_prob(x[200:], y[200:])).all()
    assert np.exp(model.theta[-2]) >= gp.NOISES[0] * (1 - 1e-9)


def test_draws_differ_and_have_the_mean_and_the_variance_of_the_posterior(rng):
    model = GaussianProcess(draws=50).fit(*rows(rng))
    new = rng.normal(size=(9, 3))
    draws = model.mean_draws(new)
    mean, deviation = model._posterior(new)
    gaps = np.diff(np.sort((draws[:, 0] - mean[0]) / deviation[0]))
    assert gaps.min() > 0.04
    np.testing.assert_allclose(draws.mean(axis=0), mean, atol=1e-12)
    np.testing.assert_allclose(draws.std(axis=0), deviation, rtol=1e-9)


def test_the_seed_determines_the_model_bit_for_bit(rng):
    x, y = rows(rng, n=60)
    peer = GaussianProcess(most_rows=50)
    first, again, other = (peer.fit(x, y, seed=seed) for seed in (1, 1, 2))
    for name in ("theta", "x", "factor", "weights", "numbers"):
        np.testing.assert_array_equal(getattr(first, name), getattr(again, name))
    assert not np.array_equal(first.numbers, other.numbers)
    assert not np.array_equal(np.sort(first.x, axis=0), np.sort(other.x, axis=0))


def test_a_longer_table_is_cut_to_a_random_subset_of_its_rows(rng):
    x, y = rows(rng, n=60)
    model = GaussianProcess(most_rows=25).fit(x, y)
    places = [int(np.flatnonzero((x == row).all(axis=1))[0]) for row in model.x]
    assert len(set(places)) == 25
    assert set(places) != set(range(25))
    np.testing.assert_allclose(targets(model), y[places], atol=1e-8)
    assert len(GaussianProcess(most_rows=60).fit(x, y).x) == 60


def test_the_search_starts_on_few_rows_and_ends_on_all(rng, monkeypatch):
    sizes = []
    original = gp.loss_and_gradient

    def counted(kernel, theta, x, y):
        sizes.append(len(x))
        return original(kernel, theta, x, y)

    monkeypatch.setattr(gp, "loss_and_gradient", counted)
    monkeypatch.setattr(gp, "FIRST_ROWS", 30)
    x, y = rows(rng, n=60)
    model = GaussianProcess().fit(x, y)
    assert set(sizes) == {30, 60}
    assert sizes == sorted(sizes)
    _, gradient = original(model.kernel, model.theta, model.x, targets(model))
    inside = (model.theta > np.log(gp.LENGTHS[0])) & (model.theta < np.log(gp.SHAPES[1]))
    assert np.abs(gradient[inside]).max() < 1e-2


def test_more_starts_never_end_with_a_lower_likelihood_on_the_same_rows(rng):
    x, y = rows(rng, n=30, d=4)

    def loss(restarts):
        model = GaussianProcess(restarts=restarts).fit(x, y)
        return gp.loss_and_gradient(model.kernel, model.theta, model.x, targets(model))[0]

    assert loss(5) <= loss(0) + 1e-9


def test_blocks_of_rows_give_what_all_rows_give(rng, monkeypatch):
    model = GaussianProcess().fit(*rows(rng))
    new = rng.normal(size=(50, 3))
    whole = model.normals(new)
    monkeypatch.setattr(gp, "BLOCK", 7)
    for one, other in zip(whole, model.normals(new), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9)
    assert model.mean_draws(new[:0]).shape == (100, 0)


def test_a_bound_on_scales_holds_and_leaves_means_alone(rng):
    x, y = rows(rng)
    free = GaussianProcess().fit(x, y)
    bound = 2 * float(free.normals(x).scales.min())
    for bounded in (
        GaussianProcess(smallest_scale=bound).fit(x, y),
        replace(free, smallest_scale=bound),
    ):
        assert bounded.normals(x).scales.min() == pytest.approx(bound)
        np.testing.assert_array_equal(bounded.normals(x).means, free.normals(x).means)


def test_one_feature_two_rows_and_repeated_rows_can_be_fitted():
    x, y = np.array([[0.0], [1.0]]), np.array([-1.0, 1.0])
    for n in (1, 30):
        model = GaussianProcess().fit(np.tile(x, (n, 1)), np.tile(y, n))
        assert np.isfinite(model.log_prob(x, y)).all()


def test_a_constant_target_is_refused_with_a_reason(rng):
    x, y = rows(rng)
    with pytest.raises(ConstantTargetError, match="3 in every row"):
        GaussianProcess().fit(x, np.full_like(y, 3))


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"kernel": "linear"}, "no kernel 'linear': choose from rbf, matern32"),
        ({"draws": 1}, "at least 2, got 1, 2000 and 4000"),
        ({"most_rows": 1}, "at least 2, got 100, 2000 and 1"),
    ],
)
def test_settings_that_cannot_be_fitted_are_refused(wrong, message, rng):
    with pytest.raises(ValueError, match=message):
        GaussianProcess(**wrong).fit(*rows(rng))


def test_arrays_that_do_not_fit_together_are_refused(rng):
    x, y = rows(rng)
    with pytest.raises(ValueError, match="shape"):
        GaussianProcess().fit(x, y[:-1])
    with pytest.raises(ValueError, match="finite"):
        GaussianProcess().fit(np.where(x == x[3, 0], np.nan, x), y)


def test_defaults_lie_inside_the_ranges():
    values = {field.name: field.default for field in fields(GaussianProcess)}
    assert all(values[name] in range_ for name, range_ in gp.OWN_RANGES.items())
