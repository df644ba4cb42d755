"""Learning on: what was learned from earlier rows is the prior of what follows."""

from dataclasses import dataclass, replace

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest
from models import CLASSIFIERS, FAST, JOINT, NOISE_TREE, VSGBM, VST, matrix, name
from scipy.stats import binom
from sklearn.base import clone, is_classifier

from vst import VSTClassifier, VSTRegressor, load_model
from vst.arrays import Rows
from vst.bound import Hyperparameters, Noise, objective, tangent, variational_of
from vst.inference import fit
from vst.learning import Memory, Past, learn
from vst.posterior import LowRankGaussian
from vst.prior import WIDEST, Prior, squared_distance
from vst.soft_trees import SoftTrees, Streams, fit_one
from vst.tree import TreeShape

SEQUENTIAL = [VST, JOINT, *CLASSIFIERS]
every = pytest.mark.parametrize("model", SEQUENTIAL, ids=name)


def posterior(rng, p=7, k=3, wide=1.0):
    parts = rng.normal(size=p), np.exp(rng.normal(size=p)), wide * rng.normal(size=(p, k))
    return LowRankGaussian(*(jnp.asarray(part, jnp.float32) for part in parts))


def dense(prior):
    return np.diag(prior.precision) - prior.root.T @ prior.root


# ---- the prior


@pytest.mark.parametrize("k", [0, 3, 7])
@pytest.mark.parametrize("share", [1.0, 0.3, 0.0])
def test_prior_has_a_share_of_the_posteriors_natural_parameters(rng, share, k):
    q = posterior(rng, k=k)
    prior = Prior.of(q, share, prior_scale=2.0)
    own = np.linalg.inv(np.asarray(q.covariance(), float))
    precision = share * own + (1 - share) / 4 * np.eye(7)
    mean = np.linalg.solve(precision, share * own @ np.asarray(q.mean, float))
    np.testing.assert_allclose(dense(prior), precision, rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(prior.mean, mean, rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(prior.log_det, np.linalg.slogdet(precision)[1], atol=1e-3)


def test_squared_distance_from_the_prior_agrees_with_dense_matrices(rng):
    prior, (mean, scale, factor) = Prior.of(posterior(rng), 0.6, 1.0), posterior(rng, k=4)
    covariance = np.diag(scale**2) + factor @ factor.T
    off, precision = np.asarray(mean - prior.mean, float), dense(prior)
    expected = off @ precision @ off + np.trace(precision @ covariance)
    assert squared_distance(prior, mean, scale, factor.T) == pytest.approx(expected, rel=1e-4)


def test_kl_of_a_posterior_from_itself_is_zero_and_else_positive(rng):
    q, other = posterior(rng), posterior(rng)

    def kl(q, prior):
        distance = squared_distance(prior, q.mean, q.scale, q.factor.T)
        log_det = np.linalg.slogdet(np.asarray(q.covariance(), float))[1]
        return 0.5 * (distance - prior.log_det - 7 - log_det)

    assert kl(q, Prior.of(q, 1.0, 1.0)) == pytest.approx(0, abs=1e-3)
    assert kl(q, Prior.of(other, 1.0, 1.0)) > 0.1


def test_precision_stays_positive_however_wide_a_direction_is(rng):
    prior = Prior.of(posterior(rng, wide=1e5), 1.0, 1.0)
    scaled = dense(prior) / np.sqrt(np.outer(prior.precision, prior.precision))
    assert np.linalg.eigvalsh(scaled.astype(float)).min() > 0.1 / WIDEST


def test_bound_with_the_models_own_prior_is_the_usual_bound(rng, key):
    shape = TreeShape(3, 2)
    p, x = shape.n_params, jnp.asarray(rng.normal(size=(16, 3)), jnp.float32)
    variational = variational_of(posterior(rng, p))
    keys = jax.random.split(key)
    noise = Noise(
        jax.random.normal(keys[0], (1, shape.n_outputs, 16)), jax.random.normal(keys[1], (1, 3))
    )
    given = variational, noise, tangent(variational), shape, Hyperparameters(prior_scale=1.7)
    wide = LowRankGaussian(jnp.zeros(p), jnp.full(p, 1.7), jnp.zeros((p, 0)))
    prior = Prior.of(wide, 1.0, 1.7)
    usual = objective(*given, x, x[:, 0], 50)
    assert objective(*given, x, x[:, 0], 50, prior=prior) == pytest.approx(float(usual), rel=1e-5)


# ---- Bayes' rule


@dataclass(frozen=True)
class KnownNoise(SoftTrees):
    """One linear leaf with a known noise: Bayesian linear regression."""

    noise: float = 0.4

    def shape(self, in_features):
        return TreeShape(in_features, 0, noise=self.noise)


LINEAR = KnownNoise(rank=3, steps=30_000, tol=0.0, batch_size=256)


def learned_in_parts(setting, key, x, y, parts, memory=0, forgetting=0.0):
    keys = jax.random.split(key, 1)
    first, *others = parts
    posteriors = fit(
        keys, setting.program(2), setting.hyperparameters(), x[first], y[first],
        Rows.all(len(first)), steps=6000,
    ).posteriors  # fmt: skip
    rows = Memory.empty(2).joined(np.random.default_rng(0), x[first], y[first], np.ones(len(first)))
    past = Past.of(len(first), float(len(first)), rows.sampled(memory))
    for part in others:
        result, past = learn(
            setting, keys, posteriors, past, x[part], y[part], np.ones(len(part)),
            memory=memory, forgetting=forgetting,
        )  # fmt: skip
        posteriors = result.posteriors
    return LowRankGaussian(*(part[0] for part in posteriors)), past


def exact_posterior(x, y, noise, prior_scale=1.0):
    z = np.c_[x, np.ones(len(x))]
    covariance = np.linalg.inv(z.T @ z / noise**2 + np.eye(z.shape[1]) / prior_scale**2)
    return covariance @ z.T @ y / noise**2, covariance


@pytest.mark.parametrize("memory", [0, 60, 1000])
@pytest.mark.parametrize("backwards", [False, True])
def test_ten_parts_give_the_exact_posterior_of_all_rows(rng, key, memory, backwards):
    n = 200
    x = (rng.normal(size=(n, 2)) @ [[1, 0.6], [0, 0.8]]).astype(np.float32)
    y = (x @ [0.5, -0.3] + 0.2 + 0.4 * rng.normal(size=n)).astype(np.float32)
    parts = np.array_split(np.arange(n), 10)
    found, past = learned_in_parts(LINEAR, key, x, y, parts[::-1] if backwards else parts, memory)
    mean, covariance = exact_posterior(x, y, 0.4)
    spread = np.sqrt(np.diag(covariance))
    # A memory that is a sample of the past rows is right about the others on average only.
    sampled = 0 < memory < n
    np.testing.assert_array_less(
        np.abs(found.mean - mean) / spread, 2.5 if sampled else 0.25, "mean, in standard deviations"
    )
    np.testing.assert_allclose(
        found.covariance() / np.outer(spread, spread),
        covariance / np.outer(spread, spread),
        atol=0.3 if sampled else 0.12,
    )
    assert (past.rows, past.total, past.parts, len(past.memory.y)) == (n, n, 9, min(memory, n))


# ---- the memory


def test_memory_holds_every_row_with_the_same_chance():
    rng, counts = np.random.default_rng(1), np.zeros(60)
    for _ in range(300):
        memory = Memory.empty(1)
        for part in np.split(np.arange(60.0), 6):
            memory = memory.joined(rng, part[:, None], part, np.ones(10)).sampled(20)
        counts[memory.y.astype(int)] += 1
    low, high = binom(300, 1 / 3).ppf([1e-5, 1 - 1e-5])
    assert counts.sum() == 300 * 20
    assert low <= counts.min()
    assert counts.max() <= high


def test_memory_prefers_late_rows_if_the_past_is_forgotten():
    rng, ages = np.random.default_rng(1), []
    for _ in range(50):
        memory = Memory.empty(1)
        for part in np.split(np.arange(60.0), 6):
            memory = memory.aged(0.5).joined(rng, part[:, None], part, np.ones(10)).sampled(20)
        ages.append(memory.y.mean())
        assert set(memory.weights) <= {0.5**age for age in range(6)}
    assert np.mean(ages) > 40


# ---- the estimators


def target_of(model, y):
    return np.where(y > np.median(y), "high", "low") if is_classifier(model) else y


def learned(model, x, y, parts=4):
    model = clone(model)
    for part in np.array_split(np.arange(len(x)), parts):
        model.partial_fit(x[part], y[part])
    return model


@every
def test_first_part_is_a_fit(model, rng):
    x, y = matrix(rng)
    y = target_of(model, y)
    fitted, first = clone(model).fit(x, y), clone(model).partial_fit(x, y)
    np.testing.assert_array_equal(fitted.predict(x), first.predict(x))
    assert first.n_samples_seen_ == len(x)


@every
def test_learns_from_all_parts(model, rng):
    x, y = matrix(rng, 400)
    y = target_of(model, y)
    few = clone(model).fit(x[:20], y[:20])  # with 40, some tables are learned already
    many = clone(model).set_params(steps=3000)
    assert learned(many, x[:360], y[:360], 9).score(x[360:], y[360:]) > few.score(x[360:], y[360:])


@every
def test_same_seed_learns_the_same_and_a_saved_model_goes_on_alike(model, rng, tmp_path):
    x, y = matrix(rng, 120)
    y = target_of(model, y)
    whole = learned(clone(model).set_params(memory=50), x, y)
    halfway = learned(clone(model).set_params(memory=50), x[:60], y[:60], 2)
    halfway.save(tmp_path / "model.vst")
    resumed = load_model(tmp_path / "model.vst")
    for part in np.array_split(np.arange(60, 120), 2):
        resumed.partial_fit(x[part], y[part])
    np.testing.assert_array_equal(whole.predict(x), resumed.predict(x))
    assert resumed.n_samples_seen_ == 120


@pytest.mark.parametrize("forgetting", [0.0, 0.1])
def test_going_on_compiles_once(forgetting, rng, compilations):
    x, y = matrix(rng, 300)
    model = clone(VST).set_params(depth=1, batch_size=16, steps=500, forgetting=forgetting)
    model.partial_fit(x[:40], y[:40]).partial_fit(x[40:80], y[40:80])
    compiled = len(compilations)
    for start in range(80, 300, 20):
        model.partial_fit(x[start : start + 20], y[start : start + 20])
    assert len(compilations) == compiled <= 2


def test_training_starts_afresh_whenever_the_rows_have_doubled(rng, monkeypatch):
    starts = []

    def spy(*arguments, initial=None, **options):
        starts.append(initial is None)
        return fit(*arguments, initial=initial, **options)

    monkeypatch.setattr("vst.learning.fit", spy)
    x, y = matrix(rng, 80)
    learned(clone(VST).set_params(steps=100, tol=0), x, y, 8)
    assert starts == [True, False, True, False, False, False, True]


def test_one_row_and_rows_of_no_weight(rng):
    x, y = matrix(rng)
    model = clone(VST).fit(x, y)
    before = model.predict(x)
    model.partial_fit(x[:1], y[:1])
    assert model.n_samples_seen_ == len(x) + 1
    twin = clone(VST).fit(x, y).partial_fit(x[:2], [y[0], 1e9], sample_weight=[1, 0])
    np.testing.assert_array_equal(model.predict(x), twin.predict(x))
    assert np.abs(model.predict(x) - before).max() > 0


def test_forgetting_follows_a_change(rng):
    x, _ = matrix(rng, 600)
    y = np.where(np.arange(600) < 300, 1, -1) * x[:, 0] + 0.1 * rng.normal(size=600)
    model = VSTRegressor(**FAST | {"depth": 0, "steps": 2000}, tol=0)
    steady, forgetful = (
        learned(clone(model).set_params(forgetting=f), x, y, 12) for f in (0.0, 0.5)
    )
    now = slice(500, 600)
    assert forgetful.score(x[now], y[now]) > 0.8 > steady.score(x[now], y[now])
    assert forgetful.past_.total < 110


def test_later_categories_and_gaps_are_those_of_new_data(rng):
    table = pd.DataFrame({"kind": ["a", "b"] * 20, "size": np.arange(40.0)})
    model = clone(VST).partial_fit(table, np.arange(40.0))
    with pytest.warns(UserWarning, match="encoded as zeros: c"):
        model.partial_fit(pd.DataFrame({"kind": ["c"], "size": [3.0]}), [3.0])
    assert model.encoder_.categories[0] == ("a", "b")
    with pytest.warns(UserWarning, match="no gaps in the training data"):
        model.partial_fit(pd.DataFrame({"kind": ["a"], "size": [np.nan]}), [3.0])


def test_scales_of_the_first_part_stay(rng):
    x, y = matrix(rng)
    model = clone(VST).partial_fit(x, np.round(y))
    floor = model.shape_.smallest_scale
    assert floor > 0.1
    model.partial_fit(x, y)
    assert (model.shape_.smallest_scale, model._setting_as_fitted(y).smallest_scale) == (floor,) * 2


@pytest.mark.parametrize("model", [VSGBM, NOISE_TREE])
def test_boosted_trees_cannot_go_on_and_say_why(model):
    assert not hasattr(model, "partial_fit")
    with pytest.raises(AttributeError) as error:
        model.partial_fit([[0], [1]], [0, 1])
    assert 'set training="joint"' in str(error.value.__cause__)


def test_bad_parts_are_refused_and_change_nothing(rng):
    x, y = matrix(rng)
    model = clone(VST).partial_fit(x, y)
    before = model.predict(x), model.past_
    for bad_x, bad_y, match in [
        (x[:, :2], y, "2 features"),
        (x, y[:-1], "inconsistent"),
        (x[:2], [1.0, np.nan], "NaN"),
        (x[:1], ["a"], "must be numeric"),
        (np.full((1, 3), np.inf), [1.0], "inf"),
    ]:
        with pytest.raises(ValueError, match=match):
            model.partial_fit(bad_x, bad_y)
    np.testing.assert_array_equal(model.predict(x), before[0])
    assert model.past_ is before[1]


@pytest.mark.parametrize("change", [{"memory": -1}, {"forgetting": 1.0}, {"forgetting": -0.1}])
def test_bad_settings_are_refused(change, rng):
    with pytest.raises(ValueError, match=next(iter(change))):
        VSTRegressor(**change).partial_fit(*matrix(rng))


def test_all_classes_are_named_in_the_first_call(rng):
    x, y = matrix(rng, 90)
    labels = np.digitize(y, np.quantile(y, [1 / 3, 2 / 3])).astype(str)
    model = VSTClassifier(**FAST)
    first = labels != "2"
    model.partial_fit(x[first], labels[first], classes=["0", "1", "2"])
    assert model.predict_proba(x).shape == (90, 3)
    model.partial_fit(x, labels)
    with pytest.raises(ValueError, match="'9', which the first rows did not have"):
        model.partial_fit(x[:1], ["9"])
    with pytest.raises(ValueError, match="'2', which is not among the classes given"):
        VSTClassifier(**FAST).partial_fit(x, labels, classes=["0", "1"])


def test_fit_forgets_what_was_learned(rng):
    x, y = matrix(rng)
    again = learned(VST, x, -y).fit(x, y)
    np.testing.assert_array_equal(again.predict(x), clone(VST).fit(x, y).predict(x))
    assert (again.past_.parts, len(again.past_.memory.y)) == (0, 0)


def test_a_model_from_before_partial_fit_goes_on_too(rng):
    x, y = matrix(rng)
    model = clone(VST).fit(x, y)
    model.past_ = Past.of(0, 0.0, Memory.empty(3))
    assert model.partial_fit(x[:10], y[:10]).score(x, y) > 0.3


def test_streams_of_members_differ_from_part_to_part():
    setting = replace(SoftTrees(), members=2, depth=1, steps=20, tol=0.0)
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(30, 2)).astype(np.float32), rng.normal(size=30).astype(np.float32)
    stack = fit_one(setting, Streams.of(0, 2), x, y)
    past = Past.of(30, 30.0, Memory.empty(2))
    results = []
    for parts in (0, 1):
        result, _ = learn(
            setting, Streams.of(0, 2).training, stack.posteriors(0), past._replace(parts=parts),
            x[:5], y[:5], np.ones(5), memory=0, forgetting=0.0,
        )  # fmt: skip
        results.append(np.asarray(result.posteriors.mean))
    assert np.abs(results[0] - results[1]).max() > 0
    assert np.abs(results[0][0] - results[0][1]).max() > 0


def test_no_rows_are_refused_with_a_sentence(rng):
    x, y = rng.normal(size=(30, 2)), rng.normal(size=30)
    model = VSTRegressor(depth=0, steps=20, tol=0).fit(x, y)
    with pytest.raises(ValueError, match="partial_fit got no rows"):
        model.partial_fit(x[:0], y[:0])
