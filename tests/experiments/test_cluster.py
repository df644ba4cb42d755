"""The same cells on a Dask cluster of real processes, one of which is killed on the way."""

import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from threading import Thread

import pandas as pd
import pytest

import vst
from vst.cli import main
from vst.companion.experiments import cluster, regression, runner
from vst.companion.experiments.experiment import Results
from vst.companion.experiments.profiles import PROFILES
from vst.companion.experiments.store import Store

distributed = pytest.importorskip("distributed")


@dataclass(frozen=True)
class Slow:
    """A job that says who computes it, and takes its time."""

    number: int
    directory: Path

    file, size = "numbers", 1

    @property
    def label(self) -> str:
        return str(self.number)

    def compute(self):
        (self.directory / f"{self.number}-{os.getpid()}").touch()
        time.sleep(0.5)
        return [{"key": self.number, "square": self.number**2}]


def start(*command):
    """A Dask process that can import this test's jobs."""
    here = str(Path(__file__).parent)
    path = os.pathsep.join([here, *sys.path])
    environment = os.environ | {
        "PYTHONPATH": path,
        "DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT": "30s",
    }
    return subprocess.Popen(
        [sys.executable, "-m", "distributed.cli." + command[0], *command[1:]],
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def wait_until(holds, seconds=60):
    """Wait for something that other processes do."""
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "nothing happened"
        time.sleep(0.05)


@pytest.fixture
def dask(tmp_path):
    """Address of a scheduler with two workers, and the workers' processes."""
    contact = tmp_path / "scheduler.json"
    file = ["--scheduler-file", str(contact)]
    local = ["--local-directory", str(tmp_path)]
    processes = [
        start("dask_scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard", *file)
    ]
    wait_until(contact.exists)
    options = ["--nthreads", "1", "--no-nanny", "--no-dashboard", *local, *file]
    processes += [start("dask_worker", *options) for _ in range(2)]
    with distributed.Client(scheduler_file=str(contact), set_as_default=False) as client:
        client.wait_for_workers(2, timeout=60)
        address = client.scheduler.address
    yield address, processes[1:]
    for process in processes:
        process.kill()
        process.wait()


def test_a_worker_that_is_killed_loses_nothing(dask, tmp_path):
    address, workers = dask
    seen = tmp_path / "seen"
    seen.mkdir()
    jobs = [Slow(number, seen) for number in range(8)]
    store = Store(tmp_path / "results", ("key", "square"))
    run = Thread(daemon=True, target=runner.run, args=(jobs, store), kwargs={"scheduler": address})
    run.start()
    wait_until(lambda: len(list(seen.iterdir())) >= 3)
    workers[0].send_signal(signal.SIGKILL)
    run.join(timeout=60)
    assert sorted(store.load()["square"]) == [number**2 for number in range(8)]
    # Both workers had jobs, and one job was begun twice.
    begun = [name.name.split("-") for name in seen.iterdir()]
    assert len({process for _, process in begun}) == 2
    assert len(begun) > len(jobs)


def test_results_equal_those_of_a_local_run(dask, tmp_path):
    address, _ = dask
    models = ["vst-const", "xgboost"]
    jobs = regression.jobs(
        PROFILES["smoke"], datasets=["yacht"], models=models, untuned=True, folds=1
    )
    tables = []
    for name, options in (("there", {"scheduler": address}), ("here", {"workers": 1})):
        store = Results(regression.REGRESSION, tmp_path / name)
        runner.run(jobs, store, **options)
        tables.append(store.load().sort_values("key", ignore_index=True).drop(columns="seconds"))
    pd.testing.assert_frame_equal(*tables)


def test_a_wrong_address_is_an_error_that_says_so(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(cluster, "TIMEOUT", 1)
    command = ["run", "regression", "--profile", "smoke", "--models", "xgboost", "--untuned"]
    options = ["--out", str(tmp_path), "--scheduler", "tcp://127.0.0.1:1"]
    assert main([*command, *options]) == 1
    assert "no Dask scheduler answers at tcp://127.0.0.1:1" in capsys.readouterr().err


def test_workers_of_another_version_are_refused(dask, monkeypatch, tmp_path):
    monkeypatch.setattr(vst, "__version__", "0.0.0")
    with pytest.raises(cluster.UserError, match="install the same everywhere"):
        runner.run([Slow(1, tmp_path)], Store(tmp_path, ("key", "square")), scheduler=dask[0])
