"""Published results still come out of the code: a few cells are computed again."""

import pandas as pd
import pytest

from vst.experiments import regression, tuning
from vst.experiments.cells import Cell
from vst.experiments.profiles import PROFILES
from vst.experiments.store import Store

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
    for score in ("log_likelihood", "rmse"):
        spread = seeds[score].std()
        assert again[score] == pytest.approx(seeds.loc[0, score], abs=3 * spread), score


def test_published_cells_are_those_of_the_tuned_settings():
    """No result was left behind by settings that were tuned again."""
    store = Store(PROFILES["paper"].results(regression.EXPERIMENT), regression.COLUMNS)
    rows = store.load()
    tuned = tuning.tuned_settings()
    for (dataset, model), group in rows[rows["seed"] == 0].groupby(["dataset", "model"]):
        jobs = regression.stacks(PROFILES["paper"], [dataset], [model], tuned, folds=1)
        expected = jobs[0].cells[0].parameters
        assert (group["parameters"] == expected).any(), (dataset, model)
