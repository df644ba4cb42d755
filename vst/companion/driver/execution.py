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

from vst.companion.experiments.runner import end, end_with_parent, without_interrupts
from vst.errors import DataError, MissingDataError, UserError

#: A cell that takes longer than this is stuck (seconds).
CELL_TIMEOUT = 4 * 3600

#: Between two signs of life while chapters take long (seconds).
TICK = 5

#: Errors of a chapter that are shown as a sentence; others with the cell's traceback.
SENTENCES = {error.__name__ for error in (UserError, DataError, MissingDataError)}

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

    @property
    def unfinished(self) -> Path:
        """The copy while it is not whole."""
        return self.target.with_suffix(".unfinished.ipynb")

    def is_done(self) -> bool:
        """Whether there is an executed copy, and it was made from the same."""
        return record(self.target).get(DIGEST) == self.digest

    def run(self) -> float:
        """Execute the notebook and return the seconds it took.

        The copy appears under its name only when it is whole.
        """
        logging.getLogger("papermill").setLevel(logging.WARNING)
        self.target.parent.mkdir(parents=True, exist_ok=True)
        try:
            with TemporaryDirectory() as sockets:
                executed = papermill.execute_notebook(
                    self.source,
                    self.unfinished,
                    parameters=self.values,
                    cwd=self.directory,
                    kernel_name="python3",
                    progress_bar=False,
                    execution_timeout=CELL_TIMEOUT,
                    config=_connection(sockets),
                )
        except PapermillExecutionError as error:
            said = error.evalue if error.ename in SENTENCES else error
            raise UserError(f"{self.source.name} failed: {said}") from None
        finally:
            self.unfinished.unlink(missing_ok=True)
        facts = executed.metadata["papermill"]
        facts |= {
            DIGEST: self.digest,
            "input_path": self.source.name,
            "output_path": self.target.name,
        }
        nbformat.write(executed, self.unfinished)
        os.replace(self.unfinished, self.target)
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
    """Execute chapters in processes of their own; the first that fails, or Ctrl-C, ends them all."""
    if not executions:
        return
    context = multiprocessing.get_context("spawn")
    jobs = min(jobs, len(executions))
    log = executions[0].directory / "_build" / "kernels.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    pool = ProcessPoolExecutor(jobs, mp_context=context, initializer=_start, initargs=(log,))
    try:
        with without_interrupts():
            left = {pool.submit(execution.run): execution.name for execution in executions}
        with tqdm(total=len(executions), unit="chapter") as bar:
            while left:
                bar.set_postfix_str(", ".join(list(left.values())[:jobs]))
                for future in wait(left, TICK, FIRST_COMPLETED).done:
                    bar.write(f"{left.pop(future)} executed in {future.result():.0f} s")
                    bar.update()
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        end(multiprocessing.active_children())
        for execution in executions:
            execution.unfinished.unlink(missing_ok=True)
        raise
    pool.shutdown()


def _start(log: Path) -> None:
    end_with_parent()
    # Kernels have last words of their own when they are ended: what failed is said in an exception.
    with log.open("ab") as file:
        os.dup2(file.fileno(), 2)
    # The kernel's client makes Ctrl-C heard again: a group of its own keeps the terminal's away.
    if hasattr(os, "setpgid"):
        os.setpgid(0, 0)
