"""Table 3 and figure 4 of the paper: the regret of every agent on every bandit.

A run is one agent on one bandit with one seed. Besides its row of results, it stores its history (the
cumulative regret at 200 points) and, for the first seed of the exploration bandit, which arms it
pulled where.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float, Int

from vst.companion.bandits import AGENTS, ENVIRONMENTS, Agent, Bandit, environment
from vst.companion.experiments import bandit_runs
from vst.companion.experiments.bandit_runs import fitted_by
from vst.companion.experiments.bandit_trials import chosen_agents
from vst.companion.experiments.cells import Cell, as_text
from vst.companion.experiments.experiment import Experiment, Job, Option, Part
from vst.companion.experiments.profiles import Profile
from vst.companion.models import check_names
from vst.datasets import load_dataset

NAME = "bandits"

#: Points of a run's history.
POINTS = 200

#: Resolution of the exploration bandit's pictures: spans of time, and intervals of contexts.
PERIODS, BINS = 4, 40


def jobs(
    profile: Profile,
    *,
    compute: bool = True,
    bandits: Sequence[str] = (),
    agents: Sequence[str] = (),
    seeds: int = 0,
) -> list[Job]:
    """All jobs. One program runs all seeds of a soft tree; other agents run one seed at a time."""
    check_names("bandit", list(bandits), tuple(ENVIRONMENTS))
    check_names("agent", list(agents), tuple(AGENTS))
    if compute and bandits:
        bandit_runs.require_here(bandits)
    used = range(seeds or profile.seeds)
    settings = chosen_agents()
    return [
        job
        for bandit in bandits or profile.bandits or ENVIRONMENTS
        for name in agents or AGENTS
        for job in _jobs(profile, bandit, name, settings[name, bandit], used)
    ]


def _jobs(profile: Profile, bandit: str, name: str, setting: Agent, seeds: range) -> list[Job]:
    problem = environment(bandit)
    setting = profile.limited(setting)
    steps = min(profile.decisions or problem.steps, problem.steps)
    text = as_text(bandit_runs.description(setting, problem, steps, seeds))
    cells = tuple(Cell(NAME, bandit, name, 0, seed, text) for seed in seeds)
    return bandit_runs.jobs_of(cells, setting, compute_cells)


def compute_cells(cells: Sequence[Cell]) -> list[dict[str, Any]]:
    """Simulate runs of one agent on one bandit, and record processor seconds."""
    dataset = environment(cells[0].dataset).dataset
    sha256 = load_dataset(dataset).sha256 if dataset else ""
    return [
        {
            **outcome(run.bandit, run.actions, pictured=cell.seed == 0),
            "seconds": run.seconds,
            "data_sha256": sha256,
        }
        for cell, run in zip(cells, bandit_runs.play(cells), strict=True)
    ]


def outcome(
    bandit: Bandit, actions: Int[np.ndarray, " steps"], *, pictured: bool
) -> dict[str, Any]:
    """A run's regret, the random policy's expected regret, the history and the choices."""
    cumulative = np.cumsum(bandit.regret(actions))
    points = np.unique(np.linspace(0, bandit.steps, POINTS + 1).round().astype(int))[1:]
    random = bandit.expected.max(axis=1) - bandit.expected.mean(axis=1)
    pictured = pictured and bandit.name == "exploration"
    return {
        "steps": bandit.steps,
        "regret": round(float(cumulative[-1]), 3),
        "random_regret": round(float(random.sum()), 3),
        "histories": [
            {"step": int(t), "regret": round(float(cumulative[t - 1]), 2)} for t in points
        ],
        "choices": choices(bandit.contexts[:, 0], actions) if pictured else [],
    }


def choices(
    x: Float[np.ndarray, " steps"], actions: Int[np.ndarray, " steps"]
) -> list[dict[str, int]]:
    """How often each arm was pulled in each span of time and interval of contexts, without zeros."""
    period = np.arange(len(x)) * PERIODS // len(x)
    low, high = -np.sqrt(3), np.sqrt(3)
    interval = np.clip((BINS * (x - low) / (high - low)).astype(int), 0, BINS - 1)
    frame = pd.DataFrame({"period": period, "bin": interval, "arm": actions})
    return frame.value_counts(sort=False).rename("pulls").reset_index().to_dict("records")  # type: ignore[return-value]


def summary(results: pd.DataFrame) -> pd.DataFrame:
    """Mean and standard deviation of each agent's regret on each bandit, over seeds."""
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


BANDITS = Experiment(
    NAME,
    "regret of every agent on every bandit",
    (
        Option("bandits", "names", "bandits (default: the profile's)"),
        Option("agents", "names", "agents (default: all)"),
        Option("seeds", "count", "runs of each agent (default: the profile's)"),
    ),
    jobs,
    ("steps", "regret", "random_regret", "data_sha256"),
    parts={
        "histories": Part(("step", "regret"), unique=1),
        "choices": Part(("period", "bin", "arm", "pulls"), unique=3),
    },
    summarised=("regret",),
    fitted_by=fitted_by,
)
