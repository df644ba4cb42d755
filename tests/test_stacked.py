"""`VST (CV)` of the tables is the estimator `VSTRegressorCV`."""

import jax
import numpy as np
import pytest

from vst import VSTRegressorCV
from vst.companion.experiments.fitting import coverage
from vst.companion.peers.interface import NormalMixture, Normals
from vst.companion.stacked import StackedTrees
from vst.selection import default_candidates


@pytest.mark.parametrize(
    "n",
    [
        120,
        pytest.param(20, marks=pytest.mark.filterwarnings("ignore:20 rows are too few")),
    ],
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_the_row_of_the_tables_is_the_estimator(rng, n):
    x = rng.normal(size=(n, 3))
    y = np.abs(x[:, 0]) + 0.1 * rng.normal(size=n)
    mine = VSTRegressorCV(effort=0.01, random_state=jax.random.key(3)).fit(x, y)
    z, shift, scale = mine.standardiser_(x), mine.target_mean_, mine.target_scale_
    target = ((y - shift) / scale).astype(np.float32)
    fitted = StackedTrees(effort=0.01).fit(z, target, seed=3)
    expected = mine.predict_dist(x).log_prob(y) + np.log(scale)
    np.testing.assert_allclose(fitted.log_prob(z, target), expected, rtol=1e-3, atol=1e-3)
    np.testing.assert_allclose(fitted.cdf(z, target), mine.predict_dist(x).cdf(y), atol=1e-3)


def test_no_candidate_looks_below_the_rounding_of_the_target(rng):
    rounded = np.round(rng.normal(size=200)).astype(np.float32)
    scales = {setting.smallest_scale for _, setting in default_candidates(rounded)}
    assert list(scales) == [pytest.approx(1 / np.sqrt(12), rel=1e-3)]


class Standard(NormalMixture):
    """The same two Normals in every row."""

    def normals(self, x):
        shape = (2, len(x))
        return Normals(np.zeros(shape), np.ones(shape))


def test_coverage_is_the_share_of_targets_in_the_central_interval():
    y = np.array([0.0, 1.6, -1.6, 1.7])  # the 95 % quantile is 1.645
    assert coverage(Standard(), np.zeros((4, 1)), y) == 0.75
