import warnings

import jax
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import KFold, cross_val_score

from vst import VSGBMRegressor, VSTRegressor
from vst.arrays import Rows
from vst.bound import Hyperparameters
from vst.convergence import COOLING, FARTHEST, Cooling, gain, may_stop
from vst.inference import Program, _status, fit
from vst.tree import TreeShape

EASY = Program(TreeShape(2, 0), rank=2, batch_size=32)


def data(rng, n=200):
    x = rng.normal(size=(n, 2)).astype(np.float32)
    return x, (x[:, 0] + 0.3 * rng.normal(size=n)).astype(np.float32)


def test_gain_compares_the_last_two_thirds():
    trace = np.stack([np.zeros(9), np.arange(9.0), np.r_[np.full(6, -9.0), np.ones(3)]])
    np.testing.assert_allclose(gain(trace), [0.0, 3.0, 10.0])


def test_cooling_starts_when_told_and_ends_at_zero():
    latest = Cooling.at_the_latest(2, 900)
    np.testing.assert_array_equal(latest.start, [600, 600])
    some = latest.begin(np.array([True, False]), 200)
    np.testing.assert_array_equal(some.start, [200, 600])
    np.testing.assert_array_equal(some.end, [300, 900])
    first = Cooling(np.asarray(200), np.asarray(300))
    assert [float(first.rate(np.asarray(step))) for step in (0, 200, 250, 300, 400)] == [
        1.0, 1.0, 0.5, 0.0, 0.0,
    ]  # fmt: skip


def test_cooling_that_has_begun_is_not_put_off():
    begun = Cooling.at_the_latest(1, 900).begin(np.array([True]), 300)
    again = begun.begin(np.array([True]), 400)
    assert (again.start, again.end) == (begun.start, begun.end)


def test_a_flat_bound_means_nothing_before_the_scales_can_have_grown():
    rates = np.array([1e-2, 1e-4])
    np.testing.assert_array_equal(may_stop(int(FARTHEST / 1e-2), rates), [True, False])


def test_training_stops_when_the_bound_is_flat(rng, key):
    x, y = data(rng)
    result = fit(key, EASY, Hyperparameters(), x, y, Rows.all(200), steps=8000, tol=0.01)
    assert result.converged.all()
    assert result.steps[0] < 8000
    assert result.elbo.shape == (1, result.steps[0])
    longer = fit(jax.random.key(1), EASY, Hyperparameters(), x, y, Rows.all(200), steps=8000)
    assert longer.elbo.shape == (1, 8000)
    assert not longer.converged.any()
    assert result.elbo[0, -500:].mean() == pytest.approx(longer.elbo[0, -500:].mean(), abs=0.05)


def test_a_replica_stops_alone(rng):
    """Its fit does not depend on another one that takes longer."""
    x, y = data(rng)
    keys = jax.random.split(jax.random.key(0), 2)
    rates = np.array([1e-2, 1e-3], np.float32)
    both = fit(keys, EASY, Hyperparameters(rates), x, y, Rows.all(200, 2), steps=6000, tol=0.01)
    alone = fit(
        jax.random.clone(keys)[:1], EASY, Hyperparameters(rates[:1]), x, y, Rows.all(200),
        steps=6000, tol=0.01,
    )  # fmt: skip
    assert both.steps[0] == alone.steps[0] < both.steps[1] == 6000
    np.testing.assert_allclose(both.posteriors.mean[0], alone.posteriors.mean[0], atol=1e-4)


@pytest.mark.parametrize(
    "model", [VSTRegressor(depth=1), VSGBMRegressor(depth=1, n_trees=2)], ids=["VST", "VSGBM"]
)
def test_a_fit_that_was_cut_short_warns_with_advice(model, rng):
    x, y = data(rng)
    with pytest.warns(
        ConvergenceWarning, match=r"steps=300.*still changing.*raise steps"
    ) as caught:
        short = clone(model).set_params(steps=300).fit(x, y)
    assert [warning.filename for warning in caught] == [__file__]
    assert short.converged_ is False
    assert short.n_iter_ == 300
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert clone(model).set_params(steps=300, tol=0).fit(x, y).converged_ is False


def test_a_fit_that_converged_does_not_warn_and_says_so(rng, tmp_path):
    x, y = data(rng)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = VSTRegressor(depth=0).fit(x, y)
    assert model.converged_ is True
    assert model.n_iter_ == model.elbo_.shape[1] < model.steps
    model.save(tmp_path / "model.vst")
    loaded = VSTRegressor.load(tmp_path / "model.vst")
    assert (loaded.converged_, loaded.n_iter_) == (True, model.n_iter_)


def test_the_progress_bar_tells_the_bound_and_how_far_it_is(rng, key, capsys):
    x, y = data(rng)
    changing = _status(np.full((2, 9), -1.5), np.array([0.2, 0.01]), np.array([False, True]))
    assert changing == "bound -1.500 nats/row, changing by 0.2"
    fit(key, EASY, Hyperparameters(), x, y, Rows.all(200), steps=8000, tol=0.01, progress="VST")
    assert "nats/row, converged" in capsys.readouterr().err


@pytest.mark.parametrize("steps", [1, 2, 250, 251, 260])
def test_any_number_of_steps_is_taken(steps, rng, key):
    x, y = data(rng)
    result = fit(key, EASY, Hyperparameters(), x, y, Rows.all(200), steps=steps, tol=0.01)
    assert result.elbo.shape == (1, steps)
    assert np.isfinite(result.elbo).all()


def test_cross_validation_over_unequal_folds_compiles_once(rng, compilations):
    x, y = data(rng, 203)
    model = VSTRegressor(depth=1, rank=3, steps=20, tol=0)
    cross_val_score(model, x, y, cv=KFold(5))
    assert len(compilations) == 1


def test_cooling_takes_its_share_of_the_steps():
    assert float(Cooling.at_the_latest(1, 3000).start[0]) == pytest.approx(
        3000 * (1 - COOLING), abs=1
    )


@pytest.mark.parametrize("given", [0.2, "auto"])
def test_repeated_targets_have_a_bounded_density_with_a_smallest_scale(given, rng):
    x = rng.normal(size=(300, 2))
    y = np.round(x[:, 0])
    limited = VSTRegressor(depth=2, steps=3000, tol=0, smallest_scale=given).fit(x, y)
    free = VSTRegressor(depth=2, steps=3000, tol=0, smallest_scale=1e-6).fit(x, y)
    floor = 1 / np.sqrt(12) if given == "auto" else given * y.std()
    most = -np.log(floor * np.sqrt(2 * np.pi))
    assert limited.predict_dist(x).log_prob(y).max() <= most + 1e-5
    assert free.predict_dist(x).log_prob(y).max() > most
