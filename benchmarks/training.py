"""Training speed on boston-sized data: 10 folds of 364 x 13, depth 4, linear leaves, rank 5, batch 128.

Everything is measured in one run, so that the ratios carry over to other machines. The baselines are a
plain Python loop over a jitted step, written directly from the paper's equations as one would without
this package (so with one draw of the parameters for all rows), and the step's bare matrix products in
the same compiled, vectorised and sharded loop.
"""

import math
from collections.abc import Callable
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax.sharding import Mesh, PartitionSpec

import vst
from benchmarks.measure import MICRO, Row, report, timings
from vst.arrays import Inputs, Rows, empty_aligned
from vst.bound import Hyperparameters
from vst.inference import EACH, Program, fit
from vst.posterior import LowRankGaussian
from vst.preprocessing import Standardised, Standardiser
from vst.tree import TreeShape

FOLDS, ROWS, FEATURES, BATCH, RANK, BETA = 10, 364, 13, 128, 5, 5.0
PROGRAM = Program(TreeShape(FEATURES, 4, "linear"), RANK, BATCH)
P = PROGRAM.shape.n_params
STEPS, PLAIN_STEPS = 1000, 200


def table(n: int, d: int = FEATURES) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    x = empty_aligned((n, d))  # as the package itself prepares its inputs
    x[:] = rng.normal(size=(n, d))
    return x, (np.abs(x[:, 0]) + 0.1 * rng.normal(size=n)).astype(np.float32)


def training(
    n: int = ROWS,
    replicas: int = FOLDS,
    program: Program = PROGRAM,
    *,
    steps: int = STEPS,
    progress: str | None = None,
    fetched: bool = False,
    weighted: bool = False,
) -> Callable[[], object]:
    """Run some steps of the package's own training loop, on an array or on fetched rows."""
    (x, y), rows = table(n, program.shape.in_features), Rows.all(n, replicas)
    if weighted:
        weights = np.random.default_rng(1).uniform(0.5, 2, n)
        rows = Rows.of([np.arange(n)] * replicas, weights)
    inputs: Inputs = Standardised(x, Standardiser.fit(x)) if fetched else x

    def run() -> LowRankGaussian:
        key = jax.random.key(0)
        result = fit(
            key, program, Hyperparameters(), inputs, y, rows, steps=steps, progress=progress
        )
        return result.posteriors

    return run


def plain_loop() -> Callable[[], object]:
    """Run PLAIN_STEPS steps written directly from the paper's equations: one fold, a Python loop."""
    x, y = map(jnp.asarray, table(ROWS))
    nodes, leaves, columns = PROGRAM.shape.n_nodes, PROGRAM.shape.n_leaves, PROGRAM.shape.n_affine
    optimiser = optax.adam(1e-3)
    paths = _paths(PROGRAM.shape.depth)

    def log_likelihood(theta: jax.Array, x: jax.Array, y: jax.Array) -> jax.Array:
        z = x @ theta.reshape(columns, FEATURES + 1)[:, :-1].T + theta.reshape(columns, -1)[:, -1]
        gates = BETA * z[:, :nodes]
        means = z[:, nodes : nodes + leaves]
        scales = jax.nn.softplus(z[:, nodes + leaves :])
        log_probs = sum(
            jax.nn.log_sigmoid(jnp.where(right, gates[:, node], -gates[:, node]))
            for node, right in paths
        )
        density = jax.scipy.stats.norm.logpdf(y[:, None], means, scales)
        return jax.nn.logsumexp(log_probs + density, axis=1)

    def loss(params: dict, key: jax.Array) -> jax.Array:
        batch_key, diagonal_key, factor_key = jax.random.split(key, 3)
        batch = jax.random.randint(batch_key, (BATCH,), 0, ROWS)
        scale, factor = jnp.exp(params["log_scale"]), params["factor"]
        theta = (
            params["mean"]
            + scale * jax.random.normal(diagonal_key, (P,))
            + factor @ jax.random.normal(factor_key, (RANK,))
        )
        delta = jnp.linalg.slogdet(jnp.eye(RANK) + factor.T @ (factor / scale[:, None] ** 2))[1]
        kl = 0.5 * (
            jnp.sum(scale**2 - 2 * jnp.log(scale))
            + jnp.sum(factor**2)
            - delta
            + jnp.sum(params["mean"] ** 2)
            - P
        )
        return kl / ROWS - log_likelihood(theta, x[batch], y[batch]).mean()

    @jax.jit
    def step(params: dict, state: optax.OptState, key: jax.Array) -> tuple:
        value, gradient = jax.value_and_grad(loss)(params, key)
        updates, state = optimiser.update(gradient, state)
        return optax.apply_updates(params, updates), state, value

    start = {
        "mean": jnp.zeros(P),
        "log_scale": jnp.full(P, -4.0),
        "factor": jnp.full((P, RANK), 0.01),
    }

    def run() -> dict:
        params, state, key = start, optimiser.init(start), jax.random.key(0)
        for _ in range(PLAIN_STEPS):
            key, step_key = jax.random.split(key)
            params, state, _ = step(params, state, step_key)
        return params

    return run


def _paths(depth: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """For each level, the node that every leaf's path visits and whether it goes right there."""
    leaf = np.arange(2**depth)
    ancestors = [(leaf + 2**depth) >> (depth - level) for level in range(depth)]
    return [
        (ancestor - 1, ((leaf >> (depth - level - 1)) & 1).astype(bool))
        for level, ancestor in enumerate(ancestors)
    ]


def bare_products(*, variances: bool) -> Callable[[], object]:
    """Run only the forward and backward matrix products of all folds, STEPS times.

    A step has them twice: for the means of the outputs and, with squared inputs, for their variances.
    """
    outputs = PROGRAM.shape.n_affine
    devices = jax.local_devices()[: math.gcd(FOLDS, jax.local_device_count())]
    mesh = Mesh(np.array(devices), ("replica",))
    rng = np.random.default_rng(0)
    x = jnp.asarray(rng.normal(size=(FOLDS, BATCH, FEATURES + 1)), jnp.float32)
    weights = jnp.asarray(rng.normal(size=(FOLDS, outputs, FEATURES + 1)), jnp.float32)

    @jax.jit
    @partial(
        jax.shard_map, mesh=mesh, in_specs=(EACH, EACH), out_specs=PartitionSpec("replica"),
        check_vma=False,
    )  # fmt: skip
    @jax.vmap
    def products(weights: jax.Array, x: jax.Array) -> jax.Array:
        def step(_: int, weights: jax.Array) -> jax.Array:
            means = (weights @ x.T) @ x
            if not variances:
                return weights + 1e-9 * means
            squares = x * x
            return weights + 1e-9 * (means + ((weights * weights) @ squares.T) @ squares)

        return jax.lax.fori_loop(0, STEPS, step, weights)

    return lambda: products(weights, x)


def main() -> None:
    vst.configure()
    runs = (
        training(),
        training(progress="with a progress bar"),
        training(weighted=True),
        plain_loop(),
        bare_products(variances=False),
        bare_products(variances=True),
    )
    steps = (STEPS * FOLDS, STEPS * FOLDS, STEPS * FOLDS, PLAIN_STEPS, STEPS * FOLDS, STEPS * FOLDS)
    ours, shown, weighted, loop, means, products = (
        MICRO * timing.seconds / count
        for timing, count in zip(timings(*runs, rounds=20), steps, strict=True)
    )
    report(
        "training",
        [
            Row("10 folds together", ours, "us per fold and step"),
            Row("plain Python loop, one fold", loop, "us per step"),
            Row("bare matrix products of means", means, "us per fold and step"),
            Row("bare matrix products of means and variances", products, "us per fold and step"),
            Row("faster than the plain loop", loop / ours, "x", ">=18"),
            Row("cost over bare products", ours / products, "x", "<=6"),
            Row("cost over bare products of means alone", ours / means, "x", "<=6"),
            Row("slower with a progress bar", shown / ours, "x", "<=1.1"),
            Row("slower with weights of the rows", weighted / ours, "x", "<=1.05"),
        ],
    )


if __name__ == "__main__":
    main()
