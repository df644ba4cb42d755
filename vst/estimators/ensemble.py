"""The estimator of ensembles of variational soft trees."""

from typing import Literal

import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from vst.arguments import count, one_of, positive
from vst.boosting import EnsembleDraws, NoiseUpdate
from vst.estimators.base import DEFAULT_DRAWS
from vst.estimators.sequential import MEMORY, SequentialRegressor
from vst.joint import EnsembleNoise, JointShape
from vst.predictive import Draws, draw_parameters
from vst.soft_trees import BOOSTED, FittedStack, Seed, Streams, Training, draw_model
from vst.tree import Leaves, TreeShape


class VSGBMRegressor(SequentialRegressor):
    """Variational soft GBM: a sum of variational soft trees, by default boosted as in Algorithm 1.

    There the trees are fitted in turn to the residuals of the earlier ones, and return their mean. The
    noise variance is the same everywhere and has an inverse-Gamma posterior. Two options, which the
    paper does not have, change that; ``training="joint", noise="tree"`` together predict best.
    Parameters not listed here are those of :class:`VSTRegressor`. ``partial_fit`` needs joint training.

    Parameters
    ----------
    n_trees
        Number of trees.
    training
        ``"boosting"``: one tree after the other; ``"joint"``: all trees at once, with one posterior over
        all their parameters. Each tree then counts ``1 / sqrt(n_trees)``, so that the prior of the sum
        does not grow with their number.
    noise
        ``"constant"``: the same everywhere; ``"tree"``: a further soft tree, a VST around the sum of the
        others. It is the last tree to be boosted, or trained with them.
    steps
        Gradient steps per training run: of each tree, or of all trees at once.
    prior_sigma_alpha, prior_sigma_beta
        Shape and scale of the inverse-Gamma prior on the noise variance (standardised units).
    noise_update
        ``"paper"``: inverse-Gamma(alpha + n, beta + r'r) as in Algorithm 1; ``"conjugate"``: the
        textbook posterior, with half of ``n`` and ``r'r``.
    draws
        Joint draws of trees and noise, made at the end of the fit. The noise of a draw depends on the
        training data, which the fitted model does not keep, so ``predict_dist`` cannot use more
        draws. ``sample_functions`` can. Used for boosting with constant noise only.

    Attributes
    ----------
    posteriors_ : list
        One per member, ``posterior_`` is the first: a list with one LowRankGaussian per tree; or, with
        joint training or a noise tree, one LowRankGaussian over all parameters.
    elbo_ : array of shape (members, training runs, steps taken)
        Objective of each run at every step, in nats per row; NaN after a run was done.
    """

    noise_scales_: Float[Array, " draws"]
    thetas_: Float[Array, "draws trees p"]

    def __init__(
        self,
        n_trees: int = BOOSTED.n_trees,
        training: Training = BOOSTED.training,
        noise: EnsembleNoise = BOOSTED.noise,
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
        smallest_scale: float | Literal["auto"] = "auto",
        prior_sigma_alpha: float = BOOSTED.prior_sigma_alpha,
        prior_sigma_beta: float = BOOSTED.prior_sigma_beta,
        noise_update: NoiseUpdate = BOOSTED.noise_update,
        draws: int = DEFAULT_DRAWS,
        memory: int = MEMORY,
        forgetting: float = 0.0,
        standardise: bool = True,
        random_state: Seed = 0,
        progress: bool = False,
    ):
        self.n_trees = n_trees
        self.training = training
        self.noise = noise
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
        self.memory = memory
        self.forgetting = forgetting
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
        one_of("training", self.training, ("boosting", "joint"))
        one_of("noise", self.noise, ("constant", "tree"))

    def _keep(self, fitted: FittedStack) -> None:
        for name in ("thetas_", "noise_scales_"):  # of an earlier fit
            self.__dict__.pop(name, None)
        if isinstance(self.shape_, JointShape):
            return
        draws = fitted.draws(0, int(self.draws))
        assert isinstance(draws, EnsembleDraws)
        self.thetas_, self.noise_scales_ = draws.thetas, draws.noise_scale

    def _draws(self, n: int | None) -> Draws:
        if isinstance(self.shape_, JointShape):
            drawing = Streams.of(self.seed_, boosted=True).drawing
            return self._function_draws(drawing, DEFAULT_DRAWS if n is None else n)
        kept = len(self.noise_scales_)
        if n is not None and n > kept:
            raise ValueError(
                f"n_samples must be <= {kept}, the number of draws made by fit, got {n}: "
                f"fit with draws={n}"
            )
        return self._ensemble(self.thetas_[:n], self.noise_scales_[:n])

    def _function_draws(self, key: PRNGKeyArray, n: int) -> Draws:
        if isinstance(self.shape_, JointShape):
            return draw_model(key, self.shape_, self.beta_, self.stacked_posteriors_, n)
        thetas = draw_parameters(key, self.stacked_posteriors_, n)
        return self._ensemble(thetas, jnp.zeros(n, thetas.dtype))

    def _ensemble(self, thetas: Array, noise_scales: Array) -> EnsembleDraws:
        assert isinstance(self.shape_, TreeShape)
        beta = jnp.asarray(self.beta_, thetas.dtype)
        return EnsembleDraws(thetas, noise_scales, beta, self.shape_)
