"""``VSTRegressorCV`` as a row of the tables: fitted to standardised rows, like a peer."""

from dataclasses import dataclass
from typing import ClassVar

import jax
import numpy as np
from jaxtyping import Float

from vst.blocks import map_rows
from vst.companion.peers.interface import check_rows
from vst.estimators.choosing import DRAWS
from vst.predictive import Draws, PredictiveDistribution, mean_functions
from vst.preprocessing import Axes
from vst.selection import FEWEST_ROWS, alone, default_candidates, mixed_draws, select
from vst.soft_trees import Streams


@dataclass(frozen=True, eq=False)
class FittedDraws:
    """A fitted soft tree, ensemble or mixture of them with a peer's interface."""

    draws: Draws

    def mean_draws(self, x: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "draws n"]:
        """The mean function of each posterior draw."""
        return map_rows(mean_functions, self.draws, x)

    def log_prob(
        self, x: Float[np.ndarray, "n d"], y: Float[np.ndarray, " n"]
    ) -> Float[np.ndarray, " n"]:
        """Predictive log density of each row's target."""
        return PredictiveDistribution(self.draws, x).log_prob(y)

    def cdf(
        self, x: Float[np.ndarray, "n d"], y: Float[np.ndarray, " n"]
    ) -> Float[np.ndarray, " n"]:
        """Predictive probability that each row's target is at most ``y``."""
        return PredictiveDistribution(self.draws, x).cdf(y)


@dataclass(frozen=True)
class StackedTrees:
    """The settings of a ``VSTRegressorCV``, which chooses all others by held-out rows.

    Parameters
    ----------
    effort
        Factor on the gradient steps of all candidates.
    """

    effort: float = 1.0

    #: The coordinates of the inputs.
    axes: ClassVar[Axes] = "principal"

    def fit(
        self,
        x: Float[np.ndarray, "n d"],
        y: Float[np.ndarray, " n"],
        *,
        seed: int = 0,
        threads: int = 1,
    ) -> FittedDraws:
        """Choose, weigh and fit; like the estimator with ``random_state=jax.random.key(seed)``."""
        check_rows(x, y)
        streams = Streams.of_key(jax.random.key(seed), 1)
        key, candidates = streams.training[0], default_candidates(y, self.effort)
        few = len(x) < FEWEST_ROWS
        found = alone(key, candidates[0], x, y) if few else select(key, candidates, x, y)
        return FittedDraws(mixed_draws(streams.drawing, found.parts, DRAWS))
