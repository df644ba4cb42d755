from dataclasses import replace

import numpy as np
import pandas as pd
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
        assert found[:4] == [0, 1, 5, 20]


def test_a_full_rank_posterior_has_p_free_factors():
    setting = replace(rank.setting(6, "vst-const"), depth=1, steps=60)
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
    assert rows[["elbo", "converged", "steps"]].notna().all(axis=None)
    p, k = rows["n_params"], rows["rank"]
    assert (rows["state_bytes"] == 12 * p * (k + 2)).all()  # three float32 of each number


def test_wrong_leaves_and_ranks_are_refused():
    with pytest.raises(UserError, match="choose from constant, linear"):
        rank.jobs(PROFILES["smoke"], datasets=["yacht"], leaves=["quadratic"])
    with pytest.raises(UserError, match="negative"):
        rank.jobs(PROFILES["smoke"], datasets=["yacht"], leaves=["linear"], ranks=[-1])


def ablation(bounds, *, fits=9, spread=0.0, model="vst-linear"):
    """Fits of one configuration with these bounds at ranks 0, 1, 5, 20 and 60."""
    rng = np.random.default_rng(0)
    starts = rng.normal(size=fits)
    return pd.DataFrame(
        {
            "model": model, "dataset": "boston", "fold": i % 3, "seed": i // 3, "rank": rank,
            "elbo": bound + starts[i] + spread * rng.normal(), "converged": True,
        }
        for rank, bound in zip((0, 1, 5, 20, 60), bounds, strict=True)
        for i in range(fits)
    )  # fmt: skip


@pytest.mark.parametrize(
    ("bounds", "spread", "holds"),
    [
        ([0.0, 0.1, 0.1, 0.2, 0.2], 0.0, True),
        ([0.0, 0.0, 0.0, 0.0, -0.02], 0.0, True),
        ([0.0, 0.0, 0.0, 0.0, -0.05], 0.0, False),
        ([0.0, -0.02, -0.04, -0.06, -0.08], 0.0, False),
        ([0.0, 0.5, 0.6, 0.4, 0.55], 0.0, False),
        ([0.0, 0.0, 0.0, 0.0, -0.05], 1.0, True),
    ],
    ids=["rises", "hardly falls", "falls at last", "falls by and by", "falls in between", "noise"],
)
def test_the_bound_may_not_fall_with_the_rank(bounds, spread, holds):
    """Fits of one fold and start are compared: that starts differ by a nat does not hide a fall."""
    [row] = rank.nested(ablation(bounds, spread=spread)).to_dict("records")
    assert row["holds"] == holds
    assert row["told"] == (
        max(bounds) - min(bounds[bounds.index(max(bounds)) :]) <= 0.03 and not spread
    )


def test_without_other_ranks_or_fits_nothing_is_compared():
    rows = ablation([0.0] * 5)
    assert rank.nested(rows[rows["rank"] == 0]).empty
    assert rank.nested(rows[(rows["fold"] == 0) & (rows["seed"] == 0)]).empty
