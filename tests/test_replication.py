"""What the blind replication decides, on made-up scores."""

import hashlib
import subprocess

import numpy as np
import pandas as pd
import pytest

from vst.companion.experiments import blind, freeze
from vst.companion.experiments.profiles import PROFILES
from vst.companion.models import NAMES
from vst.companion.paper.claims import VSGBM, VST
from vst.companion.paper.replication import critical_difference, decide_again, ranks, whole
from vst.companion.paper.tables import DATASETS


def made_up(good=(), models=NAMES, datasets=DATASETS, folds=(1, 2, 3)):
    """Scores of all models; the good ones are better on every data set."""
    rng = np.random.default_rng(0)
    rows = [
        {
            "dataset": dataset, "model": model, "fold": fold, "seconds": 1.0,
            "log_likelihood": float(model in good) + 0.01 * rng.normal(),
            "rmse": 1 - 0.5 * (model in good) + 0.01 * rng.normal(),
            "auroc": 0.5 + 0.3 * (model in good) + 0.01 * rng.normal(),
            "crps": 0.5 - 0.3 * (model in good) + 0.01 * rng.normal(),
        }
        for dataset in datasets for model in models for fold in folds
    ]  # fmt: skip
    return pd.DataFrame(rows)


def test_only_splits_that_every_model_has_finished_count():
    results = made_up(models=["a", "b"], datasets=["boston", "yacht"], folds=(1, 2))
    unfinished = results[
        (results["model"] != "b") | (results["dataset"] != "yacht") | (results["fold"] != 2)
    ]
    kept = whole(unfinished, ["a", "b"])
    assert len(kept) == 6
    assert not ((kept["dataset"] == "yacht") & (kept["fold"] == 2)).any()


@pytest.mark.parametrize("score", ["log_likelihood", "rmse", "crps"])
def test_the_better_model_ranks_first_by_every_score(score):
    found = ranks(made_up(good=["vst-cv"]), score)
    assert found.mean.index[0] == "vst-cv"
    assert found.mean.iloc[0] == 1
    assert found.mean.sum() == pytest.approx(len(NAMES) * (len(NAMES) + 1) / 2)
    assert found.datasets == len(DATASETS)


def test_ranks_of_noise_do_not_differ_and_those_of_a_clear_order_do():
    assert ranks(made_up(), "rmse").p_value > 0.01
    ordered = made_up().assign(
        rmse=lambda rows: rows["model"].map({m: i for i, m in enumerate(NAMES)})
    )
    found = ranks(ordered, "rmse")
    assert found.p_value < 1e-6
    assert found.mean.max() - found.mean.min() > found.critical_difference


def test_a_model_without_a_density_is_not_ranked_by_it():
    results = made_up()
    results.loc[results["model"] == "xgboost", "log_likelihood"] = np.nan
    assert "xgboost" not in ranks(results, "log_likelihood").mean
    assert "xgboost" in ranks(results, "rmse").mean


def test_the_critical_difference_is_that_of_the_printed_table():
    """Demsar (2006), table 5: q = 2.343 for three models and 3.164 for ten."""
    assert critical_difference(3, 10) == pytest.approx(2.343 * np.sqrt(12 / 60), abs=2e-3)
    assert critical_difference(10, 12) == pytest.approx(3.164 * np.sqrt(110 / 72), abs=2e-3)


def test_claims_are_robust_if_both_results_agree():
    ours, theirs = (
        made_up(good=[*VST, *VSGBM]),
        made_up(good=["xbart", "sglb", "xbart-1", "sglb-1"]),
    )
    assert all(one.is_robust for one in decide_again(ours, ours))
    against = {one.published.claim.id: one for one in decide_again(ours, theirs)}
    assert against["vst-ood"].is_decided
    assert not against["vst-ood"].is_robust


def test_claims_stay_open_until_every_data_set_is_there():
    some = made_up(datasets=DATASETS[:4])
    again = decide_again(made_up(), some)
    assert not any(one.is_decided for one in again if one.published.claim.id == "vst-ood")
    assert not any(one.is_robust for one in again if not one.is_decided)


def test_blind_splits_are_five_new_ones_with_eight_trials_for_every_model_that_can_be_tuned():
    jobs = blind.jobs(PROFILES["paper"], compute=False)
    assert len(jobs) == 5 * 10 * len(NAMES)
    assert len({job.cells[0].key for job in jobs}) == len(jobs)
    assert {job.cells[0].fold for job in jobs} == set(blind.SPLITS)
    assert min(blind.SPLITS) > 1000
    trials = {(job.cells[0].model, '"trials": 8' in job.cells[0].parameters) for job in jobs}
    assert {name for name, tried in trials if not tried} == {"vst-cv"}


def test_jobs_go_split_by_split_and_small_tables_come_first():
    cells = [job.cells[0] for job in blind.jobs(PROFILES["quick"], datasets=["boston", "yacht"])]
    assert [cell.dataset for cell in cells] == ["yacht"] * len(NAMES) + ["boston"] * len(NAMES)


def test_what_was_frozen_has_not_changed_since():
    assert freeze.digest() == freeze.DIGEST


def test_the_checksum_is_that_of_the_commit_which_froze_the_files():
    git = ["git", "-C", str(freeze.root())]
    known = subprocess.run(
        [*git, "cat-file", "-e", freeze.COMMIT], capture_output=True, check=False
    )
    if known.returncode:
        pytest.skip("this copy has no history")
    then = hashlib.sha256()
    for name in freeze.FILES:
        then.update(subprocess.check_output([*git, "show", f"{freeze.COMMIT}:{name}"]))
    assert then.hexdigest() == freeze.DIGEST
