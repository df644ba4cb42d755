"""What the estimators share: preparation of the table, checks, prediction, saving."""

from abc import ABC, abstractmethod
from dataclasses import asdict
from os import PathLike
from typing import Any, Self

import jax
import numpy as np
from jaxtyping import Float, PRNGKeyArray
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from vst import storage
from vst.arrays import Inputs
from vst.convergence import require_convergence, warn_unless_converged
from vst.minibatches import CHUNK
from vst.posterior import LowRankGaussian, unstack
from vst.predictive import (
    Draws,
    PredictiveDistribution,
    map_rows,
    mean_functions,
)
from vst.preprocessing import (
    Standardised,
    Standardiser,
    Table,
    TableEncoder,
    check_new_data,
    check_training_data,
    count,
    one_of,
    positive,
    target_units,
    training_inputs,
)
from vst.runtime import require_own_process
from vst.soft_trees import FittedStack, Seed, SoftTrees, Streams, fit_one, seed_of
from vst.tree import TreeShape

TREE = SoftTrees()

#: Default number of posterior draws for a prediction.
DEFAULT_DRAWS = 100

#: Keeps the draws of ``sample_functions`` independent of a fit with the same seed.
FUNCTIONS = 1 << 20


class VariationalRegressor(RegressorMixin, BaseEstimator, ABC):
    """What both models share: preparation of the table, checks, prediction, saving."""

    # Set by the subclasses' signatures.
    whiten: bool
    standardise: bool
    random_state: Seed
    progress: bool

    # Set by fit.
    encoder_: TableEncoder | None
    standardiser_: Standardiser
    target_mean_: float
    target_scale_: float
    seed_: int | list[int]
    shape_: TreeShape
    beta_: float
    stacked_posteriors_: LowRankGaussian
    elbo_: Float[np.ndarray, "members *trees steps"]
    n_iter_: int
    converged_: bool

    def fit(self, X: Table, y: Float[np.ndarray, " n"]) -> Self:
        """Fit the model to a table and its target.

        Parameters
        ----------
        X
            Features: an array, or a DataFrame. Text and category columns are one-hot encoded.
        y
            Numeric target, one value per row.

        Returns
        -------
        self
            Fitted attributes end in an underscore. If fitting fails or is interrupted, the estimator
            does not change.
        """
        before = dict(self.__dict__)
        try:
            self._fit(X, y)
        except BaseException:
            self.__dict__ = before
            raise
        return self

    def _fit(self, X: Table, y: Float[np.ndarray, " n"]) -> None:
        require_own_process()
        self._check_params()
        x, y, self.encoder_ = check_training_data(self, X, y)
        if self.standardise:
            self.standardiser_ = Standardiser.fit(x, whiten=self.whiten)
            self.target_mean_, self.target_scale_ = target_units(y)
        else:
            self.standardiser_ = Standardiser.identity(x.shape[1])
            self.target_mean_, self.target_scale_ = 0.0, 1.0
        setting = self._setting()
        setting.require_memory(*x.shape, draws=getattr(self, "draws", 0))
        self.seed_ = seed_of(self.random_state)
        target = ((y - self.target_mean_) / self.target_scale_).astype(np.float32)
        label = type(self).__name__.removesuffix("Regressor") if self.progress else None
        streams = Streams.of(self.seed_, setting.members, boosted=setting.n_trees > 0)
        z = training_inputs(x, self.standardiser_, CHUNK * setting.batch_size * setting.members)
        fitted = fit_one(setting, streams, z, target, progress=label)
        for tree in fitted.trees:
            require_convergence(tree)
        self.shape_, self.beta_ = fitted.shape, setting.beta
        self.stacked_posteriors_ = fitted.posteriors(0)
        self.elbo_ = fitted.elbo(0) if setting.n_trees else fitted.elbo(0)[:, 0]
        self.n_iter_ = self.elbo_.shape[-1]
        self._keep(fitted)
        self.converged_ = warn_unless_converged(fitted.trees, setting.steps, setting.tol)

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
        x = self._new_data(X)
        seed = check_random_state(random_state).randint(np.iinfo(np.int32).max)
        key = jax.random.fold_in(jax.random.key(seed), FUNCTIONS)
        draws = self._function_draws(key, count("n_samples", n_samples))
        return self.target_mean_ + self.target_scale_ * map_rows(mean_functions, draws, x)

    @property
    def posteriors_(self) -> list:
        """One posterior per member; for a VSGBM, one list per member with one posterior per tree."""
        return unstack(self.stacked_posteriors_)

    @property
    def posterior_(self) -> Any:
        """The first member's posterior; for a VSGBM, a list with one per tree."""
        return self.posteriors_[0]

    @property
    def n_params_(self) -> int:
        """Number of parameters ``p`` of one tree."""
        return self.stacked_posteriors_.mean.shape[-1]

    def save(self, path: str | PathLike) -> None:
        """Write the fitted model to one file of plain arrays and JSON, without pickle."""
        check_is_fitted(self)
        storage.save(self, path)

    @classmethod
    def load(cls, path: str | PathLike) -> Self:
        """Read a model written by :meth:`save`."""
        return storage.load(cls, path)

    def __sklearn_is_fitted__(self) -> bool:
        return "stacked_posteriors_" in vars(self)

    def _new_data(self, X: Table) -> Standardised:
        require_own_process()
        check_is_fitted(self)
        return check_new_data(self, X, self.encoder_, self.standardiser_)

    def _setting(self) -> SoftTrees:
        """Return this model's settings, converted to the types of :class:`SoftTrees`."""
        own, usual = self.get_params(), asdict(TREE)
        return SoftTrees(**{name: type(usual[name])(own[name]) for name in usual if name in own})

    @abstractmethod
    def _keep(self, fitted: FittedStack) -> None:
        """Store what predictions need besides the posteriors."""

    @abstractmethod
    def _draws(self, n: int | None) -> Draws:
        """The first ``n`` draws for predictions; None means the default number."""

    @abstractmethod
    def _function_draws(self, key: PRNGKeyArray, n: int) -> Draws:
        """Fresh draws of the mean function."""

    def _distribution(self, x: Inputs, n: int | None) -> PredictiveDistribution:
        return PredictiveDistribution(self._draws(n), x, self.target_mean_, self.target_scale_)

    def _check_params(self) -> None:
        own = self.get_params()
        for name in ("beta", "prior_scale", "learning_rate", "smallest_scale"):
            positive(name, own[name])
        for name in ("kl_weight", "tol"):
            positive(name, own[name], zero_allowed=True)
        for name in ("steps", "batch_size", "mc_samples", "members"):
            count(name, own[name])
        for name in ("depth", "rank"):
            count(name, own[name], least=0)
        for name in ("whiten", "standardise"):
            one_of(name, own[name], (False, True))
        if self.whiten and not self.standardise:
            raise ValueError("whiten=True needs standardised features: set standardise=True")
