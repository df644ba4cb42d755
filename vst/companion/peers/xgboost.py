"""XGBoost (Chen and Guestrin, 2016): gradient boosted trees, fitted to the squared error.

It predicts a number and no distribution, so only the table of errors has a row for it.
"""

from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
from jaxtyping import Float

from vst.companion.peers.interface import NoDensityError, check_rows
from vst.companion.peers.libraries import library
from vst.companion.peers.ranges import Interval, Ranges, Whole, without

#: The paper's tuning ranges.
RANGES: Ranges = {
    "learning_rate": Interval(0.001, 0.1, log=True),
    "depth": Whole(1, 6),
    "reg_lambda": Interval(0.001, 1.0, log=True),
    "reg_alpha": Interval(0.001, 1.0, log=True),
    "n_learners": Whole(1, 1000),
}

#: With one tree, the step is fixed: see ``ONE_TREE``.
ONE_TREE_RANGES = without(RANGES, "learning_rate", "n_learners")


@dataclass(frozen=True)
class XGBoost:
    """Hyperparameters of XGBoost.

    Parameters
    ----------
    learning_rate
        Shrinkage of each tree.
    depth
        Largest depth of a tree.
    reg_lambda, reg_alpha
        Penalties on the squared and absolute leaf values: the paper's Lambda and Alpha.
    n_learners
        Number of trees.
    """

    learning_rate: float = 0.1
    depth: int = 3
    reg_lambda: float = 0.1
    reg_alpha: float = 0.001
    n_learners: int = 1000

    def fit(
        self,
        x: Float[np.ndarray, "n d"],
        y: Float[np.ndarray, " n"],
        *,
        seed: int = 0,
        threads: int = 1,
    ) -> "FittedXGBoost":
        """Fit one model; nothing in it is random."""
        check_rows(x, y)
        model = library("xgboost").XGBRegressor(
            objective="reg:squarederror",
            learning_rate=self.learning_rate,
            max_depth=self.depth,
            reg_lambda=self.reg_lambda,
            reg_alpha=self.reg_alpha,
            n_estimators=self.n_learners,
            random_state=seed,
            n_jobs=threads,
        )
        return FittedXGBoost(model.fit(x, y))


#: One tree, not shrunk: a step of 0.1 would leave nine tenths of the target unexplained.
ONE_TREE = XGBoost(learning_rate=1.0, depth=6, n_learners=1)


@dataclass(frozen=True, eq=False)
class FittedXGBoost:
    """A fitted XGBoost model."""

    model: Any

    def mean_draws(self, x: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "1 n"]:
        """The one function that was fitted."""
        return self.model.predict(x)[None].astype(float)

    def log_prob(self, x: Float[np.ndarray, "n d"], y: Float[np.ndarray, " n"]) -> NoReturn:
        """XGBoost has no predictive density, and the paper prints none."""
        raise NoDensityError(
            "XGBoost predicts a number, not a distribution, and has no log-likelihood: score its error"
        )

    #: Nor does it have a distribution function.
    cdf = log_prob
