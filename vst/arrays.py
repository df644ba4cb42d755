"""Arrays between NumPy and JAX."""

import math
from collections.abc import Iterator
from typing import Any, Protocol

import jax
import numpy as np

#: What functions take where arrays of NumPy and JAX will both do.
AnyArray = jax.Array | np.ndarray

#: Rows looked at together: large tables, possibly memory-mapped, are read in blocks of this many and
#: never copied as a whole.
BLOCK_ROWS = 2**14

#: Alignment, in bytes, of arrays that JAX takes from NumPy without a copy.
ALIGNMENT = 64


class Inputs(Protocol):
    """A prepared table: an array, or what gives arrays of some of its rows."""

    @property
    def dtype(self) -> Any:
        """Its precision."""

    def __len__(self) -> int: ...

    def __getitem__(self, rows: Any, /) -> Any: ...


def row_blocks(x: Inputs) -> Iterator[Any]:
    """Views of a table, a block of rows after the other."""
    return (x[start : start + BLOCK_ROWS] for start in range(0, len(x), BLOCK_ROWS))


def empty_aligned(shape: tuple[int, ...], dtype: type = np.float32) -> np.ndarray:
    """An uninitialised array that JAX can use as it is.

    Examples
    --------
    >>> empty_aligned((3, 5)).ctypes.data % ALIGNMENT
    0
    """
    size, width = math.prod(shape), np.dtype(dtype).itemsize
    room: np.ndarray = np.empty(size + ALIGNMENT // width, dtype)
    start = -room.ctypes.data % ALIGNMENT // width
    return room[start : start + size].reshape(shape)
