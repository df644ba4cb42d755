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
from vst.companion.experiments import regression, runner
from vst.companion.experiments.cells import Cell, as_text
from vst.companion.experiments.datasets import Size
from vst.companion.experiments.profiles import PROFILES
from vst.companion.experiments.soft_trees import SoftTrees, fit_stack
from vst.companion.experiments.store import Store
from vst.companion.peers import LARGE
from vst.companion.peers.bartz import BART
from vst.companion.peers.bartz import LARGE as BART_ON_LARGE
from vst.companion.protocol import prepare
from vst.datasets import load_dataset

TINY = replace(PROFILES["smoke"], steps=60)


def work(names=("vst-linear",), folds=2, profile=TINY):
    return regression.stacks(profile, ["yacht"], names, {}, folds=folds)


def test_a_cell_is_known_by_its_description():
    cell = Cell("regression", "yacht", "vst-linear", 0, 0, as_text({"b": 1, "a": 2.0}))
    assert cell.key == Cell("regression", "yacht", "vst-linear", 0, 0, '{"a": 2.0, "b": 1}').key
    assert cell.key != replace(cell, fold=1).key
    assert cell.key != replace(cell, parameters=as_text({"b": 2, "a": 2.0})).key


def test_a_large_table_takes_a_shorter_chain_unless_tuned_otherwise():
    draws = [
        regression.setting_for("bartz", Size(n, 8), tuned).draws
        for n, tuned in ((LARGE - 1, {}), (LARGE, {}), (LARGE, {"draws": 7}))
    ]
    assert draws == [BART().draws, BART_ON_LARGE["draws"], 7]


def test_only_missing_cells_are_computed(tmp_path):
    store = Store(tmp_path, regression.COLUMNS)
    runner.run(work(folds=1), store, workers=0)
    left = regression.missing(work(folds=3), store)
    assert [cell.fold for job in left for cell in job.cells] == [1, 2]
    runner.run(left, store, workers=0)
    assert regression.missing(work(folds=3), store) == []
    results = store.load()
    assert results["fold"].tolist() == [0, 1, 2]
    assert results[["log_likelihood", "rmse", "seconds"]].notna().all(axis=None)
    assert set(results["data_sha256"]) == {load_dataset("yacht").sha256}


def test_a_cells_result_does_not_depend_on_its_company(tmp_path):
    together, alone = (
        Store(tmp_path / "a", regression.COLUMNS),
        Store(tmp_path / "b", regression.COLUMNS),
    )
    runner.run(work(folds=3), together, workers=0)
    cells = work(folds=3)[0].cells
    runner.run([regression.Stack((cell,)) for cell in cells], alone, workers=0)
    for column in ("log_likelihood", "rmse"):
        np.testing.assert_allclose(together.load()[column], alone.load()[column], atol=2e-3)


def test_scores_are_of_the_test_rows_in_standardised_units():
    setting = SoftTrees(depth=1, steps=60)
    data = prepare(load_dataset("yacht"))
    model = fit_stack([setting], data, [0], [0]).model(0)
    scored = regression.score(model, data.x_test, data.y_test)
    error = model.mean_draws(data.x_test).mean(axis=0) - data.y_test
    assert scored["rmse"] == pytest.approx(np.sqrt(np.mean(error**2)), abs=1e-4)
    expected = model.log_prob(data.x_test, data.y_test).mean()
    assert scored["log_likelihood"] == pytest.approx(expected, abs=1e-4)


def test_summary_is_mean_and_deviation_over_folds():
    frame = pd.DataFrame(
        {
            "model": ["a"] * 3, "dataset": ["d"] * 3, "fold": [0, 1, 2], "seconds": [1.0, 2.0, 3.0],
            "log_likelihood": [1.0, 2.0, 3.0], "rmse": [0.1, 0.2, 0.3],
        }
    )  # fmt: skip
    row = regression.summary(frame).iloc[0]
    assert (row["log_likelihood"], row["log_likelihood_error"]) == (2.0, 1.0)
    assert (row["folds"], row["seconds"]) == (3, 6.0)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--models", "vst-cubic"], "no model is called vst-cubic; there are: deep-ensemble"),
        (["--datasets", "bosten"], "no regression data set is called bosten; there are: boston"),
        (["--profile", "huge"], "no profile is called huge; there are: smoke, quick, paper"),
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
        (["run", "regression", "--folds", "0"], "--folds: 0 is no whole number of at least 1"),
        (["run", "regression", "--workers", "-1"], "--workers: -1 is no whole number"),
        (["run", "bandits", "--seeds", "two"], "--seeds: two is no whole number of at least 1"),
        (["run", "rank", "--ranks", "0,a"], "--ranks: 0,a is no list of whole numbers"),
        (["tune", "--trials", "0"], "--trials: 0 is no whole number of at least 1"),
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
    store = Store(tmp_path / "killed", regression.COLUMNS)
    survived = store.load()
    assert 1 <= len(survived) < 3

    again = subprocess.run(command, capture_output=True, text=True, check=True)
    assert f"{len(survived)} in " in again.stdout
    results = store.load()
    assert len(results) == 3
    kept = results[results["key"].isin(survived["key"])]
    pd.testing.assert_frame_equal(kept.reset_index(drop=True), survived)

    whole = [*command[:-1], str(tmp_path / "whole")]
    subprocess.run(whole, capture_output=True, check=True)
    uninterrupted = Store(tmp_path / "whole", regression.COLUMNS).load()
    merged = results.merge(uninterrupted, on="key", suffixes=("", "_whole"))
    assert len(merged) == 3
    np.testing.assert_allclose(merged["log_likelihood"], merged["log_likelihood_whole"], atol=1e-4)
