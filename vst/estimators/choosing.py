"""The estimators that choose and weigh models for themselves."""

from abc import abstractmethod
from typing import Any

import jax
import numpy as np
import pandas as pd
from jaxtyping import Float, PRNGKeyArray

from vst.arguments import positive
from vst.classes import MixedClassDraws
from vst.estimators.base import VariationalClassifier, VariationalModel, VariationalRegressor
from vst.minibatches import CHUNK
from vst.predictive import Draws
from vst.preprocessing import Axes, training_inputs
from vst.selection import (
    FEWEST_ROWS,
    Candidate,
    Part,
    alone,
    class_candidates,
    class_draws,
    default_candidates,
    function_draws,
    mixed_draws,
    select,
)
from vst.soft_trees import Seed, Streams
from vst.warn import warn

#: Default number of draws of each model for a prediction.
DRAWS = 64

#: Default number of draws of all models together, for classes.
CLASS_DRAWS = 200


class ChoosingModel(VariationalModel):
    """What the estimators share that choose and weigh models."""

    #: For files: the model has several parts.
    is_mixture = True

    parts_: tuple[Part, ...]
    cv_results_: dict[str, list[Any]]

    def __init__(self, effort: float = 1.0, random_state: Seed = 0, progress: bool = False):
        self.effort = effort
        self.random_state = random_state
        self.progress = progress

    @property
    def weights_(self) -> pd.Series:
        """The weight of each candidate in the mixture, largest first."""
        named = zip(self.cv_results_["candidate"], self.cv_results_["weight"], strict=True)
        return pd.Series(dict(named), name="weight").sort_values(ascending=False, kind="stable")

    def summary(self) -> str:
        """What was chosen, and why, as a text table."""
        table = pd.DataFrame(self.cv_results_).set_index("candidate")
        table = table.sort_values("weight", ascending=False, kind="stable")
        return table.to_string(float_format=lambda value: f"{value:.3g}")

    def _axes(self) -> Axes:
        return "principal"

    def _check_params(self) -> None:
        positive("effort", self.effort)

    def _train(
        self,
        x: Float[np.ndarray, "n d"],
        target: Float[np.ndarray, " n"],
        weights: Float[np.ndarray, " n"] | None,
    ) -> None:
        candidates = self._candidates(target)
        for _, setting in candidates:
            setting.require_memory(len(x), len(self.standardiser_.mean))
        first = candidates[0].setting
        z = training_inputs(x, self.standardiser_, CHUNK * first.batch_size * first.members)
        key = self._streams().training[0]
        if len(x) < FEWEST_ROWS:
            warn(
                f"{len(x)} rows are too few to hold some out: the mixture is a single tree in the "
                f"paper's form; with {FEWEST_ROWS} rows or more, models are chosen"
            )
            found = alone(key, candidates[0], z, target, weights)
        else:
            found = select(key, candidates, z, target, weights=weights, progress=self._label)
        self.parts_, self.cv_results_ = found.parts, found.results

    def _streams(self) -> Streams:
        return Streams.of(self.seed_)

    @abstractmethod
    def _candidates(self, target: Float[np.ndarray, " n"]) -> tuple[Candidate, ...]:
        """The models to choose from."""


class VSTRegressorCV(ChoosingModel, VariationalRegressor):
    """A mixture of variational soft trees and ensembles, weighed by rows held out from their training.

    Single trees in the paper's form and joint ensembles (``VSGBMRegressor(training="joint",
    noise="tree")``) with different priors and gates are fitted to parts of the rows, and to all of them.
    The rows that the parts leave out decide how much each model counts, and how wide its distributions
    are; the mixture is then made of the fits to all rows. There is nothing to tune.

    Parameters
    ----------
    effort
        Factor on the gradient steps of all candidates: 0.5 takes half the time.
    random_state
        Seed of parts, initial values, minibatches and draws: a number, or a JAX key.
    progress
        Show progress bars while fitting.

    Attributes
    ----------
    weights_ : Series
        The weight of each candidate in the mixture, largest first.
    cv_results_ : dict of lists
        For each candidate: its weight; the mean log-likelihood and root mean squared error of held-out
        rows that it has alone, in standardised units; the factor by which its scales are then stretched,
        on average; and the seconds it took.
    parts_ : tuple of Part
        The fitted models with their weights.

    Examples
    --------
    >>> import numpy as np
    >>> from vst import VSTRegressorCV
    >>> x = np.random.default_rng(0).uniform(-1, 1, (100, 2))
    >>> model = VSTRegressorCV(effort=0.1).fit(x, np.abs(x[:, 0]))
    >>> lower, upper = model.predict_dist(x).interval(0.9)
    >>> bool(model.score(x, np.abs(x[:, 0])) > 0.9)
    True
    """

    def _candidates(self, target: Float[np.ndarray, " n"]) -> tuple[Candidate, ...]:
        return default_candidates(target, self.effort)

    def _draws(self, n: int | None) -> Draws:
        each = DRAWS if n is None else -(-n // len(self.parts_))
        return mixed_draws(self._streams().drawing, self.parts_, each)

    def _function_draws(self, key: PRNGKeyArray, n: int) -> Draws:
        return function_draws(jax.random.clone(key), self.parts_, n)


class VSTClassifierCV(ChoosingModel, VariationalClassifier):
    """A mixture of models for classes, weighed by rows held out from their training.

    Bayesian logistic regressions, single trees and ensembles with different priors are fitted to parts
    of the rows, and to all of them. The rows that the parts leave out decide how much each model counts.
    There is nothing to tune.

    Parameters
    ----------
    effort, random_state, progress
        As in :class:`~vst.VSTRegressorCV`.

    Attributes
    ----------
    classes_ : array
        The classes, sorted: the order of the columns of ``predict_proba``.
    weights_, cv_results_, parts_
        As in :class:`~vst.VSTRegressorCV`; ``error`` is the share of wrong classes.

    Examples
    --------
    >>> import numpy as np
    >>> from vst import VSTClassifierCV
    >>> x = np.random.default_rng(0).normal(size=(100, 2))
    >>> model = VSTClassifierCV(effort=0.1).fit(x, np.where(x[:, 0] > 0, "right", "left"))
    >>> model.predict([[-2.0, 0.0], [2.0, 0.0]]).tolist()
    ['left', 'right']
    """

    def _candidates(self, target: Float[np.ndarray, " n"]) -> tuple[Candidate, ...]:
        return class_candidates(len(self.classes_), self.effort)

    def _draws(self, n: int | None) -> MixedClassDraws:
        return class_draws(self._streams().drawing, self.parts_, CLASS_DRAWS if n is None else n)

    def _function_draws(self, key: PRNGKeyArray, n: int) -> MixedClassDraws:
        return class_draws(jax.random.clone(key), self.parts_, n)
