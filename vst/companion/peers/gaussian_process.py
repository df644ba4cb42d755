"""A Gaussian process with one length scale per feature (Rasmussen and Williams, 2006).

It is not in the paper. Its mean is zero, its noise is Normal, and its length scales, signal and noise
maximise the marginal likelihood. Above 2,000 rows it learns these on a random subset of 2,000, and
predicts from a subset of 4,000. It computes in float64, with NumPy: JAX computes in float32 here, and
then the Cholesky factor of a kernel matrix with little noise does not exist.
"""

from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

import numpy as np
from jaxtyping import Float
from scipy.linalg import cho_solve, cholesky, lapack, solve_triangular
from scipy.optimize import minimize
from scipy.spatial.distance import cdist
from scipy.special import ndtri
from threadpoolctl import threadpool_limits

from vst.companion.peers.interface import ConstantTargetError, NormalMixture, Normals, check_rows
from vst.companion.peers.ranges import SMALLEST_SCALES, Choices, Ranges

Kernel = Literal["rbf", "matern32", "matern52", "rational-quadratic"]

#: Our own ranges. The marginal likelihood chooses the rest.
OWN_RANGES: Ranges = {"kernel": Choices(get_args(Kernel)), "smallest_scale": SMALLEST_SCALES}

#: Bounds of the search: length scales, standard deviations of signal and noise, shape of the kernel.
LENGTHS, SIGNALS, NOISES, SHAPES = (1e-2, 1e4), (1e-2, 1e2), (1e-3, 10.0), (1e-2, 1e3)

#: Added to the correlation of a row with itself, so that the Cholesky factor exists within the bounds.
JITTER = 1e-10

#: Rows of the first search. A step takes 20 ms with 500 rows, and 400 ms with 2000.
FIRST_ROWS = 500

#: Rows predicted at a time. Their covariance with 4000 training rows takes 32 MB.
BLOCK = 1000


@dataclass(frozen=True)
class GaussianProcess:
    """Hyperparameters of the Gaussian process.

    Parameters
    ----------
    kernel
        ``"rbf"``, ``"matern32"``, ``"matern52"`` or ``"rational-quadratic"``.
    search_rows
        Of a longer table, the likelihood is that of a random subset of this many rows.
    most_rows
        Of a longer table, it predicts from a random subset of this many rows and ignores the others:
        time grows with the cube of the rows, and memory with the square.
    restarts
        Random starts of the search, besides a fixed one. Each searches on at most 500 rows; the best
        one continues on all rows of the search. On energy and wine the likelihood has several maxima.
    steps, last_steps
        Maximum number of L-BFGS steps of a search on 500 rows, and of the last one.
    draws
        Draws of the mean function, as ``mean_draws`` of the fitted model defines them.
    smallest_scale
        Smallest scale that it may predict, in units of the target's standard deviation.
    """

    kernel: Kernel = "matern52"
    search_rows: int = 2000
    most_rows: int = 4000
    restarts: int = 1
    steps: int = 50
    last_steps: int = 15
    draws: int = 100
    smallest_scale: float = 1e-3

    def fit(
        self,
        x: Float[np.ndarray, "n d"],
        y: Float[np.ndarray, " n"],
        *,
        seed: int = 0,
        threads: int = 1,
    ) -> "FittedGaussianProcess":
        """Maximise the marginal likelihood. The seed determines the rows, the starts and the draws."""
        check_rows(x, y)
        if self.kernel not in get_args(Kernel):
            names = ", ".join(get_args(Kernel))
            raise ValueError(f"there is no kernel {self.kernel!r}: choose from {names}")
        if min(self.draws, self.search_rows, self.most_rows) < 2:
            raise ValueError(
                "draws, search_rows and most_rows must be at least 2, "
                f"got {self.draws}, {self.search_rows} and {self.most_rows}"
            )
        rng = np.random.default_rng(seed)
        rows = rng.permutation(len(x))[: self.most_rows]
        x, y = np.asarray(x, float)[rows], np.asarray(y, float)[rows]
        if np.ptp(y) == 0:
            raise ConstantTargetError(
                f"the target is {y[0]:g} in every row, and a Gaussian process cannot be fitted to a "
                "constant: leave it out, or predict the constant"
            )
        with threadpool_limits(threads, user_api="blas"):
            theta = self._search(x[: self.search_rows], y[: self.search_rows], rng)
            factor, weights, _ = factorise(self.kernel, theta, x, y)
        # Quantiles rather than random numbers: two of those can be so close that the draws agree.
        numbers = rng.permutation(ndtri((np.arange(self.draws) + 0.5) / self.draws))
        numbers /= numbers.std()
        return FittedGaussianProcess(
            self.kernel, theta, x, factor, weights, numbers, self.smallest_scale, threads
        )

    def _search(
        self, x: Float[np.ndarray, "n d"], y: Float[np.ndarray, " n"], rng: np.random.Generator
    ) -> Float[np.ndarray, " p"]:
        """Logarithms of the length scales, signal, noise and shape: the best that is found."""
        d = x.shape[1]
        bounds = np.log([LENGTHS] * d + [SIGNALS, NOISES, SHAPES])
        # Long length scales and little noise: a start with much noise can end where all is noise.
        fixed = np.log([2 * np.sqrt(d)] * d + [1.0, 0.3, 1.0])

        def search(
            start: Float[np.ndarray, " p"], n: int, steps: int
        ) -> tuple[float, Float[np.ndarray, " p"]]:
            found = minimize(
                lambda theta: loss_and_gradient(self.kernel, theta, x[:n], y[:n]),
                np.clip(start, *bounds.T),
                jac=True,
                method="L-BFGS-B",
                bounds=bounds,
                options={"maxiter": steps, "ftol": 1e-7, "gtol": 1e-4},
            )
            return found.fun, found.x

        starts = [fixed, *(fixed + rng.normal(size=(self.restarts, d + 3)))]
        found = [search(start, FIRST_ROWS, self.steps) for start in starts]
        _, best = min(found, key=lambda each: each[0])
        return best if len(x) <= FIRST_ROWS else search(best, len(x), self.last_steps)[1]


@dataclass(frozen=True, eq=False)
class FittedGaussianProcess(NormalMixture):
    """The posterior of the mean function, a Gaussian process too."""

    kernel: Kernel
    theta: Float[np.ndarray, " p"]  #: logarithms of the length scales, signal, noise and shape
    x: Float[np.ndarray, "rows d"]  #: the training rows
    factor: Float[np.ndarray, "rows rows"]  #: Cholesky factor of the covariance of the targets
    weights: Float[np.ndarray, " rows"]  #: the inverse covariance times the targets
    numbers: Float[np.ndarray, " draws"]  #: one per draw, with mean 0 and variance 1
    smallest_scale: float
    threads: int = 1

    def normals(self, x: Float[np.ndarray, "n d"]) -> Normals:
        """The exact predictive Normal, repeated for every draw: a mixture of copies is the Normal."""
        mean, deviation = self._posterior(x)
        scale = np.maximum(np.hypot(deviation, np.exp(self.theta[-2])), self.smallest_scale)
        shape = (len(self.numbers), len(mean))
        return Normals(np.broadcast_to(mean, shape), np.broadcast_to(scale, shape))

    def mean_draws(self, x: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "draws n"]:
        """The posterior's mean plus a number of its standard deviations, one number per draw.

        In each row the draws have exactly the posterior's mean and variance. Their correlation between
        rows is 1, which the posterior's is not.
        """
        mean, deviation = self._posterior(x)
        return mean + self.numbers[:, None] * deviation

    def _posterior(
        self, x: Float[np.ndarray, "n d"]
    ) -> tuple[Float[np.ndarray, " n"], Float[np.ndarray, " n"]]:
        """Mean and standard deviation of the mean function in each row."""
        variance = np.exp(2 * self.theta[-3])
        means, deviations = np.empty(len(x)), np.empty(len(x))
        with threadpool_limits(self.threads, user_api="blas"):
            for start in range(0, len(x), BLOCK):
                block = slice(start, start + BLOCK)
                new = np.asarray(x[block], float)
                covariance = variance * correlation(self.kernel, self.theta, self.x, new).value
                known = np.sum(solve_triangular(self.factor, covariance, lower=True) ** 2, axis=0)
                means[block] = self.weights @ covariance
                deviations[block] = np.sqrt(np.maximum(variance - known, 0))
        return means, deviations


class Correlation(NamedTuple):
    """A kernel of variance 1, and its derivatives."""

    value: Float[np.ndarray, "n m"]
    by_square: Float[np.ndarray, "n m"]  #: by the squared distance
    by_shape: Float[np.ndarray, "n m"] | float = 0.0  #: by the shape, which only one kernel has


def correlation(
    kernel: Kernel,
    theta: Float[np.ndarray, " p"],
    a: Float[np.ndarray, "n d"],
    b: Float[np.ndarray, "m d"],
) -> Correlation:
    """The kernel between rows, a function of their distance in length scales."""
    lengths, shape = np.exp(theta[:-3]), np.exp(theta[-1])
    squares = cdist(a / lengths, b / lengths, "sqeuclidean")
    if kernel == "rbf":
        value = np.exp(-squares / 2)
        return Correlation(value, -value / 2)
    if kernel == "rational-quadratic":
        base = 1 + squares / (2 * shape)
        value = base**-shape
        return Correlation(value, -value / base / 2, value * (1 - 1 / base - np.log(base)))
    r = np.sqrt((3 if kernel == "matern32" else 5) * squares)
    decay = np.exp(-r)
    if kernel == "matern32":
        return Correlation((1 + r) * decay, -3 / 2 * decay)
    return Correlation((1 + r + r**2 / 3) * decay, -5 / 6 * (1 + r) * decay)


def factorise(
    kernel: Kernel,
    theta: Float[np.ndarray, " p"],
    x: Float[np.ndarray, "n d"],
    y: Float[np.ndarray, " n"],
) -> tuple[Float[np.ndarray, "n n"], Float[np.ndarray, " n"], Correlation]:
    """Cholesky factor of the targets' covariance, its inverse times the targets, the correlation."""
    signal, noise, _ = np.exp(theta[-3:])
    rows = correlation(kernel, theta, x, x)
    diagonal = np.diag_indices(len(x))
    rows.value[diagonal] += JITTER
    covariance = signal**2 * rows.value
    covariance[diagonal] += noise**2
    factor = cholesky(covariance, lower=True)
    return factor, cho_solve((factor, True), y), rows


def loss_and_gradient(
    kernel: Kernel,
    theta: Float[np.ndarray, " p"],
    x: Float[np.ndarray, "n d"],
    y: Float[np.ndarray, " n"],
) -> tuple[float, Float[np.ndarray, " p"]]:
    """Negative log marginal likelihood per row, and its gradient: equations 5.8 and 5.9 of the book.

    The sum of ``w_ij (u_i - u_j)^2`` over all pairs is ``2 sum_ij w_ij u_i^2 - 2 u' w u``, so the
    gradient by the length scales needs no array of n x n x d numbers.
    """
    n, (signal, noise, shape) = len(x), np.exp(theta[-3:])
    factor, weights, rows = factorise(kernel, theta, x, y)
    loss = y @ weights / 2 + np.log(np.diag(factor)).sum() + n / 2 * np.log(2 * np.pi)
    lower = np.tril(lapack.dpotri(factor, lower=1)[0])
    by_covariance = lower + np.tril(lower, -1).T - np.outer(weights, weights)
    w, u = signal**2 * by_covariance * rows.by_square, x / np.exp(theta[:-3])
    by_lengths = 2 * np.sum(u * (w @ u), axis=0) - 2 * w.sum(axis=1) @ u**2
    by_signal = signal**2 * np.sum(by_covariance * rows.value)
    by_noise = noise**2 * np.trace(by_covariance)
    by_shape = signal**2 * shape * np.sum(by_covariance * rows.by_shape) / 2
    return loss / n, np.array([*by_lengths, by_signal, by_noise, by_shape]) / n
