"""The variational posterior: a Gaussian whose covariance is diagonal plus low rank.

``q(theta) = N(mean, diag(scale^2) + factor factor^T)``, the family of Tomczak et al. (2020) that the
paper uses. Every quantity costs O(p k^2) time and O(p k) memory for ``p`` parameters and rank ``k``,
except :meth:`LowRankGaussian.covariance`, which is dense by definition.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from vst.tree import HALF_LOG_TWO_PI


class LowRankGaussian(NamedTuple):
    """A Gaussian over the flat parameter vector.

    Attributes
    ----------
    mean
        Mean, ``mu`` in the paper.
    scale
        Standard deviations of the diagonal part, ``sigma`` in the paper; positive.
    factor
        The low-rank part, ``V`` in the paper. With no columns the posterior is mean field; with ``p``
        columns it can represent any covariance.
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
        """Turn standard normal noise into draws, differentiable in the Gaussian's parameters."""
        p = self.mean.size
        return self.mean + self.scale * noise[:, :p] + noise[:, p:] @ self.factor.T

    def kl(self, prior_scale: float | Float[Array, ""]) -> Float[Array, ""]:
        """``KL(q || N(0, prior_scale^2 I))`` in closed form (supplement, section 1.1)."""
        variance = jnp.square(prior_scale)
        parts = self.mean, self.scale, self.factor.T  # transposed, as training keeps it
        quadratic = sum(jnp.sum(jnp.square(part)) for part in parts) / variance
        log_prior_det = self.mean.size * jnp.log(variance)
        return 0.5 * (quadratic - self.mean.size + log_prior_det - self._log_det())

    def log_prob(self, theta: Float[Array, "*n p"]) -> Float[Array, "*n"]:
        """Log density at ``theta`` (one vector, or one per row), by the Woodbury identity."""
        whitened = self._whitened_factor()
        residual = (theta - self.mean) / self.scale
        root = _capacitance_root(whitened)
        along = jax.scipy.linalg.solve_triangular(root, whitened @ residual.T, lower=True)
        mahalanobis = jnp.sum(jnp.square(residual), axis=-1) - jnp.sum(jnp.square(along), axis=0)
        return -0.5 * (mahalanobis + self._log_det()) - self.mean.size * HALF_LOG_TWO_PI

    def covariance(self) -> Float[Array, "p p"]:
        """The dense covariance matrix."""
        return jnp.diag(jnp.square(self.scale)) + self.factor @ self.factor.T

    def _whitened_factor(self) -> Float[Array, "k p"]:
        # With the rank first, products contract along contiguous memory and are five times faster.
        return self.factor.T / self.scale

    def _log_det(self) -> Float[Array, ""]:
        return 2 * (jnp.sum(jnp.log(self.scale)) + half_log_det(self._whitened_factor()))


def unstack(posteriors: LowRankGaussian) -> Any:
    """Nested lists of posteriors, one level per stacked axis."""
    if posteriors.mean.ndim == 1:
        return posteriors
    return [unstack(LowRankGaussian(*parts)) for parts in zip(*posteriors, strict=True)]


#: Up to this rank JAX does not thread a batched Cholesky.
MAX_UNTHREADED_RANK = 8


def _capacitance_root(whitened: Float[Array, "k p"]) -> Float[Array, "k k"]:
    """Cholesky factor of ``I + V^T diag(sigma^-2) V``, used for determinant and inverse."""
    identity = jnp.eye(len(whitened), dtype=whitened.dtype)
    return jnp.linalg.cholesky(identity + whitened @ whitened.T, symmetrize_input=False)


@jax.custom_vjp
def half_log_det(u: Float[Array, "k p"]) -> Float[Array, ""]:
    """``log det(I + u u^T) / 2``; its gradient ``(I + u u^T)^-1 u`` needs no derivative of the root."""
    return _log_det_forward(u)[0]


def _log_det_forward(u: Float[Array, "k p"]) -> tuple[Float[Array, ""], tuple[Array, Array]]:
    factorise = _factorise if len(u) <= MAX_UNTHREADED_RANK else _factorise_one_by_one
    log_det, inverse = factorise(jnp.eye(len(u), dtype=u.dtype) + u @ u.T)
    return log_det / 2, (inverse, u)


def _log_det_backward(kept: tuple[Array, Array], g: Float[Array, ""]) -> tuple[Float[Array, "k p"]]:
    inverse, u = kept
    return (g * (inverse @ u),)


def _factorise(c: Float[Array, "k k"]) -> tuple[Float[Array, ""], Float[Array, "k k"]]:
    """Log-determinant and inverse of a positive definite matrix, by Cholesky."""
    root = jnp.linalg.cholesky(c, symmetrize_input=False)
    inverse = jax.scipy.linalg.cho_solve((root, True), jnp.eye(len(c), dtype=c.dtype))
    return 2 * jnp.sum(jnp.log(jnp.diagonal(root))), inverse


#: JAX splits a stack of many or large matrices over the threads that run its CPU devices, and waits.
#: With one device per core all threads wait: a deadlock. A single matrix is not split.
_factorise_one_by_one = jax.custom_batching.sequential_vmap(_factorise)


half_log_det.defvjp(_log_det_forward, _log_det_backward)
