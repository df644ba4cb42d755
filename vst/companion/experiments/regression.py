"""Tables 1, 2 and 6 of the paper: log-likelihood, OOD AUROC and RMSE of every model and data set.

Each fitted model gets all three scores at once, so that none is fitted twice.
"""

import time
from collections.abc import Callable, Sequence
from typing import Any

from vst.companion import models
from vst.companion.experiments import datasets
from vst.companion.experiments.cells import Cell, as_parameters, as_text
from vst.companion.experiments.detection import detect
from vst.companion.experiments.experiment import Experiment, Job, Option
from vst.companion.experiments.fitting import (
    coverage,
    fit_folds,
    prepared_for,
    score,
    table_size,
)
from vst.companion.experiments.profiles import Profile
from vst.companion.experiments.trials import tuned_settings
from vst.companion.models import MODEL_BY_ID
from vst.companion.peers import Fitted

NAME = "regression"

#: Scores of a fit to one fold.
FOLD_SCORES = ("fold", "log_likelihood", "rmse", "auroc", "auroc_node", "ood", "data_sha256")

DATASETS = Option(
    "datasets",
    "names",
    "data sets; your own file as file.csv:target (default: all on this machine)",
)
FOLDS = Option("folds", "count", "number of folds of each data set (default: the profile's)")
SEED = Option("seed", "number", "seed of the fits (default 0)")


def jobs(
    profile: Profile,
    *,
    compute: bool = True,
    datasets: Sequence[str] = (),
    models: Sequence[str] = (),
    untuned: bool = False,
    folds: int = 0,
    seed: int = 0,
) -> list[Job]:
    """All jobs: every model on every data set, with tuned settings if there are any."""
    tuned = {} if untuned else tuned_settings()
    work = []
    for dataset in chosen_datasets(profile, datasets, compute):
        for model in chosen_models(models):
            setting = profile.limited(setting_for(model, dataset, tuned))
            cells = cells_of(NAME, dataset, model, setting, profile.first_folds(folds), seed)
            groups = [cells] if MODEL_BY_ID[model].is_soft else [(cell,) for cell in cells]
            work += [Job(group, compute_folds, needs=dataset) for group in groups]
    return work


def chosen_datasets(profile: Profile, named: Sequence[str], compute: bool) -> list[str]:
    """The named data sets, else the profile's or the paper's; to compute, those on this machine."""
    chosen = list(named or profile.datasets) or datasets.papers()
    if compute:
        chosen = chosen if named else [name for name in chosen if datasets.is_here(name)]
        datasets.check(chosen)
    return chosen


def chosen_models(named: Sequence[str]) -> list[str]:
    """The named models, or all; unknown names are refused before anything is computed."""
    models.check_names("model", list(named), models.NAMES)
    return list(named or models.NAMES)


def setting_for(model: str, dataset: str, tuned: dict[tuple[str, str], dict[str, Any]]) -> Any:
    """A model's settings for a data set: the tuned ones, and those that depend on its size."""
    chosen = tuned.get((datasets.file(dataset), model), {})
    return MODEL_BY_ID[model].setting_for(table_size(dataset), chosen)


def cells_of(
    experiment: str, dataset: str, model: str, setting: Any, folds: Sequence[int], seed: int
) -> tuple[Cell, ...]:
    """The cells of one model with one setting, one per fold."""
    text = as_text(models.parameters(setting))
    return tuple(Cell(experiment, dataset, model, fold, seed, text) for fold in folds)


def compute_folds(cells: Sequence[Cell]) -> list[dict[str, Any]]:
    """Scores, and how many test rows the 90 % intervals hold."""
    return compute_cells(cells, _coverage)


def _coverage(cell: Cell, model: Fitted) -> dict[str, Any]:
    setting = MODEL_BY_ID[cell.model].setting(as_parameters(cell.parameters))
    data = prepared_for(setting, cell.dataset)
    return {"coverage": coverage(model, data.x_test, data.y_test)}


def compute_cells(
    cells: Sequence[Cell], more: Callable[[Cell, Fitted], dict[str, Any]] | None = None
) -> list[dict[str, Any]]:
    """Fit and score cells of one model and setting; ``more`` adds an experiment's own columns."""
    first = cells[0]
    setting = MODEL_BY_ID[first.model].setting(as_parameters(first.parameters))
    data = prepared_for(setting, first.dataset)
    start = time.process_time()  # not wall-clock time: other processes do not change it
    fits = fit_folds(setting, data, [cell.fold for cell in cells], [cell.seed for cell in cells])
    scores = [score(model, data.x_test, data.y_test) for model in fits]
    seconds = round((time.process_time() - start) / len(cells), 3)
    shared = {"data_sha256": data.dataset.sha256, "seconds": seconds}
    return [
        {**found, **detect(model, data), **(more(cell, model) if more else {}), **shared}
        for cell, found, model in zip(cells, scores, fits, strict=True)
    ]


REGRESSION = Experiment(
    NAME,
    "log-likelihood, error and OOD detection of every model on every data set",
    (
        DATASETS,
        Option("models", "names", "models (default: all)"),
        FOLDS,
        SEED,
        Option("untuned", "flag", "use every model's untuned settings"),
    ),
    jobs,
    (*FOLD_SCORES, "coverage"),
    summarised=("log_likelihood", "rmse", "auroc", "coverage"),
)
