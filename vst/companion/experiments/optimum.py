"""What the optimum of the bound is worth: scores along the way to it, and of settings chosen by it.

The *path* is the default VST trained for more and more steps, with three weights of the KL term. The
*trials* are the settings that the tuner tried, fitted to the folds: so the best by the bound of the
held-out rows, which the paper tunes by, can be compared with the best by their log-likelihood.
"""

import time
from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np

from vst.companion.experiments import datasets as data
from vst.companion.experiments import regression
from vst.companion.experiments.cells import Cell, as_parameters
from vst.companion.experiments.detection import detect
from vst.companion.experiments.experiment import Experiment, Job
from vst.companion.experiments.fitting import (
    fit_stack,
    fitted,
    prepared_for,
    score,
    table_size,
)
from vst.companion.experiments.profiles import Profile
from vst.companion.experiments.rank import training_bound
from vst.companion.experiments.store import Store
from vst.companion.experiments.trials import COLUMNS, published_trials
from vst.companion.experiments.tuning import validation_folds
from vst.companion.models import MODEL_BY_ID
from vst.predictive import PredictiveDistribution
from vst.soft_trees import SoftTrees

NAME, MODEL = "optimum", "vst-linear"

#: Steps and weights of the path. With a tolerance of 0 training takes all its steps.
STEPS, KL_WEIGHTS = (250, 500, 1000, 2500, 5000, 10_000, 20_000, 40_000), (1.0, 0.3, 0.1)

FOLDS = 3

#: Probability of the interval whose coverage is measured.
LEVEL = 0.9


def jobs(
    profile: Profile, *, compute: bool = True, datasets: Sequence[str] = (), folds: int = 0
) -> list[Job]:
    """All jobs: the path, with a smallest scale too if targets repeat; and the tuner's trials."""
    used = profile.first_folds(folds, FOLDS)
    work = []
    for dataset in regression.chosen_datasets(profile, datasets, compute):
        for setting in _different(profile.limited(each) for each in path(dataset)):
            cells = regression.cells_of(NAME, dataset, MODEL, setting, used, 0)
            work.append(Job(cells, compute_cells, note=f"{setting.steps} steps", needs=dataset))
        held_out = [fold for fold in validation_folds(table_size(dataset).n) if fold in used]
        for setting in _different(profile.limited(each) for each in trials(dataset)):
            cells = regression.cells_of(NAME, dataset, MODEL, setting, held_out, 0)
            work.append(Job(cells, compute_cells, note="trial", needs=dataset))
    return work


def _different(settings: Any) -> list[SoftTrees]:
    return list(dict.fromkeys(settings))


def path(dataset: str) -> list[SoftTrees]:
    """The settings of the path."""
    base = SoftTrees(tol=0.0)
    bases = [replace(base, kl_weight=weight) for weight in KL_WEIGHTS]
    rounding = table_size(dataset).rounding
    if rounding:
        bases.append(replace(base, smallest_scale=rounding))
    return [replace(each, steps=steps) for each, steps in product(bases, STEPS)]


def trials(dataset: str) -> list[SoftTrees]:
    """The settings that the tuner tried, each trained until it has converged."""
    tried = Store(published_trials(), COLUMNS).load([f"{data.file(dataset)}-{MODEL}"])
    entry, size = MODEL_BY_ID[MODEL], table_size(dataset)
    return [entry.setting_for(size, as_parameters(text)) for text in tried["parameters"]]


def compute_cells(cells: Sequence[Cell]) -> list[dict[str, Any]]:
    """Fit the cells together and score them on training, held-out, test and OOD rows."""
    setting = SoftTrees(**as_parameters(cells[0].parameters))
    prepared_data = prepared_for(setting, cells[0].dataset)
    start = time.process_time()
    folds, seeds = [cell.fold for cell in cells], [cell.seed for cell in cells]
    stack = fit_stack([setting] * len(cells), prepared_data, folds, seeds)
    seconds = round((time.process_time() - start) / len(cells), 3)
    shared = {"data_sha256": prepared_data.dataset.sha256, "seconds": seconds}
    return [
        {
            **score(model, prepared_data.x_test, prepared_data.y_test),
            **detect(model, prepared_data),
            **_more(cell, model, setting),
            **shared,
        }
        for cell, model in zip(cells, (fitted(stack, i) for i in range(len(cells))), strict=True)
    ]


def _more(cell: Cell, model: Any, setting: SoftTrees) -> dict[str, Any]:
    prepared_data = prepared_for(setting, cell.dataset)
    held_out = prepared_data.folds.held_out.rows(cell.fold)
    x, y = prepared_data.x_train[held_out], prepared_data.y_train[held_out]
    target = prepared_data.y_test
    predicted = PredictiveDistribution(model.draws, prepared_data.x_test)
    lower, upper = predicted.interval(LEVEL)
    return {
        "elbo": training_bound(cell, model, prepared_data),
        "validation_elbo": round(model.bound(x, y), 5),
        "validation_log_likelihood": round(float(np.mean(model.log_prob(x, y))), 5),
        "coverage": round(float(np.mean((lower <= target) & (target <= upper))), 5),
        "width": round(float(np.mean(upper - lower)), 5),
        "converged": model.converged,
        "steps": model.steps,
        "kl_weight": setting.kl_weight,
        "smallest_scale": setting.smallest_scale,
        "part": part_of(setting),
    }


def part_of(setting: SoftTrees) -> str:
    """Whether a setting belongs to the path or to the tuner's trials.

    Examples
    --------
    >>> part_of(SoftTrees(tol=0.0)), part_of(SoftTrees(beta=2.0))
    ('path', 'trials')
    """
    return "trials" if setting.tol else "path"


OPTIMUM = Experiment(
    NAME,
    "scores along the way to the optimum of the bound, and of settings chosen by the bound",
    (regression.DATASETS, regression.FOLDS),
    jobs,
    (
        *regression.FOLD_SCORES, "part", "kl_weight", "smallest_scale", "elbo", "validation_elbo",
        "validation_log_likelihood", "coverage", "width", "converged", "steps",
    ),
    by=("part", "dataset", "kl_weight", "steps"),
    summarised=("elbo", "log_likelihood", "auroc", "coverage"),
)  # fmt: skip
