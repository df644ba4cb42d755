"""What the published runs of bandits and the trials that chose their settings have in common."""

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Int

from vst.companion.bandits import Agent, Bandit, Environment, environment, simulate
from vst.companion.bandits.agents import from_parameters, parameters
from vst.companion.experiments import datasets
from vst.companion.experiments.cells import Cell, as_parameters
from vst.companion.experiments.experiment import Job
from vst.companion.experiments.fingerprints import AGENT
from vst.errors import UserError


class Run(NamedTuple):
    """A run of an agent, and what it cost."""

    bandit: Bandit
    actions: Int[np.ndarray, " steps"]
    seconds: float  #: of a processor; for runs that are simulated together, their mean


def description(
    setting: Agent, problem: Environment, steps: int, seeds: Sequence[int]
) -> dict[str, Any]:
    """Everything that determines a run but its seed."""
    found = {
        "agent": parameters(setting),
        "bandit": asdict(problem),  # type: ignore[call-overload]
        "steps": steps,
    }
    return found | {"together": list(seeds)} if setting.together else found


def jobs_of(
    cells: tuple[Cell, ...],
    setting: Agent,
    compute: Callable[[Sequence[Cell]], list[dict[str, Any]]],
    note: str = "",
) -> list[Job]:
    """Runs as jobs: one program runs all seeds of a soft tree; other agents run one at a time."""
    needs, code = environment(cells[0].dataset).dataset, fitted_by(cells[0].model)
    if setting.together:
        return [Job(cells, compute, divisible=False, needs=needs, fitted_by=code, note=note)]
    return [Job((cell,), compute, needs=needs, fitted_by=code, note=note) for cell in cells]


def play(cells: Sequence[Cell]) -> list[Run]:
    """Simulate runs of one agent on one bandit."""
    first, seeds = cells[0], [cell.seed for cell in cells]
    described = as_parameters(first.parameters)
    problem = environment(first.dataset)
    bandits = [problem.sample(seed, described["steps"]) for seed in seeds]
    start = time.process_time()
    actions = simulate(from_parameters(first.model, described["agent"]), bandits, seeds)
    seconds = round((time.process_time() - start) / len(seeds), 3)
    return [Run(bandit, chosen, seconds) for bandit, chosen in zip(bandits, actions, strict=True)]


def fitted_by(agent_name: str) -> str:
    """The name that an agent's rows are fingerprinted under."""
    return AGENT + agent_name


def require_here(bandits: Sequence[str]) -> None:
    """Raise UserError if the data of a bandit are not on this machine."""
    needed = [environment(name).dataset for name in bandits]
    absent = [name for name in needed if not datasets.is_here(name)]
    if absent:
        raise UserError(f"not on this machine: {', '.join(absent)}; download with `vst data fetch`")
