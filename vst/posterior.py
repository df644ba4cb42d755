"""The variational posterior: a Gaussian whose covariance is diagonal plus low rank.

``q(theta) = N(mean, diag(scale^2) + factor factor^T)``, the family of Tomczak et al. (2020) that the
paper uses. Every quantity costs O(p k^2) time and O(p k) memory for ``p`` parameters and rank ``k``,
except :meth:`LowRankGaussian.covariance`, which is dense by definition.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from vst.tree import HALF_LOG_TWO_PI

#: Ranks up to this one take the fused sum in the gradient of the Gram matrix, larger ones the product.
FEW = 16


class LowRankGaussian(NamedTuple):
    """A Gaussian over the flat parameter vector.

    Attributes
    ----------
    mean
        Mean, ``mu`` in the paper.
    scale
        Standard deviations of the diagonal part, ``sigma`` in the paper; positive.
    factor
        The low-rank part, ``V`` in the paper. Zero columns make a mean-field posterior, ``p`` columns
        can represent any covariance.
    """

    mean: Float[Array, " p"]
    scale: Float[Array, " p"]
    factor: Float[Array, "p k"]

    @property
    def rank(self) -> int:
        """Number of columns ``k`` of the factor."""
        return self.factor.shape[-1]

    def sample(self, key: PRNGKeyArray, n: int) -> Float[Array, "n p"]:
        """Draw ``n`` vectors."""
        return self.transform(jax.random.normal(key, (n, sum(self.factor.shape)), self.mean.dtype))

    def transform(self, noise: Float[Array, "n p+k"]) -> Float[Array, "n p"]:
        """Turn standard normal noise into draws, differentiably in the Gaussian's parameters."""
        p = self.mean.size
        return self.mean + self.scale * noise[:, :p] + noise[:, p:] @ self.factor.T

    def kl(self, prior_scale: float | Float[Array, ""]) -> Float[Array, ""]:
        """``KL(q || N(0, prior_scale^2 I))`` in closed form (supplement, section 1.1)."""
        variance = jnp.square(prior_scale)
        quadratic = sum(jnp.sum(jnp.square(part)) for part in self) / variance
        log_prior_det = self.mean.size * jnp.log(variance)
        return 0.5 * (quadratic - self.mean.size + log_prior_det - self._log_det())

    def log_prob(self, theta: Float[Array, "*n p"]) -> Float[Array, "*n"]:
        """Log density at ``theta`` (one vector, or one per row), by the Woodbury identity."""
        whitened = self._whitened_factor()
        residual = (theta - self.mean) / self.scale
        chol = jnp.linalg.cholesky(_capacitance(whitened))
        along = jax.scipy.linalg.solve_triangular(chol, whitened @ residual.T, lower=True)
        mahalanobis = jnp.sum(jnp.square(residual), axis=-1) - jnp.sum(jnp.square(along), axis=0)
        return -0.5 * (mahalanobis + self._log_det()) - self.mean.size * HALF_LOG_TWO_PI

    def covariance(self) -> Float[Array, "p p"]:
        """The dense covariance matrix."""
        return jnp.diag(jnp.square(self.scale)) + self.factor @ self.factor.T

    def _whitened_factor(self) -> Float[Array, "k p"]:
        # Rank first: the Gram matrix then contracts along contiguous memory, five times faster.
        return self.factor.T / self.scale

    def _log_det(self) -> Float[Array, ""]:
        chol = jnp.linalg.cholesky(_capacitance(self._whitened_factor()))
        return 2 * jnp.sum(jnp.log(self.scale)) + 2 * jnp.sum(jnp.log(jnp.diagonal(chol)))


def _capacitance(whitened: Float[Array, "k p"]) -> Float[Array, "k k"]:
    """``I + V^T diag(sigma^-2) V``, the small matrix behind determinant and inverse."""
    return jnp.eye(whitened.shape[0], dtype=whitened.dtype) + _gram(whitened)


@jax.custom_vjp
def _gram(u: Float[Array, "k p"]) -> Float[Array, "k k"]:
    """``u u^T``, with a gradient that is fast for few rows."""
    return u @ u.T


def _gram_forward(u: Float[Array, "k p"]) -> tuple[Float[Array, "k k"], Float[Array, "k p"]]:
    return _gram(u), u


def _gram_backward(u: Float[Array, "k p"], g: Float[Array, "k k"]) -> tuple[Float[Array, "k p"]]:
    symmetric = g + g.T
    if len(u) > FEW:
        return (symmetric @ u,)
    # XLA's CPU matrix product of so few rows is slow: this sum takes a fifth off a training step.
    return (jnp.sum(symmetric[:, :, None] * u, axis=1),)


_gram.defvjp(_gram_forward, _gram_backward)
