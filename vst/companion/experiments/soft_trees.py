"""VST and VSGBM as the experiments run them: all folds, or many settings, in one program."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray
from scipy.special import logsumexp
from scipy.stats import norm

from vst.arrays import Rows
from vst.boosting import draw_ensemble, draw_noise_variance, fit_ensemble, stack_trees
from vst.companion.peers.ranges import Interval, Ranges, Whole
from vst.companion.protocol import Prepared
from vst.inference import Hyperparameters, Program, fit
from vst.posterior import LowRankGaussian
from vst.predictive import (
    Draws,
    PredictiveDistribution,
    TreeDraws,
    draw_parameters,
    map_rows,
    mean_functions,
)
from vst.tree import Leaves, Noise, TreeShape

#: Posterior draws behind every score.
DRAWS = 100

#: The last steps, over which the ELBO's estimates are averaged.
ELBO_STEPS = 1000

#: The paper's tuning ranges.
VST_RANGES: Ranges = {
    "learning_rate": Interval(1e-4, 1e-3, log=True),
    "prior_scale": Interval(0.01, 2.5, log=True),
    "depth": Whole(1, 5),
    "beta": Interval(1.0, 50.0, log=True),
}
VSGBM_RANGES: Ranges = {
    **VST_RANGES,
    "n_trees": Whole(1, 10),
    "prior_sigma_alpha": Interval(2.5, 5.0),
    "prior_sigma_beta": Interval(0.1, 5.0, log=True),
}

#: Beyond the paper: the KL weight is tuned too, and whether to whiten.
PLUS_RANGES: Ranges = {"kl_weight": Interval(0.01, 1.0, log=True), "whiten": Whole(0, 1)}

#: With the paper's learning rates the tuner of a VST+ ended at their upper edge on most data sets.
FASTER_RANGES: Ranges = {"learning_rate": Interval(1e-4, 5e-3, log=True), **PLUS_RANGES}

#: A VST+ in about the time of a VST: few members, trees of moderate depth, and few but large steps.
QUICK_RANGES: Ranges = {
    **PLUS_RANGES,
    "learning_rate": Interval(1e-3, 1e-2, log=True),
    "depth": Whole(3, 4),
}


@dataclass(frozen=True)
class SoftTrees:
    """Hyperparameters of a VST, or with ``n_trees`` above zero of a VSGBM.

    The names are those of :class:`vst.VSTRegressor` and :class:`vst.VSGBMRegressor`.
    """

    leaves: Leaves = "linear"
    depth: int = 4
    rank: int = 5
    beta: float = 5.0
    prior_scale: float = 1.0
    learning_rate: float = 1e-3
    steps: int = 10_000
    batch_size: int = 128
    whiten: int = 0
    kl_weight: float = 1.0
    members: int = 1
    n_trees: int = 0
    prior_sigma_alpha: float = 3.0
    prior_sigma_beta: float = 1.0

    def program(self, in_features: int) -> Program:
        """The compiled part of the settings."""
        noise: Noise = "shared" if self.n_trees else "leaf"
        shape = TreeShape(in_features, self.depth, self.leaves, noise)
        return Program(shape, min(self.rank, shape.n_params), self.batch_size)


@dataclass(frozen=True, eq=False)
class FittedTrees:
    """A fitted replica, with the two functions of a peer."""

    draws: Draws
    elbo: float = float("nan")  #: at the end of training, in nats per row; of a VSGBM's last tree

    def mean_draws(self, x: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "draws n"]:
        """The mean function of each posterior draw."""
        return map_rows(mean_functions, self.draws, x)

    def log_prob(
        self, x: Float[np.ndarray, "n d"], y: Float[np.ndarray, " n"]
    ) -> Float[np.ndarray, " n"]:
        """Predictive log density of each row's target."""
        return PredictiveDistribution(self.draws, x).log_prob(y)


@dataclass(frozen=True, eq=False)
class FittedStack:
    """Fits of one program, from which each fit's model is made when asked for."""

    settings: Sequence[SoftTrees]
    data: Prepared
    folds: Sequence[int]
    seeds: Sequence[int]
    program: Program
    posteriors: LowRankGaussian  #: stacked over fits and members, and trees for a VSGBM
    elbo: Float[np.ndarray, " fits"]  #: at the end of training, in nats per row

    def model(self, i: int) -> FittedTrees:
        """The model of fit ``i``."""
        setting, key, posteriors = self.settings[i], self._key(i), self._posteriors(i)
        if not setting.n_trees:
            thetas = draw_parameters(key, posteriors, DRAWS)
            draws = TreeDraws(thetas, jnp.float32(setting.beta), self.program.shape)
            return FittedTrees(draws, self.elbo[i])
        used = self.data.folds.train.rows(self.folds[i])
        ensemble = draw_ensemble(
            key,
            self.program.shape,
            setting.beta,
            posteriors,
            self.data.x_train[used],
            self.data.y_train[used],
            n_draws=DRAWS,
            prior_sigma_alpha=setting.prior_sigma_alpha,
            prior_sigma_beta=setting.prior_sigma_beta,
        )
        return FittedTrees(ensemble, self.elbo[i])

    def log_likelihood_by_trees(
        self, i: int, x: Float[np.ndarray, "n d"], y: Float[np.ndarray, " n"]
    ) -> Float[np.ndarray, " trees"]:
        """Mean log-likelihood of the VSGBMs that the first tree, the first two, ... of fit ``i`` are.

        Each tree is evaluated once, where scoring the ensembles one by one would evaluate it in all.
        """
        setting = self.settings[i]
        tree_key, noise_key = jax.random.split(self._key(i))
        thetas = draw_parameters(tree_key, self._posteriors(i), DRAWS)
        used = self.data.folds.train.rows(self.folds[i])
        residual, mean, scores = self.data.y_train[used], np.zeros(()), []
        for tree in range(setting.n_trees):
            draws = TreeDraws(thetas[:, tree], jnp.float32(setting.beta), self.program.shape)
            residual = residual - map_rows(mean_functions, draws, self.data.x_train[used])
            mean = mean + map_rows(mean_functions, draws, x)
            variance = draw_noise_variance(
                jax.random.fold_in(noise_key, tree),
                np.sum(np.square(residual), axis=1),
                len(used),
                setting.prior_sigma_alpha,
                setting.prior_sigma_beta,
            )
            density = norm.logpdf(y, mean, np.sqrt(variance)[:, None])
            scores.append(np.mean(logsumexp(density, axis=0) - np.log(DRAWS)))
        return np.array(scores)

    def _posteriors(self, i: int) -> LowRankGaussian:
        members = self.settings[i].members
        own = slice(i * members, (i + 1) * members)
        return jax.tree.map(lambda a: a[own], self.posteriors)

    def _key(self, i: int) -> PRNGKeyArray:
        return jax.random.fold_in(jax.random.key(self.seeds[i]), self.folds[i])


def fit_stack(
    settings: Sequence[SoftTrees], data: Prepared, folds: Sequence[int], seeds: Sequence[int]
) -> FittedStack:
    """Fit models that differ in fold, seed and traced hyperparameters, in one program.

    Parameters
    ----------
    settings, folds, seeds
        One of each per fit; what :meth:`SoftTrees.program` depends on, and ``members``, ``steps``
        and ``n_trees``, must be the same in all.
    """
    first, members = settings[0], settings[0].members
    rows = Rows(
        np.repeat(data.folds.train.indices[list(folds)], members, axis=0),
        np.repeat(data.folds.train.counts[list(folds)], members),
    )
    hyper = Hyperparameters(
        *(
            jnp.asarray(np.repeat([getattr(s, name) for s in settings], members), jnp.float32)
            for name in Hyperparameters._fields
        )
    )
    program = first.program(data.x_train.shape[1])
    keys, x, y = _keys(folds, seeds, members), data.x_train, data.y_train
    if first.n_trees:
        fits = fit_ensemble(
            keys, program, hyper, x, y, rows, n_trees=first.n_trees, steps=first.steps
        )
        last, posteriors = fits[-1], stack_trees(fits)
    else:
        last = fit(keys, program, hyper, x, y, rows, steps=first.steps)
        posteriors = last.posteriors
    by_replica = last.elbo[:, -ELBO_STEPS:].mean(axis=1)
    elbo = by_replica.reshape(len(settings), members).mean(axis=1)
    return FittedStack(settings, data, folds, seeds, program, posteriors, elbo)


def _keys(folds: Sequence[int], seeds: Sequence[int], members: int) -> PRNGKeyArray:
    """A key per replica that depends on its own seed, fold and member alone."""
    member = np.tile(np.arange(members), len(folds))
    return _key(np.repeat(seeds, members), np.repeat(folds, members), member)


@jax.jit
@jax.vmap
def _key(seed: Int[Array, ""], fold: Int[Array, ""], member: Int[Array, ""]) -> PRNGKeyArray:
    return jax.random.fold_in(jax.random.fold_in(jax.random.key(seed), fold), member)


def all_steps(depth: int) -> float:
    """A VST of any depth trains for all of its data set's steps."""
    return 1.0


def steps_of_a_tree(depth: int) -> float:
    """The trees of an ensemble share the work."""
    return 1 / 5


def quick_steps(depth: int) -> float:
    """Each of four members has a sixth at depth 4, and twice that in half the time per step at 3."""
    return 2.0 ** (4 - depth) / 6


class SoftEntry(NamedTuple):
    """A model of the tables: before tuning, and where a tuner looks."""

    defaults: SoftTrees
    ranges: Ranges  #: the paper's
    own_ranges: Ranges = MappingProxyType(
        {}
    )  #: ours: of further settings, or in place of the paper's
    share: Callable[[int], float] = all_steps  #: of the steps of its data set, by its depth


SOFT_TREES: dict[str, SoftEntry] = {
    "vst-const": SoftEntry(SoftTrees(leaves="constant"), VST_RANGES),
    "vst-linear": SoftEntry(SoftTrees(), VST_RANGES),
    "vst-quick": SoftEntry(
        SoftTrees(learning_rate=3e-3, kl_weight=0.1, members=4),
        VST_RANGES,
        QUICK_RANGES,
        quick_steps,
    ),
    "vst-plus": SoftEntry(SoftTrees(kl_weight=0.1, members=10), VST_RANGES, FASTER_RANGES),
    "vsgbm-const": SoftEntry(
        SoftTrees(leaves="constant", n_trees=10), VSGBM_RANGES, share=steps_of_a_tree
    ),
    "vsgbm-linear": SoftEntry(SoftTrees(n_trees=10), VSGBM_RANGES, share=steps_of_a_tree),
    "vsgbm-plus": SoftEntry(
        SoftTrees(n_trees=10, kl_weight=0.1, members=10),
        VSGBM_RANGES,
        PLUS_RANGES,
        steps_of_a_tree,
    ),
}


def steps_for(n: int, d: int) -> int:
    """Gradient steps for ``n`` rows of ``d`` features: the paper does not say how many it took.

    Long runs pay on many rows, where the posterior is narrow and the learning rate, 0.001 at most in
    the paper's range, takes long to get there. With many features each step is slow.
    """
    return 60_000 if n >= 5_000 and d <= 50 else 20_000
