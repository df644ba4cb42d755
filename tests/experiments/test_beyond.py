from dataclasses import replace

import numpy as np
import pytest

from vst.companion.experiments import beyond, regression, runner
from vst.companion.experiments.cells import as_parameters
from vst.companion.experiments.profiles import PROFILES
from vst.companion.experiments.store import Store

TINY = replace(PROFILES["smoke"], steps=20)


def test_every_variant_changes_its_own_setting_and_nothing_else():
    jobs = beyond.stacks(PROFILES["paper"], ["boston"])
    assert [job.variant for job in jobs] == list(beyond.VARIANTS)
    plain = as_parameters(jobs[0].cells[0].parameters)
    for job in jobs:
        changed = as_parameters(job.cells[0].parameters).items() - plain.items()
        assert dict(changed) == beyond.VARIANTS[job.variant]


def test_rows_carry_the_variant(tmp_path):
    store = Store(tmp_path, beyond.COLUMNS)
    jobs = beyond.stacks(TINY, ["yacht"], folds=1)
    runner.run(jobs, store, workers=0)
    assert regression.missing(jobs, store) == []
    assert regression.results_of(jobs, store)["variant"].tolist() == list(beyond.VARIANTS)


def test_the_condition_number_is_that_of_the_features():
    x = regression.prepared("yacht").x_train
    assert beyond.condition_number("yacht") == pytest.approx(np.linalg.cond(x), rel=1e-3)


def test_constant_columns_have_no_axis():
    assert np.isfinite(beyond.condition_number("naval"))
    assert beyond.condition_number("naval") > 100 * beyond.condition_number("power")
