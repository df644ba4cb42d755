import numpy as np
import pytest

from vst.companion.protocol import synthetic
from vst.companion.protocol.wavelet import LARGEST_ORDER, daubechies, daubechies_filter
from vst.errors import UserError

ORDERS = [1, 2, 3, 10, LARGEST_ORDER]
GENERATORS = [synthetic.tails, synthetic.gap, synthetic.step, synthetic.wavelet]

each_order = pytest.mark.parametrize("order", ORDERS)
each_curve = pytest.mark.parametrize("make", GENERATORS, ids=lambda make: make.__name__)


def test_the_filter_of_order_two_is_the_one_in_closed_form():
    root = np.sqrt(3)
    expected = np.array([1 + root, 3 + root, 3 - root, 1 - root]) / (4 * np.sqrt(2))
    np.testing.assert_allclose(daubechies_filter(2), expected, atol=1e-14)


@each_order
def test_the_filter_is_orthonormal_to_its_even_shifts(order):
    h = daubechies_filter(order)
    products = [h[2 * k :] @ h[: len(h) - 2 * k] for k in range(order)]
    np.testing.assert_allclose(products, np.eye(order)[0], atol=1e-11)


@each_order
def test_the_scaling_function_solves_its_refinement_equation(order):
    phi = daubechies(order, levels=6)
    h = daubechies_filter(order)
    refined = sum(
        np.sqrt(2) * weight * np.interp(2 * phi.x - k, phi.x, phi.scaling, left=0, right=0)
        for k, weight in enumerate(h)
    )
    inner = slice(1, -1)  # order 1 jumps at its ends
    np.testing.assert_allclose(phi.scaling[inner], refined[inner], atol=1e-9)


@each_order
def test_shifts_of_the_scaling_function_add_up_to_one(order):
    phi = daubechies(order, levels=5)
    sums = phi.scaling[:-1].reshape(2 * order - 1, -1).sum(axis=0)
    np.testing.assert_allclose(sums, 1, atol=1e-9)


@pytest.mark.parametrize("order", [3, 10])
def test_the_wavelet_has_unit_norm_and_vanishing_moments(order):
    found = daubechies(order, levels=8)
    dx = found.x[1]
    np.testing.assert_allclose(np.sum(found.wavelet**2) * dx, 1, atol=1e-4)
    for power in range(order):
        moment = np.sum((found.x / found.x[-1]) ** power * found.wavelet) * dx
        assert abs(moment) < 1e-12
    further = np.sum((found.x / found.x[-1]) ** order * found.wavelet) * dx
    assert abs(further) > 1e-10


def test_the_first_order_is_haars_wavelet():
    haar = daubechies(1, levels=2)
    np.testing.assert_allclose(np.abs(haar.wavelet[:-1]), 1, atol=1e-12)
    assert np.sign(haar.wavelet[0]) == -np.sign(haar.wavelet[2])


@pytest.mark.parametrize("order", [0, LARGEST_ORDER + 1])
def test_other_orders_are_refused(order):
    with pytest.raises(UserError, match="between 1 and 20"):
        daubechies_filter(order)


@each_curve
def test_a_seed_fixes_the_observations(make):
    first, again, other = make(seed=3), make(seed=3), make(seed=4)
    np.testing.assert_array_equal(first.y, again.y)
    assert not np.array_equal(first.y, other.y)


@each_curve
def test_observations_lie_in_the_support_around_the_truth(make):
    curve = make(n=20_000, noise=0.1, seed=1)
    x = curve.x[:, 0]
    assert np.any([(low <= x) & (x <= high) for low, high in curve.support], axis=0).all()
    # A fine grid's truth, read off at the observations; the step is left out.
    truth = np.interp(x, curve.grid[:, 0], curve.truth)
    smooth = np.abs(x - 0.5) > 0.01 if make is synthetic.step else np.full(len(x), True)
    residual = (curve.y - truth)[smooth]
    assert abs(residual.mean()) < 0.005
    assert residual.std() == pytest.approx(0.1, rel=0.03)


def test_both_clusters_have_half_of_the_rows():
    x = synthetic.gap(n=100).x[:, 0]
    assert (x < 0).sum() == 50


def test_the_step_is_where_it_should_be():
    curve = synthetic.step()
    np.testing.assert_array_equal(synthetic.jump(np.array([0.0, 0.4999, 0.5, 1.0])), [-1, -1, 1, 1])
    assert set(curve.truth) == {-1.0, 1.0}


def test_inside_between_and_outside_divide_the_grid():
    curve = synthetic.gap()
    x = curve.grid[:, 0]
    np.testing.assert_array_equal(curve.between(), np.abs(x) < 0.5)
    np.testing.assert_array_equal(curve.inside(), (np.abs(x) >= 0.5) & (np.abs(x) <= 1.5))
    assert not synthetic.tails().between().any()


def test_the_wavelet_fills_the_unit_interval_and_is_zero_beyond():
    x = np.linspace(0, 1, 20_001)
    values = synthetic.daubechies_wavelet(x)
    # The norm of a function squeezed 19 times.
    assert np.mean(values**2) == pytest.approx(1 / 19, rel=1e-3)
    np.testing.assert_array_equal(synthetic.daubechies_wavelet(np.array([-0.1, 1.1])), 0)


@pytest.mark.parametrize("options", [{"n": 1}, {"noise": -0.1}])
def test_impossible_curves_are_refused(options):
    with pytest.raises(UserError, match="at least two rows"):
        synthetic.step(**options)
