from dataclasses import replace

import numpy as np
import pytest

from vst.companion.experiments import rank
from vst.companion.experiments.cells import as_parameters
from vst.companion.experiments.experiment import obtain
from vst.companion.experiments.fitting import fit_stack, prepared
from vst.companion.experiments.profiles import FULL_RANK, PROFILES
from vst.errors import UserError


def test_the_last_rank_is_the_number_of_parameters():
    jobs = rank.jobs(PROFILES["paper"], compute=False, datasets=["boston", "song_8k"])
    ranks = {}
    for job in jobs:
        [setting] = {cell.parameters for cell in job.cells}
        setting = as_parameters(setting)
        assert setting["depth"] in (1, 2, 3)
        place = job.cells[0].dataset, job.cells[0].model, setting["depth"]
        ranks.setdefault(place, []).append(setting["rank"])
    assert len(ranks) == 4  # the depth is that of the data set and model
    for (dataset, model, depth), found in ranks.items():
        d = 13 if dataset == "boston" else 90
        inner, leaves = 2**depth - 1, 2**depth
        per_leaf = 2 if model == "vst-const" else 2 * (d + 1)
        assert found == sorted(found)
        assert found[-1] == inner * (d + 1) + leaves * per_leaf
        assert found[:6] == [0, 1, 2, 5, 10, 20]


def test_a_full_rank_posterior_has_p_free_factors():
    setting = replace(rank.setting(6, "vst-const", {}), depth=1, steps=60)
    p = setting.shape(6).n_params
    stack = fit_stack([replace(setting, rank=p)], prepared("yacht"), [0], [0])
    factor = np.asarray(stack.posteriors(0).factor[0])
    assert factor.shape == (p, p)
    assert np.linalg.matrix_rank(factor) == p


def test_rows_carry_rank_elbo_and_memory(tiny, tmp_path):
    obtained = obtain(
        rank.RANK,
        "tiny",
        out=tmp_path,
        workers=0,
        datasets=["yacht"],
        leaves=["constant"],
        ranks=[0, FULL_RANK],
    )
    assert obtained.missing == 0
    rows = obtained.results
    assert sorted(rows["rank"].unique()) == [0, rows["n_params"].iloc[0]]
    assert rows["elbo"].notna().all()
    p, k = rows["n_params"], rows["rank"]
    assert (rows["state_bytes"] == 12 * p * (k + 2)).all()  # three float32 of each number


def test_wrong_leaves_and_ranks_are_refused():
    with pytest.raises(UserError, match="choose from constant, linear"):
        rank.jobs(PROFILES["smoke"], datasets=["yacht"], leaves=["quadratic"])
    with pytest.raises(UserError, match="negative"):
        rank.jobs(PROFILES["smoke"], datasets=["yacht"], leaves=["linear"], ranks=[-1])
