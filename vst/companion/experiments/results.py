"""Which code made the published results, by their fingerprints."""

from collections.abc import Iterable
from pathlib import Path

import pandas as pd

from vst.companion.experiments import EXPERIMENTS, fingerprints
from vst.companion.experiments.experiment import Experiment, Results, directories, published
from vst.companion.experiments.profiles import PROFILES

#: States of a row: current code would compute it, other code did, or it is older than fingerprints.
CURRENT, STALE, BEFORE = "current", "stale", "from before fingerprints"
STATES = (CURRENT, STALE, BEFORE)

#: The fingerprint column of a row that is older than fingerprints.
NO_FINGERPRINT = "before"

#: Scores to compare when a row is recomputed; the first that the row has is used.
COMPARED = ("log_likelihood", "rmse", "regret")


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


def verify(experiment: Experiment, cells: int) -> pd.DataFrame:
    """Recompute a few published rows, quickest first, and compare the scores.

    Returns
    -------
    pandas.DataFrame
        Columns dataset, model, fold or seed, score, stored, again, spread (the standard deviation over
        the other folds or seeds of the same model and data set) and same (the difference is no larger).
    """
    rows = Results(experiment, published(experiment.name)).load()
    wanted = {
        cell.key: (job, cell)
        for job in experiment.jobs(PROFILES["paper"], compute=False)
        for cell in job.cells
    }
    there = (
        rows[rows["key"].isin(wanted)].sort_values("seconds").drop_duplicates(["dataset", "model"])
    )
    found = []
    for row in there.head(cells).to_dict("records"):
        job, cell = wanted[row["key"]]
        beside = (cell,) if job.divisible else job.cells
        again = job.compute_cells(beside)[beside.index(cell)]
        name = next(name for name in COMPARED if pd.notna(row.get(name)))
        same_kind = rows[(rows["dataset"] == row["dataset"]) & (rows["model"] == row["model"])]
        spread = float(same_kind[name].std()) if len(same_kind) > 1 else 0.0
        found.append(
            {
                "dataset": row["dataset"], "model": row["model"], "seed": row["seed"], "score": name,
                "stored": row[name], "again": again[name], "spread": round(spread, 5),
                "same": abs(row[name] - again[name]) <= max(spread, 1e-3),
            }
        )  # fmt: skip
    return pd.DataFrame(found)


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
