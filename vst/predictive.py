"""The predictive distribution: a Monte Carlo mixture over posterior draws (eq. 2 of the paper).

Each draw of the parameters gives a small Gaussian mixture over the target (its leaves, or a single
Normal for a boosted ensemble). The predictive distribution is the equally weighted mixture of these.
Given the draws, everything here is exact: nothing is sampled again.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any, NamedTuple, Protocol

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import ndtr, ndtri
from jaxtyping import Array, Float, Int, PRNGKeyArray
from numpy.polynomial import chebyshev
from scipy.special import erfcx
from sklearn.utils import check_random_state

from vst.arguments import count
from vst.arrays import AnyArray, Inputs
from vst.blocks import Evaluated, map_rows
from vst.memory import require_draws, require_result
from vst.posterior import LowRankGaussian
from vst.runtime import require_own_process
from vst.tree import HALF_LOG_TWO_PI, SoftTree, TreeShape, normal_log_prob

#: Stands in for the weight of a draw that has none, where a mean is divided by it.
SMALLEST_WEIGHT = 1e-30

#: A quantile is found when the tail's probability is right to this share of it, or the bracket is this
#: share of the standard deviation; nearly all rows take five iterations.
TAIL_TOLERANCE, BRACKET_TOLERANCE, MOST_ITERATIONS = 1e-5, 1e-6, 60

#: ``exp(z^2 / 2) erfc(z / sqrt(2))`` for positive ``z`` is a polynomial in ``(z - c) / (z + c)``, to
#: three parts in a million: with it, a Normal's tail and density share one exponential.
CENTRE = 2.0
_T = np.cos(np.pi * (np.arange(200) + 0.5) / 200)  # Chebyshev's points
_FITTED = chebyshev.chebfit(_T, erfcx(CENTRE * (1 + _T) / (1 - _T) / np.sqrt(2)), 12)
SCALED_ERFC = chebyshev.cheb2poly(_FITTED)[::-1].astype(np.float32)


class Mixture(NamedTuple):
    """Components of the predictive distribution.

    The weights of a draw sum to one, or to its own weight times the number of draws.
    """

    log_weights: Float[Array, "draws components n"]
    means: Float[Array, "draws components n"]
    scales: Float[Array, "draws components n"]


class Moments(NamedTuple):
    """Mean and the two parts of the variance, whose sum is the mixture's variance."""

    mean: Float[np.ndarray, " n"]
    epistemic_var: Float[np.ndarray, " n"]  #: variance over draws of the mean
    aleatoric_var: Float[np.ndarray, " n"]  #: mean over draws of the variance


class Draws(Evaluated, Protocol):
    """Posterior draws that can predict: trees here, ensembles in ``vst.boosting``, ``vst.joint``."""

    @property
    def n_mixed(self) -> int:
        """Normals in a draw's distribution of a target."""

    def means(self, x: Float[Array, "n d"]) -> Float[Array, "draws n"]:
        """The function each draw computes."""

    def mixture(self, x: Float[Array, "n d"]) -> Mixture:
        """The distribution of the target under each draw."""


@partial(jax.tree_util.register_dataclass)
@dataclass(frozen=True)
class TreeDraws:
    """Posterior draws of one soft tree."""

    thetas: Float[Array, "draws p"]
    beta: Float[Array, ""]
    shape: TreeShape = field(metadata={"static": True})

    @property
    def n_draws(self) -> int:
        """Number of draws."""
        return self.thetas.shape[0]

    @property
    def n_components(self) -> int:
        """Leaves of the tree."""
        return self.shape.n_leaves

    @property
    def n_mixed(self) -> int:
        """Leaves of the tree."""
        return self.shape.n_leaves

    def means(self, x: Float[Array, "n d"]) -> Float[Array, "draws n"]:
        """The function each draw computes."""
        return jax.vmap(lambda theta: SoftTree(self.shape, theta, self.beta).mean(x))(self.thetas)

    def mixture(self, x: Float[Array, "n d"]) -> Mixture:
        """Leaf probabilities, means and scales of each draw."""
        return Mixture(
            *jax.vmap(lambda theta: SoftTree(self.shape, theta, self.beta)(x))(self.thetas)
        )


def draw_parameters(
    key: PRNGKeyArray, posteriors: LowRankGaussian, n: int
) -> Float[Array, "n *trees p"]:
    """Draw ``n`` times from the equally weighted mixture of stacked posteriors.

    The posteriors' first axis is the member; draws are spread evenly over members. An axis of trees
    may follow; all trees of a draw come from the same member.
    """
    require_own_process()
    require_draws(n, math.prod(posteriors.mean.shape[1:]), width=posteriors.mean.dtype.itemsize)
    return _draw_parameters(key, posteriors, n)


@partial(jax.jit, static_argnames="n")
def _draw_parameters(
    key: PRNGKeyArray, posteriors: LowRankGaussian, n: int
) -> Float[Array, "n *trees p"]:
    members, *trees, _ = posteriors.mean.shape
    offset_key, draw_key = jax.random.split(key)
    member = (jnp.arange(n) + jax.random.randint(offset_key, (), 0, members)) % members

    def draw(posterior: LowRankGaussian, key: PRNGKeyArray) -> Float[Array, " p"]:
        return posterior.sample(key, 1)[0]

    for _ in range(1 + len(trees)):
        draw = jax.vmap(draw)
    return draw(
        jax.tree.map(lambda a: a[member], posteriors), jax.random.split(draw_key, (n, *trees))
    )


def systematic(
    weights: Float[Array, " draws"], n: int, offset: float | Float[Array, ""]
) -> Int[Array, " n"]:
    """Choose ``n`` draws in proportion to their weights, from evenly spaced points and an offset.

    Examples
    --------
    >>> systematic(jnp.array([0.5, 0.25, 0.25]), 4, 0.5).tolist()
    [0, 0, 1, 2]
    """
    points = (jnp.arange(n) + offset) / n
    found = jnp.searchsorted(jnp.cumsum(weights), points.astype(weights.dtype), side="right")
    return jnp.minimum(found, len(weights) - 1)


class PredictiveDistribution:
    """The predictive distribution of a table's rows, in the target's own units.

    Parameters
    ----------
    draws
        Posterior draws, in standardised units.
    x
        Prepared inputs, one row per prediction.
    shift, scale
        The target is ``shift + scale * standardised target``.
    """

    def __init__(self, draws: Draws, x: Inputs, shift: float = 0.0, scale: float = 1.0):
        self._draws, self._x = draws, x
        self._shift, self._scale = float(shift), float(scale)

    def __repr__(self) -> str:
        return f"PredictiveDistribution({len(self)} rows, {self._draws.n_draws} posterior draws)"

    def __len__(self) -> int:
        return len(self._x)

    def __getitem__(self, rows: Any) -> "PredictiveDistribution":
        """The distributions of some rows: a slice, a mask or row numbers."""
        chosen = np.arange(len(self))[rows]
        return PredictiveDistribution(
            self._draws, self._x[np.atleast_1d(chosen)], self._shift, self._scale
        )

    def standardised(self) -> "PredictiveDistribution":
        """The same distribution in the standardised units of the fit."""
        return PredictiveDistribution(self._draws, self._x)

    @cached_property
    def _moments(self) -> Moments:
        """In standardised units, whose squares cannot overflow or underflow."""
        return Moments(*self._by_rows(_moments))

    @property
    def mean(self) -> Float[np.ndarray, " n"]:
        """Predictive mean."""
        return self._shift + self._scale * self._moments.mean

    @property
    def std(self) -> Float[np.ndarray, " n"]:
        """Predictive standard deviation."""
        return self._scale * np.sqrt(self._moments.epistemic_var + self._moments.aleatoric_var)

    @property
    def epistemic_var(self) -> Float[np.ndarray, " n"]:
        """Variance of the mean over posterior draws, which more data would remove."""
        return np.square(self._scale) * self._moments.epistemic_var

    @property
    def aleatoric_var(self) -> Float[np.ndarray, " n"]:
        """Expected variance of the target given the parameters, which more data would not remove."""
        return np.square(self._scale) * self._moments.aleatoric_var

    def log_prob(self, y: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
        """Log density of each row's target."""
        return self._by_rows(_log_prob, self._standardise(y)) - np.log(self._scale)

    def cdf(self, y: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
        """Probability that each row's target is at most ``y``."""
        return self._by_rows(_cdf, self._standardise(y))

    def quantile(self, q: float | Float[np.ndarray, " m"]) -> Float[np.ndarray, "*m n"]:
        """The value that each row's target stays below with probability ``q``."""
        levels = np.asarray(q, self._x.dtype)
        if not ((levels > 0) & (levels < 1)).all():
            raise ValueError(f"q must lie strictly between 0 and 1 (in single precision), got {q}")
        # The nearer tail has the digits: above the median, one minus a probability would lose them.
        near = np.asarray(q, float).ravel()
        tails = np.minimum(near, 1 - near).astype(levels.dtype)
        rows = self._by_rows(partial(_quantiles, tails, np.where(near > 0.5, -1, 1)))
        return self._shift + self._scale * rows.reshape(*levels.shape, len(self))

    def interval(self, level: float) -> tuple[Float[np.ndarray, " n"], Float[np.ndarray, " n"]]:
        """Lower and upper end of the central interval with probability ``level``."""
        if np.ndim(level) or not 0 < level < 1:
            raise ValueError(f"level must be one number strictly between 0 and 1, got {level}")
        lower, upper = self.quantile(np.array([(1 - level) / 2, (1 + level) / 2]))
        return lower, upper

    def sample(
        self, n: int, random_state: int | np.random.RandomState | None = 0
    ) -> Float[np.ndarray, "n rows"]:
        """Draw ``n`` targets for every row; the rows of one draw share its parameters."""
        n = count("n", n)
        require_result(n, len(self), components=self._draws.n_mixed)
        seed = check_random_state(random_state).randint(np.iinfo(np.int32).max)
        offset_key, row_key = jax.random.split(jax.random.key(seed))
        n_draws = self._draws.n_draws
        weights = getattr(self._draws, "weights", None)
        if weights is None:
            draw = (jnp.arange(n) + jax.random.randint(offset_key, (), 0, n_draws)) % n_draws
        else:
            draw = systematic(weights, n, jax.random.uniform(offset_key))
        row_keys = jax.random.split(row_key, len(self))
        # A sample evaluates all components of its draw, so it needs the memory of a draw.
        rows = map_rows(
            partial(_sample, draw), self._draws, self._x, row_keys, at_once=max(n, n_draws)
        )
        return self._shift + self._scale * rows

    def _standardise(self, y: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
        y = np.asarray(y, float)
        if y.shape != (len(self),):
            raise ValueError(f"y must have one target per row, shape ({len(self)},), got {y.shape}")
        return ((y - self._shift) / self._scale).astype(self._x.dtype)

    def _by_rows(self, function: Callable, *columns: AnyArray) -> np.ndarray:
        """Evaluate ``function(draws, x, *columns)`` in blocks of rows; results end in the row axis."""
        return map_rows(function, self._draws, self._x, *columns)


@jax.jit
def mean_functions(draws: Draws, x: Float[Array, "n d"]) -> Float[Array, "draws n"]:
    """The mean function of each draw, compiled."""
    return draws.means(x)


@jax.jit
def _moments(draws: Draws, x: Float[Array, "n d"]) -> Float[Array, "3 n"]:
    return _mixture_moments(draws.mixture(x))


def _mixture_moments(mixture: Mixture) -> Float[Array, "3 n"]:
    weights, means, scales = mixture
    weights = jnp.exp(weights)
    of_draw = jnp.sum(weights, axis=1)
    draw_means = jnp.sum(weights * means, axis=1) / jnp.maximum(of_draw, SMALLEST_WEIGHT)
    mean = jnp.mean(of_draw * draw_means, axis=0)
    # Deviations from the draw's own mean avoid a difference of large squares.
    spread = jnp.square(scales) + jnp.square(means - draw_means[:, None])
    return jnp.stack(
        [
            mean,
            jnp.mean(of_draw * jnp.square(draw_means - mean), axis=0),
            jnp.mean(jnp.sum(weights * spread, axis=1), axis=0),
        ]
    )


@jax.jit
def _log_prob(draws: Draws, x: Float[Array, "n d"], y: Float[Array, " n"]) -> Float[Array, " n"]:
    log_weights, means, scales = draws.mixture(x)
    joint = log_weights + normal_log_prob(y, means, scales)
    return jax.nn.logsumexp(joint, axis=(0, 1)) - jnp.log(draws.n_draws)


@jax.jit
def _cdf(draws: Draws, x: Float[Array, "n d"], y: Float[Array, " n"]) -> Float[Array, " n"]:
    log_weights, means, scales = draws.mixture(x)
    return jnp.mean(jnp.sum(jnp.exp(log_weights) * ndtr((y - means) / scales), axis=1), axis=0)


@jax.jit
def _quantiles(
    tails: Float[Array, " m"], signs: Int[Array, " m"], draws: Draws, x: Float[Array, "n d"]
) -> Float[Array, "m n"]:
    """The values beyond which each tail's probability lies: below for sign 1, above for sign -1."""
    mixture = draws.mixture(x)
    mean, epistemic, aleatoric = _mixture_moments(mixture)
    std = jnp.sqrt(epistemic + aleatoric)
    weights = jnp.exp(mixture.log_weights) / draws.n_draws

    def solve(given: tuple[Array, Array]) -> Float[Array, " n"]:
        tail, sign = given
        centres = sign * (mixture.means - mean)
        return mean + sign * _lower_quantile(tail, weights, centres, mixture.scales, std)

    return jax.lax.map(solve, (tails, signs.astype(mean.dtype)))


def _lower_quantile(
    tail: Float[Array, ""],
    weights: Float[Array, "draws components n"],
    centres: Float[Array, "draws components n"],
    scales: Float[Array, "draws components n"],
    std: Float[Array, " n"],
) -> Float[Array, " n"]:
    """The quantile of mixtures of mean zero, by Newton's method inside a bracket.

    Newton's steps are those of the quantile's Normal score, in which a single Normal is solved in one.
    A step that leaves the bracket, or is not half as long as the one before, is a bisection instead.
    """
    score = ndtri(tail)
    # Cantelli's bounds hold for any distribution of that mean and variance.
    bracket = -std * jnp.sqrt((1 - tail) / tail), std * jnp.sqrt(tail / (1 - tail))

    def improve(state: Any) -> Any:
        count, y, lower, upper, last, done = state
        below, density = _below_and_density(weights, centres, scales, y)
        lower, upper = jnp.where(below < tail, y, lower), jnp.where(below < tail, upper, y)
        # A row that is done stays where it is: rounding would send it away again.
        done |= jnp.abs(below - tail) <= TAIL_TOLERANCE * tail
        done |= upper - lower <= BRACKET_TOLERANCE * std
        reached = ndtri(below)
        step = (score - reached) * jnp.exp(-0.5 * reached**2 - HALF_LOG_TWO_PI) / density
        newton = y + step
        good = (newton >= lower) & (newton <= upper) & (jnp.abs(step) <= 0.5 * last)
        following = jnp.where(good, newton, 0.5 * (lower + upper))
        following = jnp.where(done, y, following)
        return count + 1, following, lower, upper, jnp.abs(following - y), done

    def unfinished(state: Any) -> Array:
        return (state[0] < MOST_ITERATIONS) & ~jnp.all(state[-1])

    start = jnp.clip(score * std, *bracket)
    first = (0, start, *bracket, jnp.full_like(std, jnp.inf), jnp.zeros(std.shape, bool))
    return jax.lax.while_loop(unfinished, improve, first)[1]


def _below_and_density(
    weights: Array, centres: Array, scales: Array, y: Float[Array, " n"]
) -> tuple[Float[Array, " n"], Float[Array, " n"]]:
    """Distribution function and density of mixtures of Normals, which share one exponential."""
    z = (y - centres) / scales
    bell = jnp.exp(-0.5 * jnp.square(z))
    distance = jnp.abs(z)
    tail = 0.5 * bell * jnp.polyval(SCALED_ERFC, (distance - CENTRE) / (distance + CENTRE))
    below = jnp.where(z < 0, tail, 1 - tail)
    total = jnp.sum(weights * below, axis=(0, 1))
    return total, jnp.sum(weights * bell / scales, axis=(0, 1)) / np.sqrt(2 * np.pi)


@jax.jit
def _sample(
    draw: Array, draws: Draws, x: Float[Array, "n d"], keys: PRNGKeyArray
) -> Float[Array, "m n"]:
    mixture = draws.mixture(x)

    def row(key: PRNGKeyArray, log_weights: Array, means: Array, scales: Array) -> Array:
        leaf_key, noise_key = jax.random.split(key)
        leaf = jax.random.categorical(leaf_key, log_weights[draw], axis=-1)
        noise = jax.random.normal(noise_key, draw.shape, means.dtype)
        return means[draw, leaf] + scales[draw, leaf] * noise

    return jax.vmap(row, in_axes=(0, 2, 2, 2), out_axes=1)(keys, *mixture)
