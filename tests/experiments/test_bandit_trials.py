"""How the settings of the agents were chosen."""

import json

import pandas as pd
import pytest

from vst.companion.bandits import ENVIRONMENTS, TRIALS
from vst.companion.experiments import BANDIT_TRIALS, bandit_trials, obtain
from vst.companion.experiments.profiles import PROFILES


def test_trials_have_other_seeds_than_published_runs_and_a_quarter_of_the_steps():
    jobs = bandit_trials.jobs(PROFILES["paper"], compute=False)
    cells = [cell for job in jobs for cell in job.cells]
    assert {cell.seed for cell in cells} == set(range(100, 105))
    for cell in cells:
        steps = ENVIRONMENTS[cell.dataset].steps
        assert json.loads(cell.parameters)["steps"] == steps // 4
    assert len(cells) == len({cell.key for cell in cells}) == 4 * 6 * 5 * 5


@pytest.fixture
def chosen(monkeypatch):
    """The trials chosen among rows with given regrets, by trial and seed."""

    def among(regrets):
        rows = []
        for job in bandit_trials.jobs(PROFILES["paper"], compute=False, agents=["lints"]):
            for cell in job.cells:
                trial = cell.fold
                found = regrets.get((cell.dataset, trial, cell.seed))
                if found is not None:
                    rows.append(
                        {"key": cell.key, "model": "lints", "dataset": cell.dataset}
                        | {"trial": trial, "seed": cell.seed, "regret": found}
                    )
        monkeypatch.setattr(
            bandit_trials.Store, "load", lambda *_: pd.DataFrame(rows, columns=COLUMNS)
        )
        return bandit_trials.chosen_agents()

    return among


COLUMNS = ["key", "model", "dataset", "trial", "seed", "regret"]


def test_the_trial_with_the_lowest_mean_regret_is_chosen(chosen):
    regrets = {
        ("mushroom", trial, seed): 10.0 - trial + (seed == 100) * 100 * (trial >= 3)
        for trial in range(5)
        for seed in range(100, 105)
    }
    assert chosen(regrets)["lints", "mushroom"] == TRIALS["lints"][2]
    assert chosen(regrets)["lints", "jester"] == TRIALS["lints"][0]


def test_nothing_is_chosen_among_some_of_the_trials(chosen):
    regrets = {("mushroom", 3, seed): 1.0 for seed in range(100, 105)}
    assert chosen(regrets)["lints", "mushroom"] == TRIALS["lints"][0]


def test_every_trial_is_published():
    assert obtain(BANDIT_TRIALS, "paper").missing == 0


def test_a_published_trial_comes_out_again():
    (job,) = (
        job
        for job in bandit_trials.jobs(PROFILES["paper"], compute=False, agents=["lints"])
        if job.label == "exploration lints trial 3" and job.cells[0].seed == 102
    )
    rows = obtain(BANDIT_TRIALS, "paper").results.set_index("key")
    found = job.compute_cells(job.cells)[0]
    assert found["regret"] == pytest.approx(rows.loc[job.cells[0].key, "regret"], rel=0.02)
