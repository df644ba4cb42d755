"""The blind replication: the regression tables again, on random splits that no one has scored on.

Every model is tuned inside the training rows of each split, with as many trials, and then fitted once to
all of them. The code below, the tables and the claims that these results decide were fixed before the
first fit: see `vst.companion.experiments.freeze`.
"""

import time
from collections.abc import Sequence
from typing import Any

import pandas as pd

from vst.companion import models
from vst.companion.experiments import datasets as catalogue
from vst.companion.experiments.calibration import distribution_scores
from vst.companion.experiments.cells import Cell, as_parameters, as_text
from vst.companion.experiments.detection import detect
from vst.companion.experiments.experiment import Experiment, Job, Option, Part
from vst.companion.experiments.fitting import (
    coverage,
    fit_rows,
    prepared_for,
    score,
    table_size,
)
from vst.companion.experiments.profiles import PROFILES, Profile
from vst.companion.experiments.regression import DATASETS, chosen_datasets, chosen_models
from vst.companion.experiments.trials import own_trials
from vst.companion.experiments.tuning import Tuning
from vst.companion.models import MODEL_BY_ID
from vst.errors import UserError

NAME = "blind"

#: Seeds of the splits. The paper's split has seed 0, and no other experiment uses these.
SPLITS = (20231, 20232, 20233, 20234, 20235)

#: What is kept of a tuning trial.
TRIAL = ("trial", "objective", "seconds", "parameters")


def jobs(
    profile: Profile,
    *,
    compute: bool = True,
    datasets: Sequence[str] = (),
    models: Sequence[str] = (),
    splits: int = 0,
) -> list[Job]:
    """All jobs, split by split, so that an interrupted run has whole splits; small tables come first."""
    if splits > len(SPLITS):
        raise UserError(f"there are {len(SPLITS)} blind splits: choose 1 to {len(SPLITS)}")
    chosen = chosen_datasets(profile, datasets, compute)
    chosen = sorted(chosen, key=lambda name: catalogue.size(name).n) if compute else chosen
    return [
        Job((_cell(profile, dataset, model, split),), compute_cells, needs=dataset)
        for split in SPLITS[: splits or profile.blind_splits]
        for dataset in chosen
        for model in chosen_models(models)
    ]


def _cell(profile: Profile, dataset: str, model: str, split: int) -> Cell:
    """A cell's settings are those before tuning."""
    entry = MODEL_BY_ID[model]
    setting = profile.limited(entry.setting_for(catalogue.size(dataset), {}))
    trials = profile.blind_trials if entry.all_ranges() else 0
    described = {"before": models.parameters(setting), "profile": profile.name, "trials": trials}
    return Cell(NAME, dataset, model, split, 0, as_text(described))


def compute_cells(cells: Sequence[Cell]) -> list[dict[str, Any]]:
    """Tune, fit and score one model on one split of a data set."""
    return [_compute(cell) for cell in cells]


def _compute(cell: Cell) -> dict[str, Any]:
    described, entry = as_parameters(cell.parameters), MODEL_BY_ID[cell.model]
    profile, split = PROFILES[described["profile"]], cell.fold
    trials = _tune(cell, described["trials"], profile)
    best = trials.sort_values("objective").tail(1)["parameters"].tolist()
    tuned = as_parameters(best[0]) if best else {}
    setting = profile.limited(entry.setting_for(table_size(cell.dataset, split), tuned))
    data = prepared_for(setting, cell.dataset, split)
    start = time.process_time()
    model = fit_rows(setting, data.x_train, data.y_train, seed=cell.seed)
    scores = score(model, data.x_test, data.y_test)
    seconds = round(time.process_time() - start, 3)
    return {
        **scores,
        **distribution_scores(model, data.x_test, data.y_test),
        "coverage": coverage(model, data.x_test, data.y_test),
        **detect(model, data),
        "tuned": as_text(tuned),
        "tuning_seconds": round(float(trials["seconds"].sum()), 3),
        "data_sha256": data.dataset.sha256,
        "seconds": seconds,
        "trials": trials[list(TRIAL)].to_dict("records"),
    }


def _tune(cell: Cell, trials: int, profile: Profile) -> pd.DataFrame:
    """The trials of a cell. They are stored as they end, so that an interrupted run resumes them."""
    place = own_trials().with_name(NAME) / cell.key
    tuning = Tuning(
        cell.dataset, cell.model, trials, place, seed=cell.fold, split=cell.fold, profile=profile
    )
    tuning.compute()
    return tuning.done()


BLIND = Experiment(
    NAME,
    "the regression tables on five fresh splits, with settings tuned inside each",
    (
        DATASETS,
        Option("models", "names", "models (default: all)"),
        Option("splits", "count", f"splits (default: {len(SPLITS)})"),
    ),
    jobs,
    (
        "fold", "log_likelihood", "rmse", "crps", "coverage", "width", "auroc", "auroc_node", "ood",
        "tuned", "tuning_seconds", "data_sha256",
    ),
    parts={"trials": Part(TRIAL, 1)},
    summarised=("log_likelihood", "rmse", "crps", "coverage"),
)  # fmt: skip
