"""The interface of all peers: fit to standardised arrays, then predict.

A peer is a frozen dataclass of hyperparameters with one method, ``fit``. The fitted peer has two
methods: draws of the mean function, and the log density of targets.
"""

from abc import ABC, abstractmethod
from typing import NamedTuple, Protocol

import numpy as np
from jaxtyping import Float
from scipy.special import logsumexp, ndtr

from vst.errors import UserError


class Fitted(Protocol):
    """A fitted peer. Its predictive mean is the mean over the first axis of ``mean_draws``."""

    def mean_draws(self, x: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "draws n"]:
        """Draws of the mean function, or the mean functions of an ensemble's members."""

    def log_prob(
        self, x: Float[np.ndarray, "n d"], y: Float[np.ndarray, " n"]
    ) -> Float[np.ndarray, " n"]:
        """Log density of each row's target; raises ``NoDensityError`` if the model has none."""

    def cdf(
        self, x: Float[np.ndarray, "n d"], y: Float[np.ndarray, " n"]
    ) -> Float[np.ndarray, " n"]:
        """Probability that each row's target is at most ``y``; raises ``NoDensityError`` as well."""


class Peer(Protocol):
    """Hyperparameters of a peer that can be fitted."""

    def fit(
        self,
        x: Float[np.ndarray, "n d"],
        y: Float[np.ndarray, " n"],
        *,
        seed: int = 0,
        threads: int = 1,
    ) -> Fitted:
        """Fit to standardised inputs and targets.

        Parameters
        ----------
        x, y
            Training rows, in standardised units.
        seed
            Seed of everything random in the fit: the same seed gives the same model, bit for bit.
        threads
            Maximum number of threads, for libraries that accept one.
        """


class NoDensityError(NotImplementedError):
    """The model predicts a number, not a distribution."""


class ConstantTargetError(UserError, ValueError):
    """The model cannot be fitted to a constant target."""


class Normals(NamedTuple):
    """One Normal per draw (or member) and row."""

    means: Float[np.ndarray, "draws n"]
    scales: Float[np.ndarray, "draws n"]


class NormalMixture(ABC):
    """A fitted peer whose predictive distribution is an equally weighted mixture of Normals."""

    @abstractmethod
    def normals(self, x: Float[np.ndarray, "n d"]) -> Normals:
        """The components of the mixture, in float64."""

    def mean_draws(self, x: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "draws n"]:
        """The components' means."""
        return self.normals(x).means

    def log_prob(
        self, x: Float[np.ndarray, "n d"], y: Float[np.ndarray, " n"]
    ) -> Float[np.ndarray, " n"]:
        """Log density of the mixture at each row's target."""
        return mixture_log_prob(self.normals(x), y)

    def cdf(
        self, x: Float[np.ndarray, "n d"], y: Float[np.ndarray, " n"]
    ) -> Float[np.ndarray, " n"]:
        """Probability under the mixture that each row's target is at most ``y``."""
        means, scales = self.normals(x)
        return ndtr((np.asarray(y, float) - means) / scales).mean(axis=0)


def mixture_log_prob(normals: Normals, y: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
    """Log density of an equally weighted mixture of Normals, per row.

    Examples
    --------
    >>> two = Normals(np.zeros((2, 1)), np.ones((2, 1)))
    >>> mixture_log_prob(two, np.zeros(1)).round(4)
    array([-0.9189])
    """
    deviations = (np.asarray(y, float) - normals.means) / normals.scales
    log_densities = -0.5 * (deviations**2 + np.log(2 * np.pi)) - np.log(normals.scales)
    return logsumexp(log_densities, axis=0) - np.log(len(normals.means))


def check_rows(x: Float[np.ndarray, "n d"], y: Float[np.ndarray, " n"]) -> None:
    """Refuse arrays that cannot be fitted, with a clearer message than the libraries'."""
    x, y = np.asarray(x), np.asarray(y)
    if x.ndim != 2 or y.shape != x.shape[:1] or len(y) < 2:
        raise ValueError(
            f"x must have shape (n, d) and y shape (n,), with n >= 2, got {x.shape} and {y.shape}"
        )
    if not (np.isfinite(x).all() and np.isfinite(y).all()):
        raise ValueError("x and y must be finite: drop or fill in missing and infinite values")
