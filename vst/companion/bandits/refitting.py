"""Thompson sampling with the peers, which are refitted to all of an arm's rewards."""

from dataclasses import dataclass, field
from itertools import pairwise
from typing import ClassVar

import numpy as np
from jaxtyping import Float, Int

from vst.companion.bandits.problem import Bandit
from vst.companion.bandits.schedule import update_times
from vst.companion.peers import Fitted, Peer
from vst.companion.peers.xbart import XBART
from vst.moments import location_and_scale


@dataclass(frozen=True)
class Refitted:
    """Settings of the agent.

    Parameters
    ----------
    peer
        The model of every arm.
    initial_pulls
        Pulls of each arm, in turn, before the first decision.
    update_every
        Minimum number of decisions between two fits.
    growth
        A fit waits until the decisions since the last fit are this share of all earlier ones.
    constant_arms
        Whether an arm that has always paid the same predicts that constant without a model; if not,
        the model is fitted and may raise an error.
    """

    together: ClassVar[bool] = False

    peer: Peer = field(default_factory=XBART)
    initial_pulls: int = 10
    update_every: int = 50
    growth: float = 0.2
    constant_arms: bool = True


@dataclass(frozen=True)
class Arm:
    """A fitted arm: standardised draws, and the map back to rewards."""

    model: Fitted | None  #: none for an arm that always paid the same
    mean: float
    scale: float

    def draw(
        self, rng: np.random.Generator, contexts: Float[np.ndarray, "n d"]
    ) -> Float[np.ndarray, " n"]:
        """The value of each context under its own drawn function."""
        if self.model is None:
            return np.full(len(contexts), self.mean)
        # Padded to a power of two: some models compile one program per shape.
        padded = np.resize(contexts, (1 << (len(contexts) - 1).bit_length(), contexts.shape[1]))
        draws = self.model.mean_draws(padded)
        chosen = rng.integers(len(draws), size=len(contexts))
        return self.mean + self.scale * draws[chosen, np.arange(len(contexts))]


def simulate(agent: Refitted, bandit: Bandit, seed: int) -> Int[np.ndarray, " steps"]:
    """Run the agent, and return the arms it pulled."""
    rng = np.random.default_rng([seed, 1])
    warm_up = min(bandit.steps, agent.initial_pulls * bandit.arms)
    actions = np.arange(bandit.steps) % bandit.arms
    times = update_times(warm_up, bandit.steps, every=agent.update_every, growth=agent.growth)
    arms: list[Arm | None] = [None] * bandit.arms
    last = 0
    for start, stop in pairwise([*times, bandit.steps]):
        seeds = rng.integers(2**31, size=bandit.arms)
        # An arm without new pulls since its last fit keeps its model.
        for arm in np.unique(actions[last:start]):
            pulled = np.flatnonzero(actions[:start] == arm)
            arms[arm] = _fit(agent, bandit, arm, pulled, int(seeds[arm]))
        now = bandit.contexts[start:stop]
        values = np.stack([arm.draw(rng, now) for arm in arms if arm is not None])
        actions[start:stop] = np.argmax(values, axis=0)
        last = start
    return actions


def _fit(
    agent: Refitted, bandit: Bandit, arm: int, pulled: Int[np.ndarray, " n"], seed: int
) -> Arm:
    rewards = bandit.rewards[pulled, arm]
    mean, scale = (float(value) for value in location_and_scale(rewards))
    if agent.constant_arms and np.ptp(rewards) == 0:
        return Arm(None, mean, scale)
    y = (rewards - mean) / scale
    return Arm(agent.peer.fit(bandit.contexts[pulled], y, seed=seed), mean, scale)
