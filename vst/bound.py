"""The evidence lower bound (ELBO) of a soft tree, estimated with its own draw of the outputs per row.

The parameters enter the likelihood of a row only through the outputs of the tree's affine maps, which
are Gaussian under the posterior. Drawing these outputs for each row, instead of one parameter vector
for all rows, is the local reparameterisation trick (Kingma et al., 2015). The expectation is the same,
and its estimate has far less noise, since the rows of a minibatch no longer share their draw. The
low-rank part of the posterior is still drawn once for all rows.
"""

from typing import NamedTuple, Protocol

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from vst.posterior import LowRankGaussian, half_log_det
from vst.prior import Prior, squared_distance
from vst.tree import with_bias

#: Smallest variance of an output: the gradient of a square root at zero is infinite.
SMALLEST_VARIANCE = 1e-30


class Shape(Protocol):
    """What inference needs to know of a model: a tree's shape, or an ensemble's.

    The parameter vector holds ``n_affine`` maps of ``in_features`` weights and a bias each, which give
    the affine outputs, and ``n_constants`` numbers, which are outputs themselves.
    """

    @property
    def in_features(self) -> int:
        """Number of input features ``d``."""

    @property
    def depth(self) -> int:
        """Depth of its trees."""

    @property
    def n_nodes(self) -> int:
        """Number of gates."""

    @property
    def n_leaf_outputs(self) -> int:
        """Numbers that the leaves return for a row."""

    @property
    def n_affine(self) -> int:
        """Number of affine maps."""

    @property
    def n_constants(self) -> int:
        """Number of constants."""

    @property
    def n_outputs(self) -> int:
        """Number of affine outputs and constants."""

    @property
    def n_params(self) -> int:
        """Length ``p`` of the parameter vector."""

    def log_likelihood(
        self,
        beta: Float[Array, ""],
        affine: Float[Array, "affine n"],
        constants: Float[Array, "constants _"],
        y: Float[Array, " n"],
    ) -> Float[Array, " n"]:
        """Log density of each row's target, given all outputs."""


class Hyperparameters(NamedTuple):
    """The traced part of a training run: each field is one number, or one per replica."""

    learning_rate: float | Float[Array, "*replicas"] = 1e-2
    prior_scale: float | Float[Array, "*replicas"] = 1.0
    beta: float | Float[Array, "*replicas"] = 5.0
    kl_weight: float | Float[Array, "*replicas"] = 1.0


class Noise(NamedTuple):
    """Standard normal numbers for one estimate of the bound."""

    outputs: Float[Array, "draws outputs b"]  #: for the diagonal part: one per output and row
    columns: Float[Array, "draws k"]  #: for the low-rank part: shared by all rows


class Tangent(NamedTuple):
    """``log det(I + U^T U) / 2`` as a linear function of ``U``, exact where it was taken."""

    constant: Float[Array, ""]
    slope: Float[Array, "k p"]


def variational_of(posterior: LowRankGaussian) -> Float[Array, "2+k p"]:
    """What training changes: mean, log scale and the factor's columns in units of the scale, as rows.

    In these units a step has the same effect on parameters that the data fix well and on others. With
    the factor itself, high ranks did not train.
    """
    columns = (posterior.factor / posterior.scale[:, None]).T
    return jnp.vstack([posterior.mean, jnp.log(posterior.scale), columns])


def posterior_of(variational: Float[Array, "2+k p"]) -> LowRankGaussian:
    """The posterior that these variational parameters describe."""
    mean, log_scale, columns = _parts(variational)
    scale = jnp.exp(log_scale)
    return LowRankGaussian(mean, scale, (scale * columns).T)


def _parts(variational: Float[Array, "2+k p"]) -> tuple[Array, Array, Float[Array, "k p"]]:
    # The gradient of a split concatenates; the gradient of slices adds padded arrays, which is slow.
    mean, log_scale, columns = jnp.split(variational, [1, 2])
    return mean[0], log_scale[0], columns


def tangent(variational: Float[Array, "2+k p"]) -> Tangent:
    """Linearise the log-determinant of the covariance at the current columns.

    It depends on the columns alone, and changes slowly. Training renews it once per block of steps,
    where it is exact, and so are the stationary points. Its cost, O(p k^2), hardly counts then.
    """
    columns = variational[2:]
    value, slope = jax.value_and_grad(half_log_det)(columns)
    return Tangent(value - jnp.sum(slope * columns), slope)


def objective(
    variational: Float[Array, "2+k p"],
    noise: Noise,
    volume: Tangent,
    shape: Shape,
    hyper: Hyperparameters,
    x: Float[Array, "b d"],
    y: Float[Array, " b"],
    n: int | Int[Array, ""],
    weights: Float[Array, " b"] | None = None,
    prior: Prior | None = None,
) -> Float[Array, ""]:
    """:func:`elbo` per row, as a function of the variational parameters.

    With a ``prior``, it takes the place of ``N(0, prior_scale^2 I)``.
    """
    mean, log_scale, columns = _parts(variational)
    scale = jnp.exp(log_scale)
    centres = mean + scale * (noise.columns @ columns)
    expected = _expected_log_likelihood(
        noise.outputs, centres, scale, shape, hyper.beta, x, y, weights
    )
    entropy = jnp.sum(log_scale) + volume.constant + jnp.sum(volume.slope * columns)
    if prior is None:
        variance = jnp.square(scale) * (1 + jnp.sum(jnp.square(columns), axis=0))
        quadratic = jnp.sum(jnp.square(mean) + variance) / jnp.square(hyper.prior_scale)
        kl = 0.5 * quadratic + mean.size * (jnp.log(hyper.prior_scale) - 0.5) - entropy
    else:
        quadratic = squared_distance(prior, mean, scale, scale * columns)
        kl = 0.5 * (quadratic - prior.log_det - mean.size) - entropy
    return expected - hyper.kl_weight * kl / n


def elbo(
    noise: Noise,
    posterior: LowRankGaussian,
    shape: Shape,
    hyper: Hyperparameters,
    x: Float[Array, "b d"],
    y: Float[Array, " b"],
    n: int | Int[Array, ""],
    weights: Float[Array, " b"] | None = None,
) -> Float[Array, ""]:
    """Estimate the evidence lower bound of ``n`` rows from a minibatch of them.

    The expected log-likelihood is a reparameterised Monte Carlo estimate, scaled by ``n / b``. The KL
    term, weighted by ``kl_weight``, is exact. Rows of the batch whose ``weights`` are 0 are left out.
    """
    centres = posterior.mean + noise.columns @ posterior.factor.T
    expected = _expected_log_likelihood(
        noise.outputs, centres, posterior.scale, shape, hyper.beta, x, y, weights
    )
    return n * expected - hyper.kl_weight * posterior.kl(hyper.prior_scale)


def _expected_log_likelihood(
    noise: Float[Array, "draws outputs b"],
    centres: Float[Array, "draws p"],
    scale: Float[Array, " p"],
    shape: Shape,
    beta: float | Float[Array, ""],
    x: Float[Array, "b d"],
    y: Float[Array, " b"],
    weights: Float[Array, " b"] | None,
) -> Float[Array, ""]:
    """Mean log-likelihood of the rows, over draws of outputs with these centres and scales."""
    inputs, split = with_bias(x).T, shape.n_affine * (shape.in_features + 1)

    def maps(parameters: Float[Array, " p"]) -> Float[Array, "affine d+1"]:
        return parameters[:split].reshape(shape.n_affine, shape.in_features + 1)

    variances = maps(jnp.square(scale)) @ jnp.square(inputs) + SMALLEST_VARIANCE

    def one_draw(centre: Float[Array, " p"], noise: Float[Array, "outputs b"]) -> Float[Array, ""]:
        affine_noise, constant_noise = jnp.split(noise, [shape.n_affine])
        affine = draw_normal(maps(centre) @ inputs, variances, affine_noise)
        constants = centre[split:, None] + scale[split:, None] * constant_noise
        rows = shape.log_likelihood(jnp.asarray(beta, x.dtype), affine, constants, y)
        return jnp.mean(rows) if weights is None else jnp.sum(weights * rows) / jnp.sum(weights)

    return jnp.mean(jax.vmap(one_draw)(centres, noise))


@jax.custom_vjp
def draw_normal(mean: Array, variance: Array, noise: Array) -> Array:
    """``mean + sqrt(variance) * noise``.

    XLA copies cheap operations into everything that uses their result, here a dozen loops over leaves.
    A final division is not cheap in its eyes, and runs once. That halves the cost of a training step.
    """
    return _draw_normal(mean, variance, noise)[0]


def _draw_normal(mean: Array, variance: Array, noise: Array) -> tuple[Array, tuple[Array, Array]]:
    inverse = jax.lax.rsqrt(variance)
    return (mean * inverse + noise) / inverse, (inverse, noise)


def _draw_normal_backward(kept: tuple[Array, Array], g: Array) -> tuple[Array, Array, None]:
    inverse, noise = kept
    return g, 0.5 * g * noise * inverse, None


draw_normal.defvjp(_draw_normal, _draw_normal_backward)
