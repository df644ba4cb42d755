"""Variational inference for soft trees: the ELBO and the training loop.

A *replica* is one posterior being fitted: a fold, a seed, a member of a mixture, a hyperparameter
setting. All replicas of a call share one copy of the inputs, train in one vectorised program, and are
split over the host's devices. A new :class:`Program` compiles again; learning rate, prior scale,
beta, KL weight, rows and number of steps are traced values.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from itertools import repeat
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from jaxtyping import Array, Float, Int, PRNGKeyArray
from tqdm import tqdm

from vst.arrays import AnyArray, Inputs, Rows
from vst.memory import require_depth, require_training
from vst.minibatches import (
    CHUNK,
    NOISE_BLOCK,
    block_keys,
    draw_minibatches,
    fetch,
    padding_weights,
)
from vst.posterior import LowRankGaussian
from vst.runtime import require_own_process
from vst.tree import SoftTree, TreeShape

#: Training starts from small random weights with little uncertainty: gates are soft and leaves are
#: similar. Wider starts (1 and 2 for the weights were tried) end in poorer optima.
INITIAL_MEAN = 0.3
INITIAL_SCALE = 0.01

#: By default XLA uses half of a processor's widest vectors. Using all saves 7 % of a training step.
WIDE_VECTORS = {"xla_cpu_prefer_vector_width": "512"}

#: Usual ranges of the settings. A setting outside its range is the likely cause of a divergence.
USUAL = {
    "learning_rate": (1e-5, 0.1),
    "prior_scale": (0.01, 100.0),
    "beta": (0.01, 100.0),
    "kl_weight": (0.0, 10.0),
}

EACH, SHARED = PartitionSpec("replica"), PartitionSpec()


@dataclass(frozen=True)
class Program:
    """The static part of a training run: one compilation per value (and per data shape).

    Parameters
    ----------
    shape
        The tree.
    rank
        Rank ``k`` of the posterior's covariance, from 0 to the number of parameters.
    batch_size
        Rows in a minibatch. If the data have no more rows than this, every step uses all of them.
    mc_samples
        Posterior draws in each estimate of the expected log-likelihood.
    """

    shape: TreeShape
    rank: int = 5
    batch_size: int = 128
    mc_samples: int = 1

    def __post_init__(self) -> None:
        require_depth(self.shape.depth)
        p = self.shape.n_params
        if not 0 <= self.rank <= p:
            raise ValueError(
                f"rank must lie between 0 and {p}, this tree's number of parameters, got {self.rank}"
            )
        if self.batch_size < 1 or self.mc_samples < 1:
            raise ValueError(
                f"batch_size and mc_samples must be integers >= 1, "
                f"got {self.batch_size} and {self.mc_samples}"
            )


class Hyperparameters(NamedTuple):
    """The traced part of a training run: each field is one number, or one per replica."""

    learning_rate: float | Float[Array, "*replicas"] = 1e-3
    prior_scale: float | Float[Array, "*replicas"] = 1.0
    beta: float | Float[Array, "*replicas"] = 5.0
    kl_weight: float | Float[Array, "*replicas"] = 1.0


class Fit(NamedTuple):
    """The outcome of a training run."""

    posteriors: LowRankGaussian  #: stacked: every field has a leading replica axis
    elbo: Float[np.ndarray, "replicas steps"]  #: ELBO estimate at each step, in nats per row
    hyper: Hyperparameters = Hyperparameters()  #: as given


def elbo(
    noise: Float[Array, "draws p+k"],
    posterior: LowRankGaussian,
    shape: TreeShape,
    hyper: Hyperparameters,
    x: Float[Array, "b d"],
    y: Float[Array, " b"],
    n: int | Int[Array, ""],
    weights: Float[Array, " b"] | None = None,
) -> Float[Array, ""]:
    """Estimate the evidence lower bound of ``n`` rows from a minibatch of them.

    The expected log-likelihood is a reparameterised Monte Carlo estimate, scaled by ``n / b``, over
    draws made from standard normal ``noise``. The KL term, weighted by ``kl_weight``, is exact. Rows
    of the batch whose ``weights`` are 0 are left out.
    """

    def log_likelihood(theta: Float[Array, " p"]) -> Float[Array, ""]:
        rows = SoftTree(shape, theta, hyper.beta).log_likelihood(x, y)
        return jnp.mean(rows) if weights is None else jnp.sum(weights * rows) / jnp.sum(weights)

    expected = jnp.mean(jax.vmap(log_likelihood)(posterior.transform(noise)))
    return n * expected - hyper.kl_weight * posterior.kl(hyper.prior_scale)


def fit(
    key: PRNGKeyArray,
    program: Program,
    hyper: Hyperparameters,
    x: Inputs,
    y: Float[AnyArray, "*replicas n"],
    rows: Rows,
    *,
    steps: int,
    initial: LowRankGaussian | None = None,
    progress: str | None = None,
) -> Fit:
    """Maximise the ELBO of every replica by Adam on minibatches drawn with replacement.

    The learning rate is constant for the first half of the steps and then falls linearly to zero:
    the noise of draws and minibatches keeps the posterior moving until the steps are small.

    Parameters
    ----------
    key
        One random key, which is split over the replicas; or one key per replica, so that a replica's
        fit does not depend on the other replicas.
    program, hyper
        Static and traced settings.
    x
        Inputs, shared by all replicas: an array, or a table whose minibatches are fetched while the
        devices work on the previous ones. The result is the same.
    y
        Targets: shared, or one row of them per replica.
    rows
        Training rows of each replica.
    steps
        Gradient steps.
    initial
        Stacked posteriors for a warm start; random by default.
    progress
        Label of a progress bar; none by default.

    Returns
    -------
    Fit
        A replica that diverges has non-finite values here and does not affect the others.
    """
    require_own_process()
    replicas, dtype = len(rows.counts), jnp.result_type(x.dtype)
    require_training(
        program.shape,
        rank=program.rank,
        batch_size=program.batch_size,
        mc_samples=program.mc_samples,
        replicas=replicas,
        rows=rows.indices.shape[1],
        steps=steps,
        width=dtype.itemsize,
        fetched=not isinstance(x, AnyArray),
    )
    n_devices = min(replicas, jax.local_device_count())
    mesh = Mesh(np.array(jax.local_devices()[:n_devices]), ("replica",))
    # Every device gets the same number of replicas: the last replica is repeated as padding.
    full = -(-replicas // n_devices) * n_devices
    fill = np.minimum(np.arange(full), replicas - 1)

    def each(value: AnyArray) -> Array:
        return jax.device_put(value if full == replicas else value[fill], NamedSharding(mesh, EACH))

    def shared(value: AnyArray) -> Array:
        return jax.device_put(value, NamedSharding(mesh, SHARED))

    init_keys, train_keys = _split_keys(key if key.ndim else jax.random.split(key, replicas))
    if initial is None:
        initial = initialise(init_keys, program, dtype)
    state = jax.tree.map(each, start_state(initial))
    keys = each(train_keys)
    given = hyper
    with np.errstate(over="ignore"):  # a value that overflows diverges, and the error gives advice
        hyper = jax.tree.map(lambda a: each(np.broadcast_to(np.asarray(a, dtype), replicas)), hyper)
    rows = jax.tree.map(each, rows)

    if isinstance(x, AnyArray):
        # JAX does not copy inputs that come straight from NumPy, not even for a second CPU device.
        y = jnp.asarray(y, dtype)
        data = shared(x), each(y) if y.ndim == 2 else shared(y)
        chunks: Iterator[tuple[Array, Array]] = repeat(data)
    else:
        targets = np.broadcast_to(np.asarray(y, dtype), (replicas, len(x)))
        fetched = fetch(x, targets, keys, rows, program.batch_size, steps)
        chunks = (jax.tree.map(each, chunk) for chunk in fetched)
        # Then one program serves any number of rows larger than a minibatch.
        rows = rows._replace(indices=rows.indices[:, : program.batch_size + 1])

    trace = np.empty((replicas, steps))
    with tqdm(total=steps, desc=progress, disable=progress is None, unit="step") as bar:
        data = next(chunks)
        for start in range(0, steps, CHUNK):
            stop = min(start + CHUNK, steps)
            state, values = _train(
                state, keys, start, stop, steps, *data, rows, hyper, program=program, mesh=mesh
            )
            # Fetch the next chunk while the devices work on this one.
            data = next(chunks, data)
            trace[:, start:stop] = np.asarray(values)[:replicas, : stop - start]
            bar.update(stop - start)
            bar.set_postfix_str(f"ELBO {trace[:, start:stop].mean():.3f} nats/row", refresh=False)
            if not np.isfinite(trace[:, stop - 1]).any():
                trace[:, stop:] = np.nan
                break
    return Fit(_posteriors(state.variational, replicas), trace, given)


def require_convergence(result: Fit, learning_rate: float | None = None) -> None:
    """Raise FloatingPointError, with advice, if a replica's ELBO or posterior is not finite.

    The result holds its settings; ``learning_rate`` is ignored and kept for older callers.
    """
    finite = np.isfinite(result.elbo)
    # A step's ELBO is computed before its update, so only the posterior shows the last update.
    whole = [
        np.isfinite(np.asarray(part)).reshape(len(finite), -1).all(axis=1)
        for part in result.posteriors
    ]
    converged = finite.all(axis=1) & np.all(whole, axis=0)
    if not converged.all():
        steps = np.where(finite.all(axis=1), finite.shape[1], np.argmin(finite, axis=1))
        replica = int(np.argmin(np.where(converged, finite.shape[1] + 1, steps)))
        values = {
            name: float(np.broadcast_to(value, len(finite))[replica])
            for name, value in result.hyper._asdict().items()
        }
        raise FloatingPointError(
            f"training diverged: the ELBO became non-finite at step {steps[replica]}. "
            f"{_advice(values)}"
        )


def _advice(hyper: dict[str, float]) -> str:
    """What to change after a divergence: settings outside their range, else the common causes."""
    unusual = []
    for name, (least, most) in USUAL.items():
        if not least <= hyper[name] <= most:
            do, side = ("Raise", "below") if hyper[name] < least else ("Lower", "above")
            unusual.append(
                f"{do} {name}: {hyper[name]:g} is {side} the usual {least:g} to {most:g}"
            )
    if unusual:
        return ". ".join(unusual)
    rate = hyper["learning_rate"]
    return f"Lower learning_rate (now {rate:g}), beta or prior_scale, or raise mc_samples"


@jax.jit
def _split_keys(keys: PRNGKeyArray) -> tuple[PRNGKeyArray, PRNGKeyArray]:
    """Two new keys from each key."""
    return jax.vmap(lambda key: tuple(jax.random.split(key)))(keys)


@partial(jax.jit, static_argnames=("program", "dtype"))
@partial(jax.vmap, in_axes=(0, None, None))
def initialise(key: PRNGKeyArray, program: Program, dtype: np.dtype) -> LowRankGaussian:
    """A narrow posterior around random weights, which let leaves and gates specialise."""
    p, d = program.shape.n_params, program.shape.in_features
    mean_key, factor_key = jax.random.split(key)
    mean_scale = INITIAL_MEAN / math.sqrt(d + 1)
    column_scale = INITIAL_SCALE / math.sqrt(max(program.rank, 1))
    return LowRankGaussian(
        mean=mean_scale * jax.random.normal(mean_key, (p,), dtype),
        scale=jnp.full((p,), INITIAL_SCALE, dtype),
        factor=column_scale * jax.random.normal(factor_key, (p, program.rank), dtype),
    )


class State(NamedTuple):
    """The state of training.

    Mean, log scale and factor columns are the rows of one array, which Adam updates at once.
    """

    variational: Float[Array, "2+k p"]
    optimiser: optax.OptState


@jax.jit
@jax.vmap
def start_state(posterior: LowRankGaussian) -> State:
    """The initial training state for each of these posteriors."""
    variational = jnp.vstack([posterior.mean, jnp.log(posterior.scale), posterior.factor.T])
    return State(variational, optax.scale_by_adam().init(variational))


def posterior_of(variational: Float[Array, "2+k p"]) -> LowRankGaussian:
    """The posterior that a state's variational parameters describe."""
    # The gradient of a split concatenates; the gradient of slices adds padded arrays, which is slow.
    mean, log_scale, columns = jnp.split(variational, [1, 2])
    return LowRankGaussian(mean[0], jnp.exp(log_scale[0]), columns.T)


@partial(jax.jit, static_argnames="replicas")
def _posteriors(variational: Float[Array, "filled 2+k p"], replicas: int) -> LowRankGaussian:
    """The posteriors of the replicas, without the padding."""
    return jax.vmap(posterior_of)(variational[:replicas])


def train_replicas(
    state: State,
    keys: PRNGKeyArray,
    start: int,
    stop: int,
    total: int,
    x: Float[Array, "n d"] | Float[Array, "replicas chunk b d"],
    y: Float[Array, "*replicas n"] | Float[Array, "replicas chunk b"],
    rows: Rows,
    hyper: Hyperparameters,
    *,
    program: Program,
    mesh: Mesh,
) -> tuple[State, Float[Array, "replicas chunk"]]:
    """Run steps ``start`` to ``stop`` of ``total``, at most ``CHUNK``, of all replicas."""
    x_axis, x_spec = (0, EACH) if x.ndim == 4 else (None, SHARED)
    y_axis, y_spec = (0, EACH) if y.ndim >= 2 else (None, SHARED)
    return jax.shard_map(
        jax.vmap(
            partial(train_replica, program), in_axes=(0, 0, None, None, None, x_axis, y_axis, 0, 0)
        ),
        mesh=mesh,
        in_specs=(EACH, EACH, SHARED, SHARED, SHARED, x_spec, y_spec, EACH, EACH),
        out_specs=EACH,
        check_vma=False,
    )(state, keys, start, stop, total, x, y, rows, hyper)


def _train(*arguments: Any, mesh: Mesh, **options: Any) -> Any:
    """:func:`train_replicas`, compiled for its devices."""
    return _compiled(mesh.devices.flat[0].platform)(*arguments, mesh=mesh, **options)


@cache
def _compiled(platform: str) -> Callable[..., tuple[State, Float[Array, "replicas chunk"]]]:
    """The training program for one kind of device."""
    return jax.jit(
        train_replicas,
        static_argnames=("program", "mesh"),
        donate_argnames="state",
        compiler_options=WIDE_VECTORS if platform == "cpu" else None,
    )


def train_replica(
    program: Program,
    state: State,
    key: PRNGKeyArray,
    start: int,
    stop: int,
    total: int,
    x: Float[Array, "n d"] | Float[Array, "chunk b d"],
    y: Float[Array, " n"] | Float[Array, "chunk b"],
    rows: Rows,
    hyper: Hyperparameters,
) -> tuple[State, Float[Array, " chunk"]]:
    """Run steps ``start`` to ``stop`` of ``total``, at most ``CHUNK``, of one replica.

    ``x`` and ``y`` hold all data, from which each step draws a minibatch of ``rows``; or, with one
    more axis, the minibatches from step ``start`` on.
    """
    optimiser = optax.scale_by_adam()
    n = jnp.asarray(rows.counts)
    noise_shape = (NOISE_BLOCK, program.mc_samples, program.shape.n_params + program.rank)

    def loss(variational: Array, noise: Array, x: Array, y: Array) -> Float[Array, ""]:
        posterior = posterior_of(variational)
        weights = padding_weights(rows, program.batch_size, x.dtype)
        return -elbo(noise, posterior, program.shape, hyper, x, y, n, weights) / n

    def block(j: int, carry: tuple[State, Array]) -> tuple[State, Array]:
        state, trace = carry
        batch_key, noise_key = block_keys(key, j)
        first = j * NOISE_BLOCK

        def step(state: State, given: tuple[Array, ...]) -> tuple[State, Array]:
            number, *batch = given
            value, gradient = jax.value_and_grad(loss)(state.variational, *batch)
            direction, optimiser_state = optimiser.update(gradient, state.optimiser)
            # The last block may run past the last step, where the rate is zero.
            slowed = jnp.clip(2.0 * (1.0 - number / total), 0.0, 1.0).astype(x.dtype)
            update = hyper.learning_rate * slowed * direction
            return State(state.variational - update, optimiser_state), -value

        if x.ndim == 3:
            batches = [jax.lax.dynamic_slice_in_dim(a, first - start, NOISE_BLOCK) for a in (x, y)]
        else:
            drawn = draw_minibatches(batch_key, rows, program.batch_size)
            batches = [x[drawn], y[drawn]]
        numbers = first + jnp.arange(NOISE_BLOCK)
        noise = jax.random.normal(noise_key, noise_shape, x.dtype)
        state, values = jax.lax.scan(step, state, (numbers, noise, *batches))
        return state, jax.lax.dynamic_update_slice(trace, values, (first - start,))

    trace = jnp.zeros(CHUNK, state.variational.dtype)
    blocks = start // NOISE_BLOCK, -(-stop // NOISE_BLOCK)
    return jax.lax.fori_loop(*blocks, block, (state, trace))
