"""Executes chapters with papermill, several at a time."""

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

#: Seconds after which a cell counts as stuck.
CELL_TIMEOUT = 4 * 3600

#: Seconds between two progress messages.
TICK = 5

#: Errors that are shown as a message only; others with the cell's traceback.
SENTENCES = {error.__name__ for error in (UserError, DataError, MissingDataError)}

#: Key under which an executed copy stores the digest of its inputs.
DIGEST = "made_from"


@dataclass(frozen=True)
class Execution:
    """A chapter to execute: source, target, directory and parameters."""

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
        """The incomplete copy."""
        return self.target.with_suffix(".unfinished.ipynb")

    def is_done(self) -> bool:
        """Whether an executed copy of the same inputs exists."""
        return record(self.target).get(DIGEST) == self.digest

    def run(self) -> float:
        """Execute the notebook and return the seconds it took.

        The copy appears under its name only when it is complete.
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
    """Let a kernel use sockets in its own directory: no open ports, no mix-up with other kernels."""
    if os.name != "posix":
        return Config()
    return Config({"KernelManager": {"transport": "ipc", "ip": f"{directory}/kernel"}})


def record(executed: Path) -> dict[str, Any]:
    """The record of an execution by papermill and this module; empty if there was none."""
    if not executed.exists():
        return {}
    return dict(nbformat.read(executed, as_version=4).metadata.get("papermill", {}))


def run_all(executions: Sequence[Execution], *, jobs: int) -> None:
    """Execute each chapter in its own process; the first failure, or Ctrl-C, ends them all."""
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
    # Kernels print messages when they are ended; the exception already says what failed.
    with log.open("ab") as file:
        os.dup2(file.fileno(), 2)
    # The kernel's client handles Ctrl-C again: a separate process group shields it from the terminal.
    if hasattr(os, "setpgid"):
        os.setpgid(0, 0)
