"""NGBoost (Duan et al., 2020): boosting of a Normal's mean and scale with natural gradients.

Not in the paper: one of today's peers. It has one mean and one scale for every row, and no notion of
its own uncertainty about them.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float
from sklearn.tree import DecisionTreeRegressor

from vst.companion.peers.interface import NormalMixture, Normals, check_rows
from vst.companion.peers.libraries import library
from vst.companion.peers.ranges import SMALLEST_SCALES, Interval, Ranges, Whole

#: Ranges of our own, around the library's defaults.
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
        Share of the rows, drawn anew, that each round sees. With all of them the scales of a small
        data set collapse onto its training rows.
    smallest_scale
        Smallest scale that it may predict, in units of the target's standard deviation. The library
        has no bound: on boston, trees enough for a good mean cost whole nats through their scales.
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
        """Fit one model. The library uses one thread, whatever ``threads`` says."""
        check_rows(x, y)
        ngboost = library("ngboost")
        # The library's own base learner asks for a criterion that scikit-learn has renamed, and
        # breaks ties between splits at random, whatever the seed.
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
        """The Normal that was fitted, as a mixture of one."""
        fitted = self.model.pred_dist(np.asarray(x, float))
        return Normals(fitted.loc[None], np.maximum(fitted.scale, self.smallest_scale)[None])
