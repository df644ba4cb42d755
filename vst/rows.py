"""Which rows of shared data each of several models uses, as arrays of one fixed shape."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Int

from vst.arrays import AnyArray


class Rows(NamedTuple):
    """Sets of row numbers padded to one length, so that all sets share one compiled program.

    The padding repeats rows of the same set: a program that looks at it sees no foreign row.
    """

    indices: Int[AnyArray, "sets m"]  #: row numbers, padded to a common length
    counts: Int[AnyArray, " sets"]  #: how many of them count

    @classmethod
    def all(cls, n: int, sets: int = 1) -> "Rows":
        """Every set holds all ``n`` rows."""
        index = np.broadcast_to(np.arange(n, dtype=np.int32), (sets, n))
        return cls(index, np.full(sets, n, np.int32))

    @classmethod
    def of(cls, subsets: Sequence[Int[np.ndarray, " _"]]) -> "Rows":
        """One set per array of row numbers."""
        longest = max(map(len, subsets))
        index = np.stack([np.resize(subset, longest) for subset in subsets]).astype(np.int32)
        return cls(index, np.array([len(subset) for subset in subsets], np.int32))

    def rows(self, i: int) -> Int[AnyArray, " _"]:
        """Row numbers of set ``i``, without the padding."""
        return self.indices[i, : self.counts[i]]
