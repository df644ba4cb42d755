"""Training and test rows: one fixed split, and folds of its training part.

Everything is an array of row numbers with a fixed shape, so that all folds of a data set share one
compiled program. The permutations come from NumPy's PCG64 generator with the given seed, which
draws the same numbers on every platform.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Int

from vst.arrays import Rows
from vst.errors import DataError

#: A fifth of the rows is for testing: the paper's 80/20 split.
TEST_SHARE = 5

#: Independent streams of random numbers for the split, the folds and the rows of an OOD partner.
SPLIT_STREAM, FOLD_STREAM, PARTNER_STREAM = 0, 1, 2


class Split(NamedTuple):
    """Row numbers of the training part and of the test part, in random order."""

    train: Int[np.ndarray, " n_train"]
    test: Int[np.ndarray, " n_test"]


class Folds(NamedTuple):
    """Cross-validation: the training rows and held-out rows of each fold."""

    train: Rows
    held_out: Rows


def split_rows(n: int, *, seed: int = 0) -> Split:
    """Split ``n`` rows into 80 % for training and 20 % (rounded up) for testing.

    Examples
    --------
    >>> split = split_rows(506)
    >>> len(split.train), len(split.test)
    (404, 102)
    """
    if n < 2:
        rows = "1 row" if n == 1 else f"{n} rows"
        raise DataError(
            f"a table of {rows} cannot be split into training and test rows: at least 2 are needed"
        )
    order = generator(seed, SPLIT_STREAM).permutation(n).astype(np.int32)
    n_test = -(-n // TEST_SHARE)
    return Split(train=order[n_test:], test=order[:n_test])


def rows_for(folds: int) -> int:
    """Number of rows that a table needs for this many folds of its training part.

    Examples
    --------
    >>> rows_for(10), len(split_rows(13).train), len(split_rows(12).train)
    (13, 10, 9)
    """
    return -(-folds * TEST_SHARE // (TEST_SHARE - 1))


def make_folds(n: int, folds: int = 10, *, seed: int = 0) -> Folds:
    """Split ``n`` training rows into folds whose sizes differ by at most one.

    Row numbers count within the training part: ``x_train[folds.train.rows(0)]``.

    Examples
    --------
    >>> folds = make_folds(404)
    >>> folds.train.indices.shape, folds.held_out.counts.tolist()
    ((10, 364), [41, 41, 41, 41, 40, 40, 40, 40, 40, 40])
    """
    if n < 2:
        raise DataError(f"folds need at least 2 training rows, got {n}")
    if not 2 <= folds <= n:
        raise DataError(f"{n} training rows cannot be split into {folds} folds: choose 2 to {n}")
    order = generator(seed, FOLD_STREAM).permutation(n).astype(np.int32)
    held_out = [np.sort(part) for part in np.array_split(order, folds)]
    train = [np.setdiff1d(order, part, assume_unique=True) for part in held_out]
    return Folds(Rows.of([np.sort(rows) for rows in train]), Rows.of(held_out))


def generator(seed: int, stream: int) -> np.random.Generator:
    """Random numbers for one purpose; the streams of a seed are independent."""
    return np.random.Generator(np.random.PCG64([seed, stream]))
