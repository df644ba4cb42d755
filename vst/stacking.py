"""Mixing several models into one by the density of held-out rows.

Stacking (Yao et al., 2018) chooses the convex weights under which the mixture's log density of held-out
rows is largest. Each model enters several times, with its scales stretched by different factors. So the
same weights mend scales that are too small or too large, and give the mixture the tails of the errors.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from vst.arrays import Inputs
from vst.blocks import map_rows
from vst.predictive import Draws, Mixture, systematic
from vst.tree import normal_log_prob

#: Factors on all scales of a model. Twice as many gained nothing on held-out rows.
STRETCHES = (0.3, 0.55, 1.0, 1.8, 3.2)

#: The weights of a model that is used as it is.
AS_IT_IS = tuple(float(stretch == 1) for stretch in STRETCHES)

#: The weights are found when no model's weight could grow by more than this share of itself.
TOLERANCE, MOST_ITERATIONS = 1e-4, 2000

#: Smaller weights are zero.
NOTHING = 1e-9


def held_out_log_prob(
    draws: Draws, x: Inputs, y: Float[np.ndarray, " n"], smallest_scale: float
) -> Float[np.ndarray, "stretches n"]:
    """Log density of each row's target, with each of the stretches."""
    function = partial(_log_probs, jnp.float32(smallest_scale))
    return map_rows(function, draws, x, y, at_once=2 * draws.n_draws)


@jax.jit
def _log_probs(
    smallest_scale: Float[Array, ""], draws: Draws, x: Float[Array, "n d"], y: Float[Array, " n"]
) -> Float[Array, "stretches n"]:
    log_weights, means, scales = draws.mixture(x)

    def one(stretch: Float[Array, ""]) -> Float[Array, " n"]:
        joint = log_weights + normal_log_prob(y, means, _stretched(scales, stretch, smallest_scale))
        return jax.nn.logsumexp(joint, axis=(0, 1)) - jnp.log(draws.n_draws)

    return jax.lax.map(one, jnp.asarray(STRETCHES, x.dtype))


def _stretched(
    scales: Float[Array, "*shape"], stretch: Any, smallest_scale: Float[Array, ""]
) -> Float[Array, "*shape"]:
    """A stretch below one must not pass the smallest scale, which is there for rounded targets."""
    return jnp.maximum(stretch * scales, smallest_scale)


def stacking_weights(
    log_probs: Float[np.ndarray, "n models"], of_rows: Float[np.ndarray, " n"] | None = None
) -> Float[np.ndarray, " models"]:
    """The convex weights under which the mixture's mean log density of these rows is largest.

    ``of_rows`` are the weights of the rows, by default all equal.

    The problem is concave, and this is the EM algorithm for it. It has converged if the density that
    any model would gain by more weight, relative to the mixture's, is 1 on average or less.

    Examples
    --------
    >>> stacking_weights(np.log([[0.9, 0.1], [0.1, 0.9], [0.9, 0.1]])).round(2)
    array([0.71, 0.29])
    """
    densities = np.exp(log_probs - log_probs.max(axis=1, keepdims=True))
    weights = np.full(densities.shape[1], 1 / densities.shape[1])
    for _ in range(MOST_ITERATIONS):
        growth = np.average(densities / (densities @ weights)[:, None], axis=0, weights=of_rows)
        weights = weights * growth
        if growth.max() <= 1 + TOLERANCE:
            break
    weights[weights < NOTHING] = 0  # EM does not reach it
    return weights / weights.sum()


def shares(weights: Float[np.ndarray, " parts"], total: int) -> Int[np.ndarray, " parts"]:
    """Divide a number of draws by weight; what rounding leaves goes to the largest remainders.

    Examples
    --------
    >>> shares(np.array([0.5, 0.26, 0.24]), 10)
    array([5, 3, 2])
    """
    exact = np.asarray(weights) * total
    whole = np.floor(exact).astype(int)
    missing = total - whole.sum()
    whole[np.argsort(whole - exact, kind="stable")[:missing]] += 1
    return whole


@partial(jax.tree_util.register_dataclass)
@dataclass(frozen=True)
class MixedDraws:
    """Draws of several models, each with a weight for every stretch of its scales.

    Weights are values, so that one compiled program serves every mixture of such models.
    """

    parts: tuple[Draws, ...]
    stretch_weights: Float[Array, "parts stretches"]  #: they sum to one
    smallest_scale: Float[Array, ""]

    @property
    def n_draws(self) -> int:
        """Number of draws of all parts."""
        return sum(part.n_draws for part in self.parts)

    @property
    def n_components(self) -> int:
        """Leaves that the largest part evaluates per row."""
        return max(part.n_components for part in self.parts)

    @property
    def n_mixed(self) -> int:
        """Normals in a draw's distribution, for the part that has most."""
        return len(STRETCHES) * self._most

    @property
    def _most(self) -> int:
        return max(part.n_mixed for part in self.parts)

    @property
    def weights(self) -> Float[Array, " draws"]:
        """The weight of each draw; they sum to one."""
        return self._by_draw().sum(axis=1)

    def _by_draw(self) -> Float[Array, "draws stretches"]:
        """The weights of each part, divided among its draws."""
        numbers = np.array([part.n_draws for part in self.parts])
        divided = self.stretch_weights / numbers[:, None]
        return jnp.repeat(divided, numbers, axis=0, total_repeat_length=self.n_draws)

    def means(self, x: Float[Array, "n d"]) -> Float[Array, "draws n"]:
        """As many functions as draws; a draw with little weight may be left out, others repeated."""
        found = jnp.concatenate(self._each(lambda part: part.means(x)))
        return found[systematic(self.weights, self.n_draws, 0.5)]

    def mixture(self, x: Float[Array, "n d"]) -> Mixture:
        """The distribution of the target under each draw; parts with fewer Normals have empty ones."""
        columns = zip(*self._each(lambda part: part.mixture(x)), strict=True)
        log_weights, means, scales = (
            jnp.concatenate([_filled(part, self._most, empty) for part in column])
            for column, empty in zip(columns, (-jnp.inf, 0.0, 1.0), strict=True)
        )
        by_stretch = jnp.log(self._by_draw() * self.n_draws).T[:, :, None, None]
        stretched = [_stretched(scales, stretch, self.smallest_scale) for stretch in STRETCHES]
        return Mixture(
            jnp.concatenate([log_weights + weight for weight in by_stretch], axis=1),
            jnp.tile(means, (1, len(STRETCHES), 1)),
            jnp.concatenate(stretched, axis=1),
        )

    def _each(self, function: Callable[[Draws], Any]) -> list[Any]:
        """The function of each part. Parts of one kind are evaluated together, which compiles faster."""
        kinds: dict[Any, list[int]] = {}
        for i, part in enumerate(self.parts):
            shapes = tuple(leaf.shape for leaf in jax.tree.leaves(part))
            kinds.setdefault((jax.tree.structure(part), shapes), []).append(i)
        found: dict[int, Any] = {}
        for alike in kinds.values():
            stacked = jax.tree.map(lambda *each: jnp.stack(each), *(self.parts[i] for i in alike))
            values = jax.vmap(function)(stacked)
            found |= {i: jax.tree.map(lambda a, j=j: a[j], values) for j, i in enumerate(alike)}
        return [found[i] for i in range(len(self.parts))]


def _filled(part: Float[Array, "draws k n"], size: int, value: float) -> Float[Array, "draws m n"]:
    return jnp.pad(part, ((0, 0), (0, size - part.shape[1]), (0, 0)), constant_values=value)
