"""``partial_fit``: estimators that go on learning when more rows come."""

from abc import abstractmethod
from dataclasses import replace
from typing import Any, Self

import numpy as np
from jaxtyping import Float
from sklearn.utils import _safe_indexing, check_consistent_length, column_or_1d
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import _check_sample_weight, _num_samples

from vst.arguments import count, share
from vst.convergence import require_convergence
from vst.estimators.base import VariationalClassifier
from vst.estimators.single import SingleModel, SingleModelRegressor
from vst.joint import JointShape
from vst.learning import Memory, Past, learn
from vst.preprocessing import Table, check_labels, check_numbers
from vst.soft_trees import SoftTrees, Streams
from vst.tree import TreeShape

#: Past rows to keep by default. As many rows of 20 features take less than a megabyte.
MEMORY = 10_000


def _has_one_posterior(model: Any) -> bool:
    """Whether ``partial_fit`` exists; if not, AttributeError says what to change."""
    if getattr(model, "training", "joint") == "joint":
        return True
    raise AttributeError(
        'partial_fit needs one posterior over all trees: set training="joint"; boosting fits each tree '
        "to what the earlier ones left of the same rows"
    )


class SequentialModel(SingleModel):
    """What all models share that can go on learning."""

    # Set by the subclasses' signatures.
    memory: int
    forgetting: float

    # Set by fit.
    past_: Past

    @property
    def n_samples_seen_(self) -> int:
        """Rows that the model was fitted to, by ``fit`` and ``partial_fit`` together."""
        return self.past_.rows

    def _train(
        self,
        x: Float[np.ndarray, "n d"],
        target: Float[np.ndarray, " n"],
        weights: Float[np.ndarray, " n"] | None,
    ) -> None:
        super()._train(x, target, weights)
        total = float(len(x) if weights is None else weights.sum())
        self.past_ = Past.of(len(x), total, Memory.empty(len(self.standardiser_.mean)))

    def _partial_fit(self, X: Table, y: Any, sample_weight: Any, classes: Any = None) -> Self:
        before = dict(self.__dict__)
        try:
            if self.__sklearn_is_fitted__():
                self._check_params()
                self._learn(*self._part(X, y, sample_weight))
            else:
                self._fit(X, y, sample_weight, classes)
                first = self._part(X, y, sample_weight)
                rows = self.past_.memory.joined(np.random.default_rng(0), *first)
                self.past_ = self.past_._replace(memory=rows.sampled(self.memory))
        except BaseException:
            self.__dict__ = before
            raise
        return self

    def _part(
        self, X: Table, y: Any, sample_weight: Any
    ) -> tuple[Float[np.ndarray, "n d"], Float[np.ndarray, " n"], Float[np.ndarray, " n"]]:
        """More rows, standardised as the first ones were, and their weights; none of weight 0."""
        check_consistent_length(X, y)
        if not _num_samples(X):
            raise ValueError("partial_fit got no rows: X and y need at least one")
        weights = _check_sample_weight(sample_weight, X, ensure_non_negative=True).astype(float)
        used = np.flatnonzero(weights)
        if len(used) < len(weights):
            X, y = _safe_indexing(X, used), _safe_indexing(y, used)
        return self._new_data(X)[:], self._more_targets(y), weights[used]

    @abstractmethod
    def _more_targets(self, y: Any) -> Float[np.ndarray, " n"]:
        """Targets of more rows, in the units or the classes of the first ones."""

    def _learn(
        self,
        x: Float[np.ndarray, "n d"],
        target: Float[np.ndarray, " n"],
        weights: Float[np.ndarray, " n"],
    ) -> None:
        setting = self._setting_as_fitted(target)
        setting.require_memory(self.memory + len(x), x.shape[1])
        streams = Streams.of(self.seed_, setting.members, boosted=setting.n_trees > 0)
        self.__dict__.pop("usual_uncertainty_", None)  # of fewer rows
        result, self.past_ = learn(
            setting, streams.training, self.stacked_posteriors_, self.past_, x, target, weights,
            memory=self.memory, forgetting=self.forgetting, progress=self._label,
        )  # fmt: skip
        require_convergence(result)
        self.stacked_posteriors_ = result.posteriors
        self.elbo_ = result.elbo[:, None] if setting.n_trees else result.elbo
        self.n_iter_ = self.elbo_.shape[-1]
        self.converged_ = bool(result.converged.all())

    def _setting_as_fitted(self, target: Float[np.ndarray, " n"]) -> SoftTrees:
        """The settings, with what depends on the target as it was for the first rows."""
        return self._setting_for(target)

    def _check_params(self) -> None:
        super()._check_params()
        count("memory", self.memory, least=0)
        share("forgetting", self.forgetting)


class SequentialRegressor(SequentialModel, SingleModelRegressor):
    """What the regressors share that can go on learning."""

    @available_if(_has_one_posterior)
    def partial_fit(
        self, X: Table, y: Any, sample_weight: Float[np.ndarray, " n"] | None = None
    ) -> Self:
        """Learn from more rows: the posterior so far is the prior of what follows.

        The first call is a ``fit``. It also fixes how features and target are standardised, so its rows
        should resemble those to come; a category that appears later is treated as an unseen one. Past
        rows are not needed again, but up to ``memory`` of them are kept, also in saved models, and
        trained on again. Whenever the number of rows has doubled, training starts afresh.
        ``converged_`` tells of the last update, without a warning.

        Parameters
        ----------
        X, y, sample_weight
            As in ``fit``, for the new rows alone; one row is enough.

        Returns
        -------
        self
            If it fails or is interrupted, the estimator does not change.
        """
        return self._partial_fit(X, y, sample_weight)

    def _setting_as_fitted(self, target: Float[np.ndarray, " n"]) -> SoftTrees:
        tree = self.shape_.tree if isinstance(self.shape_, JointShape) else self.shape_
        assert isinstance(tree, TreeShape)
        return replace(self._setting(), smallest_scale=tree.smallest_scale)

    def _more_targets(self, y: Any) -> Float[np.ndarray, " n"]:
        return ((check_numbers(y) - self.target_mean_) / self.target_scale_).astype(np.float32)


class SequentialClassifier(SequentialModel, VariationalClassifier):
    """What the classifiers share that can go on learning."""

    def partial_fit(
        self,
        X: Table,
        y: Any,
        classes: Any = None,
        sample_weight: Float[np.ndarray, " n"] | None = None,
    ) -> Self:
        """Learn from more rows: the posterior so far is the prior of what follows.

        As in :meth:`vst.VSTRegressor.partial_fit`.

        Parameters
        ----------
        X, y, sample_weight
            As in ``fit``, for the new rows alone.
        classes
            All classes that will appear, in the first call; by default those in its ``y``.
        """
        return self._partial_fit(X, y, sample_weight, classes)

    def _more_targets(self, y: Any) -> Float[np.ndarray, " n"]:
        labels = column_or_1d(check_labels(y))
        unknown = np.setdiff1d(labels, self.classes_)
        if len(unknown):
            raise ValueError(
                f"y has the class {unknown.tolist()[0]!r}, which the first rows did not have: pass all "
                "classes to the first call of partial_fit, as classes=[...]"
            )
        return np.searchsorted(self.classes_, labels).astype(np.float32)
