from dataclasses import replace

import numpy as np
import pytest
from vst.companion.experiments.soft_trees import fit_stack

from vst.companion.experiments import rank, regression, runner
from vst.companion.experiments.cells import as_parameters
from vst.companion.experiments.profiles import FULL_RANK, PROFILES
from vst.companion.experiments.store import Store
from vst.errors import UserError

TINY = replace(PROFILES["smoke"], steps=40)


def test_the_last_rank_is_the_number_of_parameters():
    jobs = rank.stacks(PROFILES["paper"], ["boston", "song_8k"], ["constant", "linear"], {})
    for job in jobs:
        setting = as_parameters(job.cells[0].parameters)
        assert setting["depth"] in (1, 2, 3)
    for dataset, model in {(job.cells[0].dataset, job.cells[0].model) for job in jobs}:
        ranks = [
            as_parameters(job.cells[0].parameters)["rank"]
            for job in jobs
            if (job.cells[0].dataset, job.cells[0].model) == (dataset, model)
        ]
        base = rank.setting(dataset, model, {})
        d = 13 if dataset == "boston" else 90
        inner, leaves = 2**base.depth - 1, 2**base.depth
        per_leaf = 2 if model == "vst-const" else 2 * (d + 1)
        assert ranks == sorted(ranks)
        assert ranks[-1] == inner * (d + 1) + leaves * per_leaf
        assert ranks[:6] == [0, 1, 2, 5, 10, 20]


def test_a_full_rank_posterior_has_p_free_factors():
    data = regression.prepared("yacht")
    setting = replace(rank.setting("yacht", "vst-const", {}), depth=1, steps=60)
    p = rank.n_params(setting, 6)
    stack = fit_stack([replace(setting, rank=p)], data, [0], [0])
    factor = np.asarray(stack.posteriors.factor[0])
    assert factor.shape == (p, p)
    assert np.linalg.matrix_rank(factor) == p


def test_rows_carry_rank_elbo_and_memory(tmp_path):
    store = Store(tmp_path, rank.COLUMNS)
    jobs = rank.stacks(TINY, ["yacht"], ["constant"], {}, ranks=(0, FULL_RANK))
    runner.run(jobs, store, workers=0)
    assert regression.missing(jobs, store) == []
    rows = regression.results_of(jobs, store)
    assert sorted(rows["rank"].unique()) == [0, rows["n_params"].iloc[0]]
    assert rows["elbo"].notna().all()
    p, k = rows["n_params"], rows["rank"]
    assert (rows["state_bytes"] == 12 * p * (k + 2)).all()  # three float32 of each number


def test_wrong_leaves_and_ranks_are_refused():
    with pytest.raises(UserError, match="there are: constant, linear"):
        rank.stacks(TINY, ["yacht"], ["quadratic"], {})
    with pytest.raises(UserError, match="negative"):
        rank.stacks(TINY, ["yacht"], ["linear"], {}, ranks=[-1])
