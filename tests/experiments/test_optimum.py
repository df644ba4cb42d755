"""The experiments on the optimum of the bound: which optimiser reaches it, and what it is worth."""

from dataclasses import asdict

import numpy as np
import pytest

from vst.companion.experiments import optimisers, optimum
from vst.companion.experiments.cells import as_parameters
from vst.companion.experiments.experiment import obtain
from vst.companion.experiments.fitting import table_size
from vst.companion.experiments.profiles import PROFILES
from vst.datasets import load_dataset
from vst.soft_trees import SoftTrees


def test_the_path_takes_all_its_steps():
    """Training that stopped early would not show what longer training is worth."""
    settings = optimum.path("yacht")
    assert {setting.steps for setting in settings} == set(optimum.STEPS)
    assert {setting.kl_weight for setting in settings} == set(optimum.KL_WEIGHTS)
    assert all(setting.tol == 0 for setting in settings)
    assert {SoftTrees().steps, 4 * SoftTrees().steps} <= set(optimum.STEPS)


def test_only_rounded_targets_have_a_rounding_error():
    assert table_size("yacht").rounding == 0
    found = table_size("wine").rounding
    step = 1 / load_dataset("wine").y.std()  # whole numbers; the training rows differ a little
    assert found == pytest.approx(step / np.sqrt(12), rel=0.05)
    floors = {setting.smallest_scale for setting in optimum.path("wine")}
    assert floors == {SoftTrees().smallest_scale, found}


def test_trials_are_the_tuners_settings_trained_until_they_converge():
    settings = optimum.trials("yacht")
    assert len(settings) == 16
    assert all(setting.tol > 0 for setting in settings)
    assert len({setting.beta for setting in settings}) > 8


def test_a_tiny_run_has_every_column(tiny, tmp_path):
    obtained = obtain(optimum.OPTIMUM, "tiny", out=tmp_path, workers=0, datasets=["yacht"], folds=1)
    assert obtained.missing == 0
    rows = obtained.results
    assert set(rows["part"]) == {"path", "trials"}
    scores = ["elbo", "validation_elbo", "validation_log_likelihood", "coverage", "width"]
    assert np.isfinite(rows[scores].astype(float)).all(axis=None)
    assert rows["coverage"].between(0, 1).all()
    # A Gaussian average of log densities lies below the log of the average density.
    assert (rows["validation_elbo"] < rows["validation_log_likelihood"]).all()


@pytest.mark.parametrize("name", optimisers.VARIANTS)
def test_every_optimiser_raises_the_bound(name, tmp_path):
    """From 30 to 600 steps on the smallest data set."""
    optimiser = optimisers.VARIANTS[name]
    found = []
    for steps in (30, 600):
        text = optimisers.as_text({**asdict(optimiser), "steps": steps})
        cell = optimisers.Cell(optimisers.NAME, "yacht", name, 0, 0, text)
        [row] = optimisers.compute_cells([cell])
        found.append(row["elbo"])
    assert found[1] > found[0] + 0.1


def test_optimisers_are_compared_at_the_default_steps_and_four_times_as_many():
    jobs = optimisers.jobs(PROFILES["paper"], compute=False)
    steps = {as_parameters(job.cells[0].parameters)["steps"] for job in jobs}
    assert steps == {SoftTrees().steps, 4 * SoftTrees().steps}
    assert len(jobs) == 2 * len(optimisers.VARIANTS) * len(optimisers.DATASETS)


def test_the_optimiser_that_was_kept_is_the_librarys():
    """Its loop is written anew; the bound it reaches is that of the estimator."""
    kept = optimisers.VARIANTS["kept"]
    assert kept.mean_rate == kept.scale_rate == SoftTrees().learning_rate
    text = optimisers.as_text({**asdict(kept), "steps": 3000})
    cells = [optimisers.Cell(optimisers.NAME, "yacht", "kept", 0, seed, text) for seed in range(3)]
    there = np.array([row["elbo"] for row in optimisers.compute_cells(cells)])
    setting = SoftTrees(steps=3000, tol=0.0)
    text = optimisers.as_text(asdict(setting))
    cells = [optimisers.Cell("optimum", "yacht", "vst-linear", 0, seed, text) for seed in range(3)]
    here = np.array([row["elbo"] for row in optimum.compute_cells(cells)])
    assert here.mean() == pytest.approx(there.mean(), abs=0.15)
