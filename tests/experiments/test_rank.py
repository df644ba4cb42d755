from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from vst.companion.experiments import rank, regression, runner
from vst.companion.experiments.cells import as_parameters
from vst.companion.experiments.profiles import FULL_RANK, PROFILES
from vst.companion.experiments.soft_trees import fit_stack
from vst.companion.experiments.store import Store
from vst.companion.report.rank import largest, slopes, verdict
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


def ablation(scores, dataset="boston"):
    """Three folds of AUROCs at ranks 1, 2, 4, ... that differ by a little noise."""
    rng = np.random.default_rng(0)
    rows = [
        {"model": "vst-linear", "dataset": dataset, "rank": 2**i, "auroc": s + rng.normal(0, 1e-3)}
        for i, s in enumerate(scores)
        for _ in range(3)
    ]
    return pd.DataFrame(rows)


@pytest.mark.parametrize(
    ("scores", "word"),
    [([0.5, 0.6, 0.7], "helps"), ([0.7, 0.6, 0.5], "hurts"), ([0.6, 0.7, 0.6], "no clear effect")],
)
def test_a_slope_is_what_a_doubling_is_worth(scores, word):
    row = slopes(ablation(scores)).iloc[0]
    assert row["slope"] == pytest.approx((scores[-1] - scores[0]) / 2, abs=2e-3)
    assert row["verdict"] == word


def test_the_verdict_follows_the_stated_rule():
    up, down = ablation([0.5, 0.6], "boston"), ablation([0.6, 0.5], "wine")
    assert "**reproduced**" in verdict(slopes(up)).text
    assert "**not reproduced**" in verdict(slopes(down)).text
    mixed = pd.concat([up, down, ablation([0.5, 0.55], "energy")])
    assert "**partly reproduced**" in verdict(slopes(mixed)).text
    assert largest(slopes(mixed), 2) == ["boston", "energy"]
    assert "no results" in verdict(slopes(up.iloc[:0])).text
