"""The common form of all experiments (options, jobs, columns), and the function that gets results.

An experiment splits its work into *jobs*, groups of cells that are computed together. The command line
and the chapters both call :func:`obtain`, which computes what is not stored.
"""

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, NamedTuple

import pandas as pd

from vst.companion.experiments import datasets, fingerprints, runner
from vst.companion.experiments.cells import PROVENANCE, Cell, provenance
from vst.companion.experiments.profiles import profile as find_profile
from vst.companion.experiments.store import Store
from vst.datasets.places import bundled_directory, in_checkout
from vst.errors import UserError

#: Columns of every experiment's results: the cell's description and provenance.
IDENTITY = ("key", "dataset", "model", "seed")
ORIGIN = ("seconds", "parameters", *PROVENANCE)


class Option(NamedTuple):
    """An option of an experiment, on the command line and in its chapter."""

    name: str
    kind: Literal["names", "numbers", "count", "number", "real", "flag"]
    help: str


@dataclass(frozen=True)
class Job:
    """Cells of one data set that one process computes together.

    Attributes
    ----------
    compute_cells
        Returns the scores of cells, in order; a module-level function, so that it can be pickled.
    divisible
        Whether a cell's result does not depend on the other cells.
    note
        Added to the label after data set and model.
    needs
        The data set that must be on this machine; empty if none.
    fitted_by
        The model or agent whose code computes the job and fingerprints its rows; if empty, the cells'
        own model.
    """

    cells: tuple[Cell, ...]
    compute_cells: Callable[[Sequence[Cell]], list[dict[str, Any]]]
    divisible: bool = True
    note: str = ""
    needs: str = ""
    fitted_by: str = ""

    @property
    def file(self) -> str:
        """The file that the results go to."""
        return datasets.file(self.cells[0].dataset)

    @property
    def label(self) -> str:
        """What to show while it runs."""
        return f"{self.cells[0].dataset} {self.cells[0].model} {self.note}".strip()

    @property
    def size(self) -> int:
        """Number of cells."""
        return len(self.cells)

    def compute(self) -> list[dict[str, Any]]:
        """Compute every cell: its scores, description and provenance."""
        scores = self.compute_cells(self.cells)
        code = self.fitted_by or self.cells[0].model
        origin = {**provenance(), "fingerprint": fingerprints.of(code)}
        return [
            {**cell.described(), **found, **origin}
            for cell, found in zip(self.cells, scores, strict=True)
        ]

    def without(self, have: set[str]) -> "Job | None":
        """The job without the cells that are already stored; None if nothing is left."""
        left = tuple(cell for cell in self.cells if cell.key not in have)
        if not left:
            return None
        return replace(self, cells=left) if self.divisible else self


@dataclass(frozen=True)
class Experiment:
    """A part of the paper's evidence.

    Attributes
    ----------
    name
        Name on the command line and of the results directory.
    description
        What it computes, for the help text.
    options
        The user's options; `jobs` takes them by name.
    jobs
        Returns all jobs for a profile and the user's options.
    scores
        The experiment's own columns.
    parts
        Additional tables, by name: their columns, of which the first few identify a line.
    by, summarised
        The command line prints means of the scores ``summarised``, grouped by ``by``.
    fitted_by
        Returns the model or agent whose code computes a row, given the row's model.
    """

    name: str
    description: str
    options: tuple[Option, ...]
    jobs: Callable[..., list[Job]]
    scores: tuple[str, ...]
    parts: Mapping[str, "Part"] = field(default_factory=dict)
    by: tuple[str, ...] = ("model", "dataset")
    summarised: tuple[str, ...] = ()
    fitted_by: Callable[[str], str] = str

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns of the results."""
        return (*IDENTITY, *self.scores, *ORIGIN)


class Part(NamedTuple):
    """An additional table of an experiment: its lines belong to a row by the row's key."""

    columns: tuple[str, ...]
    unique: int  #: number of columns after the key that identify a line


class Results(Store):
    """The results of an experiment, and its parts in separate directories.

    Parts are written first, so that every row in the results has its parts.
    """

    def __init__(self, experiment: Experiment, directory: Path):
        super().__init__(directory, experiment.columns)
        self.parts = {
            name: Store(
                directory / name, ("key", *part.columns), ("key", *part.columns[: part.unique])
            )
            for name, part in experiment.parts.items()
        }

    def require_writable(self, names: Iterable[str] | None = None) -> None:
        """Raise an error if the rows or a part cannot be written."""
        names = None if names is None else list(names)
        super().require_writable(names)
        for part in self.parts.values():
            part.require_writable(names)

    def keep(self, keys: Container[str]) -> int:
        """Keep only the rows with these keys, and their parts; return how many rows were removed."""
        removed = super().keep(keys)
        for part in self.parts.values():
            part.keep(keys)
        return removed

    def append(self, name: str, rows: Iterable[dict[str, Any]]) -> None:
        """Add rows to the files of one data set."""
        rows = list(rows)
        for part, store in self.parts.items():
            lines = [{"key": row["key"], **line} for row in rows for line in row[part]]
            if lines:
                store.append(name, lines)
        super().append(name, ({c: row[c] for c in self.columns if c in row} for row in rows))


@dataclass(frozen=True, eq=False)
class Obtained:
    """Rows of the requested cells.

    Attributes
    ----------
    results
        One row per cell.
    parts
        The experiment's additional tables.
    datasets, models
        The requested names, in order.
    missing
        Number of requested cells without a result.
    absent
        Data sets of missing cells that are not on this machine.
    """

    results: pd.DataFrame
    parts: dict[str, pd.DataFrame]
    datasets: list[str]
    models: list[str]
    missing: int
    absent: list[str]


def obtain(
    experiment: Experiment,
    profile: str = "paper",
    *,
    compute: bool | None = None,
    again: Iterable[str] = (),
    publish: bool = False,
    out: Path | None = None,
    workers: int | None = None,
    scheduler: str = "",
    announce: Callable[[str], None] | None = None,
    **chosen: Any,
) -> Obtained:
    """Results of an experiment: reads the stored ones and computes the others.

    Parameters
    ----------
    profile
        How much to compute: ``smoke``, ``quick`` or ``paper``.
    compute
        Whether to compute the cells that are not stored. By default, all profiles but ``paper`` do;
        its results are published and would take hours.
    again
        Keys of stored cells to compute again.
    publish
        Write into the published results instead of ``_build``.
    out
        Another directory for the results.
    workers, scheduler
        Number of processes, or the address of a Dask scheduler.
    announce
        Called with a message about how much there is to compute.
    chosen
        The experiment's own options, by name.
    """
    limits = find_profile(profile)
    compute = limits.computes if compute is None else compute
    jobs = experiment.jobs(limits, compute=compute, **chosen)
    if not compute and any(datasets.is_file(job.needs) for job in jobs):
        raise UserError("there are no published results of your own file: choose profile quick")
    places = [out] if out else directories(experiment.name, profile)
    stores = [Results(experiment, place) for place in places]
    if compute:
        store = stores[0] if publish and not out else stores[-1]
        if publish:
            require_publishable(profile, [job.needs for job in jobs])
        # Published rows must be complete: the user's own rows are not copied into them.
        looked_at = [store] if publish else stores
        _compute(jobs, looked_at, store, set(again), workers, scheduler, announce)
    return _gather(jobs, stores)


def directories(experiment: str, profile: str) -> list[Path]:
    """The stores to read, in order: published results, then the user's own."""
    own = Path("_build") / "results" / profile / experiment
    return [published(experiment), own] if profile == "paper" else [own]


def published(experiment: str) -> Path:
    """Directory of an experiment's published results."""
    return bundled_directory() / "results" / experiment


def require_publishable(profile: str, names: Iterable[str]) -> None:
    """Refuse to publish anything but the full protocol, or into an installed package."""
    if profile != "paper":
        raise UserError("--publish needs --profile paper: only the full protocol is published")
    if not in_checkout():
        raise UserError("--publish needs a checkout of the repository: this package is installed")
    files = sorted({name for name in names if datasets.is_file(name)})
    if files:
        raise UserError(f"results of your own files cannot be published: {', '.join(files)}")


def _compute(
    jobs: Sequence[Job],
    stores: Sequence[Results],
    store: Results,
    again: set[str],
    workers: int | None,
    scheduler: str,
    announce: Callable[[str], None] | None,
) -> None:
    have = {key for each in stores for key in each.load(_files(jobs))["key"]} - again
    unfinished = (job.without(have) for job in jobs)
    left = [job for job in unfinished if job is not None and datasets.is_here(job.needs)]
    total, todo = (sum(job.size for job in some) for some in (jobs, left))
    if announce is not None:
        announce(f"{total} cells, {todo} to compute into {store.directory}")
    if left:
        store.require_writable(_files(left))
        runner.run(left, store, workers=workers, scheduler=scheduler)


def _gather(jobs: Sequence[Job], stores: Sequence[Results]) -> Obtained:
    cells = {cell.key: cell for job in jobs for cell in job.cells}
    place = {key: i for i, key in enumerate(cells)}

    def rows(several: Sequence[Store]) -> pd.DataFrame:
        frames = [store.load(_files(jobs)) for store in several]
        frame = pd.concat([frame for frame in frames if len(frame)] or frames[:1])
        frame = frame[frame["key"].isin(cells)].drop_duplicates(list(several[0].unique))
        # In the requested order: a table must not depend on which job ended first.
        return frame.sort_values(
            "key", key=lambda keys: keys.map(place), kind="stable"
        ).reset_index(drop=True)

    results = rows(stores)
    there = set(results["key"])
    absent = [job.needs for job in jobs if job.without(there) and not datasets.is_here(job.needs)]
    return Obtained(
        results=results,
        parts={name: rows([store.parts[name] for store in stores]) for name in stores[0].parts},
        datasets=list(dict.fromkeys(cell.dataset for cell in cells.values())),
        models=list(dict.fromkeys(cell.model for cell in cells.values())),
        missing=len(cells) - len(there),
        absent=list(dict.fromkeys(absent)),
    )


def _files(jobs: Sequence[Job]) -> list[str]:
    return sorted({job.file for job in jobs})


def summary(experiment: Experiment, results: pd.DataFrame) -> pd.DataFrame:
    """Mean and standard deviation of an experiment's scores, for the command line."""
    return means(results, experiment.summarised, experiment.by)


def means(
    results: pd.DataFrame,
    scores: Sequence[str] = ("log_likelihood", "rmse"),
    by: Sequence[str] = ("model", "dataset"),
) -> pd.DataFrame:
    """Mean and standard deviation of scores over folds or seeds."""
    columns: dict[str, tuple[str, str]] = {}
    for score in scores:
        columns |= {score: (score, "mean"), f"{score}_error": (score, "std")}
    columns |= {"cells": ("key", "nunique"), "seconds": ("seconds", "sum")}
    return results.groupby(list(by), sort=False).agg(**columns).reset_index()
