"""Means and variances of large, weighted tables with gaps, block by block."""

from collections.abc import Iterable
from itertools import repeat
from typing import Any

import numpy as np
from jaxtyping import Float

from vst.arrays import row_blocks


def location_and_scale(
    x: Float[np.ndarray, "n ..."],
    weights: Float[np.ndarray, " n"] | None = None,
) -> tuple[Float[np.ndarray, "..."], Float[np.ndarray, "..."]]:
    """Mean and standard deviation of each column without its gaps.

    A column that is constant up to rounding has scale 1.
    """
    # In units of the largest value, neither can overflow or underflow.
    extremes = [(np.fmin.reduce(block), np.fmax.reduce(block)) for block in row_blocks(x)]
    lows, highs = zip(*extremes, strict=True)
    least = np.fmin.reduce(lows).astype(float)
    most = np.fmax.reduce(highs).astype(float)
    unit = np.maximum(np.abs(least), np.abs(most))
    unit = np.where(unit > 0, unit, 1.0)
    constant = most / unit - least / unit <= 10 * np.finfo(float).eps
    share = mean((block / unit for block in row_blocks(x)), weights)
    variance = mean((np.square(block / unit - share) for block in row_blocks(x)), weights)
    centre = np.where(constant, np.where(np.isnan(x[0]), most, x[0]), share * unit)
    return centre, np.where(constant, 1.0, np.sqrt(variance) * unit)


def mean(
    blocks: Iterable[Float[np.ndarray, "m ..."]], weights: Float[np.ndarray, " n"] | None
) -> Float[np.ndarray, "..."]:
    """Mean over the rows of all blocks that have a value."""
    pairs = _weighted(blocks, weights)
    sums, counts = zip(*(_sum_and_count(*pair) for pair in pairs), strict=True)
    return np.sum(sums, axis=0) / np.sum(counts, axis=0)


def covariance(
    blocks: Iterable[Float[np.ndarray, "m d"]], weights: Float[np.ndarray, " n"] | None
) -> Float[np.ndarray, "d d"]:
    """Second moments of columns that have mean zero and no gaps."""
    parts = [
        (z.T @ _times(w, z), len(z) if w is None else w.sum())
        for z, w in _weighted(blocks, weights)
    ]
    products, totals = zip(*parts, strict=True)
    return np.sum(products, axis=0) / sum(totals)


def _weighted(
    blocks: Iterable[np.ndarray], weights: Float[np.ndarray, " n"] | None
) -> Iterable[tuple[np.ndarray, Float[np.ndarray, " m"] | None]]:
    """Blocks of rows with the weights of their rows."""
    return zip(blocks, repeat(None) if weights is None else row_blocks(weights), strict=False)


def _times(weights: Float[np.ndarray, " m"] | None, block: np.ndarray) -> np.ndarray:
    return block if weights is None else (weights * block.T).T


def _sum_and_count(
    block: Float[np.ndarray, "m ..."], weights: Float[np.ndarray, " m"] | None
) -> tuple[Float[np.ndarray, "..."], Any]:
    total = _times(weights, block).sum(axis=0)
    if not np.isnan(total).any():
        return total, np.full(total.shape, len(block) if weights is None else weights.sum())
    known = ~np.isnan(block)
    return np.nansum(_times(weights, block), axis=0), _times(weights, known).sum(axis=0)
