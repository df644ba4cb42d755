import copy
import inspect
import os
import signal
import subprocess
import sys
from dataclasses import asdict, fields

import jax
import numpy as np
import pandas as pd
import pytest
from models import BOTH, FAST, VSGBM, VST, matrix, name, table
from scipy.spatial.distance import pdist
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import vst
from vst import LowRankGaussian, VSGBMRegressor, VSTRegressor, arrays, preprocessing
from vst.estimators import estimator
from vst.preprocessing import Standardiser, check_training_data
from vst.soft_trees import BOOSTED, SoftTrees
from vst.tree import SMALLEST_SCALE

both = pytest.mark.parametrize("model", BOTH, ids=name)


@both
def test_a_fit_predicts_in_the_targets_own_units(model, rng):
    x, y = matrix(rng)
    y = 1000 + 50 * y
    fitted = clone(model).fit(x, y)
    mean, std = fitted.predict(x, return_std=True)
    np.testing.assert_array_equal(mean, fitted.predict(x))
    assert np.corrcoef(mean, y)[0, 1] > 0.9
    d = fitted.predict_dist(x)
    lower, upper = d.interval(0.9)
    assert ((lower < y) & (y < upper)).mean() > 0.8
    np.testing.assert_allclose(std**2, d.epistemic_var + d.aleatoric_var)
    in_standard_units = d.standardised().log_prob((y - y.mean()) / y.std())
    np.testing.assert_allclose(d.log_prob(y), in_standard_units - np.log(y.std()), rtol=1e-3)


@both
def test_same_seed_same_predictions_to_the_bit(model, rng):
    x, y = matrix(rng)
    first, second = (clone(model).fit(x, y).predict(x) for _ in range(2))
    np.testing.assert_array_equal(first, second)
    other = clone(model).set_params(random_state=1).fit(x, y).predict(x)
    assert not np.array_equal(first, other)


@both
@pytest.mark.parametrize(("scale", "shift"), [(8.0, 0.0), (1.0, 64.0), (2.0**-10, 3.0)])
def test_scaling_and_shifting_the_target_scales_and_shifts_predictions(model, scale, shift, rng):
    x, y = matrix(rng)
    plain = clone(model).fit(x, y).predict_dist(x)
    moved = clone(model).fit(x, shift + scale * y).predict_dist(x)
    np.testing.assert_allclose(moved.mean, shift + scale * plain.mean, rtol=1e-3, atol=1e-3 * scale)
    np.testing.assert_allclose(moved.std, scale * plain.std, rtol=1e-2)


@both
def test_scaling_the_features_changes_nothing(model, rng):
    x, y = matrix(rng)
    plain = clone(model).fit(x, y).predict(x)
    moved = clone(model).fit(x * [8, 0.5, 1024] + [4, 0, -512], y)
    np.testing.assert_allclose(moved.predict(x * [8, 0.5, 1024] + [4, 0, -512]), plain, atol=1e-2)


@both
def test_sampled_functions_are_coherent_over_rows(model, rng):
    x, y = matrix(rng)
    fitted = clone(model).fit(x, y)
    whole = fitted.sample_functions(x, 5, random_state=3)
    pieces = [fitted.sample_functions(part, 5, random_state=3) for part in np.array_split(x, 7)]
    np.testing.assert_allclose(np.hstack(pieces), whole, rtol=1e-5, atol=1e-5)
    assert whole.shape == (5, 80)
    assert not np.allclose(whole[0], whole[1])
    assert not np.allclose(whole, fitted.sample_functions(x, 5, random_state=4))


@both
def test_the_mean_of_many_sampled_functions_is_the_prediction(model, rng):
    x, y = matrix(rng)
    fitted = clone(model).fit(x, y)
    functions = fitted.sample_functions(x, 2000, random_state=1)
    error = (functions.mean(axis=0) - fitted.predict(x)) / functions.std(axis=0)
    np.testing.assert_allclose(error, 0, atol=6 / np.sqrt(100))


@both
def test_members_are_mixed(model, rng):
    x, y = matrix(rng)
    mixed = clone(model).set_params(members=3).fit(x, y)
    assert len(mixed.posteriors_) == mixed.elbo_.shape[0] == 3
    alone = []
    for member in range(3):
        one = copy.copy(mixed)
        one.stacked_posteriors_ = jax.tree.map(
            lambda a, m=member: a[m : m + 1], mixed.stacked_posteriors_
        )
        alone.append(one.sample_functions(x, 600).mean(axis=0))
    functions = mixed.sample_functions(x, 600)
    assert not np.allclose(alone[0], alone[1], atol=0.01)
    error = (functions.mean(axis=0) - np.mean(alone, axis=0)) / functions.std(axis=0)
    np.testing.assert_allclose(error, 0, atol=6 / np.sqrt(600))


def test_posterior_of_a_vst(rng):
    x, y = matrix(rng)
    model = clone(VST).fit(x, y)
    posterior = model.posterior_
    assert isinstance(posterior, LowRankGaussian)
    assert model.n_params_ == 11 * 4
    assert posterior.mean.shape == posterior.scale.shape == (44,)
    assert posterior.factor.shape == (44, 2)
    assert posterior.sample(jax.random.key(0), 3).shape == (3, 44)
    assert posterior.kl(1.0) > 0
    assert model.elbo_.shape == (1, 600)


def test_posteriors_of_a_vsgbm(rng):
    x, y = matrix(rng)
    model = clone(VSGBM).fit(x, y)
    assert len(model.posterior_) == 2
    assert model.posterior_[0].factor.shape == (7 * 4 + 1, 2)
    assert model.elbo_.shape == (1, 2, 600)
    with pytest.raises(ValueError, match="fit with draws=101"):
        model.predict_dist(x, n_samples=101)


@both
def test_whitened_inputs_do_not_see_rotations(model, rng):
    x, y = matrix(rng)
    rotation = np.linalg.qr(rng.normal(size=(3, 3)))[0] @ np.diag([1, 30, 0.01])
    whitened = clone(model).set_params(whiten=True).fit(x @ rotation, y)
    z = whitened.standardiser_(x @ rotation)
    np.testing.assert_allclose(z.T @ z / len(z), np.eye(3), atol=1e-4)
    assert whitened.score(x @ rotation, y) > 0.8


@both
def test_collinear_and_constant_columns_fit(model, rng):
    x, y = matrix(rng)
    wide = np.c_[x, x[:, 0] + x[:, 1], np.full(len(x), 7.7)]
    for whiten in (False, True):
        fitted = clone(model).set_params(whiten=whiten).fit(wide, y)
        assert np.isfinite(fitted.predict(wide)).all()
        assert fitted.score(wide, y) > 0.8


@both
def test_a_standardised_table_is_left_as_it_is(model, rng):
    x, y = matrix(rng)
    x, y = (x - x.mean(axis=0)) / x.std(axis=0), (y - y.mean()) / y.std()
    inside = clone(model).fit(x, y).predict_dist(x)
    turned = Standardiser.fit(x, "principal")(x)
    fitted = clone(model).set_params(standardise=False).fit(turned, y)
    np.testing.assert_array_equal(fitted.standardiser_(turned), turned)
    assert (fitted.target_mean_, fitted.target_scale_) == (0.0, 1.0)
    outside = fitted.predict_dist(turned)
    np.testing.assert_allclose(outside.mean, inside.mean, rtol=0.01, atol=0.01)
    np.testing.assert_allclose(outside.log_prob(y), inside.log_prob(y), atol=0.1)
    np.testing.assert_array_equal(outside.standardised().mean, outside.mean)


@both
def test_a_default_model_sees_uncorrelated_inputs_at_their_own_distances(model, rng):
    x, y = matrix(rng)
    x[:, 2] = x[:, 1] + 0.3 * x[:, 2]
    fitted = clone(model).set_params(steps=50).fit(x, y)
    z = fitted.standardiser_(x)
    products = z.T @ z / len(z)
    np.testing.assert_allclose(products, np.diag(np.diag(products)), atol=1e-5)
    np.testing.assert_allclose(pdist(z), pdist((x - x.mean(axis=0)) / x.std(axis=0)), rtol=1e-4)


@both
def test_without_standardising_predictions_are_in_the_models_units(model, rng):
    x, y = matrix(rng)
    fitted = clone(model).set_params(standardise=False).fit(2 + x, 3 + y)
    np.testing.assert_array_equal(fitted.standardiser_(x), x.astype(np.float32))
    # The prior is centred at zero, three units from the targets, and shrinks the slopes.
    assert np.corrcoef(fitted.predict(2 + x), y)[0, 1] > 0.6
    assert fitted.predict(2 + x).mean() == pytest.approx(3 + y.mean(), abs=0.5)


@both
def test_without_standardising_there_is_no_whitening(model, rng):
    both_options = clone(model).set_params(standardise=False, whiten=True)
    with pytest.raises(ValueError, match="whiten=True needs standardised features: set"):
        both_options.fit(*matrix(rng))
    with pytest.raises(ValueError, match="standardise must be one of False, True"):
        clone(model).set_params(standardise="no").fit(*matrix(rng))


@both
def test_a_key_is_a_seed(model, rng, key):
    x, y = matrix(rng)
    keyed = clone(model).set_params(random_state=key, steps=50)
    first, second = (clone(keyed).fit(x, y).predict(x) for _ in range(2))
    np.testing.assert_array_equal(first, second)
    other = clone(keyed).set_params(random_state=jax.random.fold_in(key, 1)).fit(x, y).predict(x)
    assert not np.array_equal(first, other)


@both
def test_with_a_key_more_members_leave_the_first_as_it_is(model, rng, key):
    x, y = matrix(rng)
    keyed = clone(model).set_params(random_state=key, steps=50)
    one, two = (clone(keyed).set_params(members=n).fit(x, y) for n in (1, 2))
    # The same numbers up to rounding, which depends on how many are computed side by side.
    np.testing.assert_allclose(one.elbo_[0], two.elbo_[0], rtol=1e-4, atol=1e-4)
    for alone, among in zip(
        jax.tree.leaves(one.posterior_), jax.tree.leaves(two.posterior_), strict=True
    ):
        np.testing.assert_allclose(alone, among, rtol=1e-3, atol=1e-4)
    assert not np.allclose(two.elbo_[0], two.elbo_[1], atol=1e-3)


@both
def test_a_model_with_a_key_is_saved_with_its_predictions(model, rng, key, tmp_path):
    x, y = matrix(rng)
    fitted = clone(model).set_params(random_state=key, steps=50).fit(x, y)
    fitted.save(tmp_path / "model.vst")
    loaded = type(model).load(tmp_path / "model.vst")
    np.testing.assert_array_equal(loaded.predict(x), fitted.predict(x))
    np.testing.assert_array_equal(
        loaded.predict_dist(x, n_samples=7).log_prob(y),
        fitted.predict_dist(x, n_samples=7).log_prob(y),
    )


@both
@pytest.mark.parametrize(
    "make",
    [
        lambda: jax.random.split(jax.random.key(0), 2),
        lambda: jax.random.PRNGKey(0),
        lambda: jax.random.key(0, impl="rbg"),
        lambda: jax.numpy.float32(3.0),
    ],
    ids=["several keys", "old style", "another generator", "number of jax"],
)
def test_what_is_not_one_key_is_refused(model, make, rng):
    keyed = clone(model).set_params(random_state=make())
    with pytest.raises(
        ValueError,
        match=r"random_state must be a number or one JAX key, for example jax\.random\.key\(0\)",
    ):
        keyed.fit(*matrix(rng))


@pytest.mark.parametrize(
    ("model", "setting"), [(VSTRegressor(), SoftTrees()), (VSGBMRegressor(), BOOSTED)]
)
def test_the_defaults_are_those_of_the_description(model, setting):
    """Except the smallest scale, which an estimator takes from its target."""
    shared = {f.name for f in fields(SoftTrees)} & set(model.get_params())
    described = {k: v for k, v in asdict(setting).items() if k in shared}
    found = {k: v for k, v in model.get_params().items() if k in shared}
    assert found == described | {"smallest_scale": "auto"}
    ensemble = {
        "n_trees", "training", "noise", "prior_sigma_alpha", "prior_sigma_beta", "noise_update",
    }  # fmt: skip
    only_ensemble = ensemble if setting.n_trees == 0 else set()
    assert shared == {f.name for f in fields(SoftTrees)} - only_ensemble
    assert model.get_params() == estimator(setting, smallest_scale="auto").get_params()
    assert estimator(setting).get_params()["smallest_scale"] == SMALLEST_SCALE
    assert list(inspect.signature(type(model)).parameters) == list(vars(model))


@both
def test_the_default_smallest_scale_is_the_rounding_error_of_whole_numbers(model, rng):
    x, y = matrix(rng)
    short = clone(model).set_params(steps=50)
    rounded = np.round(y)
    expected = 1 / np.sqrt(12) / rounded.std()
    assert short.fit(x, rounded).shape_.smallest_scale == pytest.approx(expected, rel=1e-5)
    assert short.fit(x, 10 * rounded).shape_.smallest_scale == pytest.approx(expected, rel=1e-5)
    short.set_params(standardise=False).fit(x, rounded)
    assert short.shape_.smallest_scale == pytest.approx(1 / np.sqrt(12))
    assert short.smallest_scale == "auto"


@both
def test_the_default_smallest_scale_of_a_continuous_target_is_next_to_nothing(model, rng):
    fitted = clone(model).set_params(steps=50).fit(*matrix(rng))
    assert fitted.shape_.smallest_scale == SMALLEST_SCALE == 1e-6


@both
def test_a_given_smallest_scale_is_taken_for_any_target(model, rng):
    x, y = matrix(rng)
    for target in (y, np.round(y)):
        fitted = clone(model).set_params(steps=50, smallest_scale=0.01).fit(x, target)
        assert fitted.shape_.smallest_scale == 0.01


@pytest.mark.parametrize(
    "setting",
    [
        SoftTrees(depth=1, leaves="constant", rank=2, beta=9.0, steps=7, whiten=1, members=3),
        SoftTrees(n_trees=4, prior_sigma_alpha=2.5, noise_update="conjugate", kl_weight=0.1),
        SoftTrees(prior_scale=0.1, learning_rate=0.01, batch_size=3, mc_samples=2),
    ],
)
def test_a_description_makes_an_estimator_that_has_it(setting):
    model = estimator(setting, random_state=5, progress=True)
    assert type(model) is (VSGBMRegressor if setting.n_trees else VSTRegressor)
    params = model.get_params()
    assert (params["random_state"], params["progress"], params["standardise"]) == (5, True, True)
    assert type(params["whiten"]) is bool
    described = {f.name: params[f.name] for f in fields(SoftTrees) if f.name in params}
    assert SoftTrees(**described) == setting
    with pytest.raises(TypeError, match="colour"):
        estimator(setting, colour="blue")


@both
def test_categorical_columns_become_one_hot(model, rng):
    x, y = table(rng)
    fitted = clone(model).fit(x, y)
    assert fitted.encoder_.feature_names == [
        "size", "town=north", "town=south", "kind=a", "kind=b", "kind=c",
    ]  # fmt: skip
    assert fitted.score(x, y) > 0.9
    unseen = x.assign(town="east")
    with pytest.warns(UserWarning, match=r"column 'town'.*did not have.*east"):
        predicted = fitted.predict(unseen)
    assert np.isfinite(predicted).all()


def test_column_order_must_be_the_training_tables(rng):
    x, y = table(rng)
    model = clone(VST).fit(x, y)
    with pytest.raises(ValueError, match="feature names"):
        model.predict(x[["town", "size", "kind"]])
    with pytest.raises(
        ValueError, match="predict on a DataFrame with the columns size, town, kind"
    ):
        model.predict(np.zeros((2, 3)))


@both
def test_two_rows_are_enough(model):
    fitted = clone(model).fit([[0.0], [1.0]], [0.0, 1.0])
    assert np.isfinite(fitted.predict([[0.5]])).all()


@both
def test_a_constant_target_fits_with_a_warning(model, rng):
    x, _ = matrix(rng)
    with pytest.warns(UserWarning, match="target is constant"):
        fitted = clone(model).fit(x, np.full(80, 42.0))
    np.testing.assert_allclose(fitted.predict(x), 42, atol=0.5)


def test_depth_zero_is_one_leaf(rng):
    x, y = matrix(rng)
    linear = clone(VST).set_params(depth=0).fit(x, y)
    constant = clone(VST).set_params(depth=0, leaves="constant").fit(x, y)
    assert constant.n_params_ == 2
    assert np.ptp(constant.predict(x)) < 1e-3 < np.ptp(linear.predict(x))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"depth": -1}, "depth must be an integer >= 0"),
        ({"depth": 1.5}, "depth must be an integer"),
        ({"leaves": "cubic"}, "leaves must be"),
        ({"rank": 10_000}, "rank must lie between 0 and 44, this tree"),
        ({"beta": 0.0}, "beta must be a positive number"),
        ({"beta": "high"}, "beta must be a positive number"),
        ({"prior_scale": -1.0}, "prior_scale must be a positive number"),
        ({"learning_rate": np.nan}, "learning_rate must be a positive number"),
        ({"kl_weight": -0.1}, "kl_weight must be a non-negative number"),
        ({"steps": 0}, "steps must be an integer >= 1"),
        ({"members": 0}, "members must be an integer >= 1"),
        ({"batch_size": 2.5}, "batch_size must be an integer"),
        ({"smallest_scale": 0.0}, 'smallest_scale must be a positive number or "auto", got 0.0'),
        ({"smallest_scale": "Auto"}, 'smallest_scale must be a positive number or "auto"'),
        ({"smallest_scale": None}, 'smallest_scale must be a positive number or "auto"'),
    ],
)
def test_bad_parameters_are_named(options, message, rng):
    with pytest.raises(ValueError, match=message):
        VSTRegressor(**FAST | options).fit(*matrix(rng))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_trees": 0}, "n_trees must be"),
        ({"prior_sigma_alpha": 0}, "prior_sigma_alpha must be"),
        ({"noise_update": "exact"}, "noise_update must be one of 'paper', 'conjugate'"),
    ],
)
def test_bad_boosting_parameters_are_named(options, message, rng):
    with pytest.raises(ValueError, match=message):
        VSGBMRegressor(**FAST | options).fit(*matrix(rng))


@both
def test_bad_tables_are_named(model, rng):
    x, y = matrix(rng)
    bad = x.copy()
    bad[3, 1] = np.inf
    frame = pd.DataFrame(x, columns=["a", "b", "c"])
    cases = [
        (bad, y, "column '1'"),
        (pd.DataFrame(bad, columns=["a", "b", "c"]), y, "column 'b'"),
        (frame.assign(when=pd.Timestamp("2020-01-01")), y, "column 'when' holds dates"),
        (frame.assign(town=None), y, "column 'town' has no values: drop it"),
        (frame.assign(b=np.nan), y, "column 'b' has no values: drop it"),
        (x, np.where(np.arange(80) == 2, np.inf, y), "y contains infinity"),
        (x, ["low"] * 80, "y must be numeric.*'low'"),
        (x[:1], y[:1], "1 sample"),
        (x[:0], y[:0], "0 sample"),
        (x[:, :0], y, "0 feature"),
        (x, y[:5], "inconsistent numbers of samples"),
    ]
    for features, target, message in cases:
        with pytest.raises(ValueError, match=message):
            clone(model).fit(features, target)
    fitted = clone(model).set_params(steps=5).fit(x, y)
    with pytest.raises(ValueError, match=r"2 features, but .* is expecting 3"):
        fitted.predict(x[:, :2])
    with pytest.raises(ValueError, match="column '1'"):
        fitted.predict(bad)
    with pytest.raises(ValueError, match="n_samples must be"):
        fitted.predict_dist(x, n_samples=0)


@both
def test_settings_changed_after_a_fit_do_not_change_the_fitted_model(model, rng, tmp_path):
    x, y = matrix(rng)
    fitted = clone(model).fit(x, y)
    before = fitted.predict(x)
    fitted.set_params(depth=1, beta=50.0, leaves="constant", rank=0, batch_size=1)
    np.testing.assert_array_equal(fitted.predict(x), before)
    fitted.save(tmp_path / "model.vst")
    np.testing.assert_array_equal(type(model).load(tmp_path / "model.vst").predict(x), before)


@both
def test_integers_of_numpy_are_integers(model, rng):
    x, y = matrix(rng)
    plain = clone(model).set_params(steps=20).fit(x, y).predict(x)
    numpy_settings = {"depth": np.int64(2), "rank": np.int32(2), "steps": np.int64(20)}
    np.testing.assert_array_equal(
        clone(model).set_params(**numpy_settings).fit(x, y).predict(x), plain
    )


@pytest.mark.parametrize("draws", [7, 150])
def test_a_vsgbm_predicts_with_all_draws_it_made(draws, rng):
    x, y = matrix(rng)
    fitted = clone(VSGBM).set_params(draws=draws, steps=20).fit(x, y)
    assert (
        repr(fitted.predict_dist(x)) == f"PredictiveDistribution(80 rows, {draws} posterior draws)"
    )
    assert np.isfinite(fitted.score(x, y))


def test_a_column_that_names_the_rows_is_warned_of(rng):
    frame, y = table(rng)
    frame["name"] = [f"row {i}" for i in range(len(frame))]
    with pytest.warns(UserWarning, match="'name' has 80 categories in 80 rows") as warned:
        clone(VST).set_params(steps=5, tol=0).fit(frame, y)
    assert [warning.filename for warning in warned] == [__file__]


@pytest.mark.parametrize("unit", [1e-200, 1e-30, 1e30, 1e200])
def test_the_units_of_a_table_do_not_matter(unit, rng):
    x, y = matrix(rng)
    plain = clone(VST).set_params(steps=50).fit(x, y).predict(x)
    scaled = clone(VST).set_params(steps=50).fit(x * unit, y * unit)
    mean, std = scaled.predict(x * unit, return_std=True)
    np.testing.assert_allclose(mean / unit, plain, rtol=1e-3, atol=1e-4)
    assert np.isfinite(std).all()


@both
def test_a_memory_mapped_table_is_read_in_blocks(model, rng, tmp_path, monkeypatch):
    x, y = matrix(rng)
    expected = clone(model).fit(x, y).predict(x)
    mapped = np.memmap(tmp_path / "x", x.dtype, "w+", shape=x.shape)
    mapped[:] = x
    mapped.flush()
    monkeypatch.setattr(arrays, "BLOCK_ROWS", 16)
    read = np.memmap(tmp_path / "x", x.dtype, "r", shape=x.shape)
    taken, _, _ = check_training_data(clone(model), read, y)
    assert np.shares_memory(taken, read)
    assert max(map(len, arrays.row_blocks(taken))) == 16
    fitted = clone(model).fit(read, y)
    np.testing.assert_allclose(fitted.predict(read), expected, rtol=0.01, atol=0.05)


@both
@pytest.mark.parametrize("whiten", [False, True])
def test_a_large_table_is_fitted_without_a_copy_of_it(model, whiten, rng, tmp_path, monkeypatch):
    copied = []
    standardise = Standardiser.__call__

    def spy(self, x):
        copied.append(len(x))
        return standardise(self, x)

    x, y = matrix(rng, n=40_000)
    few = {"batch_size": 4, "steps": 250, "whiten": whiten}
    expected = clone(model).set_params(**few).fit(x, y).predict(x[:100])
    np.save(tmp_path / "x.npy", x)
    monkeypatch.setattr(preprocessing, "LARGE_TABLE", 0)
    monkeypatch.setattr(Standardiser, "__call__", spy)
    fitted = clone(model).set_params(**few).fit(np.load(tmp_path / "x.npy", mmap_mode="r"), y)
    assert max(copied) <= arrays.BLOCK_ROWS
    np.testing.assert_allclose(fitted.predict(x[:100]), expected, rtol=1e-4, atol=1e-4)


def test_a_distribution_keeps_the_rows_it_was_asked_for(rng):
    x, y = matrix(rng)
    model = clone(VST).fit(x, y)
    expected, distribution = model.predict(x), model.predict_dist(x)
    x += 1  # before the distribution has computed anything
    np.testing.assert_array_equal(distribution.mean, expected)


def test_single_precision_is_taken_as_it_is(rng):
    x, y = matrix(rng)
    x = x.astype(np.float32)
    assert np.shares_memory(check_training_data(clone(VST), x, y)[0], x)
    np.testing.assert_array_equal(
        clone(VST).fit(x, y).predict(x), clone(VST).fit(x.astype(float), y).predict(x)
    )


def test_what_is_constant_up_to_rounding_is_constant(rng):
    x, y = matrix(rng)
    x[:, 2] = 0.3
    x[0, 2] = 0.1 + 0.2
    moved = x.copy()
    moved[:, 2] = 0.31
    fitted = clone(VST).set_params(steps=50).fit(x, y)
    np.testing.assert_allclose(fitted.predict(moved), fitted.predict(x), atol=0.1)
    with pytest.warns(UserWarning, match="target is constant"):
        clone(VST).set_params(steps=50).fit(x, x[:, 2])


def test_inputs_beyond_all_measure_are_refused(rng):
    x, y = matrix(rng)
    fitted = clone(VST).set_params(steps=5).fit(x, y)
    far = x.copy()
    far[3, 1] = 1e25
    with pytest.raises(
        ValueError, match=r"column '1' lies up to .*holds a code for a missing value"
    ):
        fitted.predict(far)


def test_odd_columns(rng):
    x, y = matrix(rng, 40)
    frame = pd.DataFrame(x, columns=["a", "b", "c"])
    model = clone(VST).set_params(steps=5)
    numbers = frame.astype({"a": object})
    assert clone(model).fit(numbers, y).encoder_.feature_names == ["a", "b", "c"]
    nullable = frame.assign(a=pd.array(range(40), dtype="Int64"), b=frame["b"] > 0)
    assert clone(model).fit(nullable, y).encoder_.feature_names == ["a", "b", "c"]
    with pytest.raises(ValueError, match=r"unique column names|must be unique and have one level"):
        clone(model).fit(frame.set_axis(["a", "a", "c"], axis=1), y)
    with pytest.raises(ValueError, match="column 'c' holds complex numbers"):
        clone(model).fit(frame.assign(c=1j), y)
    with pytest.raises(ValueError, match=r"column 'c' holds .* which is not a category"):
        clone(model).fit(frame.assign(c=[(1, 2)] * 40), y)
    with pytest.raises(ValueError, match="y must be numeric, got dates"):
        clone(model).fit(frame, pd.date_range("2020-01-01", periods=40))
    by_number = clone(model).fit(frame.set_axis([0, 1, 2], axis=1), y)
    with pytest.raises(ValueError, match="the table has no column 0"):
        by_number.predict(frame.set_axis([7, 8, 9], axis=1))


@both
def test_a_diverging_fit_raises_with_advice(model, rng):
    x, y = matrix(rng)
    with jax.debug_nans(False), pytest.raises(FloatingPointError, match="Lower learning_rate"):
        clone(model).set_params(learning_rate=1e5).fit(x, y)


@both
def test_a_fit_whose_last_step_diverges_raises_too(model, rng):
    x, y = matrix(rng)
    with jax.debug_nans(False), pytest.raises(FloatingPointError, match="diverged"):
        clone(model).set_params(
            learning_rate=1e6, steps=1, **({"n_trees": 1} if model is VSGBM else {})
        ).fit(x, y)


@both
def test_an_interrupt_leaves_no_half_fitted_estimator(model, rng, monkeypatch):
    x, y = matrix(rng)
    fresh = clone(model)
    fitted = clone(model).fit(x, y)
    before = fitted.predict(x)

    def interrupted(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr("vst.inference._train", interrupted)
    for each in (fresh, fitted):
        with pytest.raises(KeyboardInterrupt):
            each.fit(x[:, :2], y)
    np.testing.assert_array_equal(fitted.predict(x), before)
    with pytest.raises(NotFittedError):
        fresh.predict(x)
    assert not hasattr(fresh, "n_features_in_")


@pytest.mark.skipif(os.name == "nt", reason="POSIX signals")
def test_control_c_stops_a_long_fit():
    code = (
        "import signal, numpy as np, vst\n"
        # Shells start what runs in the background with the signal ignored.
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "x = np.linspace(0, 1, 50)[:, None]\n"
        "vst.VSTRegressor(steps=10**8, progress=True).fit(x, x[:, 0])\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code], stderr=subprocess.PIPE, text=True, bufsize=1
    )
    assert process.stderr is not None
    while "nats/row" not in process.stderr.read(40):
        assert process.poll() is None
    process.send_signal(signal.SIGINT)
    assert "KeyboardInterrupt" in process.communicate(timeout=60)[1]


def test_public_names():
    assert {"VSTRegressor", "VSGBMRegressor", "LowRankGaussian"} <= set(vst.__all__)
    assert all(hasattr(vst, exported) for exported in vst.__all__)
