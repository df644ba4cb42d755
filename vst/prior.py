"""A Gaussian prior that is an earlier posterior: what was learned so far, when more rows come.

Its precision is ``diag(precision) - root^T root``, which is what the inverse of a diagonal plus a
low-rank matrix is (Woodbury). The KL divergence of a posterior from it costs O(p k^2).
"""

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from vst.arrays import AnyArray
from vst.posterior import LowRankGaussian

#: A direction whose variance exceeds its diagonal part by more than this counts as this wide, so that
#: the difference of the two parts of the precision stays positive in float32.
WIDEST = 1e5

#: Stands in for the variance that a direction adds, where it adds none.
TINY = 1e-12


class Prior(NamedTuple):
    """A Gaussian over the flat parameter vector, by its precision."""

    mean: Float[AnyArray, " p"]
    precision: Float[AnyArray, " p"]  #: the diagonal part
    root: Float[AnyArray, "k p"]  #: what is subtracted from it is ``root^T root``
    log_det: Float[AnyArray, ""]  #: of the precision

    @classmethod
    def of(cls, posterior: LowRankGaussian, share: float, prior_scale: float) -> "Prior":
        """What a posterior says, as far as ``share`` of its rows goes.

        The natural parameters are ``share`` of those of the posterior, and else those of the prior that
        it started from, ``N(0, prior_scale^2 I)``: the posterior of that share of the rows, if the
        likelihood is Gaussian. Computed in float64, outside of the training program.
        """
        mean, scale, factor = (np.asarray(part, float) for part in posterior)
        columns = (factor / scale[:, None]).T
        variances, turned = np.linalg.eigh(np.eye(len(columns)) + columns @ columns.T)
        # In units of the scales, the variance along direction i is v_i, and the precision 1 / v_i.
        directions = turned.T @ columns / np.sqrt(np.maximum(variances - 1, TINY))[:, None]
        less = share * (1 - 1 / np.clip(variances, 1, WIDEST))
        root = np.sqrt(less)[:, None] * directions / scale
        diagonal = share / scale**2 + (1 - share) / prior_scale**2
        # The mean that goes with the sum of both precisions, again by Woodbury's identity.
        linear = share * mean / scale**2 - root.T @ (root @ mean)
        inner = np.eye(len(root)) - (root / diagonal) @ root.T
        along = np.linalg.solve(inner, root @ (linear / diagonal))
        centre = (linear + root.T @ along) / diagonal
        log_det = np.sum(np.log(diagonal)) + np.linalg.slogdet(inner)[1]
        return cls(*(np.asarray(part, np.float32) for part in (centre, diagonal, root, log_det)))

    @classmethod
    def stacked(cls, posteriors: LowRankGaussian, share: float, prior_scale: float) -> "Prior":
        """One for each of these posteriors."""
        each = [
            cls.of(LowRankGaussian(*parts), share, prior_scale)
            for parts in zip(*map(np.asarray, posteriors), strict=True)
        ]
        return cls(*(np.stack(parts) for parts in zip(*each, strict=True)))


def squared_distance(
    prior: Prior,
    mean: Float[Array, " p"],
    scale: Float[Array, " p"],
    factor: Float[Array, "k p"],
) -> Float[Array, ""]:
    """Expected squared Mahalanobis distance from the prior of a draw of a posterior."""
    off = mean - prior.mean
    variance = jnp.square(scale) + jnp.sum(jnp.square(factor), axis=0)
    diagonal = jnp.sum(prior.precision * (jnp.square(off) + variance))
    along = jnp.sum(jnp.square(prior.root @ off)) + jnp.sum(jnp.square(prior.root @ factor.T))
    return diagonal - along - jnp.sum(jnp.square(prior.root * scale))
