"""One description of a soft tree, and the one way to fit many of them."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from models import matrix

from vst.arrays import Rows
from vst.blocks import map_rows
from vst.boosting import EnsembleDraws
from vst.bound import Hyperparameters
from vst.estimators import estimator
from vst.inference import Program
from vst.predictive import TreeDraws, mean_functions
from vst.soft_trees import SoftTrees, Streams, fit_many, fit_one, seed_of
from vst.tree import TreeShape

TREE = SoftTrees(depth=1, rank=2, steps=40, batch_size=16, learning_rate=1e-2)
BOOSTED = replace(TREE, n_trees=2)

each = pytest.mark.parametrize("setting", [TREE, BOOSTED], ids=["tree", "boosted"])


def data(rng):
    x, y = matrix(rng)
    return x.astype(np.float32), y.astype(np.float32)


def streams(seed, fits, members=1):
    """Random numbers of some fits, afresh at each call: a key is used once."""
    keys = jax.random.split(jax.random.key(seed), fits)
    return [Streams.of_key(key, members) for key in keys]


def predictions(stack, i, x, n=20):
    return map_rows(mean_functions, stack.draws(i, n), x)


def test_a_description_fixes_the_program_and_its_values():
    setting = SoftTrees(depth=3, rank=4, batch_size=7, mc_samples=2, beta=2.0, kl_weight=0.5)
    assert setting.shape(6) == TreeShape(6, 3, "linear", "leaf")
    assert replace(setting, n_trees=2, leaves="constant").shape(6) == TreeShape(
        6, 3, "constant", "shared"
    )
    assert setting.program(6) == Program(setting.shape(6), 4, 7, 2)
    assert setting.hyperparameters() == Hyperparameters(1e-2, 1.0, 2.0, 0.5)


@each
def test_inputs_are_turned_to_their_principal_axes_unless_they_are_whitened(setting):
    assert setting.axes == "principal"
    assert replace(setting, whiten=1).axes == "whitened"


@each
def test_fits_side_by_side_are_those_of_each_alone(setting, rng, seed):
    x, y = data(rng)
    settings = [setting, replace(setting, beta=2.0, prior_scale=0.5, kl_weight=0.1)]
    train = [np.arange(50), np.arange(30, 80)]
    together = fit_many(settings, streams(seed, 2), x, y, Rows.of(train))
    for i in range(2):
        alone = fit_one(settings[i], streams(seed, 2)[i], x[train[i]], y[train[i]])
        np.testing.assert_allclose(together.elbo(i), alone.elbo(0), rtol=1e-3, atol=1e-3)
        np.testing.assert_allclose(
            predictions(together, i, x), predictions(alone, 0, x), rtol=1e-2, atol=1e-2
        )
        own_x, own_y, _ = together.training_rows(i)
        np.testing.assert_array_equal(own_x, x[train[i]])
        np.testing.assert_array_equal(own_y, y[train[i]])


@each
def test_a_stack_has_every_member_of_every_fit(setting, rng, seed):
    x, y = data(rng)
    setting = replace(setting, members=3)
    stack = fit_many([setting] * 2, streams(seed, 2, members=3), x, y, Rows.all(len(x), sets=2))
    trees = (2,) if setting.n_trees else ()
    p = setting.shape(3).n_params
    for i in range(2):
        assert stack.posteriors(i).mean.shape == (3, *trees, p)
        assert stack.elbo(i).shape == (3, setting.n_trees or 1, setting.steps)
        kind = EnsembleDraws if setting.n_trees else TreeDraws
        assert isinstance(stack.draws(i, 5), kind)
    assert stack.training_rows(0)[0] is stack.x
    assert not np.allclose(stack.posteriors(0).mean, stack.posteriors(1).mean)


@each
def test_an_estimator_with_the_key_is_the_same_model(setting, rng, key):
    x, y = data(rng)
    stack = fit_one(setting, Streams.of_key(jax.random.clone(key), 1), x, y)
    model = estimator(setting, standardise=False, random_state=key).fit(x, y)
    expected = predictions(stack, 0, x, n=100).mean(axis=0)
    np.testing.assert_allclose(model.predict(x), expected, rtol=1e-5, atol=1e-5)


def test_a_seed_of_a_key_is_its_numbers(key):
    seed = seed_of(key)
    assert seed == np.asarray(jax.random.key_data(key)).tolist()
    for one, other in zip(Streams.of(seed, 2), Streams.of_key(key, 2), strict=True):
        np.testing.assert_array_equal(jax.random.key_data(one), jax.random.key_data(other))


def test_a_seed_of_a_number_is_a_number():
    assert isinstance(seed_of(3), int)
    assert seed_of(3) == seed_of(np.random.RandomState(3)) != seed_of(4)


@pytest.mark.parametrize("seed", [0, [7, 9]], ids=["number", "key"])
def test_members_and_draws_have_streams_of_their_own(seed):
    training, drawing = map(jax.random.key_data, Streams.of(seed, 3))
    every = jnp.concatenate([training, drawing[None]])
    assert len(np.unique(every, axis=0)) == 4
