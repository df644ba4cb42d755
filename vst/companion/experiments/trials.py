"""Stored trials of the tuner, and the best settings among them."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from vst.companion.experiments.cells import as_parameters
from vst.companion.experiments.store import Store
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
    best = trials.loc[groups["objective"].idxmax()]
    best = best.set_index(["dataset", "model"])
    spent = groups.agg(trials=("trial", "size"), total_seconds=("seconds", "sum"))
    return best.join(spent).reset_index()
