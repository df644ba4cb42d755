"""A bandit's run, drawn in advance: contexts, and the rewards and expected rewards of every arm."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int


class Bandit(NamedTuple):
    """One run of a bandit problem, step by step.

    The rewards of all arms are drawn beforehand, so that agents with the same seed meet the same
    contexts and the same luck, whatever they choose. An agent may see the contexts and the rewards of
    the arms it pulled.
    """

    name: str
    contexts: Float[np.ndarray, "steps d"]  #: what the agent sees, scaled for the models
    rewards: Float[np.ndarray, "steps arms"]  #: what each arm would pay
    expected: Float[np.ndarray, "steps arms"]  #: its expectation, given the context
    reward_scale: float  #: agents divide the rewards by this

    @property
    def steps(self) -> int:
        """Number of decisions."""
        return len(self.rewards)

    @property
    def arms(self) -> int:
        """Number of arms."""
        return self.rewards.shape[1]

    @property
    def optimal(self) -> Int[np.ndarray, " steps"]:
        """The arm with the highest expected reward at each step."""
        return np.argmax(self.expected, axis=1)

    def regret(self, actions: Int[np.ndarray, " steps"]) -> Float[np.ndarray, " steps"]:
        """Expected reward of the optimal arm minus that of the pulled arm; never negative.

        Examples
        --------
        >>> one_step = np.array([[0.0, 3.0]])
        >>> Bandit("toy", np.zeros((1, 1)), one_step, one_step, 1.0).regret(np.array([0]))
        array([3.])
        """
        pulled = np.take_along_axis(self.expected, np.asarray(actions)[:, None], axis=1)[:, 0]
        return self.expected.max(axis=1) - pulled
