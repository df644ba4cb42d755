"""XBART: accelerated Bayesian additive regression trees (He and Hahn, 2021), through stochtree.

Instead of changing a tree a little in every sweep, XBART grows a new one from the root. stochtree, by
the same authors, calls this "grow-from-root" and runs only this if no MCMC sweeps are requested.

The paper's hyperparameters (its supplement's table of ranges) are those of the ``XBART`` package. In
stochtree, for a target with mean 0 and variance 1, they mean:

=============  ============================================================================
s, Kappa       ``sigma^2 ~ inverse-Gamma(kappa / 2, s / 2)``: ``sigma2_global_shape``, ``_scale``
Tau            prior variance of the sum of trees: each leaf has variance ``tau / n_learners``
Alpha, Beta    a node at depth ``h`` splits with prior probability ``alpha (1 + h)^-beta``
Num. learners  ``num_trees``
Burn-in        sweeps that are dropped
=============  ============================================================================
"""

import warnings
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from vst.companion.peers.interface import NormalMixture, Normals, check_rows
from vst.companion.peers.libraries import library
from vst.companion.peers.ranges import Choices, Interval, Ranges, Whole, without

#: The paper's tuning ranges.
RANGES: Ranges = {
    "s": Interval(1.0, 300.0, log=True),
    "tau": Interval(1.0, 300.0, log=True),
    "beta": Interval(0.75, 2.0),
    "n_learners": Whole(1, 100),
    "burn_in": Choices((15,)),
    "alpha": Choices((0.95,)),
    "kappa": Choices((3.0,)),
}

ONE_TREE_RANGES = without(RANGES, "n_learners")

#: A tuned setting that the paper does not name.
OWN_RANGES: Ranges = {"least_rows": Choices((1, 3, 10))}


@dataclass(frozen=True)
class XBART:
    """Hyperparameters of XBART, by the paper's names.

    Parameters
    ----------
    s, kappa
        The noise variance has prior inverse-Gamma(``kappa / 2``, ``s / 2``).
    tau
        Prior variance of the sum of trees.
    alpha, beta
        A node at depth ``h`` splits with prior probability ``alpha (1 + h)^-beta``.
    n_learners
        Number of trees.
    burn_in, draws
        Dropped and kept sweeps.
    least_rows
        Minimum number of training rows in a leaf.
    cutpoints
        Maximum number of values of a column between which a tree may split.
    """

    s: float = 1.0
    tau: float = 1.0
    beta: float = 1.25
    n_learners: int = 50
    burn_in: int = 15
    alpha: float = 0.95
    kappa: float = 3.0
    draws: int = 50
    least_rows: int = 1
    cutpoints: int = 255

    def fit(
        self,
        x: Float[np.ndarray, "n d"],
        y: Float[np.ndarray, " n"],
        *,
        seed: int = 0,
        threads: int = 1,
    ) -> "FittedXBART":
        """Grow new trees in every sweep, and keep the sweeps after the burn-in."""
        check_rows(x, y)
        model = library("stochtree").BARTModel()
        bins = Bins.fit(x, self.cutpoints)
        with warnings.catch_warnings():
            # stochtree warns of columns with ties; the size of the grid below handles them.
            warnings.filterwarnings("ignore", "Covariate", UserWarning, "stochtree")
            self._sample(model, bins(x), y, seed, threads)
        return FittedXBART(model, bins, self.burn_in)

    def _sample(
        self,
        model: Any,
        x: Float[np.ndarray, "n d"],
        y: Float[np.ndarray, " n"],
        seed: int,
        threads: int,
    ) -> None:
        model.sample(
            X_train=x,
            y_train=np.asarray(y, float),
            num_gfr=self.burn_in + self.draws,
            num_burnin=0,
            num_mcmc=0,
            general_params={
                "keep_gfr": True,
                "standardize": False,
                "sigma2_global_shape": self.kappa / 2,
                "sigma2_global_scale": self.s / 2,
                # With fewer cutpoints than rows, stochtree 0.4.5 finds no split on a column with
                # ties. ``Bins`` has already limited the number of values.
                "cutpoint_grid_size": len(x) + 1,
                "random_seed": seed,
                "num_threads": threads,
            },
            mean_forest_params={
                "num_trees": self.n_learners,
                "alpha": self.alpha,
                "beta": self.beta,
                "sigma2_leaf_init": self.tau / self.n_learners,
                "sample_sigma2_leaf": False,
                "min_samples_leaf": self.least_rows,
                "max_depth": -1,
            },
        )


ONE_TREE = XBART(n_learners=1)


class Bins(NamedTuple):
    """Replaces a column's values by the number of cutpoints below them.

    Trees only use the order of a column's values, so this only changes where they may split. A sweep
    over few distinct values is several times as fast as a sweep over all.
    """

    edges: list[Float[np.ndarray, " _"]]  #: cutpoints of each column, in increasing order

    @classmethod
    def fit(cls, x: Float[np.ndarray, "n d"], most: int) -> "Bins":
        """Cutpoints half way between neighbouring values, or between ``most`` evenly spaced quantiles.

        Examples
        --------
        >>> Bins.fit(np.array([[0.0], [0.0], [1.0], [3.0]]), 255).edges
        [array([0.5, 2. ])]
        """
        edges = []
        for column in np.asarray(x, float).T:
            values = np.unique(column)
            middles = (values[1:] + values[:-1]) / 2
            if len(middles) > most:
                levels = np.arange(1, most + 1) / (most + 1)
                middles = np.unique(np.quantile(column, levels))
            edges.append(middles)
        return cls(edges)

    def __call__(self, x: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n d"]:
        """The number of cutpoints below each value."""
        columns = np.asarray(x, float).T
        return np.column_stack(
            [np.searchsorted(*pair) for pair in zip(self.edges, columns, strict=True)]
        ).astype(float)


@dataclass(frozen=True, eq=False)
class FittedXBART(NormalMixture):
    """The sweeps after the burn-in, each with a sum of trees and a noise scale."""

    model: Any
    bins: Bins
    burn_in: int

    def normals(self, x: Float[np.ndarray, "n d"]) -> Normals:
        """One Normal per sweep, with the same scale everywhere."""
        sweeps = self.model.predict(self.bins(x), terms="y_hat")
        means = np.ascontiguousarray(sweeps.T[self.burn_in :])
        scales = np.sqrt(self.model.global_var_samples[self.burn_in :])
        return Normals(means, np.broadcast_to(scales[:, None], means.shape))
