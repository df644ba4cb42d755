"""The estimator of boosted variational soft trees."""

import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from vst.boosting import EnsembleDraws, NoiseUpdate
from vst.estimators.base import DEFAULT_DRAWS, VariationalRegressor
from vst.predictive import draw_parameters
from vst.preprocessing import count, one_of, positive
from vst.soft_trees import BOOSTED, FittedStack, Seed
from vst.tree import Leaves


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
    elbo_ : array of shape (members, n_trees, steps taken)
        Objective of each tree at every step, in nats per row; NaN after a tree was done.
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
        tol: float = BOOSTED.tol,
        batch_size: int = BOOSTED.batch_size,
        mc_samples: int = BOOSTED.mc_samples,
        whiten: bool = bool(BOOSTED.whiten),
        kl_weight: float = BOOSTED.kl_weight,
        members: int = BOOSTED.members,
        smallest_scale: float = BOOSTED.smallest_scale,
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
        self.tol = tol
        self.batch_size = batch_size
        self.mc_samples = mc_samples
        self.whiten = whiten
        self.kl_weight = kl_weight
        self.members = members
        self.smallest_scale = smallest_scale
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
