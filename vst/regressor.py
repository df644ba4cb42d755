"""What both estimators share: preparation of the table, checks, prediction, saving."""

from abc import ABC, abstractmethod
from os import PathLike
from typing import Self

import jax
import numpy as np
from jaxtyping import Float, PRNGKeyArray
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from vst import storage
from vst.arrays import AnyArray, Inputs
from vst.data.preparation import Standardised, Standardiser, TableEncoder
from vst.inference import CHUNK, Hyperparameters, Program
from vst.posterior import LowRankGaussian
from vst.predictive import Draws, PredictiveDistribution, map_rows, mean_functions
from vst.tree import Leaves, Noise, TreeShape
from vst.validation import (
    Table,
    check_new_data,
    check_training_data,
    count,
    one_of,
    positive,
    target_units,
)

#: Independent streams of a seed's random numbers, so that no two purposes share any.
TRAINING, PREDICTION, PURPOSES = 0, 1, 2

#: A table is not copied as a whole for training if the copy had more bytes than this, and more rows
#: than so many chunks of minibatches: below, to fetch these would take longer, and no less memory.
LARGE_TABLE = 2**27
MANY_CHUNKS = 4

#: Keeps the draws of ``sample_functions`` apart from a fit that has the same seed.
FUNCTIONS = 1 << 20


class VariationalRegressor(RegressorMixin, BaseEstimator, ABC):
    """What both models share: preparation of the table, checks, prediction, saving."""

    _noise: Noise

    # Set by the subclasses' signatures.
    depth: int
    leaves: Leaves
    rank: int
    beta: float
    prior_scale: float
    learning_rate: float
    steps: int
    batch_size: int
    mc_samples: int
    whiten: bool
    kl_weight: float
    members: int
    random_state: int | np.random.RandomState | None
    progress: bool

    # Set by fit.
    encoder_: TableEncoder | None
    standardiser_: Standardiser
    target_mean_: float
    target_scale_: float
    seed_: int
    shape_: TreeShape
    beta_: float
    stacked_posteriors_: LowRankGaussian
    elbo_: Float[np.ndarray, "members *trees steps"]

    def fit(self, X: Table, y: Float[np.ndarray, " n"]) -> Self:
        """Fit the model to a table and its target.

        Parameters
        ----------
        X
            Features: an array, or a DataFrame whose text and category columns become one-hot.
        y
            Numeric target, one value per row.

        Returns
        -------
        self
            With fitted attributes that end in an underscore. If fitting fails or is interrupted, the
            estimator is left as it was before.
        """
        before = dict(self.__dict__)
        try:
            self._fit(X, y)
        except BaseException:
            self.__dict__ = before
            raise
        return self

    def _fit(self, X: Table, y: Float[np.ndarray, " n"]) -> None:
        self._check_params()
        x, y, self.encoder_ = check_training_data(self, X, y)
        self.standardiser_ = Standardiser.fit(x, whiten=self.whiten)
        self.target_mean_, self.target_scale_ = target_units(y)
        self.seed_ = int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
        z = self._prepared(x)
        target = ((y - self.target_mean_) / self.target_scale_).astype(np.float32)
        program = self._program(x.shape[1])
        self.shape_, self.beta_ = program.shape, float(self.beta)
        self._train(self._key(TRAINING), program, z, target)

    def predict(
        self, X: Table, return_std: bool = False
    ) -> Float[np.ndarray, " n"] | tuple[Float[np.ndarray, " n"], Float[np.ndarray, " n"]]:
        """Predictive mean, and with ``return_std`` also the predictive standard deviation."""
        check_is_fitted(self)
        x = check_new_data(self, X, self.encoder_, self.standardiser_)
        distribution = self._distribution(x, None)
        return (distribution.mean, distribution.std) if return_std else distribution.mean

    def predict_dist(self, X: Table, n_samples: int | None = None) -> PredictiveDistribution:
        """The full predictive distribution of every row.

        Parameters
        ----------
        n_samples
            Posterior draws to average over; by default 100 for a VST, and for a VSGBM all that the
            fit made (``draws``). They are the same at every call: predictions do not flicker.
        """
        check_is_fitted(self)
        # A copy: the distribution is asked later, when the table may have changed.
        x = check_new_data(self, X, self.encoder_, self.standardiser_)[:]
        return self._distribution(x, None if n_samples is None else count("n_samples", n_samples))

    def sample_functions(
        self, X: Table, n_samples: int = 10, random_state: int | None = 0
    ) -> Float[np.ndarray, "n_samples n"]:
        """Posterior draws of the mean function, each one evaluated at all rows.

        One draw is one function: it does not depend on which rows are asked for together.
        """
        check_is_fitted(self)
        x = check_new_data(self, X, self.encoder_, self.standardiser_)
        seed = check_random_state(random_state).randint(np.iinfo(np.int32).max)
        key = jax.random.fold_in(jax.random.key(seed), FUNCTIONS)
        draws = self._function_draws(key, count("n_samples", n_samples))
        return self.target_mean_ + self.target_scale_ * map_rows(mean_functions, draws, x)

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

    def _prepared(self, x: Float[np.ndarray, "n d"]) -> Inputs:
        """The training table, standardised: as a copy, or where training looks at it if it is large."""
        lazy = Standardised(x, self.standardiser_)
        fetched = CHUNK * int(self.batch_size) * int(self.members)
        large = lazy.dtype.itemsize * x.size > LARGE_TABLE and len(x) > MANY_CHUNKS * fetched
        return lazy if large else lazy[:]

    @abstractmethod
    def _train(self, key: PRNGKeyArray, program: Program, x: Inputs, y: AnyArray) -> None:
        """Fit the posteriors to standardised data and keep them."""

    @abstractmethod
    def _draws(self, n: int | None) -> Draws:
        """The first ``n`` draws for predictions, or the usual number."""

    @abstractmethod
    def _function_draws(self, key: PRNGKeyArray, n: int) -> Draws:
        """Fresh draws of the mean function."""

    def _distribution(self, x: Inputs, n: int | None) -> PredictiveDistribution:
        return PredictiveDistribution(self._draws(n), x, self.target_mean_, self.target_scale_)

    def _program(self, in_features: int) -> Program:
        shape = TreeShape(in_features, int(self.depth), self.leaves, self._noise)
        return Program(shape, int(self.rank), int(self.batch_size), int(self.mc_samples))

    def _hyperparameters(self) -> Hyperparameters:
        return Hyperparameters(self.learning_rate, self.prior_scale, self.beta, self.kl_weight)

    def _key(self, purpose: int) -> PRNGKeyArray:
        return jax.random.split(jax.random.key(self.seed_), PURPOSES)[purpose]

    def _check_params(self) -> None:
        for name in ("beta", "prior_scale", "learning_rate"):
            positive(name, getattr(self, name))
        positive("kl_weight", self.kl_weight, zero_allowed=True)
        for name in ("steps", "batch_size", "mc_samples", "members"):
            count(name, getattr(self, name))
        for name in ("depth", "rank"):
            count(name, getattr(self, name), least=0)
        one_of("whiten", self.whiten, (False, True))
