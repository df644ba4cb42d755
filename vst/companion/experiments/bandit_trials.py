"""Which settings each agent plays with: the best of a few, on runs that are not published otherwise.

Every agent has as many trials, and the same on every bandit. The one with the lowest mean regret in the
first quarter of the decisions is chosen, on seeds that the published runs do not have.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from vst.companion.bandits import ENVIRONMENTS, TRIALS, Agent, environment
from vst.companion.experiments import bandit_runs
from vst.companion.experiments.bandit_runs import fitted_by
from vst.companion.experiments.cells import Cell, as_parameters, as_text
from vst.companion.experiments.experiment import Experiment, Job, Option, published
from vst.companion.experiments.profiles import PROFILES, Profile
from vst.companion.experiments.store import Store
from vst.companion.models import check_names

NAME = "bandit-trials"

#: The seeds of the trials. Published runs have seeds 0 to 4.
SEEDS = range(100, 105)

#: The share of a run's decisions that a trial makes.
SHARE = 0.25


def jobs(
    profile: Profile,
    *,
    compute: bool = True,
    bandits: Sequence[str] = (),
    agents: Sequence[str] = (),
) -> list[Job]:
    """All jobs; a profile with fewer seeds takes the first ones."""
    check_names("bandit", list(bandits), tuple(ENVIRONMENTS))
    check_names("agent", list(agents), tuple(TRIALS))
    if compute and bandits:
        bandit_runs.require_here(bandits)
    seeds = SEEDS[: profile.seeds]
    return [
        job
        for bandit in bandits or profile.bandits or ENVIRONMENTS
        for name in agents or TRIALS
        if len(TRIALS[name]) > 1
        for trial in range(len(TRIALS[name]))
        for job in _jobs(profile, bandit, name, trial, seeds)
    ]


def _jobs(profile: Profile, bandit: str, name: str, trial: int, seeds: range) -> list[Job]:
    setting, problem = profile.limited(TRIALS[name][trial]), environment(bandit)
    steps = int(SHARE * min(profile.decisions or problem.steps, problem.steps))
    text = as_text({**bandit_runs.description(setting, problem, steps, seeds), "trial": trial})
    cells = tuple(Cell(NAME, bandit, name, trial, seed, text) for seed in seeds)
    return bandit_runs.jobs_of(cells, setting, compute_cells, f"trial {trial}")


def compute_cells(cells: Sequence[Cell]) -> list[dict[str, Any]]:
    """The regret of one trial with several seeds."""
    return [
        {
            "trial": as_parameters(cell.parameters)["trial"],
            "steps": run.bandit.steps,
            "regret": round(float(run.bandit.regret(run.actions).sum()), 3),
            "seconds": run.seconds,
        }
        for cell, run in zip(cells, bandit_runs.play(cells), strict=True)
    ]


BANDIT_TRIALS = Experiment(
    NAME,
    "the settings of every agent, chosen on other seeds",
    (
        Option("bandits", "names", "bandits (default: the profile's)"),
        Option("agents", "names", "agents (default: all)"),
    ),
    jobs,
    ("trial", "steps", "regret"),
    by=("model", "dataset", "trial"),
    summarised=("regret",),
    fitted_by=fitted_by,
)


def chosen_trials() -> dict[tuple[str, str], int]:
    """The published trial with the lowest mean regret, by agent and bandit, where all were run."""
    cells = [cell for job in jobs(PROFILES["paper"], compute=False) for cell in job.cells]
    rows = Store(published(NAME), BANDIT_TRIALS.columns).load(list(ENVIRONMENTS))
    # Trials with other settings than today's do not count, nor does a choice among some of them.
    rows = rows[rows["key"].isin([cell.key for cell in cells])]
    wanted = Counter((cell.model, cell.dataset) for cell in cells)
    means = rows.groupby(["model", "dataset", "trial"])["regret"].mean()
    return {
        place: int(means[place].idxmin())
        for place, number in wanted.items()
        if ((rows["model"] == place[0]) & (rows["dataset"] == place[1])).sum() == number
    }


def chosen_agents() -> dict[tuple[str, str], Agent]:
    """Every agent on every bandit, with the settings that were chosen, or else with its defaults."""
    chosen = chosen_trials()
    return {
        (name, bandit): settings[chosen.get((name, bandit), 0)]
        for name, settings in TRIALS.items()
        for bandit in ENVIRONMENTS
    }
