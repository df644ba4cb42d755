"""BART by Markov chain Monte Carlo, through bartz, a recent implementation in JAX (Petrillo, 2024).

It is not in the paper. The paper's XBART grows trees from the root instead of running a Markov chain.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float
from scipy.stats import chi2

from vst.companion.peers.interface import NormalMixture, Normals, check_rows
from vst.companion.peers.libraries import library
from vst.companion.peers.ranges import Choices, Interval, Ranges, Whole

#: Our own ranges, around the library's defaults.
OWN_RANGES: Ranges = {
    "k": Interval(0.5, 5.0, log=True),
    "beta": Interval(0.75, 2.0),
    "n_learners": Whole(20, 200),
    "noise_quantile": Choices((0.75, 0.9, 0.99)),
}

#: On a large table a thousand sweeps take minutes. Using fewer costs 0.08 nats on kin8nm.
LARGE = {"burn_in": 100, "draws": 200}


@dataclass(frozen=True)
class BART:
    """Hyperparameters of BART.

    Parameters
    ----------
    k
        Shrinkage of the leaves: their prior standard deviation is half the target's range divided by
        ``k sqrt(n_learners)``.
    alpha, beta
        A node at depth ``h`` splits with prior probability ``alpha (1 + h)^-beta``.
    n_learners
        Number of trees.
    noise_df, noise_quantile
        The noise variance has a scaled inverse chi-squared prior with ``noise_df`` degrees of freedom
        and probability ``noise_quantile`` below a linear regression's noise (Chipman et al., 2010).
        bartz's default scales the prior by the target's variance, which is too much noise for a target
        that trees explain almost completely.
    chains
        Independent Markov chains, vmapped.
    burn_in, draws
        Dropped and kept sweeps of each chain.
    """

    k: float = 2.0
    alpha: float = 0.95
    beta: float = 2.0
    n_learners: int = 200
    noise_df: float = 3.0
    noise_quantile: float = 0.9
    chains: int = 2
    burn_in: int = 500
    draws: int = 500

    def fit(
        self,
        x: Float[np.ndarray, "n d"],
        y: Float[np.ndarray, " n"],
        *,
        seed: int = 0,
        threads: int = 1,
    ) -> "FittedBART":
        """Run the chains in parallel on one JAX device."""
        check_rows(x, y)
        model = library("bartz").Bart(
            np.asarray(x, np.float32).T,
            np.asarray(y, np.float32),
            k=self.k,
            base=self.alpha,
            power=self.beta,
            sigma_df=self.noise_df,
            sigma_scale=self._noise_scale(x, y),
            num_trees=self.n_learners,
            num_chains=self.chains,
            num_chain_devices=None,
            n_burn=self.burn_in,
            n_save=self.draws,
            printevery=None,
            seed=seed,
        )
        return FittedBART(model)

    def _noise_scale(self, x: Float[np.ndarray, "n d"], y: Float[np.ndarray, " n"]) -> float:
        """Scale of the noise's prior: ``sqrt(lambda)`` in Chipman et al. (2010)."""
        noise = linear_noise(np.asarray(x, float), np.asarray(y, float))
        return float(
            noise * np.sqrt(chi2.ppf(1 - self.noise_quantile, self.noise_df) / self.noise_df)
        )


def linear_noise(x: Float[np.ndarray, "n d"], y: Float[np.ndarray, " n"]) -> float:
    """Standard deviation of the residuals of a linear regression, or of ``y`` if it has too few rows."""
    design = np.column_stack([np.ones(len(x)), x])
    coefficients, _, rank, _ = np.linalg.lstsq(design, y)
    if rank >= len(y):
        return float(np.std(y))
    return float(np.sqrt(np.sum((y - design @ coefficients) ** 2) / (len(y) - rank)))


@dataclass(frozen=True, eq=False)
class FittedBART(NormalMixture):
    """Posterior draws of the sum of trees and of the noise scale."""

    model: Any

    def normals(self, x: Float[np.ndarray, "n d"]) -> Normals:
        """One Normal per draw, with the same scale everywhere."""
        means = np.asarray(
            self.model.predict(np.asarray(x, np.float32).T, kind="mean_samples"), float
        )
        scales = np.asarray(self.model.get_error_sdev(), float)
        return Normals(means, np.broadcast_to(scales[:, None], means.shape))
