"""The minibatches of training. Drawn and fetched minibatches hold the same rows."""

from collections.abc import Iterator
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from vst.arrays import Inputs, Rows

#: Steps between two returns to Python: few enough for a progress bar, an interrupt or the detection
#: of a divergence, many enough that the return costs nothing.
CHUNK = 250

#: Steps whose random numbers are drawn together, and that share one linearised determinant; must divide
#: CHUNK. Drawing numbers at every step took a fifth of the training time.
NOISE_BLOCK = 25

#: Up to this many rows, the remainder of 32 random bits is uniform to one part in 4000 and needs half
#: as many bits as randint.
MAX_ROWS_FOR_REMAINDER = 2**20


def fetch(
    x: Inputs,
    y: Float[np.ndarray, "replicas n"],
    keys: PRNGKeyArray,
    rows: Rows,
    batch_size: int,
    steps: int,
) -> Iterator[
    tuple[Float[np.ndarray, "replicas chunk b d"], Float[np.ndarray, "replicas chunk b"]]
]:
    """Yield the minibatches that training would draw, one chunk of steps at a time."""
    drawn = row_numbers(keys, 0, rows, batch_size)
    for start in range(0, steps, CHUNK):
        numbers = np.asarray(drawn)[: len(y)]
        # Drawn one chunk ahead: queued behind a chunk of training, it would come too late.
        drawn = row_numbers(keys, start + CHUNK, rows, batch_size)
        inputs = x[numbers.ravel()].reshape(*numbers.shape, -1)
        yield inputs, y[np.arange(len(y))[:, None, None], numbers]


def block_keys(key: PRNGKeyArray, j: int | Int[Array, ""]) -> tuple[PRNGKeyArray, PRNGKeyArray]:
    """Keys for a block's minibatches and noise."""
    batch_key, noise_key = jax.random.split(jax.random.fold_in(key, j))
    return batch_key, noise_key


@partial(jax.jit, static_argnames="batch_size")
@partial(jax.vmap, in_axes=(0, None, 0, None))
def row_numbers(
    key: PRNGKeyArray, start: int, rows: Rows, batch_size: int
) -> Int[Array, "chunk b"]:
    """Row numbers of the minibatches of a chunk of training that begins at step ``start``."""

    def block(j: Int[Array, ""]) -> Int[Array, "block b"]:
        return draw_minibatches(block_keys(key, j)[0], rows, batch_size)

    blocks = start // NOISE_BLOCK + jnp.arange(CHUNK // NOISE_BLOCK)
    return jax.vmap(block)(blocks).reshape(CHUNK, -1)


def draw_minibatches(key: PRNGKeyArray, rows: Rows, batch_size: int) -> Int[Array, "block b"]:
    """Row numbers of the next minibatches; if all rows fit in one, each holds all rows."""
    m = rows.indices.shape[0]
    if m <= batch_size:
        return jnp.broadcast_to(rows.indices, (NOISE_BLOCK, m))
    shape = (NOISE_BLOCK, batch_size)
    if m > MAX_ROWS_FOR_REMAINDER:
        return rows.indices[jax.random.randint(key, shape, 0, rows.counts)]
    return rows.indices[jax.random.bits(key, shape) % rows.counts.astype(jnp.uint32)]


def draw_noise(
    key: PRNGKeyArray, draws: int, outputs: int, batch: int, dtype: np.dtype
) -> Float[Array, "block draws outputs b"]:
    """Standard normal numbers for the steps of a block: one for each draw, output and row.

    The numbers of a step are independent. Those of the steps are overlapping windows of one array, so
    that most numbers serve several steps, for different outputs and with other rows of the data. New
    numbers for every step would cost half as much as the rest of the training.
    """
    stride = max(outputs // (2 * NOISE_BLOCK), 1)
    numbers = outputs + (NOISE_BLOCK - 1) * stride
    noise = jax.random.normal(key, (draws, numbers, batch), dtype)
    return jnp.stack([noise[:, i * stride :][:, :outputs] for i in range(NOISE_BLOCK)])


def padding_weights(rows: Rows, batch_size: int, dtype: np.dtype) -> Float[Array, " b"] | None:
    """If every step uses all rows: 1 for a set's rows, 0 for padding."""
    m = rows.indices.shape[0]
    return (jnp.arange(m) < rows.counts).astype(dtype) if m <= batch_size else None
