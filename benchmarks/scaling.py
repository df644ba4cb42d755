"""How the cost of a training step grows with rows, features, depth, rank, replicas and trees.

Each part varies one of them; the others are as in the training benchmark. Every program is compiled
again, and its compilation time is reported separately.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace

import jax
import numpy as np

import vst
from benchmarks.measure import MICRO, Row, Timing, report, timings
from benchmarks.training import FOLDS, PROGRAM, ROWS, table, training
from vst.arrays import Rows
from vst.boosting import fit_ensemble
from vst.bound import Hyperparameters
from vst.inference import Program
from vst.joint import JointShape
from vst.posterior import LowRankGaussian
from vst.tree import TreeShape

STEPS = 250

#: Steps for a single replica: enough that setting up a million rows does not matter.
LONG = 5000

MANY_ROWS = (1_000, 10_000, 100_000, 1_000_000)
FEATURES = (4, 13, 50, 100, 200, 500)
DEPTHS = (1, 2, 3, 4, 5, 6)
RANKS = (0, 5, 10, 20, 40, 80)
REPLICAS = (1, 2, 5, 10, 20, 50, 100)
TREES = (1, 2, 5, 10)


def of_shape(shape: TreeShape, rank: int = PROGRAM.rank) -> Callable[[], object]:
    return training(program=replace(PROGRAM, shape=shape, rank=rank), steps=STEPS)


def boosting(trees: int) -> Callable[[], object]:
    """Run some steps of each tree of an ensemble, and the draws between them."""
    shape = replace(PROGRAM.shape, noise="shared")
    program = Program(shape, PROGRAM.rank, PROGRAM.batch_size)
    (x, y), rows = table(ROWS), Rows.all(ROWS, FOLDS)

    def run() -> list[LowRankGaussian]:
        key, hyper = jax.random.key(0), Hyperparameters()
        fits = fit_ensemble(key, program, hyper, x, y, rows, n_trees=trees, steps=STEPS)
        return [fitted.posteriors for fitted in fits]

    return run


def joint_program(trees: int) -> Program:
    """The program that trains all trees of an ensemble at once."""
    return replace(PROGRAM, shape=JointShape.of(PROGRAM.tree, trees, "constant"))


def measured(runs: Mapping[int, Callable[[], object]]) -> dict[int, Timing]:
    """Time the sizes in turns, and the compilation of each from an empty cache."""
    compiling = {}
    for size, run in runs.items():
        jax.clear_caches()
        compiling[size] = timings(run, rounds=1)[0].compile
    found = timings(*runs.values(), rounds=15)
    return {
        size: Timing(timing.seconds, compiling[size])
        for size, timing in zip(runs, found, strict=True)
    }


def rows_of(
    what: str, found: Mapping[int, Timing], unit: str, counts: Mapping[int, int] | int
) -> tuple[list[Row], np.ndarray]:
    """The report's rows, and microseconds per unit of work."""
    work = [counts if isinstance(counts, int) else counts[size] for size in found]
    costs = np.array([MICRO * t.seconds / w for t, w in zip(found.values(), work, strict=True)])
    lines = [Row(f"{size} {what}", c, unit) for size, c in zip(found, costs, strict=True)]
    lines += [Row(f"{size} {what}, compilation", t.compile, "s") for size, t in found.items()]
    return lines, costs


def main() -> None:
    vst.configure()
    jax.config.update("jax_enable_compilation_cache", False)
    alone = {n: training(n, 1, steps=LONG) for n in MANY_ROWS}
    lines, cost = rows_of("rows", measured(alone), "us per step", LONG)
    most = MANY_ROWS[-1]
    whole, parts = timings(alone[most], training(most, 1, steps=LONG, fetched=True))
    lines += [
        Row("a million rows over a thousand", cost[-1] / cost[0], "x", "<=1.2"),
        Row("a million rows fetched over in memory", parts.seconds / whole.seconds, "x", "<=1.2"),
    ]
    report("rows", lines)

    each = "us per fold and step"
    by_features = {d: of_shape(replace(PROGRAM.shape, in_features=d)) for d in FEATURES}
    lines, cost = rows_of("features", measured(by_features), each, STEPS * FOLDS)
    lines.append(Row("500 features over 200", cost[-1] / cost[-2], "x", "<=3"))
    report("features", lines)

    by_depth = {depth: of_shape(replace(PROGRAM.shape, depth=depth)) for depth in DEPTHS}
    lines, cost = rows_of("levels", measured(by_depth), each, STEPS * FOLDS)
    report("depth", [*lines, Row("a level more, from 5 to 6", cost[-1] / cost[-2], "x")])

    by_rank = {rank: of_shape(PROGRAM.shape, rank) for rank in RANKS}
    lines, cost = rows_of("columns", measured(by_rank), each, STEPS * FOLDS)
    at = dict(zip(RANKS, cost, strict=True))
    # If costs were linear, each further column would cost the same.
    bends = {k: (at[2 * k] - at[k]) / (at[k] - at[0]) for k in (10, 40)}
    lines += [
        Row(f"from {k} to {2 * k} columns over from 0 to {k}", bend, "x", "<=1.5")
        for k, bend in bends.items()
    ]
    report("rank", lines)

    replicas = {count: training(replicas=count, steps=STEPS) for count in REPLICAS}
    work = {count: STEPS * count for count in REPLICAS}
    lines, cost = rows_of("replicas", measured(replicas), "us per replica and step", work)
    report("replicas", [*lines, Row("one alone over each of a hundred", cost[0] / cost[-1], "x")])

    by_trees = {count: boosting(count) for count in TREES}
    work = {count: STEPS * FOLDS * count for count in TREES}
    lines, cost = rows_of("trees", measured(by_trees), "us per fold, tree and step", work)
    joint, turns = timings(
        training(program=joint_program(TREES[-1]), steps=STEPS), boosting(TREES[-1])
    )
    lines += [
        Row("each of ten over one alone", cost[-1] / cost[0], "x", "<=1.2"),
        Row("ten trees at once over ten in turn", joint.seconds / turns.seconds, "x", "<=1.3"),
    ]
    report("trees", lines)


if __name__ == "__main__":
    main()
