"""A deep ensemble (Lakshminarayanan et al., 2017): networks with different initial weights.

Each member predicts a mean and a scale for every row. Adam trains it on minibatches, with dropout and
a Gaussian prior on its weights. The members are one vmapped stack, trained in one compiled loop;
learning rate, dropout, prior, steps and number of rows are traced and need no new compilation.
"""

from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import nnx
from jaxtyping import Array, Float, Int, PRNGKeyArray

from vst.companion.peers.interface import NormalMixture, Normals, check_rows
from vst.companion.peers.ranges import Choices, Interval, Ranges, Whole

#: The paper's tuning ranges.
RANGES: Ranges = {
    "learning_rate": Interval(0.0001, 0.001, log=True),
    "n_layers": Whole(2, 5),
    "hidden_dim": Whole(10, 50),
    "dropout_rate": Interval(0.1, 0.4),
    "prior_scale": Interval(0.001, 2.5, log=True),
}

#: The paper does not say how long it trains, so the tuner chooses between a short and a long run.
OWN_RANGES: Ranges = {"steps": Choices((2000, 8000))}

#: Smallest scale that a network can predict, in units of the target's standard deviation.
SMALLEST_SCALE = 1e-3

#: Rows are padded to a multiple of this, so that folds of slightly different sizes share a program.
ROW_BLOCK = 256


class Network(nnx.Module):
    """A heteroskedastic multilayer perceptron: a mean and a scale for every row."""

    def __init__(self, in_features: int, hidden_dim: int, n_layers: int, *, rngs: nnx.Rngs):
        widths = [in_features] + [hidden_dim] * n_layers
        self.hidden = nnx.List([nnx.Linear(a, b, rngs=rngs) for a, b in pairwise(widths)])
        self.output = nnx.Linear(hidden_dim, 2, rngs=rngs)

    def __call__(
        self,
        x: Float[Array, "n d"],
        dropout: tuple[PRNGKeyArray, Float[Array, ""]] | None = None,
    ) -> tuple[Float[Array, " n"], Float[Array, " n"]]:
        """Mean and scale; with a key and a rate, drops hidden units at random."""
        for i, layer in enumerate(self.hidden):
            x = jax.nn.relu(layer(x))
            if dropout is not None:
                key, rate = dropout
                keep = jax.random.bernoulli(jax.random.fold_in(key, i), 1 - rate, x.shape)
                x = jnp.where(keep, x / (1 - rate), 0)
        mean, raw_scale = self.output(x).T
        return mean, SMALLEST_SCALE + jax.nn.softplus(raw_scale)


class Traced(NamedTuple):
    """Settings that need no new compilation."""

    learning_rate: Float[Array, ""]
    dropout_rate: Float[Array, ""]
    prior_scale: Float[Array, ""]
    steps: Int[Array, ""]
    n: Int[Array, ""]


@dataclass(frozen=True)
class DeepEnsemble:
    """Hyperparameters of the deep ensemble.

    Parameters
    ----------
    learning_rate
        Adam's step at the start; it falls to zero along a cosine.
    n_layers, hidden_dim
        Hidden layers, and units in each.
    dropout_rate
        Share of hidden units dropped in training; prediction uses all.
    prior_scale
        Standard deviation of the Gaussian prior on weights and biases.
    members
        Networks that start from different weights and see different minibatches.
    steps, batch_size
        Gradient steps, and rows in each.
    """

    learning_rate: float = 1e-3
    n_layers: int = 2
    hidden_dim: int = 50
    dropout_rate: float = 0.1
    prior_scale: float = 0.3
    members: int = 10
    steps: int = 8000
    batch_size: int = 64

    def fit(
        self,
        x: Float[np.ndarray, "n d"],
        y: Float[np.ndarray, " n"],
        *,
        seed: int = 0,
        threads: int = 1,
    ) -> "FittedDeepEnsemble":
        """Train all members in parallel. XLA runs a stack this small on one thread."""
        check_rows(x, y)
        n = len(x)
        padded = np.resize(np.arange(n), -(-n // ROW_BLOCK) * ROW_BLOCK)
        traced = Traced(
            jnp.float32(self.learning_rate),
            jnp.float32(self.dropout_rate),
            jnp.float32(self.prior_scale),
            jnp.int32(self.steps),
            jnp.int32(n),
        )
        networks = _train(
            jax.random.split(jax.random.key(seed), self.members),
            jnp.asarray(x, jnp.float32)[padded],
            jnp.asarray(y, jnp.float32)[padded],
            traced,
            hidden_dim=self.hidden_dim,
            n_layers=self.n_layers,
            batch_size=min(self.batch_size, n),
        )
        return FittedDeepEnsemble(networks, nnx.graphdef(self._network(x.shape[1])))

    def _network(self, in_features: int) -> Network:
        return Network(in_features, self.hidden_dim, self.n_layers, rngs=nnx.Rngs(0))


@dataclass(frozen=True, eq=False)
class FittedDeepEnsemble(NormalMixture):
    """An equal mixture of the members' Normals."""

    networks: nnx.State  #: weights, stacked over members
    graph: nnx.GraphDef

    def normals(self, x: Float[np.ndarray, "n d"]) -> Normals:
        """Mean and scale of each member."""
        means, scales = _predict(self.graph, self.networks, jnp.asarray(x, jnp.float32))
        return Normals(np.asarray(means, float), np.asarray(scales, float))


@partial(jax.jit, static_argnames="graph")
def _predict(
    graph: nnx.GraphDef, networks: nnx.State, x: Float[Array, "n d"]
) -> tuple[Float[Array, "members n"], Float[Array, "members n"]]:
    return jax.vmap(lambda weights: nnx.merge(graph, weights)(x))(networks)


@partial(jax.jit, static_argnames=("hidden_dim", "n_layers", "batch_size"))
def _train(
    keys: PRNGKeyArray,
    x: Float[Array, "rows d"],
    y: Float[Array, " rows"],
    traced: Traced,
    *,
    hidden_dim: int,
    n_layers: int,
    batch_size: int,
) -> nnx.State:
    """Train one network per key; only the first ``traced.n`` rows count, the others are padding."""
    optimiser = optax.scale_by_adam()

    def member(key: PRNGKeyArray) -> nnx.State:
        start_key, step_key = jax.random.split(key)
        rngs = nnx.Rngs(params=start_key)
        graph, weights = nnx.split(Network(x.shape[1], hidden_dim, n_layers, rngs=rngs))

        def loss(weights: nnx.State, batch: Int[Array, " b"], key: PRNGKeyArray) -> Array:
            mean, scale = nnx.merge(graph, weights)(x[batch], (key, traced.dropout_rate))
            error = 0.5 * ((y[batch] - mean) / scale) ** 2 + jnp.log(scale)
            squares = sum(jnp.sum(w**2) for w in jax.tree.leaves(weights))
            return jnp.mean(error) + 0.5 * squares / traced.prior_scale**2 / traced.n

        def step(i: int, carry: tuple[nnx.State, optax.OptState]) -> tuple:
            weights, state = carry
            batch_key, dropout_key = jax.random.split(jax.random.fold_in(step_key, i))
            batch = jax.random.randint(batch_key, (batch_size,), 0, traced.n)
            direction, state = optimiser.update(jax.grad(loss)(weights, batch, dropout_key), state)
            rate = traced.learning_rate * 0.5 * (1 + jnp.cos(jnp.pi * i / traced.steps))
            return jax.tree.map(lambda w, d: w - rate * d, weights, direction), state

        carry = weights, optimiser.init(weights)
        return jax.lax.fori_loop(0, traced.steps, step, carry)[0]

    return jax.vmap(member)(keys)
