"""The scikit-learn estimators: thin, stateful wrappers of the pure functions below them."""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from vst.arrays import AnyArray, Inputs
from vst.boosting import EnsembleDraws, NoiseUpdate, draw_ensemble, fit_ensemble, stack_trees
from vst.inference import Program, fit, require_convergence
from vst.posterior import LowRankGaussian
from vst.predictive import TreeDraws, draw_parameters
from vst.regressor import PREDICTION, VariationalRegressor
from vst.rows import Rows
from vst.tree import Leaves
from vst.validation import count, one_of, positive

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
