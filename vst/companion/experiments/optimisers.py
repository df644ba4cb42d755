"""Ways to maximise the bound, side by side: what was tried before the one in `vst.inference` was kept.

Every optimiser fits the default VST. They differ in how draws are made, in the units of the factor, in
the gradient of the KL term, and in their learning rates. The loop here is a short one of its own, so
that alternatives do not clutter the library's.
"""

import math
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any, Literal

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, Int, PRNGKeyArray

from vst.bound import Hyperparameters, Noise, elbo, posterior_of
from vst.companion.experiments import regression
from vst.companion.experiments.cells import Cell, as_parameters, as_text
from vst.companion.experiments.experiment import Experiment, Job, Option
from vst.companion.experiments.fitting import DRAWS, FittedTrees, prepared, score
from vst.companion.experiments.profiles import Profile
from vst.companion.experiments.rank import training_bound
from vst.inference import INITIAL_COLUMN, INITIAL_MEAN, INITIAL_SCALE
from vst.posterior import LowRankGaussian
from vst.predictive import TreeDraws
from vst.preprocessing import Axes
from vst.soft_trees import SoftTrees
from vst.tree import SoftTree, TreeShape

NAME, MODEL, TREE = "optimisers", "vst-linear", SoftTrees()

#: The steps of a default fit, and four times as many: an optimiser that has converged gains little.
STEPS = (TREE.steps, 4 * TREE.steps)

STARTS = 3

#: Small data sets with a bounded likelihood.
DATASETS = ("boston", "concrete", "energy")


@dataclass(frozen=True)
class Optimiser:
    """One way to maximise the bound.

    Attributes
    ----------
    draws
        One draw of the parameters for all rows, or one of the outputs for each row.
    columns
        The factor itself, or the factor in units of the scales.
    kl
        The exact gradient, or "sticking the landing" (Roeder et al., 2017): of the log density at the
        draw, with the posterior's own parameters held fixed.
    mean_rate, scale_rate
        Adam's learning rates of means and factors, and of log scales.
    scale
        Standard deviations at the start.
    delay
        Scales and factors begin to move after this share of the steps.
    axes
        Coordinates of the inputs; turning them changes neither the prior nor the likelihood.
    """

    draws: Literal["shared", "rows"] = "rows"
    columns: Literal["absolute", "relative"] = "relative"
    kl: Literal["exact", "landing"] = "exact"
    mean_rate: float = 1e-2
    scale_rate: float = 1e-2
    scale: float = INITIAL_SCALE
    delay: float = 0.0
    axes: Axes = TREE.axes


AS_THEY_ARE: Axes = "features"

#: The first edition's, the one that was kept, and one change at a time between them and around it.
VARIANTS: dict[str, Optimiser] = {
    "first edition": Optimiser(
        "shared", "absolute", mean_rate=1e-3, scale_rate=1e-3, axes=AS_THEY_ARE
    ),
    "ten times the rate": Optimiser("shared", "absolute", axes=AS_THEY_ARE),
    "and scales delayed": Optimiser("shared", "absolute", delay=0.3, axes=AS_THEY_ARE),
    "and sticking the landing": Optimiser(
        "shared", "absolute", kl="landing", delay=0.3, axes=AS_THEY_ARE
    ),
    "kept": Optimiser(),
    "kept, features' own axes": Optimiser(axes=AS_THEY_ARE),
    "kept, absolute factors": Optimiser(columns="absolute"),
    "kept, slower scales": Optimiser(scale_rate=3e-3),
    "kept, scales delayed": Optimiser(delay=0.3),
    "kept, wider start": Optimiser(scale=0.1),
}


def jobs(
    profile: Profile, *, compute: bool = True, datasets: Sequence[str] = (), starts: int = 0
) -> list[Job]:
    """All jobs: every optimiser on the first fold of every data set."""
    seeds = range(starts or min(profile.starts, STARTS))
    lengths = {min(steps, profile.limits.get("steps", steps)) for steps in STEPS}
    work = []
    named = datasets or profile.datasets or DATASETS
    for dataset in regression.chosen_datasets(profile, named, compute):
        for (name, optimiser), steps in (
            (each, steps) for each in VARIANTS.items() for steps in sorted(lengths)
        ):
            text = as_text({**asdict(optimiser), "steps": steps})
            cells = tuple(Cell(NAME, dataset, name, 0, seed, text) for seed in seeds)
            work.append(Job(cells, compute_cells, needs=dataset, fitted_by=MODEL))
    return work


def compute_cells(cells: Sequence[Cell]) -> list[dict[str, Any]]:
    """Train all starts together, and score them."""
    given = as_parameters(cells[0].parameters)
    steps, optimiser = given.pop("steps"), Optimiser(**given)
    rows = prepared(cells[0].dataset, optimiser.axes)
    used = rows.folds.train.rows(cells[0].fold)
    shape = TREE.program(rows.x_train.shape[1]).tree
    start = time.process_time()
    keys = jax.vmap(jax.random.key)(jnp.array([cell.seed for cell in cells]))
    train = jax.jit(jax.vmap(partial(_train, optimiser, shape, steps), in_axes=(0, None, None)))
    variational = train(keys, jnp.asarray(rows.x_train[used]), jnp.asarray(rows.y_train[used]))
    posteriors = jax.block_until_ready(jax.vmap(partial(_posterior, optimiser))(variational))
    seconds = round((time.process_time() - start) / len(cells), 3)
    found = []
    for i, cell in enumerate(cells):
        posterior = LowRankGaussian(*(part[i] for part in posteriors))
        draws = TreeDraws(posterior.sample(jax.random.key(1), DRAWS), jnp.float32(TREE.beta), shape)
        model = FittedTrees(draws, float(posterior.kl(TREE.prior_scale)) / len(used), steps=steps)
        found.append(
            {
                **score(model, rows.x_test, rows.y_test),
                "elbo": training_bound(cell, model, rows),
                "scale": round(float(jnp.median(posterior.scale)), 5),
                "steps": steps,
                "data_sha256": rows.dataset.sha256,
                "seconds": seconds,
            }
        )
    return found


def _posterior(optimiser: Optimiser, variational: Float[Array, "2+k p"]) -> LowRankGaussian:
    if optimiser.columns == "relative":
        return posterior_of(variational)
    return LowRankGaussian(variational[0], jnp.exp(variational[1]), variational[2:].T)


def _train(
    optimiser: Optimiser,
    shape: TreeShape,
    steps: int,
    key: PRNGKeyArray,
    x: Float[Array, "n d"],
    y: Float[Array, " n"],
) -> Float[Array, "2+k p"]:
    """One start: the variational parameters after all steps."""
    adam, hyper, n = optax.scale_by_adam(), Hyperparameters(), len(y)
    start_key, step_key = jax.random.split(key)
    start = _start(start_key, optimiser, shape)
    pace = np.r_[1.0, optimiser.scale_rate / optimiser.mean_rate, np.full(TREE.rank, _pace())]

    def loss(variational: Array, key: PRNGKeyArray, x: Array, y: Array) -> Array:
        posterior = _posterior(optimiser, variational)
        if optimiser.draws == "rows":
            return -elbo(_noise(key, shape, len(y)), posterior, shape, hyper, x, y, n) / n
        theta = posterior.sample(key, 1)[0]
        fit = jnp.mean(SoftTree(shape, theta, hyper.beta).log_likelihood(x, y))
        if optimiser.kl == "exact":
            return posterior.kl(hyper.prior_scale) / n - fit
        fixed = jax.lax.stop_gradient(posterior)
        prior = -0.5 * jnp.sum(jnp.square(theta / hyper.prior_scale))
        return (fixed.log_prob(theta) - prior) / n - fit

    def step(carry: tuple[Array, Any], i: Int[Array, ""]) -> tuple[tuple[Array, Any], None]:
        variational, state = carry
        batch_key, noise_key = jax.random.split(jax.random.fold_in(step_key, i))
        rows = jax.random.randint(batch_key, (TREE.batch_size,), 0, n)
        gradient = jax.grad(loss)(variational, noise_key, x[rows], y[rows])
        direction, state = adam.update(gradient, state)
        moving = jnp.where(i >= optimiser.delay * steps, 1.0, jnp.eye(len(pace))[0])
        rate = optimiser.mean_rate * jnp.clip(3 * (1 - i / steps), 0, 1)
        return (variational - rate * (pace * moving)[:, None] * direction, state), None

    return jax.lax.scan(step, (start, adam.init(start)), jnp.arange(steps))[0][0]


def _pace() -> float:
    return 1 / math.sqrt(TREE.rank)


def _start(key: PRNGKeyArray, optimiser: Optimiser, shape: TreeShape) -> Float[Array, "2+k p"]:
    mean_key, column_key = jax.random.split(key)
    p = shape.n_params
    unit = INITIAL_COLUMN if optimiser.columns == "relative" else optimiser.scale * _pace()
    mean = INITIAL_MEAN / math.sqrt(shape.in_features + 1) * jax.random.normal(mean_key, (1, p))
    columns = unit * jax.random.normal(column_key, (TREE.rank, p))
    return jnp.vstack([mean, jnp.full((1, p), math.log(optimiser.scale)), columns])


def _noise(key: PRNGKeyArray, shape: TreeShape, rows: int) -> Noise:
    outputs_key, columns_key = jax.random.split(key)
    return Noise(
        jax.random.normal(outputs_key, (1, shape.n_outputs, rows)),
        jax.random.normal(columns_key, (1, TREE.rank)),
    )


def fitted_by(model: str) -> str:
    """The model whose code computes a row; ``model`` is the name of an optimiser."""
    return MODEL


OPTIMISERS = Experiment(
    NAME,
    "the bound that different optimisers reach",
    (
        Option("datasets", "names", f"data sets (default: {', '.join(DATASETS)})"),
        Option("starts", "count", "starts (default 3)"),
    ),
    jobs,
    ("fold", "log_likelihood", "rmse", "elbo", "scale", "steps", "data_sha256"),
    by=("model", "dataset", "steps"),
    summarised=("elbo", "log_likelihood", "scale"),
    fitted_by=fitted_by,
)
