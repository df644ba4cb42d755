"""NGBoost (Duan et al., 2020): boosting of a Normal's mean and scale with natural gradients.

It is newer than the paper's peers. It predicts one mean and one scale for every row, without
uncertainty about them.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float
from sklearn.tree import DecisionTreeRegressor

from vst.companion.peers.interface import NormalMixture, Normals, check_rows
from vst.companion.peers.libraries import library
from vst.companion.peers.ranges import SMALLEST_SCALES, Interval, Ranges, Whole

#: Our own ranges, around the library's defaults.
OWN_RANGES: Ranges = {
    "learning_rate": Interval(0.005, 0.1, log=True),
    "depth": Whole(2, 6),
    "n_learners": Whole(50, 1000),
    "row_share": Interval(0.5, 1.0),
    "smallest_scale": SMALLEST_SCALES,
}


@dataclass(frozen=True)
class NGBoost:
    """Hyperparameters of NGBoost.

    Parameters
    ----------
    learning_rate
        Step of the boosting.
    depth
        Largest depth of a tree.
    n_learners
        Boosting rounds; each adds a tree for the mean and a tree for the log scale.
    row_share
        Share of the rows drawn for each round. With all rows, the scales collapse on the training rows
        of a small data set.
    smallest_scale
        Smallest scale that it may predict, in units of the target's standard deviation. The library
        has no bound: on boston, with enough trees for a good mean, the scales cost whole nats.
    """

    learning_rate: float = 0.01
    depth: int = 3
    n_learners: int = 500
    row_share: float = 0.5
    smallest_scale: float = 1e-3

    def fit(
        self,
        x: Float[np.ndarray, "n d"],
        y: Float[np.ndarray, " n"],
        *,
        seed: int = 0,
        threads: int = 1,
    ) -> "FittedNGBoost":
        """Fit one model. The library ignores ``threads`` and uses one."""
        check_rows(x, y)
        ngboost = library("ngboost")
        # The library's default base learner uses a criterion that scikit-learn has renamed, and
        # ignores the seed when it breaks ties between splits.
        tree = DecisionTreeRegressor(max_depth=self.depth, random_state=seed)
        model = ngboost.NGBRegressor(
            Base=tree,
            learning_rate=self.learning_rate,
            n_estimators=self.n_learners,
            minibatch_frac=self.row_share,
            random_state=seed,
            verbose=False,
        )
        model.fit(np.asarray(x, float), np.asarray(y, float))
        return FittedNGBoost(model, self.smallest_scale)


@dataclass(frozen=True, eq=False)
class FittedNGBoost(NormalMixture):
    """One Normal for every row."""

    model: Any
    smallest_scale: float

    def normals(self, x: Float[np.ndarray, "n d"]) -> Normals:
        """The fitted Normal, as a mixture with one component."""
        fitted = self.model.pred_dist(np.asarray(x, float))
        return Normals(fitted.loc[None], np.maximum(fitted.scale, self.smallest_scale)[None])
