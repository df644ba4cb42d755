"""Scores of whole predictive distributions, from their cumulative distribution functions.

They hold for any model with a density: mixtures of few Normals as well as of thousands.
"""

from collections.abc import Callable
from functools import cache
from itertools import pairwise

import numpy as np
from jaxtyping import Float

from vst.companion.peers import Fitted, NoDensityError

#: Test rows that are scored, at most: the first ones, whose order is random.
ROWS = 1_000

#: The integral on each side of the target, in units of the standardised target. Near it, where narrow
#: distributions have their mass, and far out the logarithm of the distance is integrated over; between,
#: where others may have several modes, there are panels of equal width with a few nodes each.
NEAREST, NEAR, FAR, FARTHEST = 1e-7, 0.08, 8.0, 100.0
NEAR_NODES, PANELS, PANEL_NODES, FAR_NODES = 40, 33, 4, 12

#: Halvings of the bracket around a quantile.
HALVINGS = 40

Cdf = Callable[[Float[np.ndarray, " n"]], Float[np.ndarray, " n"]]


def crps(cdf: Cdf, y: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
    r"""The continuous ranked probability score of each row: lower is better.

    It is :math:`\int (F(z) - 1[z \ge y])^2 dz` (Gneiting and Raftery, 2007), here by quadrature on
    either side of the target. A single point's is the absolute error, and density spikes gain nothing.
    """
    distances, weights = _nodes()
    total = np.zeros(len(y))
    for distance, weight in zip(distances, weights, strict=True):
        total += weight * (cdf(y - distance) ** 2 + (1 - cdf(y + distance)) ** 2)
    return total


@cache
def _nodes() -> tuple[Float[np.ndarray, " k"], Float[np.ndarray, " k"]]:
    """Distances from the target, and their weights."""
    edges = np.linspace(NEAR, FAR, PANELS + 1)
    near, near_weights = _gauss_legendre(np.log(NEAREST), np.log(NEAR), NEAR_NODES)
    far, far_weights = _gauss_legendre(np.log(FAR), np.log(FARTHEST), FAR_NODES)
    panels = [_gauss_legendre(*ends, PANEL_NODES) for ends in pairwise(edges)]
    distances = [np.exp(near), *(places for places, _ in panels), np.exp(far)]
    weights = [
        near_weights * np.exp(near),
        *(weights for _, weights in panels),
        far_weights * np.exp(far),
    ]
    return np.concatenate(distances), np.concatenate(weights)


def _gauss_legendre(
    low: float, high: float, nodes: int
) -> tuple[Float[np.ndarray, " k"], Float[np.ndarray, " k"]]:
    places, weights = np.polynomial.legendre.leggauss(nodes)
    return low + (high - low) * (places + 1) / 2, weights * (high - low) / 2


def quantile(
    cdf: Cdf, level: float, low: Float[np.ndarray, " n"], high: Float[np.ndarray, " n"]
) -> Float[np.ndarray, " n"]:
    """The quantile of each row by bisection between two bounds."""
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        below = cdf(middle) < level
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return (low + high) / 2


def distribution_scores(
    model: Fitted, x: Float[np.ndarray, "n d"], y: Float[np.ndarray, " n"], level: float = 0.9
) -> dict[str, float | None]:
    """Mean CRPS, and mean width of central intervals; None without a density."""
    x, y = x[:ROWS], np.asarray(y[:ROWS], float)
    far = np.full(len(y), FARTHEST)

    def cdf(values: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
        return np.asarray(model.cdf(x, values), float)

    try:
        lower, upper = (quantile(cdf, (1 + sign * level) / 2, -far, far) for sign in (-1, 1))
        found = {"crps": crps(cdf, y).mean(), "width": (upper - lower).mean()}
    except NoDensityError:
        return {"crps": None, "width": None}
    return {name: round(float(value), 5) for name, value in found.items()}
