"""LinTS: Thompson sampling with Bayesian linear regression, whose posterior is exact."""

from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from vst.bandits.problem import Bandit
from vst.bandits.schedule import update_times


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

    prior_scale: float = 2.0
    noise_shape: float = 6.0
    noise_rate: float = 6.0
    initial_pulls: int = 10
    update_every: int = 50


class LinearPosterior(NamedTuple):
    """Normal-inverse-Gamma posterior: ``sigma^2 ~ IG(shape, rate)``, ``w ~ N(mean, sigma^2 cov)``."""

    mean: Float[np.ndarray, " p"]
    cov: Float[np.ndarray, "p p"]
    shape: float
    rate: float

    def sample(self, rng: np.random.Generator, n: int) -> Float[np.ndarray, "n p"]:
        """Draw weights, each with a noise variance of its own."""
        variance = self.rate / rng.gamma(self.shape, size=n)
        normal = rng.standard_normal((n, len(self.mean)))
        return self.mean + np.sqrt(variance)[:, None] * normal @ np.linalg.cholesky(self.cov).T


def posterior(
    agent: LinTS, x: Float[np.ndarray, "n p"], y: Float[np.ndarray, " n"]
) -> LinearPosterior:
    """The exact posterior after all rows; the last column of ``x`` is the constant one."""
    precision = x.T @ x + np.eye(x.shape[1]) / agent.prior_scale**2
    cov = np.linalg.inv(precision)
    cov = (cov + cov.T) / 2
    mean = cov @ (x.T @ y)
    explained = mean @ precision @ mean
    rate = agent.noise_rate + 0.5 * (float(y @ y) - float(explained))
    return LinearPosterior(mean, cov, agent.noise_shape + len(y) / 2, rate)


def simulate(agent: LinTS, bandit: Bandit, seed: int) -> Int[np.ndarray, " steps"]:
    """Run the agent, and return the arms it pulled."""
    rng = np.random.default_rng([seed, 1])
    x = np.hstack([bandit.contexts, np.ones((bandit.steps, 1))]).astype(float)
    rewards = bandit.rewards / bandit.reward_scale
    warm_up = min(bandit.steps, agent.initial_pulls * bandit.arms)
    actions = np.arange(bandit.steps) % bandit.arms
    times = update_times(warm_up, bandit.steps, every=agent.update_every, growth=0.0)
    for start, stop in pairwise([*times, bandit.steps]):
        values = np.empty((bandit.arms, stop - start))
        for arm in range(bandit.arms):
            pulled = np.flatnonzero(actions[:start] == arm)
            weights = posterior(agent, x[pulled], rewards[pulled, arm])
            values[arm] = np.sum(weights.sample(rng, stop - start) * x[start:stop], axis=1)
        actions[start:stop] = np.argmax(values, axis=0)
    return actions
