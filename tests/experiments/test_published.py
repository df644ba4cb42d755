"""Published results still come out of the code: a few cells are computed again."""

import pandas as pd
import pytest

from vst.companion.experiments import pictures, rank, regression
from vst.companion.experiments.experiment import Results, obtain, published
from vst.companion.experiments.profiles import FULL_RANK, PROFILES
from vst.companion.experiments.results import SPREADS

DATASET = "yacht"


def seeds_of(experiment, job):
    """Published rows of a job's first cell and of the same cell with other seeds, by the seed."""
    [cell, *_] = job.cells
    rows = Results(experiment, published(experiment.name)).load([cell.dataset])
    same = (
        (rows["model"] == cell.model)
        & (rows["fold"] == cell.fold)
        & (rows["parameters"] == cell.parameters)
    )
    assert same.sum() >= 3, "the fold is published with too few seeds to know their spread"
    return rows[same].set_index("seed")


def assert_within_spread(again, seeds, scores):
    """A cell computed again is as close to the published one as other seeds are."""
    for score in scores:
        spread = seeds[score].std()
        assert again[score] == pytest.approx(seeds.loc[0, score], abs=SPREADS * spread), score


@pytest.mark.parametrize("model", ["vst-linear", "vsgbm-linear", "sglb"])
def test_a_published_cell_comes_out_again(model):
    """Within the spread over seeds, which is stored beside it: the same fold with other seeds."""
    [job] = regression.jobs(PROFILES["paper"], datasets=[DATASET], models=[model], folds=1)
    seeds = seeds_of(regression.REGRESSION, job)
    [again] = job.compute_cells(job.cells)
    assert_within_spread(again, seeds, ["log_likelihood", "rmse"])
    if again["ood"] is not None:  # the rows from outside are on this machine
        assert again["ood"] == seeds.loc[0, "ood"]
        assert_within_spread(again, seeds, ["auroc", "auroc_node"])


@pytest.mark.parametrize("full", [False, True], ids=["rank 5", "full rank"])
def test_a_published_rank_comes_out_again(full):
    """Within the spread over seeds of the same fold and rank."""
    [job] = rank.jobs(
        PROFILES["paper"],
        datasets=[DATASET],
        leaves=["constant"],
        ranks=[FULL_RANK if full else 5],
        folds=1,
        starts=1,
    )
    seeds = seeds_of(rank.RANK, job)
    [again] = job.compute_cells(job.cells)
    assert_within_spread(again, seeds, ["log_likelihood", "rmse", "elbo"])


def test_published_cells_are_those_of_the_tuned_settings():
    """No result was left behind by settings that were tuned again."""
    rows = Results(regression.REGRESSION, published(regression.NAME)).load()
    rows = rows[rows["seed"] == 0]
    for dataset in rows["dataset"].unique():
        for job in regression.jobs(PROFILES["paper"], compute=False, datasets=[dataset], folds=1):
            group = rows[(rows["dataset"] == dataset) & (rows["model"] == job.cells[0].model)]
            assert (group["parameters"] == job.cells[0].parameters).any(), job.label


@pytest.mark.parametrize("picture", pictures.PROBLEMS)
def test_every_picture_is_published_with_its_functions(picture):
    obtained = obtain(pictures.PICTURES, "paper", compute=False, pictures=[picture])
    assert obtained.missing == 0
    shown = pictures.drawn(obtained, picture)
    assert [fit.model for fit in shown] == list(pictures.PROBLEMS[picture].models)
    assert all(fit.draws.shape == (pictures.FUNCTIONS, len(fit.x)) for fit in shown)


@pytest.mark.parametrize("model", ["vst", "xbart"])
def test_a_published_picture_comes_out_again(model):
    """Within the spread over its data sets: rounding differs between machines."""
    rows = obtain(pictures.PICTURES, "paper", compute=False, pictures=["tails"]).results
    rows = rows[rows["model"] == model].set_index("seed")
    [job] = [
        job
        for job in pictures.jobs(PROFILES["paper"], compute=False, pictures=["tails"])
        if (job.cells[0].model, job.cells[0].seed) == (model, 0)
    ]
    [again] = job.compute_cells(job.cells)
    assert job.cells[0].key == rows.loc[0, "key"]
    assert_within_spread(again, rows, ["rmse", "inside", "outside", "ratio"])
    assert len(pd.DataFrame(again["functions"])) > 100
