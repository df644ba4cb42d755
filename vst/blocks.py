"""Predictions in blocks of rows: a fixed size, so that all share one program, and bounded memory."""

import math
from collections.abc import Callable
from typing import Protocol

import jax
import numpy as np

from vst.arrays import AnyArray, Inputs
from vst.memory import require_result
from vst.runtime import require_own_process

#: Mixture components evaluated at a time, which bounds the memory of a prediction. At 2 MB per array
#: they fit into a processor's cache; eight times as many take more than twice as long.
BLOCK_COMPONENTS = 2**19

#: Small tables are padded to this many rows, so that they all share one compiled program.
SMALLEST_BLOCK = 256

#: Blocks queued or running on the devices while the next is prepared.
AHEAD = 16


class Evaluated(Protocol):
    """Posterior draws, of which it is known how much memory they take."""

    @property
    def n_draws(self) -> int:
        """Number of draws."""

    @property
    def n_components(self) -> int:
        """Leaves that a draw evaluates per row, which determines the memory of a prediction."""


def map_rows(
    function: Callable,
    draws: Evaluated,
    x: Inputs,
    *columns: AnyArray,
    at_once: int | None = None,
) -> np.ndarray:
    """Evaluate ``function(draws, x, *columns)`` in blocks of rows of a fixed size, in float64.

    ``at_once`` is the number of draws that the function evaluates per row, by default all; it
    determines the number of rows in a block.
    """
    require_own_process()
    n, at_once = len(x), at_once or draws.n_draws
    most = _power_of_two_below(BLOCK_COMPONENTS // (at_once * draws.n_components))
    size = min(most, max(SMALLEST_BLOCK, _power_of_two_below(2 * n - 1)))
    # The devices take blocks in turn and work in parallel. At most AHEAD blocks are queued: the inputs
    # of all of them would fill the memory.
    devices = jax.local_devices()[: -(-n // size)]
    copies = [jax.device_put(draws, device) for device in devices]
    blocks: list[AnyArray] = []
    for i, start in enumerate(range(0, n, size)):
        # The last block is padded with the last row, so that all blocks have the same size.
        rows = np.minimum(np.arange(start, start + size), n - 1)
        device = i % len(devices)
        block = jax.device_put(tuple(a[rows] for a in (x, *columns)), devices[device])
        blocks.append(function(copies[device], *block))
        if i == 0:
            require_result(math.prod(blocks[0].shape[:-1]), n, width=blocks[0].dtype.itemsize)
        if i >= AHEAD:
            blocks[i - AHEAD] = np.asarray(blocks[i - AHEAD])
    values = np.concatenate([np.asarray(block) for block in blocks], axis=-1)
    return values[..., :n].astype(float)


def _power_of_two_below(n: int) -> int:
    return 1 << (max(n, 1).bit_length() - 1)
