"""Tables 1, 2 and 6 of the paper: log-likelihood, OOD AUROC and RMSE of every model and data set.

A fitted model is scored in all three ways at once, so that none is fitted twice.
"""

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from typing import Any, TypeVar

import numpy as np
import pandas as pd

from vst.companion.experiments import datasets, models
from vst.companion.experiments.cells import Cell, as_parameters, as_text
from vst.companion.experiments.datasets import Size
from vst.companion.experiments.detection import detect
from vst.companion.experiments.profiles import Profile
from vst.companion.experiments.provenance import provenance
from vst.companion.experiments.soft_trees import SOFT_TREES, SoftTrees, fit_stack, steps_for
from vst.companion.experiments.store import Store
from vst.companion.peers import LARGE, PEERS, Fitted, NoDensityError, Peer
from vst.companion.protocol import Prepared, prepare

EXPERIMENT = "regression"

COLUMNS = (
    "key", "dataset", "model", "fold", "seed", "log_likelihood", "rmse", "auroc", "auroc_node", "ood",
    "seconds", "parameters", "data_sha256", "version", "jax", "device",
)  # fmt: skip


@dataclass(frozen=True)
class Stack:
    """Cells of one data set, model and setting that are computed together: folds."""

    cells: tuple[Cell, ...]

    @property
    def file(self) -> str:
        """The file that the results go to."""
        return datasets.file(self.cells[0].dataset)

    @property
    def label(self) -> str:
        """Data set and model."""
        return f"{self.cells[0].dataset} {self.cells[0].model}"

    @property
    def size(self) -> int:
        """Number of cells."""
        return len(self.cells)

    def compute(self) -> list[dict[str, Any]]:
        """Fit and score every cell: its predictions, and its detection of OOD rows."""
        first = self.cells[0]
        setting = models.settings(first.model, as_parameters(first.parameters))
        data = prepared(first.dataset, bool(getattr(setting, "whiten", False)))
        start = time.process_time()  # not of the clock: other processes do not change it
        fitted = fit_cells(setting, data, self.cells)
        scores = [score(model, data.x_test, data.y_test) for model in fitted]
        seconds = (time.process_time() - start) / len(self.cells)
        scores = [
            found | detect(model, data) | self.more(model)
            for found, model in zip(scores, fitted, strict=True)
        ]
        shared = {"data_sha256": data.dataset.sha256, "seconds": round(seconds, 3), **provenance()}
        return [
            {"key": cell.key, **_identity(cell), **scored, **shared}
            for cell, scored in zip(self.cells, scores, strict=True)
        ]

    def more(self, model: Fitted) -> dict[str, Any]:
        """Further columns of a cell's row; none here."""
        return {}


AnyStack = TypeVar("AnyStack", bound=Stack)


def stacks(
    profile: Profile,
    on: Sequence[str],
    names: Sequence[str],
    tuned: dict[tuple[str, str], dict[str, Any]],
    *,
    folds: int | None = None,
    seed: int = 0,
) -> list[Stack]:
    """All work of an experiment, with tuned settings where there are some."""
    jobs = []
    for dataset in on:
        size, file = datasets.size(dataset), datasets.file(dataset)
        for name in names:
            setting = setting_for(name, size, tuned.get((file, name), {}))
            text = as_text(models.parameters(profile.limited(setting)))
            cells = tuple(
                Cell(EXPERIMENT, dataset, name, fold, seed, text)
                for fold in profile.first_folds(folds)
            )
            together = isinstance(setting, SoftTrees)
            jobs += [Stack(cells)] if together else [Stack((cell,)) for cell in cells]
    return jobs


def setting_for(name: str, size: Size, tuned: dict[str, Any]) -> SoftTrees | Peer:
    """A model for a data set of this size, which decides how long to train."""
    if name in PEERS:
        return models.settings(name, {**(PEERS[name].large if size.n >= LARGE else {}), **tuned})
    setting = models.settings(name, tuned)
    assert isinstance(setting, SoftTrees)
    share = SOFT_TREES[name].share(setting.depth)
    return replace(setting, **{"steps": int(share * steps_for(*size))} | tuned)


def missing(jobs: Sequence[AnyStack], store: Store) -> list[AnyStack]:
    """The jobs, or parts of jobs, whose results the store does not have."""
    have = set(store.load(sorted({job.file for job in jobs}))["key"])
    parts = ((job, tuple(cell for cell in job.cells if cell.key not in have)) for job in jobs)
    return [replace(job, cells=cells) for job, cells in parts if cells]


def results_of(jobs: Sequence[Stack], store: Store) -> pd.DataFrame:
    """The rows that the store has of these jobs' cells."""
    results = store.load(sorted({job.file for job in jobs}))
    return results[results["key"].isin({cell.key for job in jobs for cell in job.cells})]


def score(model: Fitted, x: Any, y: np.ndarray[Any, Any]) -> dict[str, Any]:
    """Mean test log-likelihood and RMSE, in standardised units."""
    mean = model.mean_draws(x).mean(axis=0)
    try:
        log_likelihood = round(float(np.mean(model.log_prob(x, y))), 5)
    except NoDensityError:
        log_likelihood = None
    return {
        "log_likelihood": log_likelihood,
        "rmse": round(float(np.sqrt(np.mean((mean - y) ** 2))), 5),
    }


@lru_cache(maxsize=2)
def prepared(dataset: str, whiten: bool = False) -> Prepared:
    """The paper's split of a data set; kept, since cells of one data set follow each other."""
    return prepare(datasets.load(dataset), whiten=whiten)


def summary(
    results: pd.DataFrame,
    scores: Sequence[str] = ("log_likelihood", "rmse"),
    *,
    by: Sequence[str] = ("model", "dataset"),
) -> pd.DataFrame:
    """Mean and standard deviation over folds of some scores, by default of each model and data set."""
    columns: dict[str, tuple[str, str]] = {}
    for score in scores:
        columns |= {score: (score, "mean"), f"{score}_error": (score, "std")}
    groups = results.groupby(list(by), sort=False)
    columns |= {"folds": ("fold", "nunique"), "seconds": ("seconds", "sum")}
    return groups.agg(**columns).reset_index()


def fit_cells(setting: SoftTrees | Peer, data: Prepared, cells: Sequence[Cell]) -> list[Fitted]:
    """Fit a model to the folds of some cells, with their seeds."""
    if isinstance(setting, SoftTrees):
        folds, seeds = [cell.fold for cell in cells], [cell.seed for cell in cells]
        fitted = fit_stack([setting] * len(cells), data, folds, seeds)
        return [fitted.model(i) for i in range(len(cells))]
    rows = [data.folds.train.rows(cell.fold) for cell in cells]
    return [
        setting.fit(data.x_train[used], data.y_train[used], seed=cell.seed)
        for cell, used in zip(cells, rows, strict=True)
    ]


def _identity(cell: Cell) -> dict[str, Any]:
    identity = asdict(cell)
    del identity["experiment"]
    return identity
