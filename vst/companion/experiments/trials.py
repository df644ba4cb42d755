"""Stored trials of the tuner, and the best settings among them."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from vst.companion.experiments import datasets
from vst.companion.experiments.cells import as_parameters
from vst.companion.experiments.store import Store
from vst.companion.models import MODEL_BY_ID, Longer
from vst.datasets.places import bundled_directory

COLUMNS = (
    "key", "dataset", "model", "trial", "objective", "seconds", "parameters", "validation_folds",
    "version",
)  # fmt: skip


def published_trials() -> Path:
    """Directory of the trials behind the published results."""
    return bundled_directory() / "tuning" / "regression"


def own_trials() -> Path:
    """Directory of other trials: on a user's files, or not published."""
    return Path("_build") / "tuning" / "regression"


def tuned_settings(directory: Path | None = None) -> dict[tuple[str, str], dict[str, Any]]:
    """The best settings found so far, by data set (the name of its file of results) and model.

    Published trials take precedence; the user's own trials fill the gaps.
    """
    best: dict[tuple[str, str], dict[str, Any]] = {}
    for place in [directory] if directory else [own_trials(), published_trials()]:
        table = tuned_table([place])
        places = zip(table["dataset"], table["model"], strict=True)
        best |= dict(zip(places, map(as_parameters, table["parameters"]), strict=True))
    return best


def tuned_table(directories: Sequence[Path] | None = None) -> pd.DataFrame:
    """One row per data set and model: the best settings, and the trials and seconds spent."""
    found = [Store(place, COLUMNS).load() for place in directories or [published_trials()]]
    trials = pd.concat([rows for rows in found if len(rows)] or found[:1], ignore_index=True)
    if not len(trials):
        return trials.assign(trials=[], total_seconds=[])
    groups = trials.groupby(["dataset", "model"])
    best = trials.loc[_worth(trials).groupby([trials["dataset"], trials["model"]]).idxmax()]
    best = best.set_index(["dataset", "model"])
    spent = groups.agg(trials=("trial", "size"), total_seconds=("seconds", "sum"))
    return best.join(spent).reset_index()


def best_of(trials: pd.DataFrame) -> dict[str, Any]:
    """The best settings among some trials."""
    return as_parameters(trials["parameters"].iloc[int(_worth(trials).argmax())])


def are_longer(trials: pd.DataFrame) -> pd.Series:
    """Which trials have more steps or members."""
    more = [not {"steps", "members"}.isdisjoint(as_parameters(t)) for t in trials["parameters"]]
    soft = [MODEL_BY_ID[model].is_soft for model in trials["model"]]
    return pd.Series(np.array(soft, bool) & np.array(more, bool), index=trials.index)


def longer_settings(model: str, dataset: str, parameters: dict[str, Any]) -> list[dict[str, Any]]:
    """The same settings with more steps or members, for any number of trees; none if not tried."""
    size = datasets.size(dataset)
    entry = MODEL_BY_ID[model]
    if size.n not in entry.longer_on:
        return []
    setting = entry.setting_for(size, parameters)
    return [
        without_trees(parameters)
        | ({"steps": more.steps * setting.steps} if more.steps > 1 else {})
        | ({"members": more.members * setting.members} if more.members > 1 else {})
        for more in entry.longer
    ]


def without_trees(parameters: dict[str, Any]) -> dict[str, Any]:
    """Settings without the number of trees, which needs no separate fit."""
    return {name: value for name, value in parameters.items() if name != "n_trees"}


def _worth(trials: pd.DataFrame) -> pd.Series:
    """The objective of each trial, minus the gain required of longer training."""
    gains = [
        _longer(model, as_parameters(text)).gain if long else 0.0
        for model, text, long in zip(
            trials["model"], trials["parameters"], are_longer(trials), strict=True
        )
    ]
    return trials["objective"] - gains


def _longer(model: str, parameters: dict[str, Any]) -> Longer:
    """Which of a model's longer trainings a trial belongs to."""
    more = "steps" in parameters, "members" in parameters
    return next(
        kind for kind in MODEL_BY_ID[model].longer if (kind.steps > 1, kind.members > 1) == more
    )
