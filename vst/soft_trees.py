"""The settings of a soft tree or an ensemble, and one function that fits many of them.

Estimators, experiments, bandits and pictures all describe their models by :class:`SoftTrees`. All
but the bandits, which learn step by step, train with :func:`fit_many`.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray
from sklearn.utils import check_random_state

from vst.arrays import AnyArray, Inputs, Rows
from vst.boosting import NoiseUpdate, draw_ensemble, fit_ensemble, fit_noise, stack_trees
from vst.bound import Hyperparameters, Shape
from vst.classes import ClassDraws, ClassShape
from vst.convergence import Fit
from vst.inference import Program, fit
from vst.joint import EnsembleNoise, JointDraws, JointShape, joined
from vst.memory import require_draws, require_training
from vst.posterior import LowRankGaussian
from vst.predictive import Draws, TreeDraws, draw_parameters
from vst.preprocessing import Axes
from vst.tree import SMALLEST_SCALE, Leaves, TreeShape

#: How the trees of an ensemble are trained: in turn on residuals (Algorithm 1), or all at once.
Training = Literal["boosting", "joint"]


@dataclass(frozen=True)
class SoftTrees:
    """The settings of a VST or, with ``n_trees`` above zero, of a VSGBM.

    :class:`vst.VSTRegressor` and :class:`vst.VSGBMRegressor` explain each setting and take their
    defaults from here.
    """

    leaves: Leaves = "linear"
    depth: int = 4
    rank: int = 5
    beta: float = 5.0
    prior_scale: float = 1.0
    learning_rate: float = 1e-2
    steps: int = 10_000
    tol: float = 0.01
    batch_size: int = 128
    mc_samples: int = 1
    whiten: int = 0
    kl_weight: float = 1.0
    members: int = 1
    smallest_scale: float = SMALLEST_SCALE
    n_trees: int = 0
    prior_sigma_alpha: float = 3.0
    prior_sigma_beta: float = 1.0
    noise_update: NoiseUpdate = "paper"
    training: Training = "boosting"
    noise: EnsembleNoise = "constant"

    @property
    def axes(self) -> Axes:
        """The coordinates of the inputs."""
        return "whitened" if self.whiten else "principal"

    def shape(self, in_features: int) -> TreeShape | JointShape:
        """The shape of what is trained: one tree with ``in_features`` inputs, or all of them."""
        tree = TreeShape(in_features, self.depth, self.leaves, smallest_scale=self.smallest_scale)
        if not self.n_trees:
            return tree
        if self.training == "joint":
            return JointShape.of(tree, self.n_trees, self.noise)
        return replace(tree, noise="shared")

    @property
    def has_one_vector(self) -> bool:
        """Whether the ensemble has one posterior: its noise then does not need the training rows."""
        return self.n_trees > 0 and (self.training == "joint" or self.noise == "tree")

    def program(self, in_features: int) -> Program:
        """The static settings, which determine the compiled program."""
        return Program(self.shape(in_features), self.rank, self.batch_size, self.mc_samples)

    def hyperparameters(self) -> Hyperparameters:
        """The settings that the compiled program takes as values."""
        return Hyperparameters(self.learning_rate, self.prior_scale, self.beta, self.kl_weight)

    def require_memory(self, rows: int, in_features: int, *, draws: int = 0) -> None:
        """Raise TooLargeError if the fit or its draws would not fit in memory."""
        program, trees = (
            self.program(in_features),
            1 if self.training == "joint" else max(self.n_trees, 1),
        )
        require_training(
            program.shape, rank=self.rank, batch_size=self.batch_size, mc_samples=self.mc_samples,
            replicas=self.members, rows=rows, steps=self.steps, n_trees=trees,
        )  # fmt: skip
        require_draws(draws, trees * program.shape.n_params)


@dataclass(frozen=True)
class SoftClassTrees(SoftTrees):
    """The settings of a VST or VSGBM for classes; all trees of the latter are trained at once."""

    n_classes: int = 2
    training: Training = "joint"

    def shape(self, in_features: int) -> ClassShape:  # type: ignore[override]
        """The shape of what is trained."""
        return ClassShape(in_features, self.depth, self.leaves, self.n_classes, self.n_trees)


#: The default ensemble: each of its trees trains half as long as a single tree.
BOOSTED = SoftTrees(n_trees=5, steps=3000)


class Streams(NamedTuple):
    """Random numbers of one fit."""

    training: PRNGKeyArray  #: start, minibatches and noise of each member
    drawing: PRNGKeyArray  #: draws from the fitted posterior

    @classmethod
    def of(cls, seed: int | Sequence[int], members: int = 1, *, boosted: bool = False) -> "Streams":
        """Streams from an estimator's seed: a number, or the numbers of a JAX key."""
        if not isinstance(seed, int):
            return cls.of_key(jax.random.wrap_key_data(jnp.array(seed, jnp.uint32)), members)
        training, drawing = jax.random.split(jax.random.key(seed))
        if boosted:
            training, drawing = jax.random.split(training)
        return cls(jax.random.split(training, members), drawing)

    @classmethod
    def of_key(cls, key: PRNGKeyArray, members: int) -> "Streams":
        """Streams from a key; adding members does not change the earlier ones."""
        training = jax.vmap(jax.random.fold_in, (None, 0))(key, jnp.arange(members))
        return cls(training, jax.random.clone(key))


#: Types that an estimator accepts as ``random_state``.
Seed = int | np.random.RandomState | Array | list[int] | None


def seed_of(random_state: Seed) -> int | list[int]:
    """A random state in a form that can be saved: a number, or the numbers of a JAX key."""
    if isinstance(random_state, jax.Array):
        if random_state.dtype != jax.random.key(0).dtype or random_state.ndim:
            raise ValueError(
                "random_state must be a number or one JAX key, for example jax.random.key(0), "
                f"got an array of {random_state.dtype} with shape {random_state.shape}"
            )
        return np.asarray(jax.random.key_data(random_state)).tolist()
    if isinstance(random_state, list):  # from a loaded model
        return random_state
    return int(check_random_state(random_state).randint(np.iinfo(np.int32).max))


@dataclass(frozen=True, eq=False)
class FittedStack:
    """Models fitted by one program, with what is needed to draw from them."""

    settings: Sequence[SoftTrees]
    streams: Sequence[Streams]
    shape: Shape  #: of what ``posteriors`` describes
    trees: list[
        Fit
    ]  #: one per training run; its replicas are the members of fit 0, then of fit 1, ...
    stacked: LowRankGaussian  #: posteriors of all replicas, then trees if each has its own
    x: Inputs
    y: Float[AnyArray, " n"]
    rows: Rows

    def posteriors(self, i: int) -> LowRankGaussian:
        """Posteriors of fit ``i``, stacked over members, then trees if each has its own."""
        return jax.tree.map(lambda part: part[self.replicas(i)], self.stacked)

    def elbo(self, i: int) -> Float[np.ndarray, "members trees steps"]:
        """The objective at each step, in nats per row; NaN after a tree was done."""
        longest = max(tree.elbo.shape[1] for tree in self.trees)
        found = np.full((self.settings[i].members, len(self.trees), longest), np.nan)
        for number, tree in enumerate(self.trees):
            found[:, number, : tree.elbo.shape[1]] = tree.elbo[self.replicas(i)]
        return found

    def draws(self, i: int, n: int) -> Draws:
        """Draw ``n`` times from the posterior of fit ``i``; for a VSGBM, including its noise."""
        setting, key = self.settings[i], self.streams[i].drawing
        if not setting.n_trees or setting.has_one_vector:
            return draw_model(key, self.shape, setting.beta, self.posteriors(i), n)
        assert isinstance(self.shape, TreeShape)
        return draw_ensemble(
            key,
            self.shape,
            setting.beta,
            self.posteriors(i),
            *self.training_rows(i),
            n_draws=n,
            prior_sigma_alpha=setting.prior_sigma_alpha,
            prior_sigma_beta=setting.prior_sigma_beta,
            noise_update=setting.noise_update,
        )

    def training_rows(
        self, i: int
    ) -> tuple[Inputs, Float[AnyArray, " m"], Float[np.ndarray, " m"] | None]:
        """Training inputs, targets and weights of fit ``i``; None if all weights are 1."""
        if self.rows.totals is not None:
            own, times = np.unique(self.rows.rows(i), return_counts=True)
            weights = times * float(self.rows.totals[i] / self.rows.counts[i])
            return self.x[own], self.y[own], weights
        if self.rows.counts[i] == len(self.x):
            return self.x, self.y, None  # a large table is not copied
        used = self.rows.rows(i)
        return self.x[used], self.y[used], None

    def replicas(self, i: int) -> slice:
        """The members of fit ``i`` among the replicas of a tree."""
        members = self.settings[i].members
        return slice(i * members, (i + 1) * members)


def fit_many(
    settings: Sequence[SoftTrees],
    streams: Sequence[Streams],
    x: Inputs,
    y: Float[AnyArray, " n"],
    rows: Rows,
    *,
    progress: str | None = None,
) -> FittedStack:
    """Fit models that differ only in rows, random numbers and traced hyperparameters, in one program.

    Parameters
    ----------
    settings
        One per fit. All must have the same :meth:`SoftTrees.program`, ``members``, ``steps``, ``tol``
        and ``n_trees``.
    streams
        Random numbers of each fit.
    x, y
        Standardised inputs and targets, shared by all fits.
    rows
        Training rows of each fit.
    progress
        Label of a progress bar; none by default.
    """
    first = settings[0]
    program = first.program(x[:1].shape[1])
    columns = zip(*(setting.hyperparameters() for setting in settings), strict=True)
    hyper = Hyperparameters(
        *(jnp.asarray(np.repeat(column, first.members), jnp.float32) for column in columns)
    )
    replicas, keys = rows.repeat(first.members), _joined([each.training for each in streams])
    given = keys, program, hyper
    how: Any = {"steps": first.steps, "tol": first.tol, "progress": progress}
    if not first.n_trees or first.training == "joint":
        trees = [fit(*given, x, y, replicas, **how)]
        return FittedStack(settings, streams, program.shape, trees, trees[0].posteriors, x, y, rows)
    trees = fit_ensemble(*given, x, y, replicas, n_trees=first.n_trees, **how)
    stacked = stack_trees(trees)
    if first.noise == "constant":
        return FittedStack(settings, streams, program.tree, trees, stacked, x, y, rows)
    noise = fit_noise(*given, trees, x, y, replicas, **how)
    noise_tree = replace(program.tree, noise="leaf")
    shape, stacked = joined(program.tree, stacked, noise_tree, noise.posteriors)
    return FittedStack(settings, streams, shape, [*trees, noise], stacked, x, y, rows)


def draw_model(
    key: PRNGKeyArray, shape: Shape, beta: float, posteriors: LowRankGaussian, n: int
) -> Any:
    """Draw ``n`` times from the posteriors of a model with one parameter vector."""
    return draws_of(shape, draw_parameters(key, posteriors, n), beta)


def draws_of(shape: Shape, thetas: Float[Array, "draws p"], beta: float | Float[Array, ""]) -> Any:
    """Parameter vectors of a model as draws that predict."""
    beta = jnp.asarray(beta, thetas.dtype)
    if isinstance(shape, ClassShape):
        return ClassDraws(thetas, beta, shape)
    if isinstance(shape, JointShape):
        return JointDraws(thetas, beta, shape)
    assert isinstance(shape, TreeShape)
    return TreeDraws(thetas, beta, shape)


def fit_one(
    setting: SoftTrees,
    streams: Streams,
    x: Inputs,
    y: Float[AnyArray, " n"],
    *,
    weights: Float[np.ndarray, " n"] | None = None,
    progress: str | None = None,
) -> FittedStack:
    """Fit one model to all rows, which may have weights."""
    n = len(x)
    rows = Rows.all(n) if weights is None else Rows.of([np.arange(n)], weights)
    return fit_many([setting], [streams], x, y, rows, progress=progress)


_joined = jax.jit(jnp.concatenate)
