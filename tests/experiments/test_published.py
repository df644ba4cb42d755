"""Published results still come out of the code: a few cells are computed again."""

import pandas as pd
import pytest

from vst.companion.experiments import picture_runs, rank, regression, tuning
from vst.companion.experiments.cells import Cell
from vst.companion.experiments.pictures import PROBLEMS
from vst.companion.experiments.profiles import FULL_RANK, PROFILES
from vst.companion.experiments.store import Store

DATASET, FOLD = "yacht", 0


def published() -> pd.DataFrame:
    directory = PROFILES["paper"].results(regression.EXPERIMENT)
    return Store(directory, regression.COLUMNS).load([DATASET])


@pytest.mark.parametrize("model", ["vst-linear", "vsgbm-const", "sglb"])
def test_a_published_cell_comes_out_again(model):
    """Within the spread over seeds, which is stored beside it: the same fold with other seeds."""
    rows = published()
    rows = rows[(rows["model"] == model) & (rows["fold"] == FOLD)]
    (job,) = (
        job
        for job in regression.stacks(
            PROFILES["paper"], [DATASET], [model], tuning.tuned_settings(), folds=1
        )
    )
    text = job.cells[0].parameters
    seeds = rows[rows["parameters"] == text].set_index("seed")
    assert len(seeds) >= 3, "the fold is published with too few seeds to know their spread"
    cell = Cell(regression.EXPERIMENT, DATASET, model, FOLD, 0, text)
    (again,) = regression.Stack((cell,)).compute()
    assert_within_spread(again, seeds, ["log_likelihood", "rmse"])
    if again["ood"] is not None:  # the rows from outside are on this machine
        assert again["ood"] == seeds.loc[0, "ood"]
        assert_within_spread(again, seeds, ["auroc", "auroc_node"])


def assert_within_spread(again, seeds, scores):
    """A cell computed again is as close to the published one as other seeds are."""
    for score in scores:
        spread = seeds[score].std()
        assert again[score] == pytest.approx(seeds.loc[0, score], abs=3 * spread), score


@pytest.mark.parametrize("full", [False, True], ids=["rank 5", "full rank"])
def test_a_published_rank_comes_out_again(full):
    """Within the spread over seeds of the same fold and rank."""
    rows = Store(PROFILES["paper"].results(rank.EXPERIMENT), rank.COLUMNS).load([DATASET])
    ranks = [FULL_RANK if full else 5]
    jobs = rank.stacks(
        PROFILES["paper"], [DATASET], ["constant"], tuning.tuned_settings(), ranks=ranks, folds=1
    )
    text = jobs[-1 if full else 0].cells[0].parameters
    seeds = rows[(rows["fold"] == FOLD) & (rows["parameters"] == text)].set_index("seed")
    assert len(seeds) >= 3, "the fold is published with too few seeds to know their spread"
    cell = Cell(rank.EXPERIMENT, DATASET, "vst-const", FOLD, 0, text)
    (again,) = rank.RankStack((cell,)).compute()
    assert_within_spread(again, seeds, ["log_likelihood", "rmse", "elbo"])


def test_published_cells_are_those_of_the_tuned_settings():
    """No result was left behind by settings that were tuned again."""
    store = Store(PROFILES["paper"].results(regression.EXPERIMENT), regression.COLUMNS)
    rows = store.load()
    tuned = tuning.tuned_settings()
    for (dataset, model), group in rows[rows["seed"] == 0].groupby(["dataset", "model"]):
        jobs = regression.stacks(PROFILES["paper"], [dataset], [model], tuned, folds=1)
        expected = jobs[0].cells[0].parameters
        assert (group["parameters"] == expected).any(), (dataset, model)


def test_published_statements_are_those_of_todays_rules():
    """One picture is looked at again: it says the same, by the same rules, with the same verdict."""
    profile = PROFILES["paper"]
    [job] = [job for job in picture_runs.jobs(profile) if job.label == "tails"]
    rows = picture_runs.obtain(profile, compute=False)
    assert set(rows["picture"]) == set(PROBLEMS)
    rows = rows[rows["key"] == job.cell.key].sort_values("statement")
    again = pd.DataFrame(job.compute())
    for column in ("says", "rule", "checks", "verdict"):
        assert again[column].tolist() == rows[column].tolist()
