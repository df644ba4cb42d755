"""The bandits pay what the paper says, and regret is measured against expectations."""

import numpy as np
import pytest
from scipy.special import expit

from vst.companion.bandits import ENVIRONMENTS, Oracle, RandomPolicy, environment, simulate
from vst.companion.bandits.environments import Exploration, Financial, Jester, Mushroom
from vst.companion.paper import BANDITS, printed
from vst.datasets import CATALOGUE, load_dataset
from vst.datasets.places import find
from vst.errors import UserError

PRESENT = [
    name
    for name, problem in ENVIRONMENTS.items()
    if not problem.dataset or find(CATALOGUE[problem.dataset])
]
ABSENT_REASON = "its data set is not on this machine"

each = pytest.mark.parametrize("name", PRESENT)


def needs(dataset):
    return pytest.mark.skipif(find(CATALOGUE[dataset]) is None, reason=ABSENT_REASON)


def test_the_bandits_are_those_of_the_paper():
    assert tuple(ENVIRONMENTS) == BANDITS
    steps = {"financial": 3713, "exploration": 20_000, "mushroom": 7310, "jester": 19181}
    assert {name: problem.steps for name, problem in ENVIRONMENTS.items()} == steps


def test_an_unknown_bandit_is_refused_with_the_names_that_exist():
    with pytest.raises(UserError, match="financial, exploration, mushroom, jester"):
        environment("roulette")


@each
def test_the_same_seed_draws_the_same_run_and_another_seed_another(name):
    one, again, other = (environment(name).sample(seed, 300) for seed in (3, 3, 4))
    for part in ("contexts", "rewards", "expected"):
        np.testing.assert_array_equal(getattr(one, part), getattr(again, part))
    assert not np.array_equal(one.contexts, other.contexts)


@each
def test_a_short_run_is_the_beginning_of_a_long_one(name):
    short, long = (environment(name).sample(0, steps) for steps in (100, 250))
    np.testing.assert_array_equal(short.rewards, long.rewards[:100])
    np.testing.assert_array_equal(short.contexts, long.contexts[:100])


@each
def test_regret_is_never_negative_and_zero_for_the_oracle(name):
    bandit = environment(name).sample(1, 2000)
    assert bandit.contexts.dtype == np.float32
    assert np.isfinite(bandit.contexts).all()
    for arm in range(bandit.arms):
        assert (bandit.regret(np.full(bandit.steps, arm)) >= 0).all()
    assert (bandit.regret(simulate(Oracle(), [bandit], [0])[0]) == 0).all()


@each
def test_rewards_have_their_expectation(name):
    bandit = environment(name).sample(2)
    error = (bandit.rewards - bandit.expected).mean(axis=0)
    deviation = (bandit.rewards - bandit.expected).std(axis=0) / np.sqrt(bandit.steps)
    assert (np.abs(error) <= 4 * deviation).all()


@each
def test_the_random_policy_loses_what_is_expected_of_it(name):
    bandit = environment(name).sample(0)
    regret = bandit.regret(simulate(RandomPolicy(), [bandit], [0])[0])
    expected = bandit.expected.max(axis=1) - bandit.expected.mean(axis=1)
    assert regret.sum() == pytest.approx(expected.sum(), abs=4 * regret.std() * bandit.steps**0.5)


def test_random_regret_on_exploration_is_the_papers():
    """Within two of the paper's error bars, in the mean over five seeds and by integration."""
    paper = printed("bandit_regret").set_index(["model", "bandit"]).loc[("random", "exploration")]
    bandits = [Exploration().sample(seed) for seed in range(5)]
    actions = simulate(RandomPolicy(), bandits, range(5))
    regrets = [bandit.regret(a).sum() for bandit, a in zip(bandits, actions, strict=True)]
    assert np.mean(regrets) == pytest.approx(paper["mean"], abs=2 * paper["error"])
    expected = Exploration().expected(np.linspace(-1, 1, 200_001))
    integral = 20_000 * (expected.max(axis=1) - expected.mean(axis=1)).mean()
    assert integral == pytest.approx(paper["mean"], abs=paper["error"])


def test_exploration_pays_the_bumps_of_the_supplement(rng):
    problem = Exploration(arms=7, alpha=0.1, beta=40.0, delta=0.0)
    bandit = problem.sample(0, 200)
    x = bandit.contexts[:, 0] / np.sqrt(3)
    assert np.abs(x).max() <= 1
    for arm, offset in enumerate(np.linspace(-1 + 1 / 7, 1 - 1 / 7, 7)):
        bump = expit(40 * (x + 0.1 - offset)) - expit(40 * (x - 0.1 - offset))
        np.testing.assert_allclose(bandit.rewards[:, arm], bump, atol=1e-5)
    noisy = Exploration(delta=0.3).sample(0)
    assert (noisy.rewards - noisy.expected).std() == pytest.approx(0.3, rel=0.02)


def test_mushrooms_pay_the_stated_rewards():
    bandit = Mushroom().sample(0)
    leave, eat = bandit.rewards.T
    assert set(np.unique(leave)) == {0.0}
    assert set(np.unique(eat)) == {-35.0, 5.0}
    assert set(np.unique(bandit.expected[:, 1])) == {-15.0, 5.0}
    poisonous = bandit.expected[:, 1] < 0
    assert (eat[~poisonous] == 5).all()
    assert (eat[poisonous] == 5).mean() == pytest.approx(0.5, abs=0.04)
    share = (load_dataset("mushroom").y == "p").mean()
    assert poisonous.mean() == pytest.approx(share, abs=0.01)


def test_a_mushroom_is_one_category_of_each_attribute():
    bandit = Mushroom().sample(0)
    table = load_dataset("mushroom").X
    assert bandit.contexts.shape[1] == sum(table[column].nunique() for column in table)
    spans = np.ptp(bandit.contexts, axis=0)
    np.testing.assert_allclose(spans[spans > 0], 2.0, rtol=1e-5)


@needs("stock")
def test_portfolios_pay_linear_combinations_of_price_changes():
    bandit = Financial().sample(0)
    x = bandit.contexts.astype(float)
    weights, *_ = np.linalg.lstsq(x, bandit.expected, rcond=None)
    np.testing.assert_allclose(x @ weights, bandit.expected, atol=1e-6)
    np.testing.assert_allclose(np.linalg.norm(weights, axis=0), 0.361, rtol=1e-5)
    noise = (bandit.rewards - bandit.expected).std()
    assert noise == pytest.approx(0.1 * 0.361, rel=0.03)


@needs("stock")
def test_random_regret_on_financial_is_the_papers():
    paper = printed("bandit_regret").set_index(["model", "bandit"]).loc[("random", "financial")]
    bandit = Financial().sample(0)
    expected = (bandit.expected.max(axis=1) - bandit.expected.mean(axis=1)).sum()
    assert expected == pytest.approx(paper["mean"], abs=paper["error"])


@needs("jester")
def test_jokes_pay_the_users_rating():
    bandit = Jester().sample(0)
    ratings = load_dataset("jester").Y.to_numpy(float)
    np.testing.assert_array_equal(bandit.rewards, bandit.expected)
    rows = np.lexsort(bandit.rewards.T), np.lexsort(ratings.T)
    np.testing.assert_array_equal(bandit.rewards[rows[0]], ratings[rows[1]])
