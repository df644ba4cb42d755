"""Learning on: four streams of rows in 50 parts, and five ways to keep a soft tree up to date.

Three streams are data sets in random order, scored on a fifth of the rows after each part. The fourth
drifts: the target's direction turns slowly, and each part is scored on the next one.
"""

import time
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import jax
import numpy as np
from jaxtyping import Float
from sklearn.exceptions import ConvergenceWarning

from vst.arrays import Rows
from vst.companion.experiments.cells import Cell, as_parameters, as_text
from vst.companion.experiments.experiment import Experiment, Job, Option, Part
from vst.companion.experiments.profiles import Profile
from vst.companion.models import check_names
from vst.datasets import load_dataset
from vst.estimators import VSTRegressor
from vst.inference import fit

NAME = "streams"

#: The streams, and the one that is made up.
DRIFT = "drift"
STREAMS = ("kin8nm", "power", "protein", DRIFT)

#: Parts of a stream, its first rows at most, and the share of the rows that score it.
PARTS, TEST_SHARE = 50, 0.2

#: The stream that drifts: rows, features, and how far the direction turns, in radians.
DRIFT_ROWS, DRIFT_FEATURES, TURN, DRIFT_NOISE = 10_000, 5, np.pi, 0.3

#: Past rows that a model keeps.
MEMORY = VSTRegressor().memory

#: Share of what is known that is forgotten with each part, where forgetting is tried.
FORGETTING = 0.1

#: The strategies share the code of this model.
FITTED_BY = "vst-linear"


class Stream(NamedTuple):
    """Parts of rows in the order in which they come, and the rows that score a model after each."""

    parts: list[tuple[Float[np.ndarray, "m d"], Float[np.ndarray, " m"]]]
    tests: list[tuple[Float[np.ndarray, "t d"], Float[np.ndarray, " t"]]]
    scale: float  #: standard deviation of the target: scores are in units of it


def stream(name: str, seed: int, parts: int = PARTS) -> Stream:
    """A stream, whose order depends on the seed."""
    rng = np.random.default_rng([seed, *name.encode()])
    if name == DRIFT:
        x, y = drifting(rng, DRIFT_ROWS * (parts + 1) // PARTS)
        pieces = [(x[rows], y[rows]) for rows in np.array_split(np.arange(len(x)), parts + 1)]
        return Stream(pieces[:-1], pieces[1:], float(y.std()))
    data = load_dataset(name)
    order = rng.permutation(data.n)
    x, y = data.X.to_numpy(float)[order], data.y.to_numpy(float)[order]
    test = int(TEST_SHARE * data.n)
    pieces = [(x[rows], y[rows]) for rows in np.array_split(np.arange(test, data.n), PARTS)[:parts]]
    return Stream(pieces, [(x[:test], y[:test])] * parts, float(y.std()))


def drifting(
    rng: np.random.Generator, n: int
) -> tuple[Float[np.ndarray, "n d"], Float[np.ndarray, " n"]]:
    """Rows whose target bends along a direction that turns as they come."""
    x = rng.normal(size=(n, DRIFT_FEATURES))
    angle = TURN * np.arange(n) / n
    along = np.cos(angle) * x[:, 0] + np.sin(angle) * x[:, 1]
    return x, along + np.abs(x[:, 2]) + DRIFT_NOISE * rng.normal(size=n)


#: A strategy gets a model, all parts so far, and the seed; it returns the model for the next part.
Strategy = Callable[[VSTRegressor, list[tuple[Any, Any]]], VSTRegressor]


def _learn(model: VSTRegressor, parts: list[tuple[Any, Any]]) -> VSTRegressor:
    return model.partial_fit(*parts[-1])


def _refit(model: VSTRegressor, parts: list[tuple[Any, Any]]) -> VSTRegressor:
    return model.fit(*_joined(parts))


def _warm(model: VSTRegressor, parts: list[tuple[Any, Any]]) -> VSTRegressor:
    """Train on all rows so far, from the last posterior on, as long as a fit does."""
    if len(parts) == 1:
        return model.fit(*parts[0])
    x, y = _joined(parts)
    setting = model._setting_as_fitted(y)
    result = fit(
        jax.random.split(jax.random.key(len(parts)), 1),
        setting.program(x.shape[1]),
        setting.hyperparameters(),
        model._new_data(x)[:],
        model._more_targets(y),
        Rows.all(len(x)),
        steps=setting.steps,
        tol=setting.tol,
        initial=model.stacked_posteriors_,
    )
    model.stacked_posteriors_ = result.posteriors
    return model


def _joined(parts: list[tuple[Any, Any]]) -> tuple[np.ndarray, np.ndarray]:
    xs, ys = zip(*parts, strict=True)
    return np.concatenate(xs), np.concatenate(ys)


#: The ways to learn: the model's options, and what is done with each part.
STRATEGIES: dict[str, tuple[dict[str, Any], Strategy]] = {
    "partial_fit": ({}, _learn),
    "without a memory": ({"memory": 0}, _learn),
    "with forgetting": ({"forgetting": FORGETTING}, _learn),
    "refit": ({}, _refit),
    "refit, warm start": ({}, _warm),
}


def jobs(
    profile: Profile, *, compute: bool = True, streams: Sequence[str] = (), seeds: int = 0
) -> list[Job]:
    """All jobs: every strategy on every stream, for three orders of the rows."""
    check_names("stream", list(streams), STREAMS)
    small = profile.computes
    parts = 5 if small else PARTS
    steps = min(VSTRegressor().steps, profile.limits.get("steps", VSTRegressor().steps))
    chosen = streams or (STREAMS[:1] + STREAMS[-1:] if small else STREAMS)
    return [
        Job(
            (Cell(NAME, name, strategy, 0, seed, as_text({"parts": parts, "steps": steps})),),
            compute_cells,
            needs="" if name == DRIFT else name,
            fitted_by=FITTED_BY,
        )
        for name in chosen
        for strategy in STRATEGIES
        for seed in range(seeds or min(profile.seeds, 3))
    ]


def compute_cells(cells: Sequence[Cell]) -> list[dict[str, Any]]:
    """Scores after each part, and the processor seconds that it took."""
    return [_follow(cell) for cell in cells]


def _follow(cell: Cell) -> dict[str, Any]:
    options, strategy = STRATEGIES[cell.model]
    described = as_parameters(cell.parameters)
    found = stream(cell.dataset, cell.seed, described["parts"])
    new = partial(VSTRegressor, steps=described["steps"], random_state=cell.seed, **options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # few rows at first: scores tell
        _compile(partial(VSTRegressor, **options), strategy, found)
        model, lines, total = new(), [], 0.0
        for i, test in enumerate(found.tests):
            start = time.process_time()
            model = strategy(model, found.parts[: i + 1])
            total += (seconds := time.process_time() - start)
            log_density = model.predict_dist(test[0]).log_prob(test[1])
            lines.append(
                {
                    "part": i + 1,
                    "rows": sum(len(y) for _, y in found.parts[: i + 1]),
                    "log_likelihood": round(float(log_density.mean() + np.log(found.scale)), 5),
                    "part_seconds": round(seconds, 4),
                }
            )
    last = lines[-1] | {"seconds": round(total, 3)}
    return {"after": lines, **last}


def _compile(new: Callable[..., VSTRegressor], strategy: Strategy, found: Stream) -> None:
    """Compile all programs before the clock starts: later parts have more rows, and need others."""
    model = new(steps=250, tol=0)
    for i in range(len(found.parts)):
        model = strategy(model, found.parts[: i + 1])


STREAM_RUNS = Experiment(
    NAME,
    "partial_fit, refits and forgetting on streams of rows",
    (
        Option("streams", "names", "streams (default: the profile's)"),
        Option("seeds", "count", "orders of the rows (default: 3)"),
    ),
    jobs,
    ("rows", "log_likelihood"),
    parts={"after": Part(("part", "rows", "log_likelihood", "part_seconds"), unique=1)},
    summarised=("log_likelihood",),
    fitted_by=lambda _: FITTED_BY,
)
