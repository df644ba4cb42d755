"""Executes the source chapters and builds HTML pages from the executed copies."""

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import urlsplit

import yaml

from vst.companion.driver import freshness, record
from vst.companion.driver.chapters import Chapter, chapters, named, values_for
from vst.companion.driver.execution import Execution, run_all
from vst.companion.driver.execution import record as record_of
from vst.companion.driver.printing import PDF
from vst.companion.experiments.profiles import profile as known_profile
from vst.errors import UserError
from vst.runtime import available_cores

#: The page that records how the others were executed.
RECORD = Path("book") / "execution.md"


def build(
    root: Path,
    *,
    profile: str = "paper",
    only: Sequence[str] = (),
    parameters: Sequence[tuple[str, str]] = (),
    recompute: bool = False,
    jobs: int | None = None,
    repository: str = "",
) -> Path:
    """Execute the chapters of the book in ``root`` and build its pages; return the first page.

    Parameters
    ----------
    root
        Directory of ``_config.yml``.
    profile
        How much the chapters compute: ``paper`` reads the published results.
    only
        Names of chapters to execute. The others stay as last executed, even if something has changed.
    parameters
        Names and values, for the chapters that have them.
    recompute
        Execute chapters even if nothing has changed. If ``only`` is empty, also drop the profile's
        stored results; published results stay.
    jobs
        Chapters at a time; by default as many as there are cores.
    repository
        Address of the sources, which pages link to. With a GitHub address, every chapter also gets a
        button that opens it in Colab.
    """
    book = chapters(root)
    computes = known_profile(profile).name != "paper"
    if "profile" in dict(parameters):
        raise UserError("profile is not a parameter: use --profile quick")
    if jobs is not None and jobs < 1:
        raise UserError(f"--jobs must be an integer >= 1, got {jobs}")
    chosen = named(book, only)
    values = values_for(chosen, parameters)
    for chapter in chosen:
        if computes and "profile" in chapter.parameters:
            values[chapter.name].setdefault("profile", profile)
    if recompute and computes and not only:
        shutil.rmtree(root / "_build" / "results" / profile, ignore_errors=True)

    executed = root / "_build" / "executed"
    copy_sources(root, executed, repository)
    surroundings = freshness.of_surroundings(root)
    work = [
        execution
        for chapter in book
        if _is_to_run(
            execution := _execution(chapter, root, executed, values, surroundings),
            chosen=chapter in chosen,
            recompute=recompute,
        )
    ]
    if len(work) < len(book):
        print(f"{len(book) - len(work)} of {len(book)} chapters are up to date")
    # A chapter that computes already uses all cores.
    run_all(work, jobs=1 if computes else jobs or available_cores())
    fill_record(root, executed, book)
    return build_html(executed, root / "_build")


def copy_sources(root: Path, executed: Path, repository: str = "") -> None:
    """Copy everything but notebooks to the executed copies."""
    kept = {path.name for path in (root / "book").glob("*.ipynb")}
    for path in (executed / "book").glob("*"):
        if path.is_file() and path.name not in kept:
            path.unlink()
    shutil.copytree(
        root / "book",
        executed / "book",
        ignore=shutil.ignore_patterns("*.ipynb", ".ipynb_checkpoints"),
        dirs_exist_ok=True,
    )
    shutil.copy2(root / "_toc.yml", executed)
    config = yaml.safe_load((root / "_config.yml").read_text())
    config["execute"]["execute_notebooks"] = "off"
    if repository:
        config["repository"] = {"url": repository, "branch": "main"}
        config["launch_buttons"] = {"colab_url": "https://colab.research.google.com"}
        html = config.setdefault("html", {})
        html["use_repository_button"] = True
        html.setdefault("baseurl", pages_of(repository))
    (executed / "_config.yml").write_text(yaml.safe_dump(config))


def pages_of(repository: str) -> str:
    """Where GitHub publishes the pages of a repository; empty if it is elsewhere.

    Examples
    --------
    >>> pages_of("https://github.com/someone/book")
    'https://someone.github.io/book'
    """
    parts = urlsplit(repository)
    owner, _, name = parts.path.strip("/").partition("/")
    return f"https://{owner}.github.io/{name}" if parts.netloc == "github.com" else ""


def _execution(
    chapter: Chapter, root: Path, executed: Path, values: dict[str, dict], surroundings: str
) -> Execution:
    given = values.get(chapter.name, {})
    return Execution(
        source=chapter.source,
        target=executed / chapter.source.relative_to(root),
        directory=root,
        values=given,
        digest=freshness.of_chapter(chapter.source, given, surroundings),
    )


def _is_to_run(execution: Execution, *, chosen: bool, recompute: bool) -> bool:
    if not chosen:
        return not execution.target.exists()
    return recompute or not execution.is_done()


def fill_record(root: Path, executed: Path, book: Sequence[Chapter]) -> None:
    """Record how the chapters were executed, on the page for that."""
    if (root / RECORD).exists():
        facts = [record_of(executed / chapter.source.relative_to(root)) for chapter in book]
        (executed / RECORD).write_text(record.filled((root / RECORD).read_text(), book, facts))


def build_html(source: Path, output: Path) -> Path:
    """Build pages from executed sources, with warnings as errors; do nothing if nothing changed."""
    first, stamp = output / "html" / "index.html", output / "html" / ".made_from"
    digest = freshness.of_files(source)
    if first.exists() and stamp.exists() and stamp.read_text() == digest:
        return first
    if not stamp.exists():
        # The last build failed or was killed. Sphinx would not read its pages again, and their warnings
        # would be lost.
        shutil.rmtree(output / ".doctrees", ignore_errors=True)
    stamp.unlink(missing_ok=True)
    (output / "html" / PDF).unlink(missing_ok=True)  # of the pages before
    jupyter_book = Path(sys.executable).with_name("jupyter-book")
    options = ["--path-output", str(output.parent), "-W", "-n", "--keep-going"]
    command = [str(jupyter_book), "build", str(source), *options]
    environment = os.environ | {"PYDEVD_DISABLE_FILE_VALIDATION": "1"}
    result = subprocess.run(command, capture_output=True, text=True, env=environment)
    if result.returncode:
        # Sphinx reports progress on one stream and errors on the other.
        raise UserError(f"jupyter-book failed:\n{result.stderr or result.stdout}")
    _drop_pages_without_source(source, output / "html")
    stamp.write_text(digest)
    return first


def _drop_pages_without_source(source: Path, pages: Path) -> None:
    """Remove the pages of deleted chapters."""
    for page in (pages / "book").glob("*.html"):
        if not any((source / "book" / f"{page.stem}{kind}").exists() for kind in (".ipynb", ".md")):
            page.unlink()
