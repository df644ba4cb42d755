"""Variational inference for soft trees: the training loop.

A *replica* is one posterior being fitted: a fold, a seed, a member of a mixture, a hyperparameter
setting. All replicas of a call share one copy of the inputs, train in one vectorised program, and are
split over the host's devices. A new :class:`Program` compiles again; learning rate, prior scale,
beta, KL weight, rows and number of steps are traced values. Tables and stacks of replicas are padded
to a few sizes, so that most calls find their program compiled.
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
from jaxtyping import Array, Float, PRNGKeyArray
from tqdm import tqdm

from vst.arrays import AnyArray, Inputs, Rows, pad, row_class
from vst.bound import (
    Hyperparameters,
    Noise,
    Shape,
    Tangent,
    objective,
    posterior_of,
    tangent,
    variational_of,
)
from vst.convergence import SLACK, Cooling, Fit, gain, may_stop
from vst.memory import require_depth, require_training
from vst.minibatches import (
    CHUNK,
    NOISE_BLOCK,
    block_keys,
    draw_minibatches,
    draw_noise,
    fetch,
    padding_weights,
)
from vst.posterior import LowRankGaussian
from vst.prior import Prior
from vst.runtime import require_own_process
from vst.tree import TreeShape

#: Training starts from small random weights with little uncertainty: gates are soft and leaves are
#: similar. Wider starts end in poorer optima: with scales of 0.1, most leaves never specialise.
INITIAL_MEAN = 0.3
INITIAL_SCALE = 0.01

#: The factor starts so small, in units of the scales, that every rank starts as mean field.
INITIAL_COLUMN = 0.01

#: By default XLA uses half of a processor's widest vectors. Using all saves 7 % of a training step.
WIDE_VECTORS = {"xla_cpu_prefer_vector_width": "512"}

#: Log scales stay above this; without a KL term they would fall until nothing is finite.
SMALLEST_LOG_SCALE = -20.0

#: With more columns, 25 steps can be too many for one linearised determinant: at 455 columns (song) the
#: bound of a fit fell by six nats on the way.
MOST_STEADY_COLUMNS, RENEWALS = 200, 5

EACH, SHARED = PartitionSpec("replica"), PartitionSpec()


@dataclass(frozen=True)
class Program:
    """The static part of a training run: one compilation per value (and per data shape).

    Parameters
    ----------
    shape
        The tree, or the ensemble that is trained as one.
    rank
        Rank ``k`` of the posterior's covariance, from 0 to the number of parameters.
    batch_size
        Rows in a minibatch. If the data have no more rows than this, every step uses all of them.
    mc_samples
        Posterior draws in each estimate of the expected log-likelihood.
    """

    shape: Shape
    rank: int = 5
    batch_size: int = 128
    mc_samples: int = 1

    @property
    def tree(self) -> TreeShape:
        """The shape, for programs of single trees."""
        assert isinstance(self.shape, TreeShape)
        return self.shape

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


def fit(
    key: PRNGKeyArray,
    program: Program,
    hyper: Hyperparameters,
    x: Inputs,
    y: Float[AnyArray, "*replicas n"],
    rows: Rows,
    *,
    steps: int,
    tol: float = 0.0,
    initial: LowRankGaussian | None = None,
    prior: Prior | None = None,
    progress: str | None = None,
) -> Fit:
    """Maximise the ELBO of every replica by Adam on minibatches drawn with replacement.

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
        Gradient steps, at most.
    tol
        A replica cools down and stops early once its bound's :func:`~vst.convergence.gain`, up or down,
        is smaller than this. With 0 it trains for all steps.
    initial
        Stacked posteriors for a warm start; random by default.
    prior
        Stacked priors, one per replica, instead of the one that ``hyper.prior_scale`` describes.
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
    full = stack_class(-(-replicas // n_devices)) * n_devices
    fill = np.minimum(np.arange(full), replicas - 1)

    def filled(values: Any) -> Any:
        return jax.tree.map(lambda value: value if full == replicas else value[fill], values)

    def each(values: Any) -> Any:
        return jax.device_put(filled(values), NamedSharding(mesh, EACH))

    def shared(value: AnyArray) -> Array:
        return jax.device_put(value, NamedSharding(mesh, SHARED))

    init_keys, train_keys = _split_keys(key if key.ndim else jax.random.split(key, replicas))
    if initial is None:
        initial = initialise(init_keys, program, dtype)
    given = hyper
    with np.errstate(over="ignore"):  # a value that overflows diverges, and the error gives advice
        hyper = jax.tree.map(lambda a: np.broadcast_to(np.asarray(a, dtype), replicas), hyper)
    rates = np.asarray(hyper.learning_rate)

    size = row_class(rows.indices.shape[1], program.shape.in_features, program.batch_size)
    if isinstance(x, AnyArray) or size == program.batch_size:
        rows = rows._replace(indices=pad(rows.indices, size, axis=1))
    # Fits with and without weights share one program.
    rows = rows._replace(totals=np.asarray(rows.sizes, dtype))
    # Small arrays stay where they are: a call of the program passes them on faster than a transfer.
    hyper, prior, rows = filled((hyper, prior, rows))
    state, keys, indices = each((start_state(initial), train_keys, rows.indices))
    rows = rows._replace(indices=indices)

    if isinstance(x, AnyArray):
        # JAX does not copy inputs that come straight from NumPy, not even for a second CPU device.
        y = jnp.asarray(pad(np.asarray(y, dtype), row_class(len(x), x.shape[1]), axis=-1))
        x = pad(x, y.shape[-1])
        data = shared(x), each(y) if y.ndim == 2 else shared(y)
        chunks: Iterator[tuple[Array, Array]] = repeat(data)
    else:
        targets = np.broadcast_to(np.asarray(y, dtype), (replicas, len(x)))
        fetched = fetch(x, targets, keys, rows, program.batch_size, steps)
        chunks = map(each, fetched)
        # Then one program serves any number of rows larger than a minibatch.
        rows = rows._replace(indices=rows.indices[:, : program.batch_size + 1])

    trace = np.empty((replicas, steps))
    cooling = Cooling.at_the_latest(replicas, steps)
    gains, converged = np.full(replicas, np.nan), np.zeros(replicas, bool)
    with tqdm(total=steps, desc=progress, disable=progress is None, unit="step") as bar:
        data = next(chunks)
        for start in range(0, steps, CHUNK):
            stop = min(start + CHUNK, int(cooling.end.max()))
            if stop <= start:
                break
            state, values = _train(
                state, keys, start, stop, filled(cooling), *data, rows, hyper,
                prior, program=program, mesh=mesh,
            )  # fmt: skip
            # Fetch the next chunk while the devices work on this one.
            data = next(chunks, data)
            trace[:, start:stop] = np.asarray(values)[:replicas, : stop - start]
            warm = stop <= cooling.start
            gains = np.where(warm | np.isnan(gains), gain(trace[:, :stop]), gains)
            # A bound that falls has not arrived either: with many features it can, for a while.
            flat = warm & (tol > 0) & (np.abs(gains) < tol) & may_stop(stop, rates)
            converged = np.abs(gains) < SLACK * tol
            cooling = cooling.begin(flat, stop)
            bar.total = int(cooling.end.max())
            bar.set_postfix_str(_status(trace[:, start:stop], gains, converged), refresh=False)
            bar.update(stop - start)
            if not np.isfinite(trace[:, stop - 1]).any():
                break
    posteriors = _posteriors(state.variational, replicas)
    return Fit(posteriors, trace[:, :stop], given, cooling.end, gains, converged)


def _status(trace: np.ndarray, gains: np.ndarray, converged: np.ndarray) -> str:
    """The bound, and how far from its limit it is, for the progress bar."""
    known = gains[np.isfinite(gains)]
    by = f" by {np.abs(known).max():.2g}" if len(known) else ""
    state = "converged" if converged.all() else f"changing{by}"
    return f"bound {trace.mean():.3f} nats/row, {state}"


def stack_class(replicas: int) -> int:
    """The number of replicas that a device's program is compiled for: at most an eighth is padding.

    Examples
    --------
    >>> [stack_class(n) for n in (1, 3, 5, 8, 9, 17, 50)]
    [1, 3, 5, 8, 10, 20, 56]
    """
    step = 1 << max(replicas.bit_length() - 3, 0)
    return -(-replicas // step) * step


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
    column_scale = INITIAL_SCALE * INITIAL_COLUMN
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
    variational = variational_of(posterior)
    return State(variational, optax.scale_by_adam().init(variational))


@partial(jax.jit, static_argnames="replicas")
def _posteriors(variational: Float[Array, "filled 2+k p"], replicas: int) -> LowRankGaussian:
    """The posteriors of the replicas, without the padding."""
    return jax.vmap(posterior_of)(variational[:replicas])


def renewals(rank: int) -> int:
    """How often the determinant is linearised anew in a block of steps."""
    return 1 if rank <= MOST_STEADY_COLUMNS else RENEWALS


def train_replicas(
    state: State,
    keys: PRNGKeyArray,
    start: int,
    stop: int,
    cooling: Cooling,
    x: Float[Array, "n d"] | Float[Array, "replicas chunk b d"],
    y: Float[Array, "*replicas n"] | Float[Array, "replicas chunk b"],
    rows: Rows,
    hyper: Hyperparameters,
    prior: Prior | None = None,
    *,
    program: Program,
    mesh: Mesh,
) -> tuple[State, Float[Array, "replicas chunk"]]:
    """Run steps ``start`` to ``stop``, at most ``CHUNK``, of all replicas."""
    x_axis, x_spec = (0, EACH) if x.ndim == 4 else (None, SHARED)
    y_axis, y_spec = (0, EACH) if y.ndim >= 2 else (None, SHARED)
    return jax.shard_map(
        jax.vmap(
            partial(train_replica, program), in_axes=(0, 0, None, None, 0, x_axis, y_axis, 0, 0, 0)
        ),
        mesh=mesh,
        in_specs=(EACH, EACH, SHARED, SHARED, EACH, x_spec, y_spec, EACH, EACH, EACH),
        out_specs=EACH,
        check_vma=False,
    )(state, keys, start, stop, cooling, x, y, rows, hyper, prior)


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
    cooling: Cooling,
    x: Float[Array, "n d"] | Float[Array, "chunk b d"],
    y: Float[Array, " n"] | Float[Array, "chunk b"],
    rows: Rows,
    hyper: Hyperparameters,
    prior: Prior | None = None,
) -> tuple[State, Float[Array, " chunk"]]:
    """Run steps ``start`` to ``stop``, at most ``CHUNK``, of one replica.

    ``x`` and ``y`` hold all data, from which each step draws a minibatch of ``rows``; or, with one
    more axis, the minibatches from step ``start`` on.
    """
    optimiser = optax.scale_by_adam()
    draws, outputs = program.mc_samples, program.shape.n_outputs
    weights = padding_weights(rows, program.batch_size, x.dtype)
    # All columns of a parameter's factor move its variance, so each moves less if there are more.
    pace = np.r_[1, 1, np.full(program.rank, 1 / math.sqrt(max(program.rank, 1)))]
    pace = jnp.asarray(pace, x.dtype)[:, None]
    least = np.r_[-np.inf, SMALLEST_LOG_SCALE, np.full(program.rank, -np.inf)]
    least = jnp.asarray(least, x.dtype)[:, None]

    def block(j: int, carry: tuple[State, Array]) -> tuple[State, Array]:
        state, trace = carry
        batch_key, noise_key = block_keys(key, j)
        first = j * NOISE_BLOCK

        def step(volume: Tangent, state: State, given: tuple[Any, ...]) -> tuple[State, Array]:
            number, noise, *batch = given
            value, gradient = jax.value_and_grad(objective)(
                state.variational, noise, volume, program.shape, hyper, *batch,
                jnp.asarray(rows.sizes), weights, prior,
            )  # fmt: skip
            direction, optimiser_state = optimiser.update(gradient, state.optimiser)
            # The last block may run past the last step, where the rate is zero.
            rate = hyper.learning_rate * cooling.rate(number).astype(x.dtype)
            variational = jnp.maximum(state.variational + rate * pace * direction, least)
            return State(variational, optimiser_state), value

        if x.ndim == 3:
            batches = [jax.lax.dynamic_slice_in_dim(a, first - start, NOISE_BLOCK) for a in (x, y)]
        else:
            drawn = draw_minibatches(batch_key, rows, program.batch_size)
            batches = [x[drawn], y[drawn]]
        numbers = first + jnp.arange(NOISE_BLOCK)
        outputs_key, columns_key = jax.random.split(noise_key)
        noise = Noise(
            draw_noise(outputs_key, draws, outputs, batches[0].shape[1], x.dtype),
            jax.random.normal(columns_key, (NOISE_BLOCK, draws, program.rank), x.dtype),
        )
        given = (numbers, noise, *batches)
        for part in np.split(np.arange(NOISE_BLOCK), renewals(program.rank)):
            steps = jax.tree.map(lambda a, part=part: a[part[0] : part[-1] + 1], given)
            volume = tangent(state.variational)
            state, values = jax.lax.scan(partial(step, volume), state, steps)
            trace = jax.lax.dynamic_update_slice(trace, values, (first - start + part[0],))
        return state, trace

    trace = jnp.zeros(CHUNK, state.variational.dtype)
    blocks = start // NOISE_BLOCK, -(-stop // NOISE_BLOCK)
    return jax.lax.fori_loop(*blocks, block, (state, trace))
