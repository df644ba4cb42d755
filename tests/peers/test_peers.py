"""What holds for every peer, and what makes each of them the model that its name says."""

import dataclasses
import subprocess
import sys

import jax
import numpy as np
import pytest
from scipy.stats import norm

from vst.companion.models import MODELS
from vst.companion.peers import (
    ConstantTargetError,
    MissingLibraryError,
    NoDensityError,
    stopped_ensemble,
)
from vst.companion.peers.bartz import BART, linear_noise
from vst.companion.peers.deep_ensemble import ROW_BLOCK, DeepEnsemble, Traced, _train
from vst.companion.peers.gaussian_process import GaussianProcess
from vst.companion.peers.ngboost import NGBoost
from vst.companion.peers.sglb import SGLB
from vst.companion.peers.stopped_ensemble import EVERY, PATIENCE, StoppedEnsemble
from vst.companion.peers.xbart import XBART, Bins
from vst.companion.peers.xgboost import XGBoost

PEERS = {model.id: model for model in MODELS if not model.is_ours}

#: Every peer as in the table but quick: fewer trees, members, draws or steps.
QUICK = {
    "deep-ensemble": DeepEnsemble(steps=600, learning_rate=5e-3, hidden_dim=20, members=3),
    "xbart-1": dataclasses.replace(PEERS["xbart-1"].settings, draws=20),
    "sglb-1": dataclasses.replace(PEERS["sglb-1"].settings, members=4),
    "xgboost-1": PEERS["xgboost-1"].settings,
    "xbart": XBART(n_learners=20, draws=20),
    "sglb": SGLB(n_learners=100, members=3),
    "xgboost": XGBoost(n_learners=100),
    "ngboost": NGBoost(n_learners=60, learning_rate=0.05),
    "bartz": BART(n_learners=20, chains=2, burn_in=50, draws=20),
    "stopped-ensemble": StoppedEnsemble(steps=1000, hidden_dim=20, members=3),
    "gaussian-process": GaussianProcess(restarts=0, draws=20),
}

DRAWS = {
    "deep-ensemble": 3, "xbart-1": 20, "sglb-1": 4, "xgboost-1": 1, "xbart": 20, "sglb": 3,
    "xgboost": 1, "ngboost": 1, "bartz": 40, "stopped-ensemble": 3,
    "gaussian-process": 20,
}  # fmt: skip

NOISE = 0.1
DENSITIES = [name for name, model in PEERS.items() if model.has_density]


def table(seed, n=250):
    """A smooth function and a step, standardised; its last column is constant, as naval's are."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1.7, 1.7, (n, 4))
    x[:, 3] = 0
    y = 0.7 * x[:, 0] + np.sign(x[:, 1]) + NOISE * rng.normal(size=n)
    return x.astype(np.float32), (y / 1.2).astype(np.float32)


@pytest.fixture(scope="module", params=PEERS)
def fitted(request):
    """Each peer, fitted once for all the tests that only look at its predictions."""
    return request.param, QUICK[request.param].fit(*table(0), seed=3)


def test_a_quick_version_of_every_peer_is_tested():
    assert list(QUICK) == list(PEERS)
    assert [type(QUICK[name]) for name in PEERS] == [type(m.settings) for m in PEERS.values()]


def test_peers_recover_the_signal_from_rows_they_have_not_seen(fitted):
    name, model = fitted
    x, y = table(1)
    error = np.sqrt(np.mean((model.mean_draws(x).mean(axis=0) - y) ** 2))
    assert error < (0.45 if name.endswith("-1") else 0.3) * np.std(y)


def test_draws_of_the_mean_have_one_row_per_draw(fitted):
    name, model = fitted
    x, _ = table(1, n=17)
    draws = model.mean_draws(x)
    assert draws.shape == (DRAWS[name], 17)
    assert draws.dtype == np.float64
    np.testing.assert_array_equal(draws, model.mean_draws(x))
    for i in range(1, len(draws)):
        assert np.abs(draws[i] - draws[0]).max() > 1e-3, "two draws are the same function"


def test_predictions_do_not_depend_on_the_other_rows(fitted):
    _, model = fitted
    x, _ = table(1, n=17)
    np.testing.assert_allclose(model.mean_draws(x[5:8]), model.mean_draws(x)[:, 5:8], atol=1e-5)


def test_log_density_is_that_of_an_equal_mixture_of_normals(fitted):
    name, model = fitted
    x, y = table(1, n=30)
    if name not in DENSITIES:
        with pytest.raises(NoDensityError, match="no log-likelihood"):
            model.log_prob(x, y)
        return
    means, scales = model.normals(x)
    assert means.shape == scales.shape == (DRAWS[name], 30)
    expected = np.log(norm(means, scales).pdf(y).mean(axis=0))
    np.testing.assert_allclose(model.log_prob(x, y), expected, rtol=1e-6, atol=1e-8)


def test_the_density_integrates_to_one_and_its_mean_is_the_predictive_mean(fitted):
    name, model = fitted
    if name not in DENSITIES:
        pytest.skip("has no density")
    x, _ = table(1, n=3)
    grid = np.linspace(-6, 6, 4001)
    for row in x:
        density = np.exp(model.log_prob(np.tile(row, (len(grid), 1)), grid))
        assert np.trapezoid(density, grid) == pytest.approx(1, abs=1e-3)
        mean = model.mean_draws(row[None]).mean()
        assert np.trapezoid(grid * density, grid) == pytest.approx(mean, abs=1e-2)


def test_log_likelihood_beats_a_model_that_ignores_the_features(fitted):
    name, model = fitted
    if name not in DENSITIES:
        pytest.skip("has no density")
    x, y = table(1)
    ignorant = norm(np.mean(y), np.std(y)).logpdf(y).mean()
    assert model.log_prob(x, y).mean() > ignorant + 0.4


@pytest.mark.parametrize("name", PEERS)
def test_the_seed_determines_the_model(name):
    x, y = table(0)
    small = {"deep-ensemble": {"steps": 50}, "ngboost": {"n_learners": 10}}.get(name, {})
    peer = dataclasses.replace(QUICK[name], **small)
    first, again, other = (peer.fit(x, y, seed=seed).mean_draws(x) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert name.startswith("xgboost") or np.abs(first - other).max() > 1e-3


@pytest.mark.parametrize("name", ["xbart", "xbart-1"])
def test_xbart_splits_columns_with_ties(name, rng):
    x = rng.integers(-1, 3, (250, 3)).astype(np.float32)
    y = (x[:, 0] * (x[:, 1] > 0) - 1).astype(np.float32)
    model = QUICK[name].fit(x, y)
    assert np.sqrt(np.mean((model.mean_draws(x).mean(axis=0) - y) ** 2)) < 0.1 * np.std(y)


def test_xbart_splits_long_columns_with_ties_at_few_cutpoints(rng):
    x = np.column_stack([rng.normal(size=600), rng.integers(0, 4, 600)]).astype(np.float32)
    y = (np.sign(x[:, 0]) + (x[:, 1] == 2)).astype(np.float32)
    model = XBART(n_learners=20, draws=10, cutpoints=19).fit(x, y)
    assert np.sqrt(np.mean((model.mean_draws(x).mean(axis=0) - y) ** 2)) < 0.2 * np.std(y)


def test_bins_keep_the_order_of_values_and_tell_apart_what_the_cutpoints_separate(rng):
    x = np.column_stack([rng.normal(size=1000), rng.integers(0, 5, 1000), np.zeros(1000)])
    binned = Bins.fit(x, 99)(x)
    assert [len(np.unique(column)) for column in binned.T] == [100, 5, 1]
    for raw, bins in zip(x.T, binned.T, strict=True):
        assert (np.diff(bins[np.argsort(raw)]) >= 0).all()
    np.testing.assert_array_equal(binned[:, 1], x[:, 1])


def test_xbart_drops_the_burn_in(rng):
    x, y = table(0, n=60)
    model = XBART(n_learners=5, burn_in=15, draws=7).fit(x, y)
    assert model.mean_draws(x).shape == (7, 60)
    sweeps = model.model.predict(model.bins(x), terms="y_hat")
    np.testing.assert_array_equal(model.mean_draws(x), sweeps.T[15:])


def test_xbart_noise_prior_is_inverse_gamma_with_half_of_kappa_and_s(rng):
    """With leaves pinned to zero the noise has an exact posterior: inverse-Gamma((n + kappa)/2, ...)."""
    x = rng.normal(size=(50, 2))
    y = rng.normal(size=50)
    peer = XBART(n_learners=1, tau=1e-9, s=40.0, kappa=30.0, draws=3000)
    variance = peer.fit(x, y).normals(x[:1]).scales[:, 0] ** 2
    expected = (y @ y + 40) / 2 / ((50 + 30) / 2 - 1)
    assert variance.mean() == pytest.approx(expected, rel=0.03)


def test_one_tree_means_one_tree():
    x, y = table(0, n=80)
    xbart = QUICK["xbart-1"].fit(x, y).model
    assert xbart.forest_container_mean.num_trees == 1
    assert all(model.tree_count_ == 1 for model in QUICK["sglb-1"].fit(x, y).members)
    assert QUICK["xgboost-1"].fit(x, y).model.get_booster().num_boosted_rounds() == 1


@pytest.mark.parametrize("name", ["sglb-1", "xgboost-1"])
def test_a_single_tree_is_not_shrunk(name):
    """A step that one tree represents exactly comes out at nearly its full height."""
    x, _ = table(0)
    y = np.sign(x[:, 1])
    mean = QUICK[name].fit(x, y).mean_draws(x).mean(axis=0)
    assert mean[y > 0].mean() > 0.85
    assert mean[y < 0].mean() < -0.85


def test_sglb_refuses_a_constant_target_and_says_why():
    x, y = table(0, n=20)
    with pytest.raises(ConstantTargetError, match="constant"):
        SGLB().fit(x, np.zeros_like(y))


def test_linear_noise_is_the_residual_deviation_of_least_squares(rng):
    x = rng.normal(size=(4000, 3))
    y = 1 + x @ [1.0, 2.0, 3.0] + 0.3 * rng.normal(size=4000)
    assert linear_noise(x, y) == pytest.approx(0.3, rel=0.05)
    assert linear_noise(np.column_stack([x, x[:, 0]]), y) == pytest.approx(0.3, rel=0.05)
    assert linear_noise(rng.normal(size=(3, 5)), np.arange(3.0)) == np.std(np.arange(3.0))


def test_bart_noise_prior_puts_its_quantile_below_the_noise_of_a_linear_regression(rng):
    x, y = table(0)
    peer = BART(noise_df=4.0, noise_quantile=0.8)
    # bartz takes the square root of the prior's scale: sigma^2 = df scale^2 / chi-squared(df).
    variance = 4 * peer._noise_scale(x, y) ** 2 / rng.chisquare(4, 100_000)
    assert np.mean(variance < linear_noise(x, y) ** 2) == pytest.approx(0.8, abs=0.01)


def test_bart_noise_prior_reaches_the_library():
    x, y = table(0)
    small, large = (
        dataclasses.replace(QUICK["bartz"], noise_quantile=q).fit(x, y).normals(x[:1]).scales.mean()
        for q in (0.9, 1e-6)
    )
    assert large > 1.1 * small


def test_deep_ensemble_compiles_once_for_folds_of_different_sizes_and_for_a_tuners_trials():
    x, y = table(0)
    base = dataclasses.replace(QUICK["deep-ensemble"], steps=3)
    base.fit(x, y)
    compiled = _train._cache_size()
    for peer, n in [
        (base, 249),
        (dataclasses.replace(base, learning_rate=1e-4, dropout_rate=0.3, prior_scale=2.0), 180),
        (dataclasses.replace(base, steps=5), 150),
    ]:
        peer.fit(x[:n], y[:n])
    assert _train._cache_size() == compiled


def test_deep_ensemble_ignores_the_padding_of_its_rows():
    """Training never draws a padded row: rows beyond n may hold anything."""
    x, y = table(0, n=100)

    def trained(filler):
        rows = np.full((ROW_BLOCK, 4), filler, np.float32)
        targets = np.full(ROW_BLOCK, filler, np.float32)
        rows[:100], targets[:100] = x, y
        keys = jax.random.split(jax.random.key(0), 3)
        traced = Traced(*map(np.float32, (1e-3, 0.1, 1.0)), np.int32(50), np.int32(100))
        sizes = {"hidden_dim": 20, "n_layers": 2, "batch_size": 64}
        return jax.tree.leaves(_train(keys, rows, targets, traced, **sizes))

    for one, other in zip(trained(0.0), trained(1e6), strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_stopped_ensemble_does_not_follow_its_targets_to_the_end():
    """On pure noise the longest training is no better than a short one, and it ends early."""
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(200, 4)), rng.normal(size=200)
    x_test, y_test = rng.normal(size=(500, 4)), rng.normal(size=500)
    stopped = dataclasses.replace(QUICK["stopped-ensemble"], steps=100 * EVERY * PATIENCE)
    found = stopped.fit(x, y).log_prob(x_test, y_test).mean()
    assert found > norm.logpdf(y_test).mean() - 0.25
    followed = DeepEnsemble(
        steps=4000, learning_rate=3e-3, hidden_dim=20, members=3, dropout_rate=0.0, prior_scale=10.0
    )
    assert found > followed.fit(x, y).log_prob(x_test, y_test).mean() + 0.2


def test_a_stopped_ensemble_never_draws_the_padding_of_its_rows():
    x, y = table(0, n=100)

    def trained(filler):
        rows = np.full((ROW_BLOCK, 4), filler, np.float32)
        targets = np.full(ROW_BLOCK, filler, np.float32)
        rows[:100], targets[:100] = x, y
        keys = jax.random.split(jax.random.key(0), 3)
        counts = map(np.int32, (2 * EVERY, 100, 10))
        traced = stopped_ensemble.Traced(np.float32(3e-3), np.float32(1e-4), *counts)
        sizes = {"hidden_dim": 20, "n_layers": 2, "batch_size": 64}
        return jax.tree.leaves(stopped_ensemble._train(keys, rows, targets, traced, **sizes))

    for one, other in zip(trained(0.0), trained(1e6), strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_stopped_ensemble_needs_two_rows():
    x, y = table(0, n=2)
    assert np.isfinite(QUICK["stopped-ensemble"].fit(x, y).log_prob(x, y)).all()


def test_a_tight_prior_holds_the_deep_ensemble_back():
    x, y = table(0)
    loose, tight = (
        dataclasses.replace(QUICK["deep-ensemble"], prior_scale=scale).fit(x, y).mean_draws(x)
        for scale in (1.0, 0.01)
    )
    assert np.std(tight.mean(axis=0)) < 0.2 * np.std(loose.mean(axis=0))


@pytest.mark.parametrize("name", PEERS)
def test_arrays_that_do_not_fit_together_are_refused(name):
    x, y = table(0, n=20)
    with pytest.raises(ValueError, match="shape"):
        QUICK[name].fit(x, y[:-1])
    with pytest.raises(ValueError, match="finite"):
        QUICK[name].fit(np.where(x == x[3, 0], np.nan, x), y)


@pytest.mark.parametrize(
    ("name", "module"),
    [("sglb", "catboost"), ("xbart", "stochtree"), ("xgboost", "xgboost"), ("ngboost", "ngboost"),
     ("bartz", "bartz")],
)  # fmt: skip
def test_a_missing_library_names_the_extra_that_installs_it(name, module, monkeypatch):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingLibraryError, match=rf'{module} .*pip install "vst\[peers\]"'):
        QUICK[name].fit(*table(0, n=20))


def test_importing_the_peers_imports_none_of_their_libraries():
    code = (
        "import sys, vst.companion.peers; "
        "heavy = {'catboost', 'stochtree', 'xgboost', 'ngboost', 'bartz', 'lifelines', 'sympy'}; "
        "print(sorted(heavy & set(sys.modules)))"
    )
    output = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert output.stdout.strip() == "[]"


@pytest.mark.parametrize("name", ["sglb", "ngboost"])
def test_a_bound_on_scales_holds_and_leaves_means_alone(name):
    x, y = table(0, n=60)
    free = QUICK[name].fit(x, y, seed=0)
    bound = 2 * float(free.normals(x).scales.min())
    bounded = dataclasses.replace(QUICK[name], smallest_scale=bound).fit(x, y, seed=0)
    assert bounded.normals(x).scales.min() == pytest.approx(bound)
    np.testing.assert_array_equal(bounded.normals(x).means, free.normals(x).means)
