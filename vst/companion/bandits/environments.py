"""The paper's four bandits (supplement, section "Bandit"), each a frozen description to draw runs from.

A field holds each choice that the paper leaves open, with our value as its default.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar, Protocol

import numpy as np
from jaxtyping import Float

from vst.companion.bandits.problem import Bandit
from vst.datasets import load_dataset
from vst.encoding import TableEncoder
from vst.errors import UserError
from vst.preprocessing import Standardiser


class Environment(Protocol):
    """A bandit problem; every seed gives one run."""

    name: ClassVar[str]
    dataset: ClassVar[str]  #: the data set that it needs; empty if none

    @property
    def steps(self) -> int:
        """Decisions in a full run."""

    def sample(self, seed: int, steps: int | None = None) -> Bandit:
        """Draw a run; a shorter one is the beginning of the full one."""


@dataclass(frozen=True)
class Financial:
    """Portfolios of 21 stocks: an arm pays a linear combination of the day's price changes.

    Parameters
    ----------
    steps
        Days, each used once, in a new order for every seed.
    arms
        Portfolios. Their weights are uniform in [-1, 1], scaled to unit length, and drawn once for all
        seeds: the paper's random policy varies too little between seeds for new weights per seed.
    noise
        Standard deviation of the reward around its expectation, in units of ``reward_scale``.
    reward_scale
        Reward of a weight of one for a price change of one standard deviation, chosen so that the
        random policy's regret agrees with the paper's.
    """

    name: ClassVar[str] = "financial"
    dataset: ClassVar[str] = "stock"
    steps: int = 3713
    arms: int = 8
    noise: float = 0.1
    reward_scale: float = 0.361

    def portfolios(self, stocks: int) -> Float[np.ndarray, "stocks arms"]:
        """Weights of the stocks in each portfolio."""
        weights = generator("portfolios", 0).uniform(-1, 1, (stocks, self.arms))
        return weights / np.linalg.norm(weights, axis=0)

    def sample(self, seed: int, steps: int | None = None) -> Bandit:
        """Draw the order of the days and the noise."""
        rng = generator(self.name, seed)
        days = _standardised(self.dataset)
        days = days[rng.permutation(len(days))[: self.steps]]
        expected = self.reward_scale * days.astype(float) @ self.portfolios(days.shape[1])
        noise = self.noise * self.reward_scale * rng.standard_normal(expected.shape)
        return _run(self.name, days, expected + noise, expected, self.reward_scale, steps)


@dataclass(frozen=True)
class Jester:
    """Recommend one of eight jokes to a user whose ratings of 32 others are known.

    Parameters
    ----------
    steps
        Users, each met once, in a new order for every seed.
    reward_scale
        Agents divide the ratings, between -10 and 10, by this.
    """

    name: ClassVar[str] = "jester"
    dataset: ClassVar[str] = "jester"
    steps: int = 19181
    reward_scale: float = 5.0

    def sample(self, seed: int, steps: int | None = None) -> Bandit:
        """Draw the order of the users; a rating has no noise, so it is its own expectation."""
        users = generator(self.name, seed).permutation(self.steps)
        ratings = load_dataset(self.dataset).Y.to_numpy(float)[users]
        contexts = _standardised(self.dataset)[users]
        return _run(self.name, contexts, ratings, ratings, self.reward_scale, steps)


@dataclass(frozen=True)
class Exploration:
    """Bumps: an arm pays one on its own short interval of contexts and nothing elsewhere.

    Parameters
    ----------
    steps
        Decisions.
    arms
        Adjacent bumps over [-1, 1]: arm ``a`` has its offset at ``-1 + (2 a + 1) / arms``.
    alpha
        Half the width of a bump; ``1 / arms`` makes them touch.
    beta
        Steepness of their flanks.
    delta
        Standard deviation of the reward's noise.
    reward_scale
        Agents divide the rewards by this.
    """

    name: ClassVar[str] = "exploration"
    dataset: ClassVar[str] = ""
    steps: int = 20_000
    arms: int = 20
    alpha: float = 0.05
    beta: float = 2900.0
    delta: float = 0.1
    reward_scale: float = 1.0

    @property
    def offsets(self) -> Float[np.ndarray, " arms"]:
        """The middle of each arm's bump."""
        return -1 + (2 * np.arange(self.arms) + 1) / self.arms

    def expected(self, x: Float[np.ndarray, " n"]) -> Float[np.ndarray, "n arms"]:
        """Expected reward of every arm at each context."""
        distance = np.asarray(x, float)[:, None] - self.offsets
        rise, fall = (self.beta * (distance + side) for side in (self.alpha, -self.alpha))
        return _sigmoid(rise) - _sigmoid(fall)

    def sample(self, seed: int, steps: int | None = None) -> Bandit:
        """Draw uniform contexts and the noise of all arms."""
        rng = generator(self.name, seed)
        x = rng.uniform(-1, 1, self.steps)
        expected = self.expected(x)
        rewards = expected + self.delta * rng.standard_normal(expected.shape)
        # A uniform variable on [-1, 1] has standard deviation 1 / sqrt(3).
        contexts = (np.sqrt(3) * x[:, None]).astype(np.float32)
        return _run(self.name, contexts, rewards, expected, self.reward_scale, steps)


@dataclass(frozen=True)
class Mushroom:
    """Eat a mushroom or leave it, judging by its looks.

    Parameters
    ----------
    steps
        Mushrooms, drawn without replacement for every seed.
    safe, poisoned, luck
        Reward of eating a safe mushroom; of a poisonous one that does harm; and the probability that
        a poisonous one does no harm and pays like a safe one.
    reward_scale
        Agents divide the rewards by this.
    """

    name: ClassVar[str] = "mushroom"
    dataset: ClassVar[str] = "mushroom"
    steps: int = 7310
    safe: float = 5.0
    poisoned: float = -35.0
    luck: float = 0.5
    reward_scale: float = 10.0

    def sample(self, seed: int, steps: int | None = None) -> Bandit:
        """Draw mushrooms and their luck. Arm 0 leaves the mushroom, arm 1 eats it."""
        rng = generator(self.name, seed)
        picked = rng.permutation(load_dataset(self.dataset).n)[: self.steps]
        edible = (load_dataset(self.dataset).y.to_numpy() == "e")[picked]
        lucky = rng.uniform(size=len(picked)) < self.luck
        paid = np.where(edible | lucky, self.safe, self.poisoned)
        poisonous = self.luck * self.safe + (1 - self.luck) * self.poisoned
        eat = np.where(edible, self.safe, poisonous)
        nothing = np.zeros(len(picked))
        rewards, expected = np.stack([nothing, paid], axis=1), np.stack([nothing, eat], axis=1)
        contexts = _one_hot(self.dataset)[picked]
        return _run(self.name, contexts, rewards, expected, self.reward_scale, steps)


ENVIRONMENTS: dict[str, Environment] = {
    environment.name: environment
    for environment in (Financial(), Exploration(), Mushroom(), Jester())
}


def environment(name: str) -> Environment:
    """A bandit by its name."""
    if name not in ENVIRONMENTS:
        raise UserError(f"there is no bandit {name}: choose from {', '.join(ENVIRONMENTS)}")
    return ENVIRONMENTS[name]


def generator(name: str, seed: int) -> np.random.Generator:
    """Random numbers of one run, different for every bandit."""
    return np.random.default_rng([seed, *name.encode()])


def _run(
    name: str,
    contexts: Float[np.ndarray, "n d"],
    rewards: Float[np.ndarray, "n arms"],
    expected: Float[np.ndarray, "n arms"],
    reward_scale: float,
    steps: int | None,
) -> Bandit:
    cut = slice(len(rewards) if steps is None else steps)
    return Bandit(name, contexts[cut], rewards[cut], expected[cut], reward_scale)


@lru_cache(maxsize=2)
def _standardised(dataset: str) -> Float[np.ndarray, "n d"]:
    """A data set's features, scaled to zero mean and unit variance."""
    x = load_dataset(dataset).X.to_numpy(float)
    return Standardiser.fit(x)(x)


@lru_cache(maxsize=1)
def _one_hot(dataset: str) -> Float[np.ndarray, "n d"]:
    """A data set's categories as zeros and ones, centred and doubled.

    If they were divided by their standard deviations, the rarest categories would be the largest inputs.
    """
    table = load_dataset(dataset).X
    x = TableEncoder.fit(table).encode(table)
    return (2 * (x - x.mean(axis=0))).astype(np.float32)


def _sigmoid(z: Float[np.ndarray, "..."]) -> Float[np.ndarray, "..."]:
    return 0.5 * (1 + np.tanh(z / 2))
