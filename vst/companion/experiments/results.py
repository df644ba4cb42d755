"""Which code made the published results, by their fingerprints."""

from collections.abc import Iterable
from itertools import zip_longest
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from vst.companion.experiments import EXPERIMENTS, datasets, fingerprints
from vst.companion.experiments.cells import Cell
from vst.companion.experiments.experiment import Experiment, Job, Results, directories, published
from vst.companion.experiments.profiles import PROFILES

#: States of a row: current code would compute it, other code did, or it is older than fingerprints.
CURRENT, STALE, BEFORE = "current", "stale", "from before fingerprints"
STATES = (CURRENT, STALE, BEFORE)

#: The fingerprint column of a row that is older than fingerprints.
NO_FINGERPRINT = "before"

#: Scores to compare when a row is recomputed; the first that the row has is used.
COMPARED = ("log_likelihood", "log_loss", "elbo", "rmse", "regret")


def status(names: Iterable[str] = tuple(EXPERIMENTS)) -> pd.DataFrame:
    """Rows of the published results, by experiment, model and state.

    Returns
    -------
    pandas.DataFrame
        Columns experiment, model, rows, state, fingerprint (as stored) and now.
    """
    rows = pd.concat([_rows(name) for name in names], ignore_index=True)
    known = rows["fingerprint"] != NO_FINGERPRINT
    now = {name: fingerprints.fingerprint(name) for name in rows.loc[known, "of"].unique()}
    groups = rows.groupby(["experiment", "model", "of", "fingerprint"], sort=False)
    frame = groups.size().rename("rows").reset_index()
    frame["now"] = frame["of"].map(now).fillna("")
    frame["state"] = [
        state(stored, now.get(of, ""))
        for of, stored in zip(frame["of"], frame["fingerprint"], strict=True)
    ]
    return frame[["experiment", "model", "rows", "state", "fingerprint", "now"]]


def state(stored: str, now: str) -> str:
    """The state of a stored fingerprint, given the current one.

    Examples
    --------
    >>> state("before", ""), state("0.5", "0.5"), state("0.5", "0.6")
    ('from before fingerprints', 'current', 'stale')
    """
    if stored == NO_FINGERPRINT:
        return BEFORE
    return CURRENT if fingerprints.equal(stored, now) else STALE


def stale_keys(experiment: str, profile: str, out: Path | None = None) -> list[str]:
    """Keys of a profile's stored rows that the current code would not compute."""
    places = [out] if out else directories(experiment, profile)
    frames = [Results(EXPERIMENTS[experiment], place).load() for place in places]
    rows = pd.concat(frames, ignore_index=True)
    names = [EXPERIMENTS[experiment].fitted_by(model) for model in rows["model"]]
    now = {name: fingerprints.fingerprint(name) for name in dict.fromkeys(names)}
    return [
        key
        for key, name, stored in zip(rows["key"], names, rows["fingerprint"], strict=True)
        if state(str(stored), now[name]) != CURRENT
    ]


#: A score comes out again if it differs by at most so many standard deviations over folds and seeds. Two
#: fits of which only the rounding differs can end as far apart as two seeds.
SPREADS = 3


class Checked(NamedTuple):
    """A published row, and the job and the cell that compute it again."""

    experiment: str
    row: dict[str, Any]
    job: Job
    cell: Cell
    spread: float  #: standard deviation over the other folds or seeds of the model on the data set

    @property
    def beside(self) -> tuple[Cell, ...]:
        """The cells that have to be computed with it."""
        return (self.cell,) if self.job.divisible else self.job.cells

    @property
    def seconds(self) -> float:
        """What that takes, by the clock of the published run."""
        return float(self.row["seconds"]) * len(self.beside)

    def again(self) -> dict[str, Any]:
        """Compute it, and compare the first score that it has."""
        found = self.job.compute_cells(self.beside)[self.beside.index(self.cell)]
        name = self.score
        difference = abs(float(self.row[name]) - float(found[name]))
        return {
            "experiment": self.experiment, "dataset": self.row["dataset"], "model": self.row["model"],
            "seed": self.row["seed"], "score": name, "stored": self.row[name], "again": found[name],
            "spread": round(self.spread, 5),
            "same": bool(difference <= max(SPREADS * self.spread, 1e-3)),
        }  # fmt: skip

    @property
    def score(self) -> str:
        """The score that is compared."""
        return next(name for name in COMPARED if pd.notna(self.row.get(name)))


def verify(experiment: Experiment, cells: int) -> pd.DataFrame:
    """Recompute a few published rows of an experiment, quickest first: one for each model and data set.

    Returns
    -------
    pandas.DataFrame
        Columns experiment, dataset, model, seed, score, stored, again, spread and same: the difference
        is at most `SPREADS` times the spread over other folds and seeds.
    """
    rows = sorted(_checked(experiment), key=lambda each: float(each.row["seconds"]))
    first = {(each.row["dataset"], each.row["model"]): each for each in reversed(rows)}
    chosen = sorted(first.values(), key=lambda each: float(each.row["seconds"]))
    return pd.DataFrame([each.again() for each in chosen[:cells]])


def sample(cells: int, seed: int, most_seconds: float) -> list[Checked]:
    """Published rows of all experiments, drawn at random from those that can be computed here.

    Every experiment is drawn as often, up to one, whatever its number of rows.

    Parameters
    ----------
    most_seconds
        What a row may take; longer ones are not drawn.
    """
    rng = np.random.default_rng(seed)
    orders = []
    for experiment in EXPERIMENTS.values():
        rows = [
            each
            for each in _checked(experiment)
            if each.seconds <= most_seconds and datasets.is_here(each.job.needs)
        ]
        orders.append([rows[i] for i in rng.permutation(len(rows))])
    turns = zip_longest(*(orders[i] for i in rng.permutation(len(orders))))
    drawn = [each for turn in turns for each in turn if each is not None]
    return drawn[:cells]


def prune(experiment: Experiment) -> int:
    """Remove the published rows that no cell of the full protocol asks for; return how many."""
    return Results(experiment, published(experiment.name)).keep(asked_for(experiment))


def asked_for(experiment: Experiment) -> set[str]:
    """Keys of the published rows that the full protocol asks for, with any seed.

    Rows of other seeds say how much seeds differ, by which a row that is computed again is judged.
    """
    wanted = _wanted(experiment)
    rows = Results(experiment, published(experiment.name)).load()
    if "fold" not in rows:  # then the seed is all that tells repetitions apart
        return set(wanted)
    of = ["dataset", "model", "fold", "parameters"]
    cells = {tuple(getattr(cell, name) for name in of) for _, cell in wanted.values()}
    other_seeds = [row in cells for row in rows[of].itertuples(index=False, name=None)]
    return {*wanted, *rows.loc[other_seeds, "key"]}


def _wanted(experiment: Experiment) -> dict[str, tuple[Job, Cell]]:
    """The job and the cell of every key that the full protocol asks for."""
    return {
        cell.key: (job, cell)
        for job in experiment.jobs(PROFILES["paper"], compute=False)
        for cell in job.cells
    }


def _checked(experiment: Experiment) -> list[Checked]:
    """The published rows that today's jobs compute."""
    rows = Results(experiment, published(experiment.name)).load()
    wanted = _wanted(experiment)
    scores = [name for name in COMPARED if name in rows]
    # A fit that diverged has no score.
    there = rows[rows["key"].isin(wanted) & rows[scores].notna().any(axis=1)]
    there = there.drop_duplicates("key", keep="last")
    found = []
    for _, group in there.groupby(["dataset", "model"], sort=False):
        for row in ({str(key): row[key] for key in row} for row in group.to_dict("records")):
            name = next(name for name in COMPARED if pd.notna(row.get(name)))
            spread = float(group[name].std()) if len(group) > 1 else 0.0
            found.append(Checked(experiment.name, row, *wanted[row["key"]], spread))
    return found


def _rows(experiment: str) -> pd.DataFrame:
    rows = Results(EXPERIMENTS[experiment], published(experiment)).load()
    return pd.DataFrame(
        {
            "experiment": experiment,
            "model": rows["model"],
            "of": [EXPERIMENTS[experiment].fitted_by(model) for model in rows["model"]],
            "fingerprint": rows["fingerprint"].astype(str),
        }
    )
