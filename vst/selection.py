"""Chooses and weighs models by rows held out from their training.

Each candidate is fitted to parts of the rows and scored on the others, all parts and all candidates with
the same program side by side. The mixture is made of fits to all rows, which run beside them.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int, PRNGKeyArray
from scipy.special import logsumexp

from vst.arrays import AnyArray, Inputs, Rows
from vst.bound import Shape
from vst.class_distribution import ClassDistribution
from vst.classes import ClassDraws, MixedClassDraws
from vst.convergence import require_convergence
from vst.posterior import LowRankGaussian
from vst.predictive import Draws, PredictiveDistribution
from vst.preprocessing import rounding_error
from vst.soft_trees import SoftClassTrees, SoftTrees, Streams, draw_model, fit_many, fit_one
from vst.stacking import (
    AS_IT_IS,
    STRETCHES,
    MixedDraws,
    held_out_log_prob,
    shares,
    stacking_weights,
)
from vst.tree import SMALLEST_SCALE

#: With fewer rows there are too few to hold out: the first candidate is used alone.
FEWEST_ROWS = 30

#: Tables with at least this many rows get larger candidates.
LARGE = 2000

#: Parts that are held out in turn, and most rows of each.
PARTS, MOST_HELD_OUT = 4, 1000

#: Starts of each fit. As many are scored as are used: fewer look more overconfident than they are.
MEMBERS = 2

#: With many rows the scores of two parts are exact enough.
PARTS_OF_LARGE = 2

#: If a part is no larger than this share of the rows, the models fitted without it are kept.
NEGLIGIBLE = 0.05

#: Models with less weight are left out.
SMALLEST_WEIGHT = 0.02

#: The log density of a row under a fit that diverged.
LOWEST = -1e3

#: Posterior draws for the scores of a candidate.
SCORING_DRAWS = 32


class Candidate(NamedTuple):
    """A model to choose from."""

    name: str
    setting: SoftTrees


#: Joint ensembles of ten small trees and a noise tree. Mean field: a rank of 5 changed little.
ENSEMBLE = SoftTrees(
    depth=3, rank=0, prior_scale=0.3, kl_weight=0.3, steps=2500, tol=0.0,
    n_trees=10, training="joint", noise="tree", members=MEMBERS,
)  # fmt: skip

#: One tree in the paper's form.
TREE = SoftTrees(steps=4000, tol=0.0, members=MEMBERS)

#: Trees and ensembles that trust the data more or less.
CANDIDATES = (
    Candidate("tree", TREE),
    Candidate("ensemble", ENSEMBLE),
    Candidate("ensemble, light prior", replace(ENSEMBLE, kl_weight=0.1)),
    Candidate("ensemble, sharp gates", replace(ENSEMBLE, beta=15.0)),
)

#: Large tables can also tell more and deeper trees; many features without effect need constant leaves.
LARGE_CANDIDATES = (
    *CANDIDATES,
    Candidate(
        "tree, constant leaves",
        replace(TREE, leaves="constant", depth=5, beta=1.5, prior_scale=0.4),
    ),
    Candidate(
        "large ensemble",
        replace(ENSEMBLE, n_trees=30, depth=4, beta=15.0, kl_weight=0.1, steps=4000),
    ),
)


#: For classes: logistic regression, trees and ensembles, with priors that are tight, usual or wide.
LINEAR_CLASSES = SoftClassTrees(depth=0, rank=0, steps=1500, tol=0.0, members=MEMBERS)
CLASS_TREE = SoftClassTrees(steps=3000, tol=0.0, members=MEMBERS)
CLASS_ENSEMBLE = SoftClassTrees(
    depth=3, rank=0, steps=2000, tol=0.0, n_trees=10, members=MEMBERS,
)  # fmt: skip
CLASS_CANDIDATES = (
    Candidate("tree", CLASS_TREE),
    Candidate("tree, wide prior", replace(CLASS_TREE, prior_scale=3.0)),
    Candidate("linear", LINEAR_CLASSES),
    Candidate("linear, tight prior", replace(LINEAR_CLASSES, prior_scale=0.3)),
    Candidate("linear, wide prior", replace(LINEAR_CLASSES, prior_scale=3.0)),
    Candidate("linear, light prior", replace(LINEAR_CLASSES, prior_scale=3.0, kl_weight=0.1)),
    Candidate("ensemble, wide prior", replace(CLASS_ENSEMBLE, prior_scale=2.0)),
    Candidate("ensemble", replace(CLASS_ENSEMBLE, kl_weight=0.3)),
    Candidate("ensemble, light prior", replace(CLASS_ENSEMBLE, kl_weight=0.1, prior_scale=0.3)),
)


@dataclass(frozen=True, eq=False)
class Part:
    """A fitted model of the mixture."""

    name: str
    beta: float
    shape: Shape
    posteriors: LowRankGaussian  #: stacked over members
    stretch_weights: tuple[float, ...]  #: of each stretch of its scales, in the whole mixture
    smallest_scale: float

    @property
    def weight(self) -> float:
        """Its weight in the mixture."""
        return sum(self.stretch_weights)


@dataclass(frozen=True, eq=False)
class Selection:
    """What was chosen, and the scores that decided."""

    parts: tuple[Part, ...]
    results: dict[str, list[Any]]  #: one list per column, with one entry per candidate


def default_candidates(y: Float[np.ndarray, " n"], effort: float = 1.0) -> tuple[Candidate, ...]:
    """The candidates for a standardised target; ``effort`` multiplies their steps.

    No scale is below the target's rounding error: a narrower density would only tell that it is rounded.
    """
    smallest = max(rounding_error(y), SMALLEST_SCALE)

    def fitting(setting: SoftTrees) -> SoftTrees:
        steps = max(round(effort * setting.steps), 1)
        return replace(setting, steps=steps, smallest_scale=smallest)

    chosen = LARGE_CANDIDATES if len(y) >= LARGE else CANDIDATES
    return tuple(Candidate(name, fitting(setting)) for name, setting in chosen)


def class_candidates(n_classes: int, effort: float = 1.0) -> tuple[Candidate, ...]:
    """The candidates for so many classes; ``effort`` multiplies their steps."""
    return tuple(
        Candidate(
            name,
            replace(setting, n_classes=n_classes, steps=max(round(effort * setting.steps), 1)),  # type: ignore[call-arg]
        )
        for name, setting in CLASS_CANDIDATES
    )


def select(
    key: PRNGKeyArray,
    candidates: Sequence[Candidate],
    x: Inputs,
    y: Float[AnyArray, " n"],
    *,
    weights: Float[np.ndarray, " n"] | None = None,
    progress: str | None = None,
) -> Selection:
    """Weigh candidates by held-out rows.

    Parameters
    ----------
    key
        Random key of parts, starts and draws.
    candidates
        Models with one parameter vector: single trees, or ensembles with joint training.
    x, y
        Standardised inputs and targets.
    weights
        Of the rows; by default all are 1.
    progress
        Label of progress bars; none by default.
    """
    part_key, fit_key = jax.random.split(key)
    held_out = _held_out(part_key, len(x))
    of_rows = None if weights is None else weights[np.concatenate(held_out)]
    scored = _score(fit_key, candidates, x, np.asarray(y), weights, held_out, of_rows, progress)
    mixed = _weigh([each.log_probs for each in scored], of_rows)
    parts = [
        Part(name, setting.beta, each.shape, each.posteriors, tuple(part), setting.smallest_scale)
        for (name, setting), each, part in zip(candidates, scored, mixed.tolist(), strict=True)
        if sum(part) > 0
    ]
    for part in parts:
        _require_finite(part)
    alone = [_best_alone(each.log_probs, of_rows) for each in scored]
    results: dict[str, list[Any]] = {
        "candidate": [each.name for each in candidates],
        "weight": mixed.sum(axis=1).tolist(),
        "log_likelihood": [best for best, _ in alone],
        _error_name(candidates): [each.error for each in scored],
        "stretch": [stretch for _, stretch in alone],
        "seconds": [each.seconds for each in scored],
    }
    return Selection(tuple(parts), results)


def _error_name(candidates: Sequence[Candidate]) -> str:
    """What the error of a candidate is called: it differs between numbers and classes."""
    return "error" if isinstance(candidates[0].setting, SoftClassTrees) else "rmse"


def _weigh(
    log_probs: Sequence[Float[np.ndarray, "stretches held_out"]],
    of_rows: Float[np.ndarray, " held_out"] | None,
) -> Float[np.ndarray, "candidates stretches"]:
    """The weight of each candidate with each stretch."""
    weights = stacking_weights(np.concatenate(log_probs).T, of_rows).reshape(len(log_probs), -1)
    weights[weights.sum(axis=1) < SMALLEST_WEIGHT] = 0
    return weights / weights.sum()


def _best_alone(
    log_probs: Float[np.ndarray, "stretches held_out"],
    of_rows: Float[np.ndarray, " held_out"] | None,
) -> tuple[float, float]:
    """Mean log density of one candidate with the best weights of its stretches; their mean stretch."""
    weights = stacking_weights(log_probs.T, of_rows)
    found = logsumexp(log_probs, axis=0, b=weights[:, None])
    return float(np.average(found, weights=of_rows)), float(weights @ STRETCHES)


class Scored(NamedTuple):
    """A candidate's scores on the rows that each part holds out, and its posteriors."""

    log_probs: Float[np.ndarray, "stretches held_out"]  #: of each row's target
    error: float  #: root mean squared error, or share of wrong classes
    posteriors: (
        LowRankGaussian  #: stacked over members; of all rows, or of parts if these are small
    )
    shape: Shape
    seconds: float


def _score(
    key: PRNGKeyArray,
    candidates: Sequence[Candidate],
    x: Inputs,
    y: Float[np.ndarray, " n"],
    weights: Float[np.ndarray, " n"] | None,
    held_out: Sequence[Int[np.ndarray, " _"]],
    of_rows: Float[np.ndarray, " held_out"] | None,
    progress: str | None,
) -> list[Scored]:
    """Fit the candidates to the rows that each part leaves, and to all rows, side by side.

    Some fits to all rows are of candidates that get no weight. But one program for everything compiles
    once, and that takes longer than the training on a small table.
    """
    every, parts = np.arange(len(x)), [(x[part], y[part]) for part in held_out]
    sets = [np.setdiff1d(every, part) for part in held_out]
    again = max(map(len, held_out)) > NEGLIGIBLE * len(x)
    rows = Rows.of([*sets, every] if again else sets, weights)
    found: dict[int, Scored] = {}
    for group in _same_program(candidates):
        start, each = perf_counter(), len(rows.counts)
        settings = [candidates[c].setting for c in group for _ in range(each)]
        numbers = [c * each + i for c in group for i in range(each)]
        streams = [Streams.of_key(jax.random.fold_in(key, i), MEMBERS) for i in numbers]
        label = _label(progress, [candidates[c] for c in group])
        stack = fit_many(settings, streams, x, y, _tiled(rows, len(group)), progress=label)
        for position, c in enumerate(group):
            first = position * each
            draws = [stack.draws(first + i, SCORING_DRAWS) for i in range(len(parts))]
            kept = slice(MEMBERS * (first + (len(parts) if again else 0)), MEMBERS * (first + each))
            found[c] = Scored(
                *_scores(draws, parts, of_rows, candidates[c].setting.smallest_scale),
                jax.tree.map(lambda a, kept=kept: a[kept], stack.stacked),
                stack.shape,
                (perf_counter() - start) / len(group),
            )
    return [found[c] for c in range(len(candidates))]


def _require_finite(part: Part) -> None:
    """Raise FloatingPointError if a fit that is used diverged."""
    if not all(np.isfinite(np.asarray(each)).all() for each in part.posteriors):
        raise FloatingPointError(
            f"training of the candidate {part.name!r} diverged on all rows, but not on parts of them: "
            "look for extreme values in the table"
        )


def _scores(
    draws: Sequence[Draws],
    parts: Sequence[tuple[np.ndarray, np.ndarray]],
    of_rows: Float[np.ndarray, " held_out"] | None,
    smallest_scale: float,
) -> tuple[Float[np.ndarray, "stretches held_out"], float]:
    """Log density of each held-out target with each stretch, and the error."""
    each = list(zip(draws, parts, strict=True))
    if isinstance(draws[0], ClassDraws):
        return _class_scores(each, of_rows)
    found = [held_out_log_prob(drawn, *part, smallest_scale) for drawn, part in each]
    # A fit that diverged has the lowest density, and counts for nothing.
    log_probs = np.nan_to_num(np.concatenate(found, axis=1), nan=LOWEST, neginf=LOWEST)
    errors = np.hstack([PredictiveDistribution(drawn, x).mean - y for drawn, (x, y) in each])
    return log_probs, float(np.sqrt(np.average(np.square(errors), weights=of_rows)))


def _class_scores(
    each: Sequence[tuple[Any, tuple[np.ndarray, np.ndarray]]],
    of_rows: Float[np.ndarray, " held_out"] | None,
) -> tuple[Float[np.ndarray, "stretches held_out"], float]:
    """Log probability of each held-out class, and the share of wrong ones; classes have no scales."""
    names = [np.arange(drawn.n_classes) for drawn, _ in each]
    found = [
        ClassDistribution(drawn, x, name) for (drawn, (x, _)), name in zip(each, names, strict=True)
    ]
    truth = np.concatenate([y for _, (_, y) in each]).astype(int)
    own = np.concatenate(
        [d.log_prob(y.astype(int)) for d, (_, (_, y)) in zip(found, each, strict=True)]
    )
    log_probs = np.full((len(STRETCHES), len(own)), LOWEST)
    log_probs[AS_IT_IS.index(1.0)] = np.nan_to_num(own, nan=LOWEST, neginf=LOWEST)
    wrong = np.concatenate([d.proba.argmax(axis=1) for d in found]) != truth
    return log_probs, float(np.average(wrong, weights=of_rows))


def alone(
    key: PRNGKeyArray,
    candidate: Candidate,
    x: Inputs,
    y: Float[AnyArray, " n"],
    weights: Float[np.ndarray, " n"] | None = None,
) -> Selection:
    """One candidate, without a choice."""
    stack = fit_one(candidate.setting, Streams.of_key(key, MEMBERS), x, y, weights=weights)
    require_convergence(stack.trees[0])
    name, setting = candidate
    part = Part(
        name, setting.beta, stack.shape, stack.posteriors(0), AS_IT_IS, setting.smallest_scale
    )
    return Selection((part,), {"candidate": [candidate.name], "weight": [1.0]})


def mixed_draws(key: PRNGKeyArray, parts: Sequence[Part], n: int) -> MixedDraws:
    """Draw ``n`` times from each part of the mixture."""
    return _mixed(key, parts, _weights(parts), np.full(len(parts), n))


def function_draws(key: PRNGKeyArray, parts: Sequence[Part], n: int) -> MixedDraws:
    """Draw ``n`` times from the whole mixture; a part gets its share of the draws."""
    numbers = shares(np.array([part.weight for part in parts]), n)
    used = np.flatnonzero(numbers).tolist()
    weights = _weights(parts)[used]
    scale = numbers[used] / n / weights.sum(axis=1)
    return _mixed(key, [parts[i] for i in used], scale[:, None] * weights, numbers[used])


def class_draws(key: PRNGKeyArray, parts: Sequence[Part], n: int) -> MixedClassDraws:
    """Draw ``n`` times from a mixture of trees for classes; a part gets its share of the draws."""
    numbers = shares(np.array([part.weight for part in parts]), n)
    drawn = [
        draw_model(k, part.shape, part.beta, part.posteriors, int(m))
        for k, part, m in zip(jax.random.split(key, len(parts)), parts, numbers, strict=True)
        if m
    ]
    return MixedClassDraws(tuple(drawn))


def _weights(parts: Sequence[Part]) -> Float[np.ndarray, "parts stretches"]:
    return np.array([part.stretch_weights for part in parts])


def _mixed(
    key: PRNGKeyArray,
    parts: Sequence[Part],
    weights: Float[np.ndarray, "parts stretches"],
    numbers: Int[np.ndarray, " parts"],
) -> MixedDraws:
    drawn = tuple(
        draw_model(k, part.shape, part.beta, part.posteriors, int(m))
        for k, part, m in zip(jax.random.split(key, len(parts)), parts, numbers, strict=True)
    )
    smallest = jnp.float32(min(part.smallest_scale for part in parts))
    return MixedDraws(drawn, jnp.asarray(weights, jnp.float32), smallest)


def _held_out(key: PRNGKeyArray, n: int) -> list[Int[np.ndarray, " _"]]:
    """Row numbers of the parts that are held out in turn."""
    order = np.asarray(jax.random.permutation(key, n))
    parts = PARTS_OF_LARGE if n // PARTS > MOST_HELD_OUT else PARTS
    return [np.sort(part[:MOST_HELD_OUT]) for part in np.array_split(order, parts)]


def _same_program(candidates: Sequence[Candidate]) -> Iterator[list[int]]:
    """Groups of candidates that differ only in values that a compiled program takes."""
    groups: dict[Any, list[int]] = {}
    for c, (_, setting) in enumerate(candidates):
        kind = replace(setting, learning_rate=0.0, prior_scale=0.0, beta=0.0, kl_weight=0.0)
        groups.setdefault(kind, []).append(c)
    yield from groups.values()


def _tiled(rows: Rows, times: int) -> Rows:
    totals = None if rows.totals is None else np.tile(rows.totals, times)
    return Rows(np.tile(rows.indices, (times, 1)), np.tile(rows.counts, times), totals)


def _label(progress: str | None, fitted: Sequence[Candidate]) -> str | None:
    return progress and f"{progress}: {'; '.join(each.name for each in fitted)}"
