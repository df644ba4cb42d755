import os
import signal
import subprocess
import sys
import time
from dataclasses import replace

import numpy as np
import pandas as pd
import psutil
import pytest

from vst.cli import main
from vst.companion.experiments import regression
from vst.companion.experiments.cells import Cell, as_text
from vst.companion.experiments.experiment import Results, obtain, summary
from vst.companion.experiments.fitting import (
    cell_key,
    fit_stack,
    fitted,
    prepared,
    prepared_for,
    score,
)
from vst.companion.models import LARGE, MODEL_BY_ID, Size
from vst.companion.peers.bartz import BART
from vst.companion.peers.bartz import LARGE as BART_ON_LARGE
from vst.datasets import load_dataset
from vst.estimators import estimator
from vst.soft_trees import SoftTrees

SCORES = ("log_likelihood", "rmse")


def test_a_cell_is_known_by_its_description():
    cell = Cell("regression", "yacht", "vst-linear", 0, 0, as_text({"b": 1, "a": 2.0}))
    assert cell.key == Cell("regression", "yacht", "vst-linear", 0, 0, '{"a": 2.0, "b": 1}').key
    assert cell.key != replace(cell, fold=1).key
    assert cell.key != replace(cell, parameters=as_text({"b": 2, "a": 2.0})).key


def test_a_large_table_takes_a_shorter_chain_unless_tuned_otherwise():
    draws = [
        MODEL_BY_ID["bartz"].setting_for(Size(n, 8), tuned).draws
        for n, tuned in ((LARGE - 1, {}), (LARGE, {}), (LARGE, {"draws": 7}))
    ]
    assert draws == [BART().draws, BART_ON_LARGE["draws"], 7]


def test_only_missing_cells_are_computed(tiny, tmp_path):
    told = []

    def run(folds):
        return obtain(
            regression.REGRESSION,
            "tiny",
            out=tmp_path,
            workers=0,
            announce=told.append,
            datasets=["yacht"],
            models=["vst-linear"],
            untuned=True,
            folds=folds,
        )

    first = run(1).results
    results = run(3).results
    run(3)
    counts = ["1 cells, 1 to", "3 cells, 2 to", "3 cells, 0 to"]
    assert told == [f"{count} compute into {tmp_path}" for count in counts]
    assert results["fold"].tolist() == [0, 1, 2]
    pd.testing.assert_frame_equal(results[:1], first)
    assert results[[*SCORES, "seconds"]].notna().all(axis=None)
    assert set(results["data_sha256"]) == {load_dataset("yacht").sha256}


def test_a_cells_result_does_not_depend_on_its_company(tiny):
    [job] = regression.jobs(tiny, datasets=["yacht"], models=["vst-linear"], untuned=True, folds=3)
    together = job.compute()
    for cell, row in zip(job.cells, together, strict=True):
        [alone] = job.without({other.key for other in job.cells} - {cell.key}).compute()
        assert alone["key"] == row["key"]
        for name in SCORES:
            assert alone[name] == pytest.approx(row[name], abs=1e-4)


@pytest.mark.parametrize("model", ["vst-linear", "vsgbm-const", "vsgbm-joint"])
def test_a_cell_is_a_fit_of_the_estimator(model, tiny):
    """A row of the tables, tuned settings and all, is what a user's estimator gives."""
    [job] = regression.jobs(tiny, datasets=["yacht"], models=[model], folds=3)
    cell = job.cells[1]
    found = job.compute_cells(job.cells)[1]
    setting = MODEL_BY_ID[model].setting(regression.as_parameters(cell.parameters))
    data = prepared_for(setting, "yacht")
    rows = data.folds.train.rows(cell.fold)
    mine = estimator(
        replace(setting, whiten=0),
        standardise=False,
        random_state=cell_key(cell.seed, cell.fold),
    ).fit(data.x_train[rows], data.y_train[rows])
    predicted = mine.predict_dist(data.x_test)
    assert found["log_likelihood"] == pytest.approx(
        predicted.log_prob(data.y_test).mean(), abs=1e-4
    )
    error = np.sqrt(np.mean((predicted.mean - data.y_test) ** 2))
    assert found["rmse"] == pytest.approx(error, abs=1e-4)


def test_soft_trees_see_principal_axes_and_peers_the_features():
    plain = prepared("yacht")
    for name in ("deep-ensemble", "sglb", "xgboost-1"):
        assert prepared_for(MODEL_BY_ID[name].settings, "yacht") is plain
    for name in ("vst-linear", "vsgbm-const"):
        turned = prepared_for(MODEL_BY_ID[name].settings, "yacht")
        assert turned is prepared("yacht", "principal")
        rotation = turned.standardiser.rotation
        np.testing.assert_allclose(turned.x_test, plain.x_test @ rotation, atol=1e-5)
    assert prepared_for(SoftTrees(whiten=1), "yacht") is prepared("yacht", "whitened")


def test_scores_are_of_the_test_rows_in_standardised_units():
    data = prepared("yacht")
    model = fitted(fit_stack([SoftTrees(depth=1, steps=60)], data, [0], [0]), 0)
    scored = score(model, data.x_test, data.y_test)
    error = model.mean_draws(data.x_test).mean(axis=0) - data.y_test
    assert scored["rmse"] == pytest.approx(np.sqrt(np.mean(error**2)), abs=1e-4)
    expected = model.log_prob(data.x_test, data.y_test).mean()
    assert scored["log_likelihood"] == pytest.approx(expected, abs=1e-4)


def test_summary_is_mean_and_deviation_over_folds():
    frame = pd.DataFrame(
        {
            "key": ["x", "y", "z"], "model": "a", "dataset": "d", "fold": [0, 1, 2],
            "seconds": [1.0, 2.0, 3.0], "log_likelihood": [1.0, 2.0, 3.0],
            "rmse": [0.1, 0.2, 0.3], "auroc": [0.5, 0.6, np.nan], "coverage": [0.9, 0.8, np.nan],
        }
    )  # fmt: skip
    [row] = summary(regression.REGRESSION, frame).to_dict("records")
    assert (row["log_likelihood"], row["log_likelihood_error"]) == (2.0, 1.0)
    assert row["auroc"] == pytest.approx(0.55)
    assert (row["cells"], row["seconds"]) == (3, 6.0)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--models", "vst-cubic"], "there is no model vst-cubic: choose from deep-ensemble"),
        (["--datasets", "bosten"], "there is no regression data set bosten: choose from boston"),
        (["--profile", "huge"], "there is no profile huge: choose from smoke, quick, paper"),
    ],
)
def test_wrong_names_are_refused_before_anything_is_computed(arguments, message, capsys):
    start = time.perf_counter()
    assert main(["run", "regression", *arguments]) == 1
    assert time.perf_counter() - start < 5
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run", "regression", "--folds", "0"], "--folds: 0 must be an integer >= 1"),
        (["run", "regression", "--workers", "-1"], "--workers: -1 must be an integer >= 0"),
        (["run", "bandits", "--seeds", "two"], "--seeds: two must be an integer >= 1"),
        (["run", "pictures", "--repeats", "0"], "--repeats: 0 must be an integer >= 1"),
        (["run", "pictures", "--beta", "0"], "--beta: 0 must be a positive number"),
        (["run", "pictures", "--seed", "-1"], "--seed: -1 must be an integer >= 0"),
        (["run", "rank", "--ranks", "0,a"], "--ranks: 0,a must be a list of integers"),
        (["tune", "--trials", "0"], "--trials: 0 must be an integer >= 1"),
    ],
)
def test_wrong_numbers_are_refused(arguments, message, capsys):
    with pytest.raises(SystemExit):
        main(arguments)
    assert message in capsys.readouterr().err


@pytest.mark.skipif(os.name == "nt", reason="POSIX signals")
def test_a_killed_run_resumes_with_what_is_missing(tmp_path):
    command = [
        sys.executable, "-m", "vst.cli", "run", "regression", "--profile", "smoke", "--models",
        "vst-linear,vst-const,vsgbm-const", "--folds", "1", "--workers", "1", "--untuned",
        "--out", str(tmp_path / "killed"),
    ]  # fmt: skip
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    path = tmp_path / "killed" / "yacht.csv"
    deadline = time.monotonic() + 120
    while not path.exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    workers = psutil.Process(process.pid).children(recursive=True)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert workers
    assert psutil.wait_procs(workers, timeout=20)[1] == []  # none goes on by itself
    store = Results(regression.REGRESSION, tmp_path / "killed")
    survived = store.load()
    assert 1 <= len(survived) < 3

    again = subprocess.run(command, capture_output=True, text=True, check=True)
    assert f"3 cells, {3 - len(survived)} to compute into {store.directory}" in again.stdout
    results = store.load()
    assert len(results) == 3
    kept = results[results["key"].isin(survived["key"])]
    pd.testing.assert_frame_equal(kept.reset_index(drop=True), survived)

    whole = [*command[:-1], str(tmp_path / "whole")]
    subprocess.run(whole, capture_output=True, check=True)
    uninterrupted = Results(regression.REGRESSION, tmp_path / "whole").load()
    merged = results.merge(uninterrupted, on="key", suffixes=("", "_whole"))
    assert len(merged) == 3
    np.testing.assert_allclose(merged["log_likelihood"], merged["log_likelihood_whole"], atol=1e-4)
