"""A sum of soft trees and its noise as one model, with one parameter vector.

Algorithm 1 fits the trees of an ensemble one after the other. Soft trees are differentiable, so the
whole sum can be trained at once: :func:`vst.inference.fit` takes a :class:`JointShape` wherever it
takes a :class:`~vst.tree.TreeShape`.

The noise is one number, or a soft tree of its own. The noise tree is a VST: its leaves are Normals, and
the target is their mixture, shifted by the sum of the other trees. So an ensemble without other trees
is a VST, and any number of them adds to what a VST can express.
"""

import math
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Literal

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from vst.posterior import LowRankGaussian
from vst.predictive import Mixture
from vst.tree import SoftTree, TreeShape, normal_log_prob, softplus

EnsembleNoise = Literal["constant", "tree"]

#: A tree that returns only its mean has no parameters for its noise, whatever this number is.
KNOWN = 1.0


@dataclass(frozen=True)
class JointShape:
    """Everything about an ensemble that determines array shapes.

    The vector holds the affine maps of all trees, those of the noise tree, then the constants in the
    same order; a constant noise is the last of them.

    Parameters
    ----------
    tree
        One tree, which returns its mean.
    n_trees
        Number of trees, without the noise tree.
    noise_tree
        The tree of the noise, with noise in its leaves; None for one standard deviation everywhere.
    share
        Weight of each tree in the sum.
    """

    tree: TreeShape
    n_trees: int
    noise_tree: TreeShape | None = None
    share: float = 1.0

    @classmethod
    def of(cls, tree: TreeShape, n_trees: int, noise: EnsembleNoise) -> "JointShape":
        """An ensemble of such trees; their own noise is replaced by the ensemble's.

        The shares give the sum the prior variance of one tree.
        """
        noise_tree = replace(tree, noise="leaf") if noise == "tree" else None
        return cls(replace(tree, noise=KNOWN), n_trees, noise_tree, 1 / math.sqrt(n_trees))

    @property
    def in_features(self) -> int:
        """Number of input features ``d``."""
        return self.tree.in_features

    @property
    def depth(self) -> int:
        """Depth of each tree."""
        return self.tree.depth

    def _total(self, name: str) -> int:
        noise = 0 if self.noise_tree is None else getattr(self.noise_tree, name)
        return self.n_trees * getattr(self.tree, name) + noise

    @property
    def n_nodes(self) -> int:
        """Gates of all trees."""
        return self._total("n_nodes")

    @property
    def n_leaf_outputs(self) -> int:
        """Numbers that all leaves return for a row."""
        return self._total("n_leaf_outputs")

    @property
    def n_affine(self) -> int:
        """Outputs that are affine in the input and share one matrix product."""
        return self._total("n_affine")

    @property
    def n_constants(self) -> int:
        """Parameters that are outputs themselves (constant leaves, and a constant noise)."""
        return self._total("n_constants") + (self.noise_tree is None)

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
        """Log density of each row's target: the noise around the sum of the trees."""
        n, maps, fixed = affine.shape[1], self.tree.n_affine, self.tree.n_constants
        affine, noise_affine = jnp.split(affine, [self.n_trees * maps])
        constants, noise_constants = jnp.split(constants, [self.n_trees * fixed])
        by_tree = affine.reshape(self.n_trees, maps, n)
        if self.tree.leaves == "linear":
            logits, leaves = jnp.split(by_tree, [self.tree.n_nodes], axis=1)
        else:
            logits = by_tree
            leaves = jnp.broadcast_to(constants, (len(constants), n)).reshape(self.n_trees, -1, n)
        residual = y - self.share * jnp.sum(tree_means(beta * logits, leaves), axis=0)
        if self.noise_tree is None:
            return normal_log_prob(residual, jnp.zeros(()), self.noise_scale(noise_constants[0]))
        return self.noise_tree.log_likelihood(beta, noise_affine, noise_constants, residual)

    def noise_scale(self, raw: Float[Array, "*n"]) -> Float[Array, "*n"]:
        """A constant noise, from its parameter."""
        return softplus(raw) + self.tree.smallest_scale

    def split(
        self, thetas: Float[Array, "*draws p"]
    ) -> tuple[Float[Array, "*draws trees q"], Float[Array, "*draws r"]]:
        """The parameter vectors of the trees, and of the noise: a tree's, or one number."""
        cut = self.n_affine * (self.in_features + 1)
        affine, constants = thetas[..., :cut], thetas[..., cut:]
        own = self.n_trees * self.tree.n_affine * (self.in_features + 1)
        fixed = self.n_trees * self.tree.n_constants

        def by_tree(values: Float[Array, "*draws m"]) -> Float[Array, "*draws trees _"]:
            each = values.shape[-1] // max(self.n_trees, 1)
            return values.reshape(*values.shape[:-1], self.n_trees, each)

        trees = [by_tree(affine[..., :own]), by_tree(constants[..., :fixed])]
        noise = [affine[..., own:], constants[..., fixed:]]
        return jnp.concatenate(trees, axis=-1), jnp.concatenate(noise, axis=-1)


def tree_means(
    logits: Float[Array, "trees nodes n"], leaves: Float[Array, "trees leaves n"]
) -> Float[Array, "trees n"]:
    """The mean of each tree, folded up from its leaves to its root.

    The value of a node lies between those of its children, as far right as its gate is open. This gives
    the sum over leaves of eq. 4 with one product per gate.
    """
    trees, _, n = logits.shape
    right, values = jax.nn.sigmoid(logits), leaves
    while values.shape[1] > 1:
        level = values.shape[1] // 2
        left_child, right_child = (values.reshape(trees, level, 2, n)[:, :, i] for i in (0, 1))
        gates = right[:, level - 1 : 2 * level - 1]
        values = left_child + gates * (right_child - left_child)
    return values[:, 0]


@partial(jax.tree_util.register_dataclass)
@dataclass(frozen=True)
class JointDraws:
    """Posterior draws of an ensemble that has one parameter vector."""

    thetas: Float[Array, "draws p"]
    beta: Float[Array, ""]
    shape: JointShape = field(metadata={"static": True})

    @property
    def n_draws(self) -> int:
        """Number of draws."""
        return self.thetas.shape[0]

    @property
    def n_components(self) -> int:
        """Leaves of all trees of a draw."""
        return self.shape.n_trees * self.shape.tree.n_leaves + self.n_mixed

    @property
    def n_mixed(self) -> int:
        """Normals in a draw's distribution: the leaves of the noise tree."""
        return 1 if self.shape.noise_tree is None else self.shape.noise_tree.n_leaves

    def means(self, x: Float[Array, "n d"]) -> Float[Array, "draws n"]:
        """The function each draw computes."""
        weights, means, _ = self.mixture(x)
        return jnp.sum(jnp.exp(weights) * means, axis=1)

    def mixture(self, x: Float[Array, "n d"]) -> Mixture:
        """The noise of each draw around the sum of its trees."""
        shape, (trees, noise) = self.shape, self.shape.split(self.thetas)

        def tree_mean(theta: Float[Array, " q"]) -> Float[Array, " n"]:
            return SoftTree(shape.tree, theta, self.beta).mean(x)

        sums = shape.share * jnp.sum(jax.vmap(jax.vmap(tree_mean))(trees), axis=1)[:, None]
        if shape.noise_tree is None:
            scales = jnp.broadcast_to(shape.noise_scale(noise)[:, :, None], sums.shape)
            return Mixture(jnp.zeros_like(sums), sums, scales)
        noise_tree = shape.noise_tree
        leaf = jax.vmap(lambda theta: SoftTree(noise_tree, theta, self.beta)(x))(noise)
        return Mixture(leaf.log_probs, leaf.means + sums, leaf.scales)


def joined(
    shape: TreeShape, trees: LowRankGaussian, noise_tree: TreeShape, noise: LowRankGaussian
) -> tuple[JointShape, LowRankGaussian]:
    """Trees that were fitted one by one, and a noise tree, as one posterior; they are independent.

    Parameters
    ----------
    shape, trees
        The shape of a tree, whose own noise is dropped, and posteriors stacked over members, then trees.
    noise_tree, noise
        The noise tree's shape, and its posteriors, stacked over members.
    """
    members, n_trees, p, rank = trees.factor.shape
    whole = JointShape(replace(shape, noise=KNOWN), n_trees, noise_tree)
    order = _order(whole, p)
    q = n_trees * p + noise.mean.shape[1]
    columns = jnp.zeros((members, q, (n_trees + 1) * rank), trees.factor.dtype)
    for tree in range(n_trees):
        rows, own = slice(tree * p, (tree + 1) * p), slice(tree * rank, (tree + 1) * rank)
        columns = columns.at[:, rows, own].set(trees.factor[:, tree])
    columns = columns.at[:, n_trees * p :, n_trees * rank :].set(noise.factor)

    def flat(each: Float[Array, "members trees p"], last: Float[Array, "members r"]) -> Array:
        return jnp.concatenate([each.reshape(members, -1), last], axis=1)[:, order]

    return whole, LowRankGaussian(
        flat(trees.mean, noise.mean), flat(trees.scale, noise.scale), columns[:, order]
    )


def _order(shape: JointShape, p: int) -> Int[np.ndarray, " q"]:
    """Where the parameters of an ensemble are among those of its ``p``-vectors, one after the other."""
    assert shape.noise_tree is not None
    maps = shape.tree.n_affine * (shape.in_features + 1)
    starts = p * np.arange(shape.n_trees)[:, None]
    affine, constants = starts + np.arange(maps), starts + maps + np.arange(shape.tree.n_constants)
    noise = shape.n_trees * p + np.arange(shape.noise_tree.n_params)
    noise_maps = shape.noise_tree.n_affine * (shape.in_features + 1)
    return np.concatenate(
        [affine.ravel(), noise[:noise_maps], constants.ravel(), noise[noise_maps:]]
    )
