import numpy as np
import pytest

from vst.companion.experiments import beyond
from vst.companion.experiments.cells import as_parameters
from vst.companion.experiments.experiment import obtain
from vst.companion.experiments.fitting import prepared
from vst.companion.experiments.profiles import PROFILES


def test_every_variant_changes_its_own_setting_and_nothing_else():
    jobs = beyond.jobs(PROFILES["paper"], datasets=["boston"])
    assert [job.note for job in jobs] == list(beyond.VARIANTS)
    plain = as_parameters(jobs[0].cells[0].parameters)
    for job in jobs:
        parameters = as_parameters(job.cells[0].parameters)
        assert dict(parameters.items() - plain.items()) == beyond.VARIANTS[job.note]
        assert beyond.variant_of(parameters) == job.note


def test_rows_carry_the_variant(tiny, tmp_path):
    obtained = obtain(beyond.BEYOND, "tiny", out=tmp_path, workers=0, datasets=["yacht"], folds=1)
    assert obtained.missing == 0
    assert obtained.results["variant"].tolist() == list(beyond.VARIANTS)


def test_the_condition_number_is_that_of_the_features():
    x = prepared("yacht").x_train
    assert beyond.condition_number("yacht") == pytest.approx(np.linalg.cond(x), rel=1e-3)


def test_constant_columns_have_no_axis():
    assert np.isfinite(beyond.condition_number("naval"))
    assert beyond.condition_number("naval") > 100 * beyond.condition_number("power")
