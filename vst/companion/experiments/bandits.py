"""Table 3 and figure 4 of the paper: regret of every agent on every bandit.

A run is one agent on one bandit with one seed. Beside its row of results there is its history, the
cumulative regret at 200 points, and for the first seed of the exploration bandit which arms it
pulled where.
"""

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from jaxtyping import Float, Int

from vst.companion.bandits import (
    AGENTS,
    ENVIRONMENTS,
    Agent,
    Bandit,
    ThompsonVST,
    agent,
    environment,
    simulate,
)
from vst.companion.bandits.agents import parameters
from vst.companion.experiments import runner
from vst.companion.experiments.cells import Cell, as_text
from vst.companion.experiments.models import check_names
from vst.companion.experiments.profiles import profile
from vst.companion.experiments.provenance import provenance
from vst.companion.experiments.store import Store
from vst.datasets import CATALOGUE, load_dataset
from vst.datasets.places import find
from vst.errors import UserError

EXPERIMENT = "bandits"

COLUMNS = (
    "key", "dataset", "model", "seed", "steps", "regret", "random_regret", "seconds", "parameters",
    "data_sha256", "version", "jax", "device",
)  # fmt: skip

#: Points of a run's history.
POINTS = 200

#: Resolution of the pictures of the exploration bandit: spans of time, and intervals of contexts.
PERIODS, BINS = 4, 40


@dataclass(frozen=True)
class Extent:
    """How much of the experiment a profile computes; 0 for no limit.

    Attributes
    ----------
    seeds
        Runs of each agent.
    steps
        Most decisions in a run.
    bandits
        Bandits where none are named; all if empty.
    initial_pulls, initial_steps, steps_per_update
        Upper limits of an agent's settings: in a short run, they would leave nothing to decide, or
        take most of the time.
    """

    seeds: int
    steps: int = 0
    bandits: tuple[str, ...] = ()
    initial_pulls: int = 0
    initial_steps: int = 0
    steps_per_update: int = 0

    def limited(self, setting: Agent) -> Agent:
        """The same agent with no more of everything than this."""
        limits = {}
        for name in ("initial_pulls", "initial_steps", "steps_per_update"):
            limit = getattr(self, name)
            if limit and hasattr(setting, name):
                limits[name] = min(getattr(setting, name), limit)
        return replace(setting, **limits)


EXTENTS = {
    "smoke": Extent(
        seeds=2,
        steps=600,
        bandits=("exploration", "mushroom"),
        initial_pulls=20,
        initial_steps=300,
        steps_per_update=20,
    ),
    "quick": Extent(seeds=2, steps=3000, initial_pulls=20),
    "paper": Extent(seeds=5),
}


class BanditStore(Store):
    """Results, and beside them the runs' histories and choices in directories of their own.

    Histories are written first: a run that is in the results has one.
    """

    def __init__(self, directory: Path):
        super().__init__(directory, COLUMNS)
        self.histories = Store(
            directory / "histories", ("key", "step", "regret"), unique=("key", "step")
        )
        self.choices = Store(
            directory / "choices",
            ("key", "period", "bin", "arm", "pulls"),
            unique=("key", "period", "bin", "arm"),
        )

    def append(self, name: str, rows: Iterable[dict[str, Any]]) -> None:
        """Add runs to the files of one bandit."""
        rows = list(rows)
        for store, part in ((self.histories, "history"), (self.choices, "choices")):
            lines = [{"key": row["key"], **line} for row in rows for line in row[part]]
            if lines:
                store.append(name, lines)
        super().append(name, ({column: row[column] for column in COLUMNS} for row in rows))


@dataclass(frozen=True)
class Runs:
    """Runs of one agent on one bandit that are computed together: seeds."""

    cells: tuple[Cell, ...]
    setting: Agent
    steps: int

    @property
    def dataset(self) -> str:
        """The bandit."""
        return self.cells[0].dataset

    @property
    def file(self) -> str:
        """The file that the rows go to: the bandit's."""
        return self.dataset

    @property
    def label(self) -> str:
        """Bandit and agent."""
        return f"{self.dataset} {self.cells[0].model}"

    @property
    def size(self) -> int:
        """Number of runs."""
        return len(self.cells)

    def compute(self) -> list[dict[str, Any]]:
        """Simulate every run. Seconds are the processor's, so that other work does not count."""
        seeds = [cell.seed for cell in self.cells]
        problem = environment(self.dataset)
        bandits = [problem.sample(seed, self.steps) for seed in seeds]
        start = time.process_time()
        actions = simulate(self.setting, bandits, seeds)
        seconds = (time.process_time() - start) / len(seeds)
        sha256 = load_dataset(problem.dataset).sha256 if problem.dataset else ""
        shared = {"seconds": round(seconds, 3), "data_sha256": sha256, **provenance()}
        return [
            {**_identity(cell), **outcome(bandit, chosen, pictured=cell.seed == 0), **shared}
            for cell, bandit, chosen in zip(self.cells, bandits, actions, strict=True)
        ]


def outcome(
    bandit: Bandit, actions: Int[np.ndarray, " steps"], *, pictured: bool
) -> dict[str, Any]:
    """Regret of a run, that of the random policy in expectation, the history and the choices."""
    cumulative = np.cumsum(bandit.regret(actions))
    points = np.unique(np.linspace(0, bandit.steps, POINTS + 1).round().astype(int))[1:]
    random = bandit.expected.max(axis=1) - bandit.expected.mean(axis=1)
    pictured = pictured and bandit.name == "exploration"
    return {
        "steps": bandit.steps,
        "regret": round(float(cumulative[-1]), 3),
        "random_regret": round(float(random.sum()), 3),
        "history": [{"step": int(t), "regret": round(float(cumulative[t - 1]), 2)} for t in points],
        "choices": choices(bandit.contexts[:, 0], actions) if pictured else [],
    }


def choices(
    x: Float[np.ndarray, " steps"], actions: Int[np.ndarray, " steps"]
) -> list[dict[str, int]]:
    """How often each arm was pulled in each span of time and interval of contexts, if ever."""
    period = np.arange(len(x)) * PERIODS // len(x)
    low, high = -np.sqrt(3), np.sqrt(3)
    interval = np.clip((BINS * (x - low) / (high - low)).astype(int), 0, BINS - 1)
    frame = pd.DataFrame({"period": period, "bin": interval, "arm": actions})
    return frame.value_counts(sort=False).rename("pulls").reset_index().to_dict("records")  # type: ignore[return-value]


def work(
    profile_name: str, bandits: Sequence[str], names: Sequence[str], *, seeds: int | None = None
) -> list[Runs]:
    """All work of the experiment. The seeds of a soft tree run in one program, others one by one."""
    profile(profile_name)
    extent = EXTENTS[profile_name]
    used = range(seeds or extent.seeds)
    jobs = []
    for bandit in bandits:
        steps = min(extent.steps or environment(bandit).steps, environment(bandit).steps)
        for name in names:
            setting = extent.limited(agent(name, bandit))
            description = {
                "agent": parameters(setting),
                "bandit": asdict(environment(bandit)),  # type: ignore[call-overload]
                "steps": steps,
            }
            together = isinstance(setting, ThompsonVST)
            if together:
                description["together"] = list(used)
            text = as_text(description)
            cells = tuple(Cell(EXPERIMENT, bandit, name, 0, seed, text) for seed in used)
            groups = [cells] if together else [(cell,) for cell in cells]
            jobs += [Runs(group, setting, steps) for group in groups]
    return jobs


def missing(jobs: Sequence[Runs], store: Store) -> list[Runs]:
    """The jobs of which the store does not have every run: seeds that run together do so again."""
    have = set(store.load(sorted({job.dataset for job in jobs}))["key"])
    return [job for job in jobs if not {cell.key for cell in job.cells} <= have]


class Loaded(NamedTuple):
    """Results of the experiment."""

    runs: pd.DataFrame  #: one row per run
    histories: pd.DataFrame  #: cumulative regret at a few steps of each run, by its key
    choices: pd.DataFrame  #: pulls in the exploration bandit's first run, by its key
    absent: list[str]  #: bandits with runs missing that cannot be computed: their data are not here
    missing: int  #: runs that are not there


def results(
    profile_name: str = "paper",
    bandits: Sequence[str] = (),
    names: Sequence[str] = (),
    *,
    seeds: int | None = None,
    directory: Path | None = None,
    workers: int | None = None,
    scheduler: str = "",
    compute: bool | None = None,
    announce: Callable[[str], None] | None = None,
) -> Loaded:
    """Results of a profile: those that are stored, and for most profiles the others, computed now.

    Parameters
    ----------
    profile_name
        How much to compute.
    bandits, names
        Bandits and agents; the profile's, or all, where none are named. To be computed, bandits
        that are named must have their data here; others without data are passed over.
    seeds
        Runs of each agent on each bandit; the profile's number by default.
    directory
        Where the results are; the profile's own place by default.
    workers, scheduler
        Processes, or the address of a Dask cluster's scheduler.
    compute
        Whether to compute what is not stored. By default all profiles do but ``paper``, whose results
        are published.
    announce
        Told how much there is to compute.
    """
    names = list(names or AGENTS)
    profile(profile_name)
    chosen = list(bandits or EXTENTS[profile_name].bandits or ENVIRONMENTS)
    check_names("bandit", chosen, tuple(ENVIRONMENTS))
    check_names("agent", names, tuple(AGENTS))
    store = BanditStore(directory or profile(profile_name).results(EXPERIMENT))
    jobs = work(profile_name, chosen, names, seeds=seeds)
    left = missing(jobs, store)
    absent = [name for name in chosen if any(j.dataset == name for j in left) and not is_here(name)]
    if profile_name != "paper" if compute is None else compute:
        if absent and bandits:
            data = ", ".join(environment(name).dataset for name in absent)
            raise UserError(f"not on this machine: {data}; `vst data fetch` downloads data sets")
        todo = [job for job in left if job.dataset not in absent]
        if announce is not None:
            total, number = (sum(job.size for job in some) for some in (jobs, todo))
            announce(f"{total} runs, {number} of them to compute into {store.directory}")
        if todo:
            runner.run(todo, store, workers=workers, scheduler=scheduler)
    keys = {cell.key for job in jobs for cell in job.cells}

    def stored(part: Store) -> pd.DataFrame:
        rows = part.load(chosen)
        return rows[rows["key"].isin(keys)].reset_index(drop=True)

    runs = stored(store)
    gaps = len(keys) - len(runs)
    return Loaded(runs, stored(store.histories), stored(store.choices), absent, gaps)


def summary(results: pd.DataFrame) -> pd.DataFrame:
    """Mean and standard deviation over seeds of each agent's regret on each bandit."""
    groups = results.groupby(["model", "dataset"], sort=False)
    frame = groups.agg(
        regret=("regret", "mean"),
        error=("regret", "std"),
        seeds=("seed", "nunique"),
        steps=("steps", "first"),
        random_regret=("random_regret", "mean"),
        seconds=("seconds", "mean"),
    ).reset_index()
    frame["share"] = frame["regret"] / frame["random_regret"]
    frame["seconds_per_1000"] = 1000 * frame["seconds"] / frame["steps"]
    return frame


def is_here(bandit: str) -> bool:
    """Whether the data of a bandit are on this machine."""
    dataset = environment(bandit).dataset
    return not dataset or find(CATALOGUE[dataset]) is not None


def _identity(cell: Cell) -> dict[str, Any]:
    identity = {"key": cell.key, **asdict(cell)}
    del identity["experiment"], identity["fold"]
    return identity
