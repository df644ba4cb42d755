"""The scikit-learn estimators: thin, stateful wrappers of the pure functions below them."""

from abc import ABC, abstractmethod
from os import PathLike
from typing import Self

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from vst import storage
from vst.arrays import AnyArray, Inputs, Rows
from vst.boosting import EnsembleDraws, NoiseUpdate, draw_ensemble, fit_ensemble, stack_trees
from vst.inference import CHUNK, Hyperparameters, Program, fit, require_convergence
from vst.posterior import LowRankGaussian
from vst.predictive import (
    Draws,
    PredictiveDistribution,
    TreeDraws,
    draw_parameters,
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
)
from vst.tree import Leaves, Noise, TreeShape

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


#: Posterior draws behind a prediction unless another number is asked for.
USUAL_DRAWS = 100


class VSTRegressor(VariationalRegressor):
    """Variational soft tree: one soft decision tree with a low-rank Gaussian posterior.

    Every leaf is a Normal and the target is their mixture, weighted by the tree's soft routing; the
    posterior over all parameters is fitted by maximising the ELBO. Features and target are
    standardised inside; predictions are in the target's own units.

    Parameters
    ----------
    depth
        Gates between root and leaf; ``2**depth`` leaves. 0 is a single leaf.
    leaves
        ``"linear"``: mean and scale of a leaf are affine in the input; ``"constant"``: numbers.
    rank
        Rank of the posterior covariance beyond its diagonal: 0 is mean field, the number of
        parameters (``n_params_``) is a full covariance.
    beta
        Inverse temperature of the gates: larger is closer to a hard tree.
    prior_scale
        Standard deviation ``tau`` of the prior on every parameter.
    learning_rate
        Adam's step size, which falls linearly to zero over the second half of the steps.
    steps
        Gradient steps.
    batch_size
        Rows in the minibatch of a step.
    mc_samples
        Posterior draws per step in the estimate of the expected log-likelihood.
    whiten
        Make the inputs uncorrelated (PCA) as well as standardised. Beyond the paper.
    kl_weight
        Weight of the KL term: below 1 the posterior trusts the data more. Beyond the paper.
    members
        Number of posteriors fitted from different starts; predictions mix them. Beyond the paper.
    random_state
        Seed of initial values, minibatches and draws.
    progress
        Show a progress bar while fitting.

    Attributes
    ----------
    posteriors_ : list of LowRankGaussian
        One per member; ``posterior_`` is the first.
    elbo_ : array of shape (members, steps)
        Objective at every step, in nats per row: an estimate of the ELBO (with the KL term weighted
        by ``kl_weight``) for the standardised target.
    n_params_ : int
        Number of parameters.

    Examples
    --------
    >>> import numpy as np
    >>> from vst import VSTRegressor
    >>> x = np.linspace(-1, 1, 200)[:, None]
    >>> y = np.abs(x[:, 0])
    >>> model = VSTRegressor(depth=1, steps=2000, learning_rate=1e-2).fit(x, y)
    >>> model.score(x, y) > 0.9
    True
    """

    _noise = "leaf"

    def __init__(
        self,
        depth: int = 4,
        leaves: Leaves = "linear",
        rank: int = 5,
        beta: float = 5.0,
        prior_scale: float = 1.0,
        learning_rate: float = 1e-3,
        steps: int = 6000,
        batch_size: int = 128,
        mc_samples: int = 1,
        whiten: bool = False,
        kl_weight: float = 1.0,
        members: int = 1,
        random_state: int | np.random.RandomState | None = 0,
        progress: bool = False,
    ):
        self.depth = depth
        self.leaves = leaves
        self.rank = rank
        self.beta = beta
        self.prior_scale = prior_scale
        self.learning_rate = learning_rate
        self.steps = steps
        self.batch_size = batch_size
        self.mc_samples = mc_samples
        self.whiten = whiten
        self.kl_weight = kl_weight
        self.members = members
        self.random_state = random_state
        self.progress = progress

    @property
    def posteriors_(self) -> list[LowRankGaussian]:
        """The members' posteriors."""
        return _unstack(self.stacked_posteriors_)

    @property
    def posterior_(self) -> LowRankGaussian:
        """The first member's posterior."""
        return self.posteriors_[0]

    def _train(self, key: PRNGKeyArray, program: Program, x: Inputs, y: AnyArray) -> None:
        rows = Rows.all(len(x), int(self.members))
        label = "VST" if self.progress else None
        result = fit(
            key, program, self._hyperparameters(), x, y, rows, steps=int(self.steps), progress=label
        )
        require_convergence(result, self.learning_rate)
        self.elbo_ = result.elbo
        self.stacked_posteriors_ = result.posteriors

    def _draws(self, n: int | None) -> TreeDraws:
        return self._function_draws(self._key(PREDICTION), USUAL_DRAWS if n is None else n)

    def _function_draws(self, key: PRNGKeyArray, n: int) -> TreeDraws:
        thetas = draw_parameters(key, self.stacked_posteriors_, n)
        return TreeDraws(thetas, jnp.asarray(self.beta_, thetas.dtype), self.shape_)


class VSGBMRegressor(VariationalRegressor):
    """Variational soft GBM: variational soft trees boosted on each other's residuals (Algorithm 1).

    The trees return their mean; the noise has the same width everywhere, with an inverse-Gamma
    posterior. The parameters not listed here mean what they mean for :class:`VSTRegressor`.

    Parameters
    ----------
    n_trees
        Number of trees.
    steps
        Gradient steps for each tree.
    prior_sigma_alpha, prior_sigma_beta
        Shape and scale of the inverse-Gamma prior on the noise variance (standardised units).
    noise_update
        ``"paper"``: inverse-Gamma(alpha + n, beta + r'r) as in Algorithm 1; ``"conjugate"``: the
        textbook posterior, with half of ``n`` and ``r'r``.
    draws
        Joint draws of trees and noise made at the end of the fit. The noise of a draw depends on the
        training data, which the fitted model does not keep, so this is the most that
        ``predict_dist`` can use; ``sample_functions`` is not limited by it.

    Attributes
    ----------
    posteriors_ : list of lists of LowRankGaussian
        One list per member, of one posterior per tree; ``posterior_`` is the first.
    elbo_ : array of shape (members, n_trees, steps)
        Objective of each tree at every step, in nats per row.
    """

    _noise = "shared"

    noise_scales_: Float[Array, " draws"]
    thetas_: Float[Array, "draws trees p"]

    def __init__(
        self,
        n_trees: int = 5,
        depth: int = 4,
        leaves: Leaves = "linear",
        rank: int = 5,
        beta: float = 5.0,
        prior_scale: float = 1.0,
        learning_rate: float = 1e-3,
        steps: int = 3000,
        batch_size: int = 128,
        mc_samples: int = 1,
        whiten: bool = False,
        kl_weight: float = 1.0,
        members: int = 1,
        prior_sigma_alpha: float = 3.0,
        prior_sigma_beta: float = 1.0,
        noise_update: NoiseUpdate = "paper",
        draws: int = 100,
        random_state: int | np.random.RandomState | None = 0,
        progress: bool = False,
    ):
        self.n_trees = n_trees
        self.depth = depth
        self.leaves = leaves
        self.rank = rank
        self.beta = beta
        self.prior_scale = prior_scale
        self.learning_rate = learning_rate
        self.steps = steps
        self.batch_size = batch_size
        self.mc_samples = mc_samples
        self.whiten = whiten
        self.kl_weight = kl_weight
        self.members = members
        self.prior_sigma_alpha = prior_sigma_alpha
        self.prior_sigma_beta = prior_sigma_beta
        self.noise_update = noise_update
        self.draws = draws
        self.random_state = random_state
        self.progress = progress

    @property
    def posteriors_(self) -> list[list[LowRankGaussian]]:
        """The members' posteriors, tree by tree."""
        return [_unstack(member) for member in _unstack(self.stacked_posteriors_)]

    @property
    def posterior_(self) -> list[LowRankGaussian]:
        """The first member's posteriors, tree by tree."""
        return self.posteriors_[0]

    def _check_params(self) -> None:
        super()._check_params()
        count("n_trees", self.n_trees)
        count("draws", self.draws)
        positive("prior_sigma_alpha", self.prior_sigma_alpha)
        positive("prior_sigma_beta", self.prior_sigma_beta)
        one_of("noise_update", self.noise_update, ("paper", "conjugate"))

    def _train(self, key: PRNGKeyArray, program: Program, x: Inputs, y: AnyArray) -> None:
        tree_key, draw_key = jax.random.split(key)
        fits = fit_ensemble(
            tree_key,
            program,
            self._hyperparameters(),
            x,
            y,
            Rows.all(len(x), int(self.members)),
            n_trees=int(self.n_trees),
            steps=int(self.steps),
            progress="VSGBM" if self.progress else None,
        )
        for result in fits:
            require_convergence(result, self.learning_rate)
        posteriors = stack_trees(fits)
        draws = draw_ensemble(
            draw_key,
            program.shape,
            self.beta,
            posteriors,
            x,
            y,
            n_draws=int(self.draws),
            prior_sigma_alpha=self.prior_sigma_alpha,
            prior_sigma_beta=self.prior_sigma_beta,
            noise_update=self.noise_update,
        )
        self.elbo_ = np.stack([result.elbo for result in fits], axis=1)
        self.thetas_, self.noise_scales_ = draws.thetas, draws.noise_scale
        self.stacked_posteriors_ = posteriors

    def _draws(self, n: int | None) -> EnsembleDraws:
        kept = len(self.noise_scales_)
        if n is not None and n > kept:
            raise ValueError(
                f"n_samples is {n}, but {kept} joint draws of trees and noise were made at the end of "
                f"the fit; fit with draws={n} to have as many"
            )
        return self._ensemble(self.thetas_[:n], self.noise_scales_[:n])

    def _function_draws(self, key: PRNGKeyArray, n: int) -> EnsembleDraws:
        thetas = draw_parameters(key, self.stacked_posteriors_, n)
        return self._ensemble(thetas, jnp.zeros(n, thetas.dtype))

    def _ensemble(self, thetas: Array, noise_scales: Array) -> EnsembleDraws:
        return EnsembleDraws(
            thetas, noise_scales, jnp.asarray(self.beta_, thetas.dtype), self.shape_
        )


def _unstack(posteriors: LowRankGaussian) -> list[LowRankGaussian]:
    return [LowRankGaussian(*parts) for parts in zip(*posteriors, strict=True)]
