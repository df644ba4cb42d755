"""Chapters executed by papermill, several at a time."""

import logging
import multiprocessing
import os
from collections.abc import Sequence
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import nbformat
import papermill
from papermill.exceptions import PapermillExecutionError
from tqdm import tqdm
from traitlets.config import Config

from vst.companion.experiments.runner import end_with_parent
from vst.errors import UserError

#: A cell that takes longer than this is stuck (seconds).
CELL_TIMEOUT = 4 * 3600

#: Between two signs of life while chapters take long (seconds).
TICK = 5

#: Where an executed copy keeps the digest of what it was made from.
DIGEST = "made_from"


@dataclass(frozen=True)
class Execution:
    """A chapter to execute: from where, to where, in which directory and with what."""

    source: Path
    target: Path
    directory: Path
    values: dict[str, Any]
    digest: str

    @property
    def name(self) -> str:
        """The chapter's name."""
        return self.source.stem

    def is_done(self) -> bool:
        """Whether there is an executed copy, and it was made from the same."""
        return record(self.target).get(DIGEST) == self.digest

    def run(self) -> float:
        """Execute the notebook and return the seconds it took.

        The copy appears under its name only when it is whole.
        """
        logging.getLogger("papermill").setLevel(logging.WARNING)
        unfinished = self.target.with_suffix(".unfinished.ipynb")
        unfinished.parent.mkdir(parents=True, exist_ok=True)
        try:
            with TemporaryDirectory() as sockets:
                executed = papermill.execute_notebook(
                    self.source,
                    unfinished,
                    parameters=self.values,
                    cwd=self.directory,
                    kernel_name="python3",
                    progress_bar=False,
                    execution_timeout=CELL_TIMEOUT,
                    config=_connection(sockets),
                )
        except PapermillExecutionError as error:
            raise UserError(f"{self.source.name} failed: {error}") from None
        finally:
            unfinished.unlink(missing_ok=True)
        facts = executed.metadata["papermill"]
        facts |= {
            DIGEST: self.digest,
            "input_path": self.source.name,
            "output_path": self.target.name,
        }
        nbformat.write(executed, unfinished)
        os.replace(unfinished, self.target)
        return facts["duration"]


def _connection(directory: str) -> Config:
    """Let a kernel talk over sockets in a directory of its own: no open port, no other kernel's."""
    if os.name != "posix":
        return Config()
    return Config({"KernelManager": {"transport": "ipc", "ip": f"{directory}/kernel"}})


def record(executed: Path) -> dict[str, Any]:
    """What papermill and this module wrote down of an execution; empty if there was none."""
    if not executed.exists():
        return {}
    return dict(nbformat.read(executed, as_version=4).metadata.get("papermill", {}))


def run_all(executions: Sequence[Execution], *, jobs: int) -> None:
    """Execute chapters in processes of their own; the first that fails ends it with its traceback."""
    if not executions:
        return
    context = multiprocessing.get_context("spawn")
    jobs = min(jobs, len(executions))
    pool = ProcessPoolExecutor(jobs, mp_context=context, initializer=end_with_parent)
    try:
        left = {pool.submit(execution.run): execution.name for execution in executions}
        with tqdm(total=len(executions), unit="chapter") as bar:
            while left:
                bar.set_postfix_str(", ".join(list(left.values())[:jobs]))
                for future in wait(left, TICK, FIRST_COMPLETED).done:
                    bar.write(f"{left.pop(future)} executed in {future.result():.0f} s")
                    bar.update()
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        for process in multiprocessing.active_children():
            process.terminate()
        raise
    pool.shutdown()
