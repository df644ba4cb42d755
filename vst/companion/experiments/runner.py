"""Computes what is not stored, in parallel processes with one core each, or on a cluster.

A *job* is a group of cells that are computed together. Only this process writes results, whenever a job
ends, so a killed run loses only the jobs that were running.
"""

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from multiprocessing.process import BaseProcess
from typing import Any, Protocol

from tqdm import tqdm

from vst.companion.experiments import cluster
from vst.companion.experiments.store import Store
from vst.runtime import available_cores, configure, make_room_for_programs

#: Seconds that a worker may take to end.
GRACE = 10

#: Jobs of a worker, on average, before all workers are replaced by new processes. A process keeps every
#: program that it compiled; with hundreds of them it becomes slow, and in the end it crashes.
JOBS_OF_A_WORKER = 50


class Job(Protocol):
    """Work that produces rows of one file; it can be sent to another process."""

    @property
    def file(self) -> str:
        """The file that the rows go to."""

    @property
    def label(self) -> str:
        """What to show while it runs."""

    @property
    def size(self) -> int:
        """Number of cells, for the progress bar."""

    def compute(self) -> list[dict[str, Any]]:
        """Do the work."""


def run(
    jobs: Sequence[Job], store: Store, *, workers: int | None = None, scheduler: str = ""
) -> None:
    """Compute jobs, and append their rows to the store when they end.

    Parameters
    ----------
    workers
        Number of processes, by default one per core. 0 computes in this process.
    scheduler
        Address of a Dask scheduler whose workers compute the jobs instead.
    """
    with tqdm(total=sum(job.size for job in jobs), unit="cell", smoothing=0.05) as bar:

        def finish(job: Job, rows: list[dict[str, Any]]) -> None:
            if rows:
                store.append(job.file, rows)
            bar.set_postfix_str(job.label, refresh=False)
            bar.update(job.size)

        if scheduler:
            cluster.run_on(scheduler, jobs, finish)
            return
        if workers == 0:
            for job in jobs:
                finish(job, _compute(job))
            return
        workers = workers or available_cores()
        batch = workers * JOBS_OF_A_WORKER
        for start in range(0, len(jobs), batch):
            _in_processes(jobs[start : start + batch], finish, workers)


def _in_processes(jobs: Sequence[Job], finish: Callable, workers: int) -> None:
    # JAX must not be forked, so workers are spawned.
    context = multiprocessing.get_context("spawn")
    numbers = context.Value("i", 0)
    pool = ProcessPoolExecutor(
        min(workers, max(len(jobs), 1)), mp_context=context, initializer=_start, initargs=(numbers,)
    )
    try:
        with without_interrupts():
            waiting = {pool.submit(_compute, job): job for job in jobs}
        for future in as_completed(waiting):
            finish(waiting[future], future.result())
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        end(multiprocessing.active_children())
        raise
    pool.shutdown()


@contextmanager
def without_interrupts() -> Iterator[None]:
    """Start processes that ignore Ctrl-C: this process ends them, without their tracebacks."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    handler = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)


def end(workers: Sequence[BaseProcess]) -> None:
    """End processes whose work is no longer needed."""
    for worker in workers:
        worker.terminate()
    for worker in workers:
        worker.join(GRACE)
        worker.kill()


def _start(numbers: Any) -> None:
    """Give this worker one core: small programs gain nothing from more."""
    with numbers.get_lock():
        number = numbers.value
        numbers.value += 1
    if hasattr(os, "sched_setaffinity"):
        cores = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, {cores[number % len(cores)]})
    configure(devices=1)
    end_with_parent()


def end_with_parent() -> None:
    """Let this process end when its parent is killed: its results would be lost."""
    threading.Thread(target=_wait_for_parent, daemon=True).start()


def _wait_for_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _compute(job: Job) -> list[dict[str, Any]]:
    make_room_for_programs()
    return job.compute()
