"""Which features a fitted tree's gates use, and how many rows pass through them."""

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
from jaxtyping import Array, Float

from vst.classes import ClassShape
from vst.encoding import gap_name
from vst.estimators import VSGBMRegressor, VSTClassifier, VSTRegressor
from vst.joint import JointShape
from vst.preprocessing import Table, check_new_data
from vst.tree import SoftTree, TreeShape

Soft = VSTRegressor | VSGBMRegressor | VSTClassifier


class Gates(NamedTuple):
    """The gates and leaves of one tree at its posterior mean, both numbered breadth-first."""

    weights: Float[
        np.ndarray, "nodes d"
    ]  #: of standardised features; a positive weight sends right
    shares: Float[np.ndarray, " nodes"]  #: share of the rows that passes each gate
    leaf_shares: Float[np.ndarray, " leaves"]  #: share of the rows that ends in each leaf
    leaf_means: Float[
        np.ndarray, " leaves"
    ]  #: mean prediction there, in standardised units; or the number of the most probable class


def gates(model: Soft, X: Table) -> list[Gates]:
    """The gates of every tree of a fitted model: all members, and all trees of a VSGBM but its noise's.

    Parameters
    ----------
    model
        A fitted model. It turns its inputs to other axes; the weights here are those of the features.
    X
        The table whose rows are routed.
    """
    x = check_new_data(model, X, model.encoder_, model.standardiser_)[:]
    shape, means = _trees(model)
    thetas = means.reshape(-1, means.shape[-1])
    route = _route_classes if isinstance(shape, ClassShape) else _route
    leaf_shares, leaf_means = map(np.asarray, route(shape, thetas, model.beta_, x))
    return [
        Gates(_weights(model, shape, theta), node_shares(shape, shares), shares, averages)
        for theta, shares, averages in zip(
            thetas, leaf_shares.astype(float), leaf_means.astype(float), strict=True
        )
    ]


def _trees(model: Soft) -> tuple[TreeShape | ClassShape, Float[Array, "*trees p"]]:
    """The shape of a tree, and the posterior mean of each."""
    shape, means = model.shape_, model.stacked_posteriors_.mean
    if isinstance(shape, JointShape):
        return shape.tree, shape.split(means)[0]
    assert isinstance(shape, TreeShape | ClassShape)
    return shape, means


@partial(jax.jit, static_argnames="shape")
def _route(
    shape: TreeShape, thetas: Float[Array, "trees p"], beta: float, x: Float[Array, "n d"]
) -> tuple[Float[Array, "trees leaves"], Float[Array, "trees leaves"]]:
    """Share of the rows and mean prediction of every leaf, one tree at a time to save memory."""

    def of_tree(theta: Float[Array, " p"]) -> tuple[Array, Array]:
        leaf = SoftTree(shape, theta, beta)(x)
        routed = jnp.exp(leaf.log_probs)
        totals = jnp.maximum(routed.sum(axis=1), jnp.finfo(routed.dtype).tiny)
        return routed.mean(axis=1), (routed * leaf.means).sum(axis=1) / totals

    return jax.lax.map(of_tree, thetas)


@partial(jax.jit, static_argnames="shape")
def _route_classes(
    shape: ClassShape, thetas: Float[Array, "trees p"], beta: float, x: Float[Array, "n d"]
) -> tuple[Float[Array, "trees leaves"], Float[Array, "trees leaves"]]:
    """Share of the rows and most probable class of every leaf."""

    def of_tree(theta: Float[Array, " p"]) -> tuple[Array, Array]:
        routes, of_leaf = shape.leaf_classes(jnp.asarray(beta, x.dtype), theta, x)
        routed = jnp.exp(routes)
        probs = jnp.einsum("ln,lkn->lk", routed, jnp.exp(of_leaf))
        return routed.mean(axis=1), jnp.argmax(probs, axis=1)

    return jax.lax.map(of_tree, thetas)


def _weights(
    model: Soft, shape: TreeShape | ClassShape, theta: Float[Array, " p"]
) -> Float[np.ndarray, "nodes d"]:
    maps = np.asarray(theta, float)[: shape.n_nodes * (shape.in_features + 1)]
    weights = maps.reshape(shape.n_nodes, shape.in_features + 1)[:, :-1]
    rotation = model.standardiser_.rotation
    return weights if rotation is None else weights @ rotation.T


def node_shares(
    shape: TreeShape | ClassShape, leaf_shares: Float[np.ndarray, " leaves"]
) -> Float[np.ndarray, " nodes"]:
    """The share of every gate: the sum over the leaves below it.

    Examples
    --------
    >>> node_shares(TreeShape(1, 2), np.array([0.1, 0.2, 0.3, 0.4])).round(1)
    array([1. , 0.3, 0.7])
    """
    levels = [leaf_shares.reshape(2**level, -1).sum(axis=1) for level in range(shape.depth)]
    return np.concatenate(levels) if levels else np.empty(0)


def feature_use(model: Soft, X: Table) -> pd.Series:
    """How much the gates use each feature, as shares that sum to one, largest first.

    A feature's use is its absolute weight (standardised), averaged over all gates of all trees; each
    gate is weighted by the share of the rows that pass through it.
    """
    found = gates(model, X)
    use = np.mean([one.shares @ np.abs(one.weights) for one in found], axis=0)
    total = use.sum()
    names = feature_names(model)
    return pd.Series(use / total if total > 0 else use, names).sort_values(ascending=False)


def feature_names(model: Soft) -> list[str]:
    """Names of the encoded features and of the indicators of gaps.

    The features of a model fitted on an array have their numbers as names.
    """
    fitted = model.standardiser_
    names = (
        [str(i) for i in range(fitted.n_columns)]
        if model.encoder_ is None
        else model.encoder_.feature_names
    )
    return [*names, *(gap_name(names[i]) for i in fitted.gaps)]
