"""Gradient boosted variational soft trees: Algorithm 1 of the paper.

The weak learners return only their mean. During its fit, a weak learner has one noise scale, a
parameter like the others (the paper does not say which likelihood it uses here). It is dropped after
the fit, and the ensemble's noise is drawn from its inverse-Gamma posterior.
"""

from dataclasses import dataclass, field, replace
from functools import partial
from typing import Literal

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from vst.arrays import AnyArray, Inputs, Rows, row_blocks
from vst.blocks import map_rows
from vst.bound import Hyperparameters
from vst.convergence import Fit
from vst.inference import Program, fit
from vst.posterior import LowRankGaussian
from vst.predictive import Mixture, draw_parameters, mean_functions
from vst.tree import SoftTree, TreeShape

NoiseUpdate = Literal["paper", "conjugate"]


@partial(jax.tree_util.register_dataclass)
@dataclass(frozen=True)
class EnsembleDraws:
    """Joint posterior draws of the trees of an ensemble and of its noise."""

    thetas: Float[Array, "draws trees p"]
    noise_scale: Float[Array, " draws"]
    beta: Float[Array, ""]
    shape: TreeShape = field(metadata={"static": True})

    @property
    def n_draws(self) -> int:
        """Number of draws."""
        return self.thetas.shape[0]

    @property
    def n_components(self) -> int:
        """Leaves of all trees of a draw."""
        return self.thetas.shape[1] * self.shape.n_leaves

    @property
    def n_mixed(self) -> int:
        """A draw is one Normal, whatever its number of leaves."""
        return 1

    def means(self, x: Float[Array, "n d"]) -> Float[Array, "draws n"]:
        """The function each draw computes: the sum of its trees (eq. 14)."""

        def tree_mean(theta: Float[Array, " p"]) -> Float[Array, " n"]:
            return SoftTree(self.shape, theta, self.beta).mean(x)

        return jnp.sum(jax.vmap(jax.vmap(tree_mean))(self.thetas), axis=1)

    def mixture(self, x: Float[Array, "n d"]) -> Mixture:
        """One Normal per draw, of the same width everywhere."""
        means = self.means(x)[:, None]
        scales = jnp.broadcast_to(self.noise_scale[:, None, None], means.shape)
        return Mixture(jnp.zeros_like(means), means, scales)


def fit_ensemble(
    key: PRNGKeyArray,
    program: Program,
    hyper: Hyperparameters,
    x: Inputs,
    y: Float[AnyArray, " n"],
    rows: Rows,
    *,
    n_trees: int,
    steps: int,
    tol: float = 0.0,
    progress: str | None = None,
) -> list[Fit]:
    """Fit the trees in turn, each to the residual of a fresh draw of all earlier trees.

    Replicas train in parallel: one compiled program fits every tree of every replica. ``key`` is one
    key, or one per replica.

    Returns
    -------
    list of Fit
        One per tree; each holds the posteriors of all replicas.
    """
    y = jnp.broadcast_to(jnp.asarray(y, jnp.result_type(x.dtype)), (len(rows.counts), len(x)))
    residual = y
    fits: list[Fit] = []
    keys = key if key.ndim else jax.random.split(key, len(y))
    for tree in range(n_trees):
        label = progress and f"{progress} tree {tree + 1}/{n_trees}"
        tree_keys = _fold_in(keys, 2 * tree)
        if fits:
            draw_keys = _fold_in(keys, 2 * tree - 1)
            residual = y - _draw_sum(draw_keys, program.tree, hyper.beta, fits, x)
        fitted = fit(
            tree_keys, program, hyper, x, residual, rows, steps=steps, tol=tol, progress=label
        )
        fits.append(fitted)
    return fits


_fold_in = jax.jit(jax.vmap(jax.random.fold_in, in_axes=(0, None)))


def fit_noise(
    key: PRNGKeyArray,
    program: Program,
    hyper: Hyperparameters,
    fits: list[Fit],
    x: Inputs,
    y: Float[AnyArray, " n"],
    rows: Rows,
    *,
    steps: int,
    tol: float = 0.0,
    progress: str | None = None,
) -> Fit:
    """Fit the noise of an ensemble as a soft tree: a VST of the residual of a draw of all trees."""
    keys = key if key.ndim else jax.random.split(key, len(rows.counts))
    draw_keys, noise_keys = (_fold_in(keys, 2 * len(fits) - i) for i in (1, 0))
    sums = _draw_sum(draw_keys, program.tree, hyper.beta, fits, x)
    noise_program = replace(program, shape=replace(program.tree, noise="leaf"))
    return fit(
        noise_keys, noise_program, hyper, x, jnp.asarray(y, sums.dtype) - sums, rows,
        steps=steps, tol=tol, progress=progress and f"{progress} noise",
    )  # fmt: skip


def _draw_sum(
    keys: PRNGKeyArray,
    shape: TreeShape,
    beta: float | Float[Array, "*replicas"],
    fits: list[Fit],
    x: Inputs,
) -> Float[Array, "replicas n"]:
    """For every replica, the sum of one draw of each tree so far."""
    draws = [_sample(_fold_in(keys, tree), fitted.posteriors) for tree, fitted in enumerate(fits)]
    blocks = map(jnp.asarray, row_blocks(x))
    sums = [sum(_means(shape, thetas, beta, block) for thetas in draws) for block in blocks]
    return jnp.concatenate(sums, axis=1)


@jax.jit
@jax.vmap
def _sample(key: PRNGKeyArray, posterior: LowRankGaussian) -> Float[Array, " p"]:
    return posterior.sample(key, 1)[0]


@partial(jax.jit, static_argnames="shape")
def _means(
    shape: TreeShape,
    thetas: Float[Array, "replicas p"],
    beta: float | Float[Array, "*replicas"],
    x: Float[Array, "n d"],
) -> Float[Array, "replicas n"]:
    """Each replica's tree evaluated at all rows."""

    def one(theta: Float[Array, " p"], beta: Float[Array, ""]) -> Float[Array, " n"]:
        return SoftTree(shape, theta, beta).mean(x)

    return jax.vmap(one)(thetas, jnp.broadcast_to(beta, len(thetas)))


def stack_trees(fits: list[Fit]) -> LowRankGaussian:
    """The posteriors of an ensemble, stacked over replicas, then trees."""
    return jax.tree.map(lambda *trees: jnp.stack(trees, axis=1), *(fit.posteriors for fit in fits))


def draw_ensemble(
    key: PRNGKeyArray,
    shape: TreeShape,
    beta: float,
    trees: LowRankGaussian,
    x: Inputs,
    y: Float[AnyArray, " n"],
    weights: Float[np.ndarray, " n"] | None = None,
    *,
    n_draws: int,
    prior_sigma_alpha: float,
    prior_sigma_beta: float,
    noise_update: NoiseUpdate = "paper",
) -> EnsembleDraws:
    """Draw trees and noise jointly: the last three lines of Algorithm 1, ``n_draws`` times.

    Parameters
    ----------
    trees
        Posteriors stacked over members, then trees.
    x, y, weights
        The training rows: the noise of a draw depends on that draw's residual.
    """
    tree_key, noise_key = jax.random.split(key)
    thetas = draw_parameters(tree_key, trees, n_draws)
    inverse_temperature = jnp.asarray(beta, thetas.dtype)
    draws = EnsembleDraws(thetas, jnp.zeros(n_draws), inverse_temperature, shape)
    weights = np.ones(len(y)) if weights is None else weights
    squares = [
        np.square(targets - map_rows(mean_functions, draws, inputs)) @ of_rows
        for inputs, targets, of_rows in zip(
            row_blocks(x), row_blocks(y), row_blocks(weights), strict=True
        )
    ]
    variance = draw_noise_variance(
        noise_key,
        np.sum(squares, axis=0),
        float(weights.sum()),
        prior_sigma_alpha,
        prior_sigma_beta,
        noise_update,
    )
    return replace(draws, noise_scale=jnp.sqrt(variance).astype(thetas.dtype))


def draw_noise_variance(
    key: PRNGKeyArray,
    residual_sum: Float[Array, " draws"],
    n: float | Int[Array, ""],
    alpha: float,
    beta: float,
    update: NoiseUpdate = "paper",
) -> Float[Array, " draws"]:
    """Draw the noise variance given each draw's residual sum of squares ``r^T r``.

    ``"paper"`` is inverse-Gamma(alpha + n, beta + r^T r) as printed in Algorithm 1; ``"conjugate"`` is
    the textbook posterior, with ``n / 2`` and ``r^T r / 2``. Their means are nearly equal; the
    printed one is narrower by a factor of about sqrt(2).
    """
    half = 0.5 if update == "conjugate" else 1.0
    gamma = jax.random.gamma(key, alpha + half * n, (len(residual_sum),))
    return (beta + half * jnp.asarray(residual_sum)) / gamma
