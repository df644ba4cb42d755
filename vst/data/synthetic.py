"""Small made-up data sets for pictures, each with the function it was made from."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float


class Curve(NamedTuple):
    """Noisy observations of a function of one variable, and the function itself on a wider grid."""

    x: Float[np.ndarray, "n 1"]
    y: Float[np.ndarray, " n"]
    grid: Float[np.ndarray, "m 1"]
    truth: Float[np.ndarray, " m"]


def bent_line(n: int = 120, noise: float = 0.1, seed: int = 0) -> Curve:
    """A line with two bends, whose noise grows to the right: three straight pieces, one per leaf."""
    rng = np.random.default_rng(seed)
    x = np.sort(rng.uniform(-2, 2, n))
    y = _bends(x) + noise * (1.5 + 0.5 * x) * rng.normal(size=n)
    grid = np.linspace(-3.5, 3.5, 281)
    return Curve(x[:, None], y, grid[:, None], _bends(grid))


def _bends(x: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
    return np.abs(x + 0.8) - 1.5 * np.maximum(x - 0.5, 0)
