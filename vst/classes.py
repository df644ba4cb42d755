"""Soft trees for classes: every leaf gives the logits of the classes.

Only differences of logits matter. So a leaf has one output less than there are classes: the coordinates
of its logits in an orthonormal basis of all contrasts. Independent Normals in these coordinates are the
same prior on the differences as independent Normals on the logits, in any order of the classes, but the
posterior has no direction that the data say nothing of, in which training would be slow.

In a single tree each leaf is a categorical distribution, and the class is drawn from their mixture, as a
number is in a VST. In an ensemble the trees' logits are added up, and the sum gives the probabilities.
Either has one parameter vector, so :func:`vst.inference.fit` takes a :class:`ClassShape` wherever it
takes a :class:`~vst.tree.TreeShape`; the target is the number of the class.
"""

import math
from dataclasses import dataclass, field
from functools import partial

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float
from scipy.linalg import helmert

from vst.joint import tree_means
from vst.tree import Leaves, leaf_log_probs, with_bias


@dataclass(frozen=True)
class ClassShape:
    """Everything about trees for classes that determines array shapes.

    The vector holds the affine maps of all gates, tree by tree, then the logits of all leaves by tree,
    leaf and contrast: affine maps, or constants.

    Parameters
    ----------
    in_features
        Number of input features ``d``.
    depth
        Number of gates between the root and a leaf; 0 is a single leaf.
    leaves
        ``"constant"``: contrasts are numbers; ``"linear"``: they are affine in the input.
    n_classes
        Number of classes.
    n_trees
        Number of trees whose logits are added up; 0 is one tree that mixes its leaves.
    """

    in_features: int
    depth: int
    leaves: Leaves
    n_classes: int
    n_trees: int = 0

    @property
    def _trees(self) -> int:
        return max(self.n_trees, 1)

    @property
    def n_nodes(self) -> int:
        """Gates of all trees."""
        return self._trees * (2**self.depth - 1)

    @property
    def n_leaves(self) -> int:
        """Leaves of one tree."""
        return 2**self.depth

    @property
    def n_leaf_outputs(self) -> int:
        """Contrasts that all leaves return for a row."""
        return self._trees * self.n_leaves * (self.n_classes - 1)

    @property
    def n_affine(self) -> int:
        """Outputs that are affine in the input and share one matrix product."""
        return self.n_nodes + (self.n_leaf_outputs if self.leaves == "linear" else 0)

    @property
    def n_constants(self) -> int:
        """Parameters that are outputs themselves (the contrasts of constant leaves)."""
        return self.n_leaf_outputs if self.leaves == "constant" else 0

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
        """Log probability of each row's class."""
        log_probs = self.log_probs(beta, affine, constants)
        own = jnp.arange(self.n_classes, dtype=y.dtype)[:, None] == y
        return jnp.sum(jnp.where(own, log_probs, 0), axis=0)

    def log_probs(
        self,
        beta: Float[Array, ""],
        affine: Float[Array, "affine n"],
        constants: Float[Array, "constants _"],
    ) -> Float[Array, "classes n"]:
        """Log probability of every class for each row, given the outputs of maps and constants."""
        gates, contrasts, basis = self._parts(beta, affine, constants)
        if not self.n_trees:
            routes, of_leaf = self._leaves(gates, contrasts, basis)
            return jax.nn.logsumexp(routes[:, None] + of_leaf, axis=0)
        by_tree = jax.vmap(tree_means, in_axes=(None, 2))(gates, contrasts)
        # The sum has the prior variance of one tree.
        return jax.nn.log_softmax(basis.T @ by_tree.sum(axis=1) / math.sqrt(self.n_trees), axis=0)

    def _parts(
        self, beta: Float[Array, ""], affine: Array, constants: Array
    ) -> tuple[
        Float[Array, "trees nodes n"], Float[Array, "trees leaves contrasts n"], Float[Array, "c k"]
    ]:
        """Logits of the gates, contrasts of the leaves, and the basis of contrasts."""
        n = affine.shape[1]
        gates, leaves = jnp.split(affine, [self.n_nodes])
        if self.leaves == "constant":
            leaves = jnp.broadcast_to(constants, (self.n_constants, n))
        return (
            beta * gates.reshape(self._trees, self.n_leaves - 1, n),
            leaves.reshape(self._trees, self.n_leaves, self.n_classes - 1, n),
            jnp.asarray(helmert(self.n_classes), affine.dtype),
        )

    def _leaves(
        self, gates: Array, contrasts: Array, basis: Array
    ) -> tuple[Float[Array, "leaves n"], Float[Array, "leaves classes n"]]:
        of_leaf = jax.nn.log_softmax(jnp.einsum("ck,lcn->lkn", basis, contrasts[0]), axis=1)
        return leaf_log_probs(gates[0], self.depth), of_leaf

    def outputs(
        self, theta: Float[Array, " p"], x: Float[Array, "n d"]
    ) -> tuple[Float[Array, "affine n"], Float[Array, "constants 1"]]:
        """The outputs of the affine maps, and the constants."""
        inputs, cut = with_bias(x).T, self.n_affine * (self.in_features + 1)
        return theta[:cut].reshape(self.n_affine, len(inputs)) @ inputs, theta[cut:, None]

    def leaf_classes(
        self, beta: Float[Array, ""], theta: Float[Array, " p"], x: Float[Array, "n d"]
    ) -> tuple[Float[Array, "leaves n"], Float[Array, "leaves classes n"]]:
        """Of a single tree: the log probabilities of each row's leaves, and of each leaf's classes."""
        return self._leaves(*self._parts(beta, *self.outputs(theta, x)))


@partial(jax.tree_util.register_dataclass)
@dataclass(frozen=True)
class ClassDraws:
    """Posterior draws of trees for classes."""

    thetas: Float[Array, "draws p"]
    beta: Float[Array, ""]
    shape: ClassShape = field(metadata={"static": True})

    @property
    def n_draws(self) -> int:
        """Number of draws."""
        return self.thetas.shape[0]

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return self.shape.n_classes

    @property
    def n_components(self) -> int:
        """Logits that a draw computes for each row."""
        return self.shape.n_leaf_outputs + self.shape.n_leaves * self.shape.n_classes

    def log_probs(self, x: Float[Array, "n d"]) -> Float[Array, "draws classes n"]:
        """Log probabilities of the classes under each draw."""

        def one(theta: Float[Array, " p"]) -> Float[Array, "classes n"]:
            return self.shape.log_probs(self.beta, *self.shape.outputs(theta, x))

        return jax.vmap(one)(self.thetas)


@partial(jax.tree_util.register_dataclass)
@dataclass(frozen=True)
class MixedClassDraws:
    """Draws of several kinds of trees for classes; all draws count the same."""

    parts: tuple[ClassDraws, ...]

    @property
    def n_draws(self) -> int:
        """Number of draws of all parts."""
        return sum(part.n_draws for part in self.parts)

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return self.parts[0].n_classes

    @property
    def n_components(self) -> int:
        """Logits that a draw of the largest part computes for each row."""
        return max(part.n_components for part in self.parts)

    def log_probs(self, x: Float[Array, "n d"]) -> Float[Array, "draws classes n"]:
        """Log probabilities of the classes under each draw."""
        return jnp.concatenate([part.log_probs(x) for part in self.parts])


#: Draws of one kind of trees, or of several.
AnyClassDraws = ClassDraws | MixedClassDraws
