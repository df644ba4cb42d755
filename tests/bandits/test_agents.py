"""What holds for every agent, and what makes each of them the agent that its name says."""

import json
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from vst.companion.bandits import (
    AGENTS,
    TRIALS,
    Bandit,
    LinTS,
    Refitted,
    ThompsonVST,
    linear,
    refitting,
    simulate,
    thompson,
)
from vst.companion.bandits.agents import from_parameters, parameters
from vst.companion.bandits.environments import Exploration, Mushroom
from vst.companion.bandits.schedule import update_times
from vst.companion.peers import ConstantTargetError
from vst.companion.peers.deep_ensemble import DeepEnsemble
from vst.companion.peers.sglb import SGLB
from vst.companion.peers.xbart import XBART
from vst.inference import State
from vst.posterior import LowRankGaussian
from vst.soft_trees import SoftTrees
from vst.tree import SoftTree, TreeShape

#: Every agent as in the table but quick.
SMALL = {
    "random": AGENTS["random"],
    "vst": ThompsonVST(
        SoftTrees(depth=1, rank=2, batch_size=32, steps=300),
        initial_pulls=5, update_every=25, steps_per_update=50,
    ),
    "vsgbm": ThompsonVST(
        SoftTrees(depth=1, rank=0, batch_size=32, steps=300, n_trees=2, training="joint"),
        initial_pulls=5, update_every=25, steps_per_update=50,
    ),
    "xbart": Refitted(XBART(n_learners=5, draws=4, burn_in=3), initial_pulls=5),
    "sglb": Refitted(SGLB(n_learners=20, members=2), initial_pulls=5),
    "lints": LinTS(initial_pulls=5),
    "deep-ensemble": Refitted(
        DeepEnsemble(steps=300, members=2, hidden_dim=8, batch_size=5, learning_rate=1e-2),
        initial_pulls=5, growth=0.5,
    ),
}  # fmt: skip

each = pytest.mark.parametrize("name", AGENTS)


def two_lines(seed, steps=250):
    """Two arms whose rewards are linear in the context, and cross at zero."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(steps, 2)).astype(np.float32)
    expected = np.stack([x[:, 0], -x[:, 0]], axis=1).astype(float)
    rewards = expected + 0.1 * rng.normal(size=expected.shape)
    return Bandit("lines", x, rewards, expected, 1.0)


def test_a_small_version_of_every_agent_is_tested():
    assert list(SMALL) == list(AGENTS)
    assert [type(SMALL[name]) for name in AGENTS] == [type(AGENTS[name]) for name in AGENTS]


def test_every_agent_has_as_many_trials_and_no_two_are_alike():
    for name, trials in TRIALS.items():
        settings = {json.dumps(parameters(each)) for each in trials}
        assert len(settings) == len(trials) == (1 if name == "random" else 5), name


@pytest.mark.parametrize("name", TRIALS)
def test_an_agent_comes_back_from_its_parameters(name):
    for setting in TRIALS[name]:
        assert from_parameters(name, parameters(setting)) == setting
        assert from_parameters(name, json.loads(json.dumps(parameters(setting)))) == setting


@each
def test_a_small_agent_comes_back_from_its_parameters(name):
    assert from_parameters(name, parameters(SMALL[name])) == SMALL[name]


def test_only_the_seeds_of_a_soft_tree_run_together():
    assert [name for name, setting in AGENTS.items() if setting.together] == ["vst", "vsgbm"]
    assert "together" not in parameters(AGENTS["vst"])


@each
def test_the_same_seed_gives_the_same_history_step_by_step(name):
    bandit = two_lines(0)
    first, again, other = (simulate(SMALL[name], [bandit], [seed])[0] for seed in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)
    assert first.shape == (250,)
    assert set(first) == {0, 1}


@each
def test_agents_learn_which_arm_is_better(name):
    if name == "random":
        pytest.skip("does not learn")
    bandit = two_lines(0)
    regret = bandit.regret(simulate(SMALL[name], [bandit], [1])[0])
    random = (bandit.expected.max(axis=1) - bandit.expected.mean(axis=1)).mean()
    assert regret[-100:].mean() < 0.4 * random


@each
def test_agents_do_not_look_at_rewards_of_arms_they_did_not_pull(name):
    bandit = two_lines(0)
    actions = simulate(SMALL[name], [bandit], [1])[0]
    hidden = np.arange(2) != actions[:, None]
    changed = bandit._replace(rewards=np.where(hidden, 1e3, bandit.rewards))
    np.testing.assert_array_equal(simulate(SMALL[name], [changed], [1])[0], actions)


@each
def test_agents_do_not_look_at_future_rewards(name):
    bandit = two_lines(0)
    actions = simulate(SMALL[name], [bandit], [1])[0]
    rewards = bandit.rewards.copy()
    rewards[125:] += 7.0
    later = simulate(SMALL[name], [bandit._replace(rewards=rewards)], [1])[0]
    np.testing.assert_array_equal(later[:125], actions[:125])


@each
def test_every_arm_is_pulled_in_turn_at_first(name):
    if name == "random":
        pytest.skip("has no initial pulls")
    bandit = two_lines(3)
    assert simulate(SMALL[name], [bandit], [0])[0][:10].tolist() == [0, 1] * 5


def test_updates_come_at_least_so_often_and_then_by_growth():
    times = update_times(40, 2000, every=50, growth=0.2)
    assert times[:3] == [40, 90, 140]
    gaps = np.diff(times)
    assert gaps.min() == 50
    assert (gaps <= np.maximum(50, 0.2 * np.array(times[:-1]))).all()


# LinTS


def test_the_linear_posterior_is_that_of_the_textbook(rng):
    """Normal-inverse-Gamma: marginally, the weights have a multivariate Student distribution."""
    x, w = rng.normal(size=(40, 3)), np.array([1.0, -2.0, 0.5])
    y = x @ w + 0.3 * rng.normal(size=40)
    setting = LinTS(prior_scale=1.5, noise_shape=3.0, noise_rate=2.0)
    found = linear.posterior(setting, linear.Sums.none(3).add(x[:10], y[:10]).add(x[10:], y[10:]))
    precision = np.eye(3) / 1.5**2 + sum(np.outer(row, row) for row in x)
    mean = np.linalg.solve(precision, sum(row * target for row, target in zip(x, y, strict=True)))
    residual = y - x @ mean
    rate = 2.0 + 0.5 * (residual @ residual + mean @ mean / 1.5**2)
    np.testing.assert_allclose(found.mean, mean)
    np.testing.assert_allclose(found.cov @ precision, np.eye(3), atol=1e-10)
    assert found.shape == 3.0 + 20
    assert found.rate == pytest.approx(rate)
    draws = found.sample(rng, 4000)
    scale = np.sqrt(found.rate / found.shape * np.diag(found.cov))
    for i in range(3):
        student = stats.t(2 * found.shape, mean[i], scale[i])
        assert stats.kstest(draws[:, i], student.cdf).pvalue > 1e-3


# Refitted peers


def test_sglb_refuses_the_arm_that_always_pays_nothing():
    """The failure that the paper reports on mushroom, and the way round it."""
    bandit = Mushroom().sample(0, 60)
    setting = replace(SMALL["sglb"], constant_arms=False)
    with pytest.raises(ConstantTargetError, match="CatBoost cannot be fitted to a constant"):
        refitting.simulate(setting, bandit, 0)
    actions = refitting.simulate(SMALL["sglb"], bandit, 0)
    assert set(actions) == {0, 1}


def test_an_arm_draws_rewards_in_their_own_units(rng):
    class Two:
        def mean_draws(self, x):
            return np.stack([np.zeros(len(x)), np.ones(len(x))])

    values = refitting.Arm(Two(), 10.0, 3.0).draw(rng, np.zeros((400, 1)))
    assert set(values) == {10.0, 13.0}
    assert (values == 13.0).mean() == pytest.approx(0.5, abs=0.1)


# VST


def fixed_memory(program, means, scale):
    """Arms whose posteriors are known; no training is involved."""
    k, p = program.rank, program.shape.n_params
    posteriors = LowRankGaussian(
        jnp.asarray(means, jnp.float32), jnp.full((len(means), p), scale),
        jnp.zeros((len(means), p, k)),
    )  # fmt: skip
    rows = [posteriors.mean[:, None], jnp.log(posteriors.scale)[:, None]]
    variational = jnp.concatenate([*rows, jnp.swapaxes(posteriors.factor, 1, 2)], axis=1)
    pulled = jnp.zeros((len(means), 8), jnp.int32)
    return thompson.Memory(State(variational, ()), pulled, jnp.zeros(len(means), jnp.int32))


def test_a_decision_follows_one_function_drawn_from_each_arms_posterior(key):
    """With a leaf whose mean is Normal, the first of two arms wins with a known probability."""
    program = SoftTrees(depth=0, leaves="constant", rank=0).program(1)
    memory = fixed_memory(program, [[0.3, 0.0], [0.0, 0.0]], 0.5)
    keys = jax.random.split(key)
    actions = thompson.decide(keys, program, memory, 1.0, jnp.zeros((4000, 1)))
    wins = stats.norm.cdf(0.3 / np.sqrt(2 * 0.25))
    assert float((actions == 0).mean()) == pytest.approx(wins, abs=0.03)


def test_a_certain_posterior_decides_by_its_mean_function(key, rng):
    program = SoftTrees(depth=2, rank=0).program(2)
    means = rng.normal(size=(3, program.shape.n_params))
    x = jnp.asarray(rng.normal(size=(20, 2)), jnp.float32)
    keys = jax.random.split(key, 3)
    actions = thompson.decide(keys, program, fixed_memory(program, means, 1e-6), 5.0, x)
    trees = [SoftTree(TreeShape(2, 2), jnp.asarray(m, jnp.float32), 5.0).mean(x) for m in means]
    np.testing.assert_array_equal(actions, np.argmax(trees, axis=0))


def test_buffers_hold_the_steps_at_which_each_arm_was_pulled(rng):
    actions = rng.integers(3, size=60)
    memory = thompson.Memory(None, jnp.zeros((3, 80), jnp.int32), jnp.zeros(3, jnp.int32))
    for start in range(0, 60, 20):
        # Whatever comes after the last decision of a block is padding.
        block = jnp.asarray([*actions[start : start + 20], 1, 1, 0])
        memory = thompson.remember(memory, block, start, start + 20)
    for arm in range(3):
        expected = np.flatnonzero(actions == arm)
        assert memory.counts[arm] == len(expected)
        np.testing.assert_array_equal(memory.pulled[arm, : len(expected)], expected)


def test_the_initial_pulls_are_in_the_buffers():
    program = SoftTrees(depth=1).program(2)
    memory = thompson._begin(jnp.array([0, 1], jnp.uint32), program, 3, 7, 20)
    np.testing.assert_array_equal(memory.counts, [[3, 2, 2]] * 2)
    np.testing.assert_array_equal(memory.pulled[0, 0, :3], [0, 3, 6])
    np.testing.assert_array_equal(memory.pulled[0, 2, :2], [2, 5])


def test_runs_shorter_than_the_initial_pulls_end_early():
    bandit = two_lines(0, steps=7)
    for name in ("vst", "lints", "sglb"):
        assert simulate(SMALL[name], [bandit], [0])[0].tolist() == [0, 1, 0, 1, 0, 1, 0]


def test_the_last_block_of_decisions_may_be_shorter():
    setting = replace(SMALL["vst"], tree=replace(SMALL["vst"].tree, steps=20), steps_per_update=10)
    assert simulate(setting, [two_lines(0, steps=93)], [0])[0].shape == (93,)


def test_training_starts_afresh_whenever_the_decisions_have_doubled(monkeypatch):
    spans, train = [], thompson._train

    def spy(memory, seeds, number, start, stop, total, *rest, **options):
        spans.append((number, start, stop, total))
        return train(memory, seeds, number, start, stop, total, *rest, **options)

    monkeypatch.setattr(thompson, "_train", spy)
    tree = replace(SMALL["vst"].tree, steps=270)
    setting = replace(SMALL["vst"], tree=tree, steps_per_update=20, growth=0.5)
    simulate(setting, [two_lines(0, steps=120)], [0])
    # Updates after 10, 35, 60 and 90 decisions.
    fresh, short = ((0, 250, 270), (250, 270, 270)), ((0, 20, 20),)
    expected = [(i, *span) for i, part in enumerate((fresh, fresh, short, fresh)) for span in part]
    assert spans == expected


def test_one_program_trains_through_a_whole_run():
    thompson._train.clear_cache()
    simulate(SMALL["vst"], [two_lines(0, steps=120)], [0])
    assert thompson._train._cache_size() == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"initial_pulls": 0}, "initial_pulls must be an integer >= 1"),
        ({"update_every": 0}, "update_every must be an integer >= 1"),
        ({"steps_per_update": 0}, "steps_per_update must be an integer >= 1"),
    ],
)
def test_settings_that_cannot_be_used_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        ThompsonVST(**options)


@pytest.mark.parametrize("name", ["vst", "vsgbm"])
def test_soft_trees_beat_the_random_policy_on_exploration(name):
    bandit = Exploration(arms=4, alpha=0.25, beta=30.0).sample(0, 1200)
    setting = TRIALS[name][1]
    tree = replace(setting.tree, steps=500, depth=2)
    setting = replace(setting, initial_pulls=10, tree=tree, steps_per_update=100)
    regret = bandit.regret(simulate(setting, [bandit], [0])[0])
    random = (bandit.expected.max(axis=1) - bandit.expected.mean(axis=1)).mean()
    assert regret[-300:].mean() < 0.4 * random
