"""Small synthetic data sets for pictures, each with its true function."""

from collections.abc import Callable, Sequence
from functools import cache
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from vst.companion.protocol.wavelet import Wavelet, daubechies
from vst.errors import UserError

#: Standard deviation of the noise in the paper's four pictures.
NOISE = 0.1

#: A closed interval of the input.
Span = tuple[float, float]

Function = Callable[[Float[np.ndarray, " n"]], Float[np.ndarray, " n"]]


class Curve(NamedTuple):
    """Noisy observations of a function of one variable, and the function itself on a wider grid."""

    x: Float[np.ndarray, "n 1"]
    y: Float[np.ndarray, " n"]
    grid: Float[np.ndarray, "m 1"]
    truth: Float[np.ndarray, " m"]
    support: tuple[Span, ...] = ()  #: where the inputs were drawn from
    noise: float = float("nan")  #: standard deviation of the noise, where it is the same everywhere

    def inside(self) -> Bool[np.ndarray, " m"]:
        """Which points of the grid lie inside the data's support."""
        x = self.grid[:, 0]
        return np.any([(low <= x) & (x <= high) for low, high in self.support], axis=0)

    def between(self) -> Bool[np.ndarray, " m"]:
        """Which points of the grid lie in a gap: outside the support, with data on both sides."""
        x = self.grid[:, 0]
        low, high = self.support[0][0], self.support[-1][1]
        return ~self.inside() & (low < x) & (x < high)


def bent_line(n: int = 120, noise: float = 0.1, seed: int = 0) -> Curve:
    """A line with two bends (three straight pieces, one per leaf) and noise that grows to the right."""
    rng = np.random.default_rng(seed)
    x = np.sort(rng.uniform(-2, 2, n))
    y = _bends(x) + noise * (1.5 + 0.5 * x) * rng.normal(size=n)
    grid = np.linspace(-3.5, 3.5, 281)
    return Curve(x[:, None], y, grid[:, None], _bends(grid), ((-2.0, 2.0),))


def tails(n: int = 250, noise: float = NOISE, seed: int = 0) -> Curve:
    """A wave on a slope, observed in the middle third of the plotted range."""
    return _observe(wave, [(-1.0, 1.0)], (-3.0, 3.0), n, noise, seed)


def gap(n: int = 250, noise: float = NOISE, seed: int = 0) -> Curve:
    """The same wave on a slope, observed in two clusters with a gap between them."""
    return _observe(wave, [(-1.5, -0.5), (0.5, 1.5)], (-2.0, 2.0), n, noise, seed)


def step(n: int = 250, noise: float = NOISE, seed: int = 0) -> Curve:
    """A jump from -1 to 1 in the middle."""
    return _observe(jump, [(0.0, 1.0)], (0.0, 1.0), n, noise, seed)


def wavelet(n: int = 250, noise: float = NOISE, seed: int = 0) -> Curve:
    """The Daubechies wavelet of order 10, with its support scaled to the unit interval."""
    return _observe(daubechies_wavelet, [(0.0, 1.0)], (0.0, 1.0), n, noise, seed)


def wave(x: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
    """``x + sin(3 x)``."""
    return x + np.sin(3 * x)


def jump(x: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
    """-1 below one half, 1 from there on."""
    return np.where(x < 0.5, -1.0, 1.0)


def daubechies_wavelet(x: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
    """The Daubechies wavelet of order 10 at ``19 x``: zero outside the unit interval."""
    table = _wavelet_table()
    return np.interp(x * table.x[-1], table.x, table.wavelet, left=0.0, right=0.0)


def _bends(x: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
    return np.abs(x + 0.8) - 1.5 * np.maximum(x - 0.5, 0)


@cache
def _wavelet_table() -> Wavelet:
    return daubechies(order=10, levels=10)


def _observe(
    function: Function, support: Sequence[Span], shown: Span, n: int, noise: float, seed: int
) -> Curve:
    """Draw inputs uniformly over the support, and observe the function there with Normal noise."""
    if n < 2 or noise < 0:
        raise UserError(f"a curve needs at least two rows and noise >= 0, got n={n}, noise={noise}")
    rng = np.random.default_rng(seed)
    ends = np.array(support)
    # Row i goes to interval i modulo the number of intervals, so that all get equally many rows.
    low, high = ends[np.arange(n) % len(ends)].T
    x = np.sort(rng.uniform(low, high))
    y = function(x) + noise * rng.normal(size=n)
    grid = np.linspace(*shown, 401)
    return Curve(x[:, None], y, grid[:, None], function(grid), tuple(support), noise)
