"""Our estimators on the splits of the literature."""

import numpy as np
import pytest
from scipy.stats import norm

from vst.companion.experiments import LITERATURE, literature, obtain
from vst.companion.experiments.profiles import PROFILES
from vst.datasets import load_dataset
from vst.errors import UserError


def test_a_tenth_of_the_rows_is_held_out_and_splits_differ():
    x, y, x_test, y_test = literature.parts("yacht", 0)
    assert (len(x), len(x_test)) == (277, 31)
    whole = np.sort(load_dataset("yacht").y.to_numpy(float))
    np.testing.assert_array_equal(np.sort(np.concatenate([y, y_test])), whole)
    assert not np.array_equal(y_test, literature.parts("yacht", 1)[3])
    np.testing.assert_array_equal(x_test, literature.parts("yacht", 0)[2])


def test_protein_has_five_splits_and_the_others_twenty():
    jobs = literature.jobs(PROFILES["paper"], models=["vst-cv"], compute=False)
    counts = {
        name: sum(job.cells[0].dataset == name for job in jobs) for name in literature.DATASETS
    }
    assert counts.pop("protein") == 5
    assert set(counts.values()) == {20}
    assert len(jobs) == 5 + 20 * len(counts)


def test_other_data_sets_are_left_out_and_too_many_splits_refused():
    assert literature.jobs(PROFILES["paper"], datasets=["song_8k"], compute=False) == []
    with pytest.raises(UserError, match="choose 1 to 20"):
        literature.jobs(PROFILES["paper"], splits=21)


@pytest.mark.parametrize("model", literature.MODELS)
def test_estimators_take_their_own_description(model):
    for dataset in ("yacht", "protein"):
        text = literature.described(model, dataset, PROFILES["paper"])
        given = literature.as_parameters(text)
        made = literature.estimator(model, dataset).set_params(**given)
        assert made.get_params() == given


def test_scores_are_in_the_units_of_the_target(tmp_path):
    found = obtain(
        LITERATURE, "smoke", out=tmp_path, workers=0, splits=1, models=["vsgbm-joint"]
    ).results
    y = load_dataset("yacht").y.to_numpy(float)
    # Better than a Normal of the target's mean and spread, in these units, and not by a change of units.
    constant = norm.logpdf(y, y.mean(), y.std()).mean()
    assert constant < found["log_likelihood"].item() < constant + 4
    assert found["rmse"].item() < y.std()


def test_everything_is_published():
    assert obtain(LITERATURE, "paper").missing == 0
