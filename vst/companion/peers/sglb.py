"""SGLB: stochastic gradient Langevin boosting (Ustimenko and Prokhorenkova, 2020), through CatBoost.

Boosting with Gaussian noise in the gradients and shrinkage of the model converges to draws from a
posterior over ensembles. Each member is one draw: a mean and a scale for every row.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from vst.companion.peers.interface import ConstantTargetError, NormalMixture, Normals, check_rows
from vst.companion.peers.libraries import library
from vst.companion.peers.ranges import SMALLEST_SCALES, Choices, Ranges, Whole, without

#: The paper's tuning ranges.
RANGES: Ranges = {
    "learning_rate": Choices((0.001, 0.01, 0.1)),
    "depth": Whole(3, 6),
    "n_learners": Whole(1, 1000),
}

#: With one tree, the step is fixed: see ``ONE_TREE``.
ONE_TREE_RANGES = without(RANGES, "learning_rate", "n_learners")

#: Tuned settings that the paper does not name.
OWN_RANGES: Ranges = {"smallest_scale": SMALLEST_SCALES}
ONE_TREE_OWN_RANGES: Ranges = {"leaf_steps": Choices((1, 3, 10))}


@dataclass(frozen=True)
class SGLB:
    """Hyperparameters of SGLB.

    Parameters
    ----------
    learning_rate
        Step of the boosting.
    depth
        Depth of the trees (CatBoost's are symmetric: one split for all nodes of a level).
    n_learners
        Trees of each member.
    members
        Models with different seeds; the predictive distribution weights them equally.
    leaf_steps
        Newton steps for the leaves of each tree. With more than one, the scales of a boosted ensemble
        collapse: single rows of boston then get a scale of 1e-5 and lose ten thousand nats.
    smallest_scale
        Smallest scale that a member may predict, in units of the target's standard deviation. The
        library has no prior on the scale and no bound.
    """

    learning_rate: float = 0.1
    depth: int = 3
    n_learners: int = 200
    members: int = 10
    leaf_steps: int = 1
    smallest_scale: float = 1e-3

    def fit(
        self,
        x: Float[np.ndarray, "n d"],
        y: Float[np.ndarray, " n"],
        *,
        seed: int = 0,
        threads: int = 1,
    ) -> "FittedSGLB":
        """Fit every member to all rows."""
        check_rows(x, y)
        if np.ptp(y) == 0:
            raise ConstantTargetError(
                f"the target is {y[0]:g} in every row, but CatBoost cannot be fitted to a constant: "
                "leave SGLB out, or predict the constant"
            )
        catboost = library("catboost")
        data = catboost.Pool(np.asarray(x, np.float32), np.asarray(y, np.float64), thread_count=1)
        members = [
            catboost.CatBoostRegressor(
                loss_function="RMSEWithUncertainty",
                posterior_sampling=True,
                learning_rate=self.learning_rate,
                depth=self.depth,
                iterations=self.n_learners,
                leaf_estimation_iterations=self.leaf_steps,
                random_seed=member_seed,
                thread_count=threads,
                allow_writing_files=False,
                verbose=False,
            ).fit(data)
            for member_seed in member_seeds(seed, self.members)
        ]
        return FittedSGLB(members, self.smallest_scale, threads)


#: One tree per member. With a learning rate of 0.1 a single tree would predict a tenth of what it has
#: learnt, so the step here is 1. For the same reason its leaves take ten Newton steps: after one step
#: they are only half way from the mean and scale of all rows to their own, and no later tree corrects
#: the rest.
ONE_TREE = SGLB(learning_rate=1.0, depth=6, n_learners=1, leaf_steps=10)


@dataclass(frozen=True, eq=False)
class FittedSGLB(NormalMixture):
    """An equally weighted mixture of members, each a Normal with a mean and a scale for every row."""

    members: list[Any]
    smallest_scale: float
    threads: int = 1

    def normals(self, x: Float[np.ndarray, "n d"]) -> Normals:
        """Mean and scale of each member; CatBoost predicts the mean and the variance."""
        predictions = [
            model.predict(np.asarray(x, np.float32), thread_count=self.threads)
            for model in self.members
        ]
        means, variances = np.moveaxis(np.asarray(predictions, float), -1, 0)
        return Normals(means, np.maximum(np.sqrt(variances), self.smallest_scale))


def member_seeds(seed: int, members: int) -> list[int]:
    """Seeds for the members of an ensemble, different for every seed of the ensemble."""
    return [int(s) >> 1 for s in np.random.SeedSequence(seed).generate_state(members)]
