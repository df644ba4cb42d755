"""LinTS: Thompson sampling with Bayesian linear regression, whose posterior is exact."""

from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar, NamedTuple

import numpy as np
from jaxtyping import Float, Int

from vst.companion.bandits.problem import Bandit
from vst.companion.bandits.schedule import update_times


@dataclass(frozen=True)
class LinTS:
    """Settings of the agent.

    Parameters
    ----------
    prior_scale
        Standard deviation of the weights' Gaussian prior, in units of the noise.
    noise_shape, noise_rate
        The noise variance has prior inverse-Gamma(``noise_shape``, ``noise_rate``).
    initial_pulls
        Pulls of each arm, in turn, before the first decision.
    update_every
        Decisions between two updates.
    """

    together: ClassVar[bool] = False

    prior_scale: float = 2.0
    noise_shape: float = 6.0
    noise_rate: float = 6.0
    initial_pulls: int = 10
    update_every: int = 50


class Sums(NamedTuple):
    """Sufficient statistics of the rows seen so far."""

    n: int
    xx: Float[np.ndarray, "p p"]
    xy: Float[np.ndarray, " p"]
    yy: float

    @classmethod
    def none(cls, p: int) -> "Sums":
        """No rows."""
        return cls(0, np.zeros((p, p)), np.zeros(p), 0.0)

    def add(self, x: Float[np.ndarray, "n p"], y: Float[np.ndarray, " n"]) -> "Sums":
        """The statistics with more rows added."""
        return Sums(self.n + len(y), self.xx + x.T @ x, self.xy + x.T @ y, self.yy + float(y @ y))


class LinearPosterior(NamedTuple):
    """Normal-inverse-Gamma posterior: ``sigma^2 ~ IG(shape, rate)``, ``w ~ N(mean, sigma^2 cov)``."""

    mean: Float[np.ndarray, " p"]
    cov: Float[np.ndarray, "p p"]
    shape: float
    rate: float

    def sample(self, rng: np.random.Generator, n: int) -> Float[np.ndarray, "n p"]:
        """Draw weights, each with its own noise variance."""
        variance = self.rate / rng.gamma(self.shape, size=n)
        normal = rng.standard_normal((n, len(self.mean)))
        return self.mean + np.sqrt(variance)[:, None] * (normal @ np.linalg.cholesky(self.cov).T)


def posterior(agent: LinTS, sums: Sums) -> LinearPosterior:
    """The exact posterior after the rows seen so far."""
    precision = sums.xx + np.eye(len(sums.xy)) / agent.prior_scale**2
    cov = np.linalg.inv(precision)
    cov = (cov + cov.T) / 2
    mean = cov @ sums.xy
    rate = agent.noise_rate + 0.5 * (sums.yy - float(mean @ sums.xy))
    return LinearPosterior(mean, cov, agent.noise_shape + sums.n / 2, rate)


def simulate(agent: LinTS, bandit: Bandit, seed: int) -> Int[np.ndarray, " steps"]:
    """Run the agent, and return the arms it pulled."""
    rng = np.random.default_rng([seed, 1])
    x = np.hstack([bandit.contexts, np.ones((bandit.steps, 1))]).astype(float)
    rewards = bandit.rewards / bandit.reward_scale
    warm_up = min(bandit.steps, agent.initial_pulls * bandit.arms)
    actions = np.arange(bandit.steps) % bandit.arms
    sums = [Sums.none(x.shape[1])] * bandit.arms
    last = 0
    times = update_times(warm_up, bandit.steps, every=agent.update_every, growth=0.0)
    for start, stop in pairwise([*times, bandit.steps]):
        values = np.empty((bandit.arms, stop - start))
        for arm in range(bandit.arms):
            new = last + np.flatnonzero(actions[last:start] == arm)
            sums[arm] = sums[arm].add(x[new], rewards[new, arm])
            weights = posterior(agent, sums[arm]).sample(rng, stop - start)
            values[arm] = np.sum(weights * x[start:stop], axis=1)
        actions[start:stop] = np.argmax(values, axis=0)
        last = start
    return actions
