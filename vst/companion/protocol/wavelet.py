"""The Daubechies wavelets, computed from their definition.

The filter ``h`` of order ``N`` has ``2 N`` coefficients: it is the shortest one whose scaling function
is orthonormal to its own integer shifts and whose wavelet has ``N`` vanishing moments.
"""

from math import comb
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from vst.errors import UserError

#: Beyond this order the roots of the filter's polynomial lose precision in float64.
LARGEST_ORDER = 20


class Wavelet(NamedTuple):
    """A wavelet and its scaling function, on the dyadic points of their support."""

    x: Float[np.ndarray, " m"]
    scaling: Float[np.ndarray, " m"]
    wavelet: Float[np.ndarray, " m"]


def daubechies_filter(order: int) -> Float[np.ndarray, " 2*order"]:
    """Coefficients of the scaling function's refinement equation, which sum to the root of two.

    The squared modulus of the filter is ``cos^2N(w / 2) P(sin^2(w / 2))`` with Daubechies' polynomial
    ``P``. Each root of ``P`` gives two roots of the filter, ``z`` and ``1 / z``; taking those inside the
    unit circle gives the filter with the least delay.

    Examples
    --------
    >>> daubechies_filter(1).round(4)
    array([0.7071, 0.7071])
    """
    if not 1 <= order <= LARGEST_ORDER:
        raise UserError(f"a wavelet's order must lie between 1 and {LARGEST_ORDER}, got {order}")
    polynomial = [comb(order - 1 + k, k) for k in reversed(range(order))]
    # With y = sin^2(w / 2) and z = exp(i w): y = (2 - z - 1 / z) / 4, so z^2 - (2 - 4 y) z + 1 = 0.
    pairs = [np.roots([1, 4 * y - 2, 1]) for y in np.roots(polynomial)]
    inside = [pair[np.argmin(np.abs(pair))] for pair in pairs]
    coefficients = np.poly([-1.0] * order + inside).real
    return coefficients * np.sqrt(2) / coefficients.sum()


def daubechies(order: int = 10, levels: int = 8) -> Wavelet:
    """The scaling function and the wavelet of an order, at the multiples of ``2^-levels``.

    Parameters
    ----------
    order
        Number of vanishing moments; the support is ``[0, 2 order - 1]``.
    levels
        Halvings of the distance between two points.

    Notes
    -----
    The scaling function solves ``phi(x) = sqrt(2) sum_k h_k phi(2 x - k)``. At the whole numbers this
    is an eigenvector problem; every further level follows from the one before, exactly.
    """
    h = np.sqrt(2) * daubechies_filter(order)
    width = len(h) - 1
    points = np.arange(width)
    # Row i, column j: the weight of phi(j) in phi(i). At the last whole number phi is 0: left out.
    index = 2 * points[:, None] - points[None, :]
    refinement = np.where((index >= 0) & (index <= width), h[np.clip(index, 0, width)], 0.0)
    values, vectors = np.linalg.eig(refinement)
    at_integers = vectors[:, np.argmin(np.abs(values - 1))].real
    phi = np.append(at_integers / at_integers.sum(), 0.0)
    for level in range(levels):
        phi = _refine(h, phi, 2**level)
    # The wavelet has the same equation, with the coefficients reversed and of alternating sign.
    g = (-1.0) ** np.arange(len(h)) * h[::-1]
    psi = _combine(g, phi, 2**levels)
    return Wavelet(np.arange(len(phi)) / 2**levels, phi, psi)


def _refine(
    h: Float[np.ndarray, " taps"], phi: Float[np.ndarray, " m"], per_unit: int
) -> Float[np.ndarray, " 2*m-1"]:
    """The scaling function at twice as many points."""
    finer = np.zeros(2 * len(phi) - 1)
    for k, weight in enumerate(h):
        # Where x is the i-th of the finer points, 2 x - k is the (i - k per_unit)-th of these.
        finer[k * per_unit : k * per_unit + len(phi)] += weight * phi
    return finer


def _combine(
    g: Float[np.ndarray, " taps"], phi: Float[np.ndarray, " m"], per_unit: int
) -> Float[np.ndarray, " m"]:
    """``sum_k g_k phi(2 x - k)`` at the points of ``phi``."""
    return _refine(g, phi, per_unit)[::2]
