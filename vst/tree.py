"""The soft decision tree, which maps a parameter vector to a distribution over targets.

Nodes are numbered breadth-first from the root and leaves from left to right. Arrays put the leaf axis
before the row axis: with a handful of leaves and many rows, sums over leaves then run along long
contiguous rows, which halves the cost of a training step.
"""

from dataclasses import dataclass
from functools import partial
from typing import Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx
from jaxtyping import Array, Float

Leaves = Literal["constant", "linear"]
Noise = Literal["leaf", "shared"] | float

#: Default smallest standard deviation, in standardised units: a leaf whose mean equals repeated
#: targets then has a finite density in float32.
SMALLEST_SCALE = 1e-6

HALF_LOG_TWO_PI = 0.9189385332046727

#: Coefficients of artanh(t) / t in powers of t^2, highest power first.
ARTANH = np.array([1 / k for k in (15, 13, 11, 9, 7, 5, 3, 1)], np.float32)


@dataclass(frozen=True)
class TreeShape:
    """Everything about a soft tree that determines array shapes; each value compiles one program.

    Parameters
    ----------
    in_features
        Number of input features ``d``.
    depth
        Number of gates between the root and a leaf; 0 is a single leaf.
    leaves
        ``"constant"``: mean and scale are numbers; ``"linear"``: they are affine in the input.
    noise
        ``"leaf"``: every leaf has its own scale and the target is a mixture over leaves (VST);
        ``"shared"``: the tree returns only its mean, with one fitted scale for all inputs (the weak
        learner of a VSGBM); a number: like ``"shared"``, with this known scale.
    smallest_scale
        Added to every fitted standard deviation.
    """

    in_features: int
    depth: int
    leaves: Leaves = "linear"
    noise: Noise = "leaf"
    smallest_scale: float = SMALLEST_SCALE

    def __post_init__(self) -> None:
        if self.depth < 0:
            raise ValueError(f"depth must be an integer >= 0, got {self.depth}")
        if self.leaves not in ("constant", "linear"):
            raise ValueError(f'leaves must be "constant" or "linear", got {self.leaves!r}')
        if isinstance(self.noise, str):
            known = self.noise in ("leaf", "shared")
        else:
            known = 0 < self.noise < float("inf")
        if not known:
            raise ValueError(
                f'noise must be "leaf", "shared" or a positive number, got {self.noise!r}'
            )

    @property
    def n_nodes(self) -> int:
        """Number of gates, ``2^depth - 1``."""
        return 2**self.depth - 1

    @property
    def n_leaves(self) -> int:
        """Number of leaves, ``2^depth``."""
        return 2**self.depth

    @property
    def n_leaf_outputs(self) -> int:
        """Numbers the leaves return for a row, which are means and, with leaf noise, scales."""
        return self.n_leaves * (2 if self.noise == "leaf" else 1)

    @property
    def n_affine(self) -> int:
        """Outputs that are affine in the input and share one matrix product."""
        return self.n_nodes + (self.n_leaf_outputs if self.leaves == "linear" else 0)

    @property
    def n_constants(self) -> int:
        """Parameters that are outputs themselves (constant leaves, and the shared noise)."""
        constants = self.n_leaf_outputs if self.leaves == "constant" else 0
        return constants + (self.noise == "shared")

    @property
    def n_outputs(self) -> int:
        """Numbers that the parameters give for a row, and that determine its likelihood."""
        return self.n_affine + self.n_constants

    @property
    def n_params(self) -> int:
        """Length ``p`` of the parameter vector."""
        return self.n_affine * (self.in_features + 1) + self.n_constants

    def log_likelihood(
        self,
        beta: Float[Array, ""],
        affine: Float[Array, "affine n"],
        constants: Float[Array, "constants _"],
        y: Float[Array, " n"],
    ) -> Float[Array, " n"]:
        """Log density of each row's target, given the outputs of the affine maps and the constants."""
        if self.noise == "leaf":
            logits, means, raw_scales = split_outputs(self, affine, constants)
            return mixture_log_prob(beta * logits, means, raw_scales, y, self.smallest_scale)
        leaf = leaf_outputs(self, beta, affine, constants)
        return normal_log_prob(y, mean(leaf), leaf.scales[0])  # all scales are equal


class LeafOutputs(NamedTuple):
    """The leaves' outputs for each row of a batch."""

    log_probs: Float[Array, "leaves n"]  #: log Pr(leaf | x)
    means: Float[Array, "leaves n"]
    scales: Float[Array, "leaves n"]


class SoftTree(nnx.Module):
    """A soft decision tree, as a Flax module over one flat parameter vector.

    The vector holds, in this order, the affine maps (one row of ``in_features`` weights and a bias for
    each gate, then for each linear leaf output), the constant leaf outputs, and the shared noise.

    Parameters
    ----------
    shape
        The tree's static description.
    theta
        Parameter vector, of length ``shape.n_params``.
    beta
        Inverse temperature of the gates.
    """

    def __init__(
        self, shape: TreeShape, theta: Float[Array, " p"], beta: float | Float[Array, ""] = 5.0
    ):
        if theta.shape != (shape.n_params,):
            raise ValueError(f"{shape} takes {shape.n_params} parameters, got shape {theta.shape}")
        split = shape.n_affine * (shape.in_features + 1)
        self.shape = shape
        self.affine = nnx.Param(theta[:split].reshape(shape.n_affine, shape.in_features + 1))
        self.constants = nnx.Param(theta[split:])
        self.beta = nnx.Variable(jnp.asarray(beta, theta.dtype))

    def to_vector(self) -> Float[Array, " p"]:
        """The tree's current parameters, in the order of ``theta``."""
        return jnp.concatenate([self.affine[...].ravel(), self.constants[...]])

    def __call__(self, x: Float[Array, "n d"]) -> LeafOutputs:
        """Route each row and evaluate every leaf (eq. 6 to 13 of the paper)."""
        return leaf_outputs(self.shape, *self._outputs(x))

    def _outputs(
        self, x: Float[Array, "n d"]
    ) -> tuple[Float[Array, ""], Float[Array, "affine n"], Float[Array, "constants 1"]]:
        """The inverse temperature, the outputs of the affine maps, and the constants."""
        affine = self.affine[...] @ with_bias(x).T
        return self.beta[...], affine, self.constants[...][:, None]

    def mean(self, x: Float[Array, "n d"]) -> Float[Array, " n"]:
        """The soft tree's output ``f(x)``: leaf means weighted by leaf probabilities (eq. 4)."""
        return mean(self(x))

    def log_likelihood(self, x: Float[Array, "n d"], y: Float[Array, " n"]) -> Float[Array, " n"]:
        """``log p(y | x, theta)``: the mixture over leaves (eq. 6), or one Normal around the mean."""
        return self.shape.log_likelihood(*self._outputs(x), y)


def split_outputs(
    shape: TreeShape, affine: Float[Array, "affine n"], constants: Float[Array, "constants _"]
) -> tuple[Float[Array, "nodes n"], Float[Array, "leaves n"], Float[Array, "_ n"]]:
    """The gates' logits, and the leaves' means and raw scales; the latter only with leaf noise."""
    if shape.leaves == "linear":
        # The gradient of a split concatenates; that of slices adds padded arrays, which is slow.
        logits, outputs = jnp.split(affine, [shape.n_nodes])
    else:
        logits, constants = affine, constants[: shape.n_leaf_outputs]
        outputs = jnp.broadcast_to(constants, (shape.n_leaf_outputs, affine.shape[1]))
    means, raw_scales = jnp.split(outputs, [shape.n_leaves])
    return logits, means, raw_scales


def leaf_outputs(
    shape: TreeShape,
    beta: Float[Array, ""],
    affine: Float[Array, "affine n"],
    constants: Float[Array, "constants _"],
) -> LeafOutputs:
    """What the leaves return for each row, from the outputs of the affine maps and the constants."""
    logits, means, raw_scales = split_outputs(shape, affine, constants)
    log_probs = leaf_log_probs(beta * logits, shape.depth)
    if shape.noise == "leaf":
        return LeafOutputs(log_probs, means, softplus(raw_scales) + shape.smallest_scale)
    if shape.noise == "shared":
        scale = softplus(constants[-1]) + shape.smallest_scale
    else:
        scale = jnp.asarray(shape.noise)
    return LeafOutputs(log_probs, means, jnp.broadcast_to(scale.astype(means.dtype), means.shape))


def mean(leaf: LeafOutputs) -> Float[Array, " n"]:
    """Leaf means weighted by leaf probabilities."""
    return jnp.sum(jnp.exp(leaf.log_probs) * leaf.means, axis=0)


@partial(jax.custom_vjp, nondiff_argnums=(4,))
def mixture_log_prob(
    logits: Float[Array, "nodes n"],
    means: Float[Array, "leaves n"],
    raw_scales: Float[Array, "leaves n"],
    y: Float[Array, " n"],
    smallest_scale: float,
) -> Float[Array, " n"]:
    """Log density of each row's target: the mixture over the leaves (eq. 6).

    The gradient is in closed form: what a leaf, or all leaves below a gate, contribute is weighted by
    their share of the density. The automatic one computed most exponentials again, and a step's
    gradient took 1.2 times as long. There is no forward mode.
    """
    return _mixture(logits, means, raw_scales, y, smallest_scale)[0]


class _Kept(NamedTuple):
    """What the gradient of the mixture needs of its value."""

    logits: Float[Array, "nodes n"]
    u: Float[Array, "nodes n"]  #: exp(-|logits|)
    likelier: Float[Array, "nodes n"]  #: probability of the likelier child
    raw_scales: Float[Array, "leaves n"]
    v: Float[Array, "leaves n"]  #: exp(-|raw_scales|)
    inverse: Float[Array, "leaves n"]  #: 1 / scale
    z: Float[Array, "leaves n"]
    weights: Float[Array, "leaves n"]  #: proportional to each leaf's part of the density
    total: Float[Array, " n"]  #: sum of the weights


def _mixture(
    logits: Float[Array, "nodes n"],
    means: Float[Array, "leaves n"],
    raw_scales: Float[Array, "leaves n"],
    y: Float[Array, " n"],
    smallest_scale: float,
) -> tuple[Float[Array, " n"], _Kept]:
    """The value, and what its gradient needs.

    ``sigma(z)`` is ``exp(min(z, 0)) / (1 + exp(-|z|))``. Only the first factor can underflow, so only
    this one is kept as a logarithm; the others, and 1 / scale, multiply the weights and need none.
    """
    u, v = jnp.exp(-jnp.abs(logits)), jnp.exp(-jnp.abs(raw_scales))
    likelier = 1 / (1 + u)
    exponents, factors = _paths(logits, likelier)
    inverse = 1 / (jnp.maximum(raw_scales, 0) + _log1p(v) + smallest_scale)
    z = (y - means) * inverse
    exponents = exponents - 0.5 * jnp.square(z)
    largest = jnp.max(exponents, axis=0)
    weights = factors * inverse * jnp.exp(exponents - largest)
    total = jnp.sum(weights, axis=0)
    kept = _Kept(logits, u, likelier, raw_scales, v, inverse, z, weights, total)
    return largest + jnp.log(total) - HALF_LOG_TWO_PI, kept


def _paths(
    logits: Float[Array, "nodes n"], likelier: Float[Array, "nodes n"]
) -> tuple[Float[Array, "leaves n"], Float[Array, "leaves n"]]:
    """Each leaf's log probability, without the product of ``likelier`` along its path; this product."""
    nodes, n = logits.shape
    signs = jnp.asarray([[-1], [1]], logits.dtype)
    children = jnp.minimum(signs * logits[:, None], 0)
    exponents, factors = jnp.zeros((1, n), logits.dtype), jnp.ones((1, n), logits.dtype)
    while len(exponents) <= nodes:
        level = slice(len(exponents) - 1, 2 * len(exponents) - 1)
        exponents = (exponents[:, None] + children[level]).reshape(-1, n)
        factors = jnp.repeat(factors * likelier[level], 2, axis=0)
    return exponents, factors


def _mixture_backward(_: float, kept: _Kept, g: Float[Array, " n"]) -> tuple[Array, ...]:
    """Gradients for logits, means, raw scales and targets."""
    logits, u, likelier, raw_scales, v, inverse, z, weights, total = kept
    shares = weights * (g / total)
    slopes = shares * inverse
    to_means = slopes * z
    to_raw_scales = slopes * (z * z - 1) * jnp.where(raw_scales >= 0, 1, v) / (1 + v)
    right = jnp.where(logits >= 0, 1, u) * likelier
    left = jnp.where(logits >= 0, u, 1) * likelier  # exact where 1 - right is not
    levels = [logits[:0]]
    while len(shares) > 1:
        half = len(shares) // 2
        level, pairs = slice(half - 1, 2 * half - 1), shares.reshape(half, 2, -1)
        levels.insert(0, pairs[:, 1] * left[level] - pairs[:, 0] * right[level])
        shares = pairs[:, 0] + pairs[:, 1]
    return jnp.concatenate(levels), to_means, to_raw_scales, -jnp.sum(to_means, axis=0)


mixture_log_prob.defvjp(_mixture, _mixture_backward)


def leaf_log_probs(logits: Float[Array, "nodes n"], depth: int) -> Float[Array, "leaves n"]:
    """Log probability of reaching each leaf, from the logit of going right at each gate.

    One softplus serves both directions, since ``log sigma(-z) = log sigma(z) - z``. Log probabilities
    are added from the root down, so nothing can underflow.
    """
    n = logits.shape[1]
    right = -softplus(-logits)
    left = right - logits
    log_probs = jnp.zeros((1, n), logits.dtype)
    for level in range(depth):
        nodes = slice(2**level - 1, 2 ** (level + 1) - 1)
        children = jnp.stack([log_probs + left[nodes], log_probs + right[nodes]], axis=1)
        log_probs = children.reshape(-1, n)
    return log_probs


def normal_log_prob(y: Array, mean: Array, scale: Array) -> Array:
    """Log density of a Normal, broadcast over its arguments."""
    return -0.5 * jnp.square((y - mean) / scale) - jnp.log(scale) - HALF_LOG_TWO_PI


def with_bias(x: Float[Array, "n d"]) -> Float[Array, "n d+1"]:
    """Inputs with a last column of ones."""
    return jnp.concatenate([x, jnp.ones((x.shape[0], 1), x.dtype)], axis=1)


@jax.custom_jvp
def softplus(z: Array) -> Array:
    """``log(1 + exp(z))``; value and gradient share one exponential.

    It replaces the general version in ``jax.nn``, whose handling of infinite arguments, which do not
    occur here, is slow.
    """
    return jnp.maximum(z, 0) + _log1p(jnp.exp(-jnp.abs(z)))


@softplus.defjvp
def _softplus_jvp(primals: tuple[Array], tangents: tuple[Array]) -> tuple[Array, Array]:
    (z,), (dz,) = primals, tangents
    u = jnp.exp(-jnp.abs(z))
    sigmoid = jnp.where(z >= 0, 1, u) / (1 + u)
    return jnp.maximum(z, 0) + _log1p(u), sigmoid * dz


def _log1p(u: Array) -> Array:
    """``log(1 + u)`` for ``u`` from 0 to 1, exact to two units in the last place.

    It is ``2 artanh(t)`` with ``t = u / (2 + u)``, at most a third: eight terms of the series are
    enough in single precision, at half the cost of a logarithm.
    """
    if u.dtype != jnp.float32:
        return jnp.log1p(u)
    t = u / (2 + u)
    return 2 * t * jnp.polyval(ARTANH, t * t)
