"""What all estimators share: preparation of the table, prediction, saving."""

import re
from abc import ABC, abstractmethod
from os import PathLike
from typing import Any, Self

import jax
import numpy as np
from jaxtyping import Float, PRNGKeyArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, is_regressor
from sklearn.utils import Tags, _safe_indexing, check_random_state
from sklearn.utils.validation import _num_samples, check_is_fitted

from vst import storage
from vst.arguments import count
from vst.arrays import Inputs, row_blocks
from vst.blocks import map_rows
from vst.class_distribution import ClassDistribution, probabilities
from vst.encoding import TableEncoder
from vst.importances import column_importances
from vst.predictive import (
    PredictiveDistribution,
    mean_functions,
)
from vst.preprocessing import (
    Axes,
    Standardised,
    Standardiser,
    Table,
    check_new_data,
    check_training_data,
    check_weights,
    target_units,
)
from vst.runtime import require_own_process
from vst.soft_trees import Seed, seed_of

#: Default number of posterior draws for a prediction.
DEFAULT_DRAWS = 100

#: Posterior draws for the importances of columns: as many functions are averaged.
IMPORTANCE_DRAWS = 64

#: Keeps the draws of ``sample_functions`` independent of a fit with the same seed.
FUNCTIONS = 1 << 20


class VariationalModel(BaseEstimator, ABC):
    """What all estimators share: preparation of the table, weights, saving."""

    #: Whether to standardise features and target; an argument of some subclasses.
    standardise: bool = True

    # Set by the subclasses' signatures.
    random_state: Seed
    progress: bool

    # Set by fit.
    encoder_: TableEncoder | None
    standardiser_: Standardiser
    seed_: int | list[int]

    def fit(
        self,
        X: Table,
        y: Any,
        sample_weight: Float[np.ndarray, " n"] | None = None,
    ) -> Self:
        """Fit the model to a table and its target.

        Parameters
        ----------
        X
            Features: an array, or a DataFrame. Text and category columns are one-hot encoded. Values may
            be missing (NaN, None, pd.NA): a missing number becomes its column's mean, and another
            feature tells where; a missing text is a category of its own.
        y
            Target, one per row: a number, or for a classifier any label.
        sample_weight
            Weight of each row: how many rows it counts as. Rows of weight 0 are left out. By default all
            weights are 1.

        Returns
        -------
        self
            Fitted attributes end in an underscore. If fitting fails or is interrupted, the estimator
            does not change.
        """
        before = dict(self.__dict__)
        try:
            self.__dict__.pop("usual_uncertainty_", None)  # of the rows of an earlier fit
            self._fit(X, y, sample_weight)
        except BaseException:
            self.__dict__ = before
            raise
        return self

    def _fit(self, X: Table, y: Any, sample_weight: Any, classes: Any = None) -> None:
        require_own_process()
        self._check_params()
        weights = None
        if sample_weight is not None:
            used, weights = check_weights(X, sample_weight)
            if len(used) < _num_samples(X):
                X, y = _safe_indexing(X, used), _safe_indexing(y, used)
        x, y, self.encoder_ = check_training_data(self, X, y, numeric=is_regressor(self))
        target = self._target(y, weights, classes)
        if self.standardise:
            indicators = self.encoder_.indicators if self.encoder_ else ()
            self.standardiser_ = Standardiser.fit(x, self._axes(), weights, indicators)
        else:
            self.standardiser_ = Standardiser.identity(x.shape[1])
            _refuse_gaps(x)
        self.seed_ = seed_of(self.random_state)
        self._train(x, target, weights)

    @abstractmethod
    def _target(
        self, y: np.ndarray, weights: Float[np.ndarray, " n"] | None, classes: Any = None
    ) -> Float[np.ndarray, " n"]:
        """The target as the model is trained on it, after its units or classes have been kept.

        ``classes`` are all classes of a classifier, if they are not those in ``y``.
        """

    def save(self, path: str | PathLike) -> None:
        """Write the fitted model to one file of plain arrays and JSON, without pickle."""
        check_is_fitted(self)
        storage.save(self, path)

    @classmethod
    def load(cls, path: str | PathLike) -> Self:
        """Read a model written by :meth:`save`."""
        return storage.load({cls.__name__: cls}, path)

    @property
    def feature_importances_(self) -> Float[np.ndarray, " columns"]:
        """How much the model uses each column of the table, as shares that sum to one.

        The mean absolute slope of the prediction along each feature, with all features standardised,
        by gates and leaves alike; categories of one column are added up. In the order of
        ``feature_names_in_``.
        """
        check_is_fitted(self)
        draws = self._function_draws(jax.random.key(0), IMPORTANCE_DRAWS)
        return column_importances(draws, self.standardiser_, self.encoder_)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return "standardiser_" in vars(self)

    def _new_data(self, X: Table) -> Standardised:
        require_own_process()
        check_is_fitted(self)
        return check_new_data(self, X, self.encoder_, self.standardiser_)

    @abstractmethod
    def _axes(self) -> Axes:
        """The coordinates of the standardised inputs."""

    @abstractmethod
    def _train(
        self,
        x: Float[np.ndarray, "n d"],
        target: Float[np.ndarray, " n"],
        weights: Float[np.ndarray, " n"] | None,
    ) -> None:
        """Fit to a checked table, not yet standardised, a standardised target, and weights."""

    @abstractmethod
    def _draws(self, n: int | None) -> Any:
        """The first ``n`` draws for predictions; None means the default number."""

    @abstractmethod
    def _function_draws(self, key: PRNGKeyArray, n: int) -> Any:
        """Fresh draws of the mean function, or of the probabilities of classes."""

    def _fresh(self, n_samples: int, random_state: int | None) -> Any:
        """Draws for ``sample_functions``."""
        seed = check_random_state(random_state).randint(np.iinfo(np.int32).max)
        key = jax.random.fold_in(jax.random.key(seed), FUNCTIONS)
        return self._function_draws(key, count("n_samples", n_samples))

    @abstractmethod
    def _check_params(self) -> None:
        """Raise ValueError for a bad argument."""

    @property
    def _label(self) -> str | None:
        """Label of the progress bar, if there is one."""
        return re.sub("Regressor|Classifier", "", type(self).__name__) if self.progress else None


class VariationalRegressor(RegressorMixin, VariationalModel):
    """What all regressors share: the units of the target, and prediction."""

    # Set by fit.
    target_mean_: float
    target_scale_: float

    def predict(
        self, X: Table, return_std: bool = False
    ) -> Float[np.ndarray, " n"] | tuple[Float[np.ndarray, " n"], Float[np.ndarray, " n"]]:
        """Predictive mean, and with ``return_std`` also the predictive standard deviation."""
        x = self._new_data(X)
        distribution = self._distribution(x, None)
        return (distribution.mean, distribution.std) if return_std else distribution.mean

    def predict_dist(self, X: Table, n_samples: int | None = None) -> PredictiveDistribution:
        """The full predictive distribution of every row.

        Parameters
        ----------
        n_samples
            Posterior draws to average over. Defaults to 100 for a VST, and to all draws of the fit
            (``draws``) for a VSGBM. Every call uses the same draws, so predictions do not change.
        """
        # A copy: the distribution is evaluated later, when the table may have changed.
        x = self._new_data(X)[:]
        return self._distribution(x, None if n_samples is None else count("n_samples", n_samples))

    def sample_functions(
        self, X: Table, n_samples: int = 10, random_state: int | None = 0
    ) -> Float[np.ndarray, "n_samples n"]:
        """Posterior draws of the mean function, each evaluated at all rows.

        One draw is one function: its value at a row does not depend on the other rows.
        """
        x, draws = self._new_data(X), self._fresh(n_samples, random_state)
        return self.target_mean_ + self.target_scale_ * map_rows(mean_functions, draws, x)

    def _target(
        self, y: np.ndarray, weights: Float[np.ndarray, " n"] | None, classes: Any = None
    ) -> Float[np.ndarray, " n"]:
        units = target_units(y, weights) if self.standardise else (0.0, 1.0)
        self.target_mean_, self.target_scale_ = units
        return ((y - self.target_mean_) / self.target_scale_).astype(np.float32)

    def _distribution(self, x: Inputs, n: int | None) -> PredictiveDistribution:
        return PredictiveDistribution(self._draws(n), x, self.target_mean_, self.target_scale_)


class VariationalClassifier(ClassifierMixin, VariationalModel):
    """What all classifiers share: the classes, and prediction."""

    # Set by fit.
    classes_: np.ndarray

    def predict(self, X: Table) -> np.ndarray:
        """The most probable class of each row."""
        best = np.argmax(self.predict_proba(X), axis=1)
        return self.classes_[best]

    def predict_proba(self, X: Table) -> Float[np.ndarray, "n classes"]:
        """Probability of each class, in the order of ``classes_``."""
        return self._distribution(self._new_data(X), None).proba

    def predict_dist(self, X: Table, n_samples: int | None = None) -> ClassDistribution:
        """The full predictive distribution of every row: probabilities, and parts of its uncertainty.

        Parameters
        ----------
        n_samples
            Posterior draws to average over, by default 100. Every call uses the same draws.
        """
        # A copy: the distribution is evaluated later, when the table may have changed.
        x = self._new_data(X)[:]
        return self._distribution(x, None if n_samples is None else count("n_samples", n_samples))

    def sample_functions(
        self, X: Table, n_samples: int = 10, random_state: int | None = 0
    ) -> Float[np.ndarray, "n_samples n classes"]:
        """Posterior draws of the probabilities of the classes, each evaluated at all rows."""
        x, draws = self._new_data(X), self._fresh(n_samples, random_state)
        return map_rows(probabilities, draws, x).transpose(0, 2, 1)

    def _target(
        self, y: np.ndarray, weights: Float[np.ndarray, " n"] | None, classes: Any = None
    ) -> Float[np.ndarray, " n"]:
        self.classes_ = np.unique(y if classes is None else classes)
        if len(self.classes_) < 2:
            raise ValueError(
                f"y has one class, {self.classes_[0]!s}: a classifier needs rows of at least two"
            )
        strange = np.setdiff1d(y, self.classes_).tolist()
        if strange:
            raise ValueError(
                f"y has the class {strange[0]!r}, which is not among the classes given"
            )
        return np.searchsorted(self.classes_, y).astype(np.float32)

    def _distribution(self, x: Inputs, n: int | None) -> ClassDistribution:
        return ClassDistribution(self._draws(n), x, self.classes_)


def _refuse_gaps(x: Float[np.ndarray, "n d"]) -> None:
    """Features that are taken as they are cannot have gaps: their means are not known."""
    if any(np.isnan(block).any() for block in row_blocks(x)):
        raise ValueError(
            "X holds NaN, which standardise=False does not fill in: set standardise=True, or fill the "
            "values in (sklearn.impute.SimpleImputer)"
        )
