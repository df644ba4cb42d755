"""Scores of whole distributions, against closed forms."""

import numpy as np
import pytest
from scipy.special import ndtr, ndtri
from scipy.stats import norm

from vst.companion.experiments.calibration import ROWS, crps, distribution_scores, quantile
from vst.companion.peers import NoDensityError


def mean_distance(means, scales):
    """E|X| of a Normal."""
    return 2 * scales * norm.pdf(means / scales) + means * (2 * ndtr(means / scales) - 1)


def exact_crps(weights, means, scales, y):
    """Of a mixture of Normals: E|X - y| - E|X - X'| / 2 (Grimit et al., 2006)."""
    between = np.sqrt(scales[:, None] ** 2 + scales**2)
    spread = weights @ mean_distance(means[:, None] - means, between) @ weights
    return weights @ mean_distance(y - means, scales) - spread / 2


@pytest.mark.parametrize("scale", [1e-4, 1e-2, 0.1, 1.0, 5.0])
def test_the_crps_of_a_normal_is_exact_at_any_scale(scale, rng):
    y = scale * rng.normal(size=50)
    one = np.ones(1)
    expected = [exact_crps(one, 0 * one, scale * one, value) for value in y]
    np.testing.assert_allclose(crps(lambda z: ndtr(z / scale), y), expected, rtol=5e-3)


@pytest.mark.parametrize("scale", [0.1, 1.0])
def test_the_crps_of_a_mixture_is_exact(scale, rng):
    for _ in range(20):
        weights, means = rng.dirichlet(np.ones(4)), rng.normal(size=4)
        scales, y = scale * np.exp(0.5 * rng.normal(size=4)), rng.normal(size=1)

        def cdf(z, weights=weights, means=means, scales=scales):
            return ndtr((z[:, None] - means) / scales) @ weights

        expected = exact_crps(weights, means, scales, y[0])
        assert crps(cdf, y)[0] == pytest.approx(expected, abs=2e-3)


def test_the_crps_of_a_point_is_its_absolute_error():
    y = np.array([-1.0, 0.3, 2.0])
    np.testing.assert_allclose(crps(lambda z: (z >= 0).astype(float), y), np.abs(y), atol=0.06)


def test_quantiles_are_found():
    far = np.full(3, 100.0)
    found = quantile(lambda z: ndtr((z - [0, 1, 2]) / [1, 0.1, 3]), 0.95, -far, far)
    np.testing.assert_allclose(found, np.array([0, 1, 2]) + ndtri(0.95) * np.array([1, 0.1, 3]))


class StandardNormal:
    """Predicts the same for all rows, and counts them."""

    def cdf(self, x, y):
        assert len(x) == len(y) <= ROWS
        return ndtr(y)


def test_the_width_of_an_interval_is_that_of_its_quantiles(rng):
    found = distribution_scores(StandardNormal(), np.zeros((1500, 1)), rng.normal(size=1500))
    assert found["width"] == pytest.approx(2 * ndtri(0.95), abs=1e-4)
    assert found["crps"] == pytest.approx(1 / np.sqrt(np.pi), abs=0.03)


def test_a_model_without_a_density_has_neither():
    class Point:
        def cdf(self, x, y):
            raise NoDensityError

    assert distribution_scores(Point(), np.zeros((2, 1)), np.zeros(2)) == {
        "crps": None,
        "width": None,
    }
