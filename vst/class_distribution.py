"""The predictive distribution of classes, and what of its uncertainty more data would remove."""

from functools import cached_property
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int
from sklearn.utils import check_random_state

from vst.arguments import count
from vst.arrays import Inputs
from vst.blocks import map_rows
from vst.classes import AnyClassDraws


class ClassDistribution:
    """The predictive distribution of a table's rows over classes.

    Entropies are in nats. The entropy of a row's prediction is the sum of two parts: the mean entropy
    under the posterior draws, and how much the draws disagree, the mutual information of class and
    parameters (Depeweg et al., 2018).

    Parameters
    ----------
    draws
        Posterior draws.
    x
        Prepared inputs, one row per prediction.
    classes
        Names of the classes.
    """

    def __init__(self, draws: AnyClassDraws, x: Inputs, classes: np.ndarray):
        self._draws, self._x, self.classes = draws, x, classes

    def __repr__(self) -> str:
        return f"ClassDistribution({len(self)} rows, {len(self.classes)} classes)"

    def __len__(self) -> int:
        return len(self._x)

    @cached_property
    def _summary(self) -> Float[np.ndarray, "classes+1 n"]:
        return map_rows(_summary, self._draws, self._x)

    @property
    def proba(self) -> Float[np.ndarray, "n classes"]:
        """Probability of each class."""
        found = self._summary[:-1].T
        return found / found.sum(axis=1, keepdims=True)

    @property
    def entropy(self) -> Float[np.ndarray, " n"]:
        """Entropy of the prediction, which says how uncertain the class is."""
        return self.aleatoric_entropy + self.mutual_information

    @property
    def aleatoric_entropy(self) -> Float[np.ndarray, " n"]:
        """Mean entropy given the parameters, which more data would not remove."""
        return self._summary[-1]

    @property
    def mutual_information(self) -> Float[np.ndarray, " n"]:
        """What knowing the parameters would tell about the class, which more data would remove."""
        proba = np.maximum(self.proba, np.finfo(float).tiny)
        total = -np.sum(proba * np.log(proba), axis=1)
        return np.maximum(total - self.aleatoric_entropy, 0.0)

    def log_prob(self, y: Any) -> Float[np.ndarray, " n"]:
        """Log probability of each row's class."""
        labels = np.asarray(y)
        if labels.shape != (len(self),):
            raise ValueError(
                f"y must have one class per row, shape ({len(self)},), got {labels.shape}"
            )
        unknown = set(labels.tolist()) - set(self.classes.tolist())
        if unknown:
            raise ValueError(f"y holds classes that were not in the training rows: {unknown}")
        codes = np.searchsorted(self.classes, labels).astype(self._x.dtype)
        return map_rows(_log_prob, self._draws, self._x, codes)

    def sample(self, n: int, random_state: int | np.random.RandomState | None = 0) -> np.ndarray:
        """Draw ``n`` classes for every row, as an array of shape (n, rows)."""
        uniform = check_random_state(random_state).uniform(size=(count("n", n), len(self), 1))
        numbers = np.sum(np.cumsum(self.proba, axis=1) < uniform, axis=2)
        return self.classes[np.minimum(numbers, len(self.classes) - 1)]


@jax.jit
def _summary(draws: AnyClassDraws, x: Float[Array, "n d"]) -> Float[Array, "classes+1 n"]:
    """Probabilities of the classes, and the mean entropy of a draw."""
    log_probs = draws.log_probs(x)
    probs = jnp.exp(log_probs)
    # A class of probability 0 adds nothing, although its logarithm is infinite.
    entropies = -jnp.sum(jnp.where(probs > 0, probs * log_probs, 0), axis=1)
    return jnp.concatenate([probs.mean(axis=0), entropies.mean(axis=0)[None]])


@jax.jit
def _log_prob(
    draws: AnyClassDraws, x: Float[Array, "n d"], codes: Int[Array, " n"]
) -> Float[Array, " n"]:
    log_probs = draws.log_probs(x)
    own = jnp.arange(log_probs.shape[1])[:, None] == codes
    found = jnp.sum(jnp.where(own, log_probs, 0), axis=1)
    return jax.nn.logsumexp(found, axis=0) - jnp.log(draws.n_draws)


@jax.jit
def probabilities(draws: AnyClassDraws, x: Float[Array, "n d"]) -> Float[Array, "draws classes n"]:
    """The probabilities of the classes under each draw, compiled."""
    return jnp.exp(draws.log_probs(x))
