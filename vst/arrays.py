"""Arrays shared by NumPy and JAX, and the rows that each of several models uses."""

import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, Protocol

import jax
import numpy as np
from jaxtyping import Float, Int

#: The type of arguments that can be a NumPy or a JAX array.
AnyArray = jax.Array | np.ndarray

#: Rows per block: large tables, possibly memory-mapped, are read in blocks and never copied whole.
BLOCK_ROWS = 2**14

#: Row numbers per row with which weights are told apart, as long as the list has at most so many row
#: numbers, from which minibatches are drawn fast; and what large tables get.
COPIES, MOST_COPIES = 16, 2**19
FEW_COPIES, MOST_FEW_COPIES = 4, 2**22

#: Alignment, in bytes, of arrays that JAX takes from NumPy without a copy.
ALIGNMENT = 64


class Inputs(Protocol):
    """A prepared table: an array, or an object that returns some of its rows as an array."""

    @property
    def dtype(self) -> Any:
        """Its precision."""

    def __len__(self) -> int: ...

    def __getitem__(self, rows: Any, /) -> Any: ...


def row_blocks(x: Inputs) -> Iterator[Any]:
    """Views of consecutive blocks of a table's rows."""
    return (x[start : start + BLOCK_ROWS] for start in range(0, len(x), BLOCK_ROWS))


def empty_aligned(shape: tuple[int, ...], dtype: Any = np.float32) -> np.ndarray:
    """An uninitialised array that JAX can use without a copy.

    Examples
    --------
    >>> empty_aligned((3, 5)).ctypes.data % ALIGNMENT
    0
    """
    size, width = math.prod(shape), np.dtype(dtype).itemsize
    room: np.ndarray = np.empty(size + ALIGNMENT // width, dtype)
    start = -room.ctypes.data % ALIGNMENT // width
    return room[start : start + size].reshape(shape)


#: Tables are padded to at least this many rows, or numbers if they are wide: compiling takes longer.
LEAST_ROWS, LEAST_NUMBERS = 2**14, 2**20


def row_class(n: int, d: int, batch_size: int = 0) -> int:
    """The number of rows that a training program is compiled for, and ``n`` rows are padded to.

    If all rows fit in a batch of ``batch_size``, it is that.

    Examples
    --------
    >>> row_class(400, 13), row_class(20_000, 13), row_class(400, 500), row_class(100, 13, 128)
    (16384, 32768, 2048, 128)
    """
    if n <= batch_size:
        return batch_size
    least = min(LEAST_ROWS, max(LEAST_NUMBERS // max(d, 1), 1))
    return 1 << (max(n, least) - 1).bit_length() if n > least else 1 << (least.bit_length() - 1)


def pad(values: AnyArray, size: int, axis: int = 0) -> AnyArray:
    """Values with zeros appended along an axis, up to this size."""
    missing = size - values.shape[axis]
    if missing <= 0:
        return values
    shape = list(values.shape)
    shape[axis] = size
    padded = empty_aligned(tuple(shape), values.dtype)
    before, after = [slice(None)] * values.ndim, [slice(None)] * values.ndim
    before[axis], after[axis] = slice(0, values.shape[axis]), slice(values.shape[axis], None)
    padded[tuple(before)], padded[tuple(after)] = values, 0
    return padded


class Rows(NamedTuple):
    """Sets of row numbers padded to one length, so that all sets share one compiled program.

    The padding repeats rows of the same set, so that a program never sees rows of another set.
    """

    indices: Int[AnyArray, "sets m"]  #: row numbers, padded to a common length
    counts: Int[AnyArray, " sets"]  #: number of rows before the padding
    totals: Float[AnyArray, " sets"] | None = (
        None  #: sum of the rows' weights, if it is not the count
    )

    @classmethod
    def all(cls, n: int, sets: int = 1) -> "Rows":
        """Every set holds all ``n`` rows."""
        index = np.broadcast_to(np.arange(n, dtype=np.int32), (sets, n))
        return cls(index, np.full(sets, n, np.int32))

    @classmethod
    def of(
        cls,
        subsets: Sequence[Int[np.ndarray, " _"]],
        weights: Float[np.ndarray, " n"] | None = None,
    ) -> "Rows":
        """One set per array of row numbers; a row is there as often as its weight demands."""
        if weights is not None:
            totals = np.array([weights[subset].sum() for subset in subsets], np.float32)
            repeated = [np.repeat(subset, copies(weights[subset])) for subset in subsets]
            return cls.of(repeated)._replace(totals=totals)
        longest = max(map(len, subsets))
        index = np.stack([np.resize(subset, longest) for subset in subsets]).astype(np.int32)
        return cls(index, np.array([len(subset) for subset in subsets], np.int32))

    def repeat(self, times: int) -> "Rows":
        """Repeat every set ``times`` times in a row; a single set is not copied."""
        if len(self.counts) == 1:
            index = np.broadcast_to(self.indices, (times, self.indices.shape[1]))
        else:
            index = np.repeat(self.indices, times, axis=0)
        totals = None if self.totals is None else np.repeat(self.totals, times)
        return Rows(index, np.repeat(self.counts, times), totals)

    @property
    def sizes(self) -> Float[AnyArray, " sets"] | Int[AnyArray, " sets"]:
        """How many rows each set counts as: the sum of their weights."""
        return self.counts if self.totals is None else self.totals

    def rows(self, i: int) -> Int[AnyArray, " _"]:
        """Row numbers of set ``i``, without the padding."""
        return self.indices[i, : self.counts[i]]


def copies(weights: Float[np.ndarray, " n"]) -> Int[np.ndarray, " n"]:
    """How often each row is listed so that drawing from the list is drawing by weight.

    Small whole weights are exact. Others are rounded up or down to the nearest share of a longer
    list, so that the errors of neighbours cancel.

    Examples
    --------
    >>> copies(np.array([1.0, 2.0, 1.0])), copies(np.array([0.5, 0.1]))
    (array([1, 2, 1]), array([27,  5]))
    """
    n, total = len(weights), float(weights.sum())
    if total <= COPIES * n and (weights == np.round(weights)).all():
        return weights.astype(int)
    size = max(min(COPIES * n, MOST_COPIES), min(FEW_COPIES * n, MOST_FEW_COPIES), n)
    return np.diff(np.round(np.cumsum(weights) / total * size), prepend=0).astype(int)
