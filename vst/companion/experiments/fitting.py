"""Fits models to folds and scores them: all folds of a soft tree in one program, peers one by one."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache, singledispatch
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from scipy.special import logsumexp
from scipy.stats import norm

from vst.arrays import Rows
from vst.blocks import map_rows
from vst.boosting import draw_noise_variance
from vst.companion.experiments import datasets
from vst.companion.models import Size
from vst.companion.peers import Fitted, NoDensityError
from vst.companion.protocol import Prepared, prepare
from vst.companion.stacked import FittedDraws
from vst.posterior import LowRankGaussian
from vst.predictive import (
    Draws,
    TreeDraws,
    draw_parameters,
    mean_functions,
)
from vst.preprocessing import Axes, rounding_error
from vst.soft_trees import FittedStack, SoftTrees, Streams, fit_many
from vst.tree import TreeShape, normal_log_prob

#: The seed of the split that all experiments share but the blind replication.
SPLIT = 0

#: Posterior draws for every score.
DRAWS = 100

#: Training rows that the bound is estimated from, at most; it is an average over rows.
BOUND_ROWS = 4096


@dataclass(frozen=True, eq=False)
class FittedTrees(FittedDraws):
    """A fitted VST or VSGBM, and how it was fitted."""

    divergence: float = float("nan")  #: KL of posterior from prior, in nats per training row
    converged: bool = False
    steps: int = 0  #: of gradient, taken

    def bound(self, x: Float[np.ndarray, "n d"], y: Float[np.ndarray, " n"]) -> float:
        """The ELBO per row: of training rows the objective, of others what the paper tunes by."""
        some = slice(BOUND_ROWS)
        expected = map_rows(_expected_log_likelihood, self.draws, x[some], y[some])
        return float(expected.mean()) - self.divergence


@jax.jit
def _expected_log_likelihood(
    draws: Draws, x: Float[Array, "n d"], y: Float[Array, " n"]
) -> Float[Array, " n"]:
    """Mean over draws of the log density of each row's target."""
    log_weights, means, scales = draws.mixture(x)
    joint = log_weights + normal_log_prob(y, means, scales)
    return jnp.mean(jax.nn.logsumexp(joint, axis=1), axis=0)


def prepared(dataset: str, axes: Axes = "features", split: int = SPLIT) -> Prepared:
    """A split of a data set, cached because consecutive cells share a data set."""
    return _prepared(dataset, axes, split, datasets.file(dataset))


@lru_cache(maxsize=2)
def _prepared(dataset: str, axes: Axes, split: int, file: str) -> Prepared:
    """Like `prepared`; ``file`` changes when a user's file changes."""
    return prepare(datasets.load(dataset), seed=split, axes=axes)


def table_size(dataset: str, split: int = SPLIT) -> Size:
    """Rows, encoded features and the rounding of the target, where the data are on this machine."""
    size = datasets.size(dataset)
    if not datasets.is_here(dataset):
        return size
    return size._replace(rounding=_rounding(dataset, split, datasets.file(dataset)))


@lru_cache
def _rounding(dataset: str, split: int, file: str) -> float:
    """Standard deviation of the target's rounding error; ``file`` changes when a user's file changes."""
    if not rounding_error(datasets.load(dataset).y.to_numpy()):  # do not prepare a data set in vain
        return 0.0
    return float(f"{rounding_error(prepared(dataset, split=split).y_train):.3g}")


def prepared_for(setting: Any, dataset: str, split: int = SPLIT) -> Prepared:
    """A data set prepared for a model with these settings."""
    return prepared(dataset, axes_of(setting), split)


def axes_of(setting: Any) -> Axes:
    """The coordinates of a model's inputs; a peer's are the features."""
    return getattr(setting, "axes", "features")


@singledispatch
def fit_folds(
    setting: Any, data: Prepared, folds: Sequence[int], seeds: Sequence[int]
) -> list[Fitted]:
    """Fit a model to the training rows of some folds, with one seed each."""
    rows = [data.folds.train.rows(fold) for fold in folds]
    return [
        fit_rows(setting, data.x_train[used], data.y_train[used], seed=seed)
        for used, seed in zip(rows, seeds, strict=True)
    ]


@fit_folds.register
def _(
    setting: SoftTrees, data: Prepared, folds: Sequence[int], seeds: Sequence[int]
) -> list[Fitted]:
    stack = fit_stack([setting] * len(folds), data, folds, seeds)
    return [fitted(stack, i) for i in range(len(folds))]


@singledispatch
def fit_rows(
    setting: Any, x: Float[np.ndarray, "n d"], y: Float[np.ndarray, " n"], *, seed: int
) -> Fitted:
    """Fit a model to standardised rows."""
    return setting.fit(x, y, seed=seed)


@fit_rows.register
def _(
    setting: SoftTrees, x: Float[np.ndarray, "n d"], y: Float[np.ndarray, " n"], *, seed: int
) -> Fitted:
    streams = Streams.of_key(jax.random.key(seed), setting.members)
    return fitted(fit_many([setting], [streams], x, y, Rows.all(len(x))), 0)


def fit_stack(
    settings: Sequence[SoftTrees], data: Prepared, folds: Sequence[int], seeds: Sequence[int]
) -> FittedStack:
    """Fit soft trees to folds in one program, with one setting and one seed each."""
    streams = [
        Streams.of_key(cell_key(seed, fold), setting.members)
        for setting, fold, seed in zip(settings, folds, seeds, strict=True)
    ]
    rows = Rows(data.folds.train.indices[list(folds)], data.folds.train.counts[list(folds)])
    return fit_many(settings, streams, data.x_train, data.y_train, rows)


def cell_key(seed: int, fold: int) -> jax.Array:
    """The random key of a cell, used as its estimator's ``random_state``."""
    return jax.random.fold_in(jax.random.key(seed), fold)


def fitted(stack: FittedStack, i: int) -> FittedTrees:
    """The model of fit ``i`` of a stack."""
    used, setting = stack.replicas(i), stack.settings[i]
    divergence = jax.vmap(LowRankGaussian.kl, (0, None))
    kl = sum(divergence(jax.tree.map(lambda a: a[used], tree.posteriors), setting.prior_scale)
             for tree in stack.trees)  # fmt: skip
    return FittedTrees(
        stack.draws(i, DRAWS),
        float(np.mean(kl)) / int(stack.rows.counts[i]),
        bool(np.all([tree.converged[used] for tree in stack.trees])),
        int(sum(tree.steps[used].max() for tree in stack.trees)),
    )


def log_likelihood_by_trees(
    stack: FittedStack, i: int, x: Float[np.ndarray, "n d"], y: Float[np.ndarray, " n"]
) -> Float[np.ndarray, " trees"]:
    """Mean log-likelihood of the VSGBMs made of the first tree, the first two trees, ... of fit ``i``.

    Each tree is evaluated only once; scoring the ensembles one by one would evaluate it in each.
    """
    setting = stack.settings[i]
    assert isinstance(stack.shape, TreeShape)
    tree_key, noise_key = jax.random.split(stack.streams[i].drawing)
    thetas = draw_parameters(tree_key, stack.posteriors(i), DRAWS)
    inputs, residual, _ = stack.training_rows(i)
    mean, scores = np.zeros(()), []
    for tree in range(setting.n_trees):
        draws = TreeDraws(thetas[:, tree], jnp.float32(setting.beta), stack.shape)
        residual = residual - map_rows(mean_functions, draws, inputs)
        mean = mean + map_rows(mean_functions, draws, x)
        variance = draw_noise_variance(
            jax.random.fold_in(noise_key, tree),
            np.sum(np.square(residual), axis=1),
            len(inputs),
            setting.prior_sigma_alpha,
            setting.prior_sigma_beta,
            setting.noise_update,
        )
        density = norm.logpdf(y, mean, np.sqrt(variance)[:, None])
        scores.append(np.mean(logsumexp(density, axis=0) - np.log(DRAWS)))
    return np.array(scores)


def score(model: Fitted, x: Any, y: np.ndarray[Any, Any]) -> dict[str, Any]:
    """Mean test log-likelihood and RMSE, in standardised units."""
    mean = model.mean_draws(x).mean(axis=0)
    try:
        log_likelihood = round(float(np.mean(model.log_prob(x, y))), 5)
    except NoDensityError:
        log_likelihood = None
    return {
        "log_likelihood": log_likelihood,
        "rmse": round(float(np.sqrt(np.mean((mean - y) ** 2))), 5),
    }


def coverage(
    model: Fitted, x: Float[np.ndarray, "n d"], y: Float[np.ndarray, " n"], level: float = 0.9
) -> float | None:
    """Share of targets inside their central interval; None if the model has no density."""
    try:
        distances = 2 * np.abs(model.cdf(x, y) - 0.5)
    except NoDensityError:
        return None
    return round(float(np.mean(distances <= level)), 5)
