"""Source chapters, executed copies, HTML pages: the steps from one to the next."""

import logging
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import papermill
import yaml
from papermill.exceptions import PapermillExecutionError
from tqdm import tqdm
from traitlets.config import Config

from vst.errors import UserError

#: Kernels talk over local sockets: no open port, and no warning about one.
KERNEL = Config({"KernelManager": {"transport": "ipc"}} if os.name == "posix" else {})

#: A cell that takes longer than this is stuck (seconds).
CELL_TIMEOUT = 3600


def build(root: Path) -> Path:
    """Execute all chapters below ``root`` and build the book; return its first page."""
    if not (root / "_config.yml").exists():
        raise UserError(
            f"{root} holds no book (no _config.yml): run this in the repository, or name it with --root"
        )
    executed = root / "_build" / "executed"
    copy_sources(root, executed)
    execute_chapters(root, executed)
    return build_html(executed, root / "_build")


def chapters(root: Path) -> list[Path]:
    """The book's notebooks, in the order of the table of contents."""
    contents = yaml.safe_load((root / "_toc.yml").read_text())
    files = [contents["root"]]
    for group in [contents, *contents.get("parts", [])]:
        files += [entry["file"] for entry in group.get("chapters", [])]
    return [root / f"{file}.ipynb" for file in files if (root / f"{file}.ipynb").exists()]


def copy_sources(root: Path, executed: Path) -> None:
    """Lay out a copy of the book's sources, in which notebooks are replaced as they are executed."""
    shutil.rmtree(executed, ignore_errors=True)
    shutil.copytree(
        root / "book",
        executed / "book",
        ignore=shutil.ignore_patterns("*.ipynb", ".ipynb_checkpoints"),
    )
    shutil.copy(root / "_toc.yml", executed)
    config = yaml.safe_load((root / "_config.yml").read_text())
    config["execute"]["execute_notebooks"] = "off"
    (executed / "_config.yml").write_text(yaml.safe_dump(config))


def execute_chapters(root: Path, executed: Path) -> None:
    """Run every chapter with papermill; the first failing cell ends the build with its traceback."""
    logging.getLogger("papermill").setLevel(logging.WARNING)
    sources = chapters(root)
    for number, source in enumerate(sources, 1):
        target = executed / source.relative_to(root)
        start = time.perf_counter()
        try:
            papermill.execute_notebook(
                source,
                target,
                cwd=root,
                kernel_name="python3",
                progress_bar=False,
                execution_timeout=CELL_TIMEOUT,
                config=KERNEL,
            )
        except PapermillExecutionError as error:
            raise UserError(f"{source.relative_to(root)} failed: {error}") from None
        seconds = time.perf_counter() - start
        tqdm.write(
            f"[{number}/{len(sources)}] {source.relative_to(root)} executed in {seconds:.0f} s"
        )


def build_html(source: Path, output: Path) -> Path:
    """Turn executed sources into pages, with every warning an error."""
    jupyter_book = Path(sys.executable).with_name("jupyter-book")
    options = ["--path-output", str(output.parent), "-W", "-n", "--keep-going"]
    command = [str(jupyter_book), "build", str(source), *options]
    environment = os.environ | {"PYDEVD_DISABLE_FILE_VALIDATION": "1"}
    result = subprocess.run(command, capture_output=True, text=True, env=environment)
    if result.returncode:
        # Sphinx reports its progress on one stream and what is wrong on the other.
        raise UserError(f"jupyter-book failed:\n{result.stderr or result.stdout}")
    return output / "html" / "index.html"
