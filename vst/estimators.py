"""The scikit-learn estimators: thin, stateful wrappers around pure functions."""

from abc import ABC, abstractmethod
from dataclasses import asdict
from inspect import signature
from os import PathLike
from typing import Any, Self

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from vst import storage
from vst.arrays import Inputs
from vst.boosting import EnsembleDraws, NoiseUpdate
from vst.inference import CHUNK, require_convergence
from vst.posterior import LowRankGaussian, unstack
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
    training_inputs,
)
from vst.runtime import require_own_process
from vst.soft_trees import BOOSTED, FittedStack, Seed, SoftTrees, Streams, fit_one, seed_of
from vst.tree import Leaves, TreeShape

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
        self._keep(fitted)

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
        for name in ("beta", "prior_scale", "learning_rate"):
            positive(name, own[name])
        positive("kl_weight", own["kl_weight"], zero_allowed=True)
        for name in ("steps", "batch_size", "mc_samples", "members"):
            count(name, own[name])
        for name in ("depth", "rank"):
            count(name, own[name], least=0)
        for name in ("whiten", "standardise"):
            one_of(name, own[name], (False, True))
        if self.whiten and not self.standardise:
            raise ValueError("whiten=True needs standardised features: set standardise=True")


class VSTRegressor(VariationalRegressor):
    """Variational soft tree: one soft decision tree with a low-rank Gaussian posterior.

    Every leaf is a Normal, and the target is a mixture of the leaves, weighted by the tree's soft
    routing. Maximising the ELBO fits the posterior over all parameters. The model standardises
    features and target; predictions are in the target's own units.

    Parameters
    ----------
    depth
        Gates between root and leaf; the tree has ``2**depth`` leaves.
    leaves
        ``"linear"``: a leaf's mean and scale are affine in the input; ``"constant"``: they are numbers.
    rank
        Rank of the low-rank part of the posterior covariance: 0 is mean field, ``n_params_`` is a
        full covariance.
    beta
        Inverse temperature of the gates: a larger value is closer to a hard tree.
    prior_scale
        Standard deviation ``tau`` of the prior on every parameter.
    learning_rate
        Adam's step size, which falls linearly to zero over the second half of the steps.
    steps
        Gradient steps.
    batch_size
        Rows per minibatch.
    mc_samples
        Posterior draws per step in the estimate of the expected log-likelihood.
    whiten
        Also make the standardised inputs uncorrelated (PCA). Not in the paper.
    kl_weight
        Weight of the KL term: below 1 the posterior trusts the data more. Not in the paper.
    members
        Number of posteriors fitted from different starts; predictions mix them. Not in the paper.
    standardise
        Standardise features and target. Set to False if they already are standardised.
    random_state
        Seed of initial values, minibatches and draws: a number, or a JAX key. With a key, a member's
        fit does not depend on the number of members.
    progress
        Show a progress bar while fitting.

    Attributes
    ----------
    posteriors_ : list of LowRankGaussian
        One per member; ``posterior_`` is the first.
    elbo_ : array of shape (members, steps)
        Objective at every step, in nats per row: the estimated ELBO of the standardised target, with
        the KL term weighted by ``kl_weight``.
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

    def __init__(
        self,
        depth: int = TREE.depth,
        leaves: Leaves = TREE.leaves,
        rank: int = TREE.rank,
        beta: float = TREE.beta,
        prior_scale: float = TREE.prior_scale,
        learning_rate: float = TREE.learning_rate,
        steps: int = TREE.steps,
        batch_size: int = TREE.batch_size,
        mc_samples: int = TREE.mc_samples,
        whiten: bool = bool(TREE.whiten),
        kl_weight: float = TREE.kl_weight,
        members: int = TREE.members,
        standardise: bool = True,
        random_state: Seed = 0,
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
        self.standardise = standardise
        self.random_state = random_state
        self.progress = progress

    def _keep(self, fitted: FittedStack) -> None:
        self.elbo_ = fitted.elbo(0)[:, 0]

    def _draws(self, n: int | None) -> TreeDraws:
        drawing = Streams.of(self.seed_).drawing
        return self._function_draws(drawing, DEFAULT_DRAWS if n is None else n)

    def _function_draws(self, key: PRNGKeyArray, n: int) -> TreeDraws:
        thetas = draw_parameters(key, self.stacked_posteriors_, n)
        return TreeDraws(thetas, jnp.asarray(self.beta_, thetas.dtype), self.shape_)


class VSGBMRegressor(VariationalRegressor):
    """Variational soft GBM: variational soft trees boosted on each other's residuals (Algorithm 1).

    The trees return their mean. The noise variance is the same everywhere and has an inverse-Gamma
    posterior. Parameters not listed here are those of :class:`VSTRegressor`.

    Parameters
    ----------
    n_trees
        Number of trees.
    steps
        Gradient steps per tree.
    prior_sigma_alpha, prior_sigma_beta
        Shape and scale of the inverse-Gamma prior on the noise variance (standardised units).
    noise_update
        ``"paper"``: inverse-Gamma(alpha + n, beta + r'r) as in Algorithm 1; ``"conjugate"``: the
        textbook posterior, with half of ``n`` and ``r'r``.
    draws
        Joint draws of trees and noise, made at the end of the fit. The noise of a draw depends on the
        training data, which the fitted model does not keep, so ``predict_dist`` cannot use more
        draws. ``sample_functions`` can.

    Attributes
    ----------
    posteriors_ : list of lists of LowRankGaussian
        One list per member with one posterior per tree; ``posterior_`` is the first.
    elbo_ : array of shape (members, n_trees, steps)
        Objective of each tree at every step, in nats per row.
    """

    noise_scales_: Float[Array, " draws"]
    thetas_: Float[Array, "draws trees p"]

    def __init__(
        self,
        n_trees: int = BOOSTED.n_trees,
        depth: int = BOOSTED.depth,
        leaves: Leaves = BOOSTED.leaves,
        rank: int = BOOSTED.rank,
        beta: float = BOOSTED.beta,
        prior_scale: float = BOOSTED.prior_scale,
        learning_rate: float = BOOSTED.learning_rate,
        steps: int = BOOSTED.steps,
        batch_size: int = BOOSTED.batch_size,
        mc_samples: int = BOOSTED.mc_samples,
        whiten: bool = bool(BOOSTED.whiten),
        kl_weight: float = BOOSTED.kl_weight,
        members: int = BOOSTED.members,
        prior_sigma_alpha: float = BOOSTED.prior_sigma_alpha,
        prior_sigma_beta: float = BOOSTED.prior_sigma_beta,
        noise_update: NoiseUpdate = BOOSTED.noise_update,
        draws: int = DEFAULT_DRAWS,
        standardise: bool = True,
        random_state: Seed = 0,
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
        self.standardise = standardise
        self.random_state = random_state
        self.progress = progress

    def _check_params(self) -> None:
        super()._check_params()
        count("n_trees", self.n_trees)
        count("draws", self.draws)
        positive("prior_sigma_alpha", self.prior_sigma_alpha)
        positive("prior_sigma_beta", self.prior_sigma_beta)
        one_of("noise_update", self.noise_update, ("paper", "conjugate"))

    def _keep(self, fitted: FittedStack) -> None:
        self.elbo_ = fitted.elbo(0)
        draws = fitted.draws(0, int(self.draws))
        assert isinstance(draws, EnsembleDraws)
        self.thetas_, self.noise_scales_ = draws.thetas, draws.noise_scale

    def _draws(self, n: int | None) -> EnsembleDraws:
        kept = len(self.noise_scales_)
        if n is not None and n > kept:
            raise ValueError(
                f"n_samples must be <= {kept}, the number of draws made by fit, got {n}: "
                f"fit with draws={n}"
            )
        return self._ensemble(self.thetas_[:n], self.noise_scales_[:n])

    def _function_draws(self, key: PRNGKeyArray, n: int) -> EnsembleDraws:
        thetas = draw_parameters(key, self.stacked_posteriors_, n)
        return self._ensemble(thetas, jnp.zeros(n, thetas.dtype))

    def _ensemble(self, thetas: Array, noise_scales: Array) -> EnsembleDraws:
        beta = jnp.asarray(self.beta_, thetas.dtype)
        return EnsembleDraws(thetas, noise_scales, beta, self.shape_)


def estimator(setting: SoftTrees, **options: Any) -> VSTRegressor | VSGBMRegressor:
    """The estimator for these settings; ``options`` are its other arguments."""
    cls = VSGBMRegressor if setting.n_trees else VSTRegressor
    own = signature(cls).parameters
    described = {name: value for name, value in asdict(setting).items() if name in own}
    return cls(**described | {"whiten": bool(setting.whiten)} | options)
