"""The page that records how the others were made: when, with which parameters, device and versions."""

import platform
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import pandas as pd

from vst.companion.driver.chapters import Chapter
from vst.companion.models import LIBRARIES
from vst.companion.report.tables import MarkdownTable
from vst.runtime import available_cores

#: Packages whose versions matter to the results.
PACKAGES = (
    "vst", "jax", "flax", "optax", "numpy", "pandas", "scikit-learn", "optuna", "matplotlib",
    "papermill", "jupyter-book", *LIBRARIES,
)  # fmt: skip

#: Placeholders for the tables in the page's source.
CHAPTERS, MACHINE = "<!-- chapters -->", "<!-- machine -->"


def filled(page: str, book: Sequence[Chapter], facts: Sequence[Mapping[str, Any]]) -> str:
    """The page with its two tables.

    Parameters
    ----------
    page
        Its source, with a placeholder for each table.
    book, facts
        The chapters, and papermill's record of each.
    """
    page = page.replace(CHAPTERS, _markdown(map(chapter_row, book, facts)))
    return page.replace(MACHINE, _markdown(machine_rows()))


def chapter_row(chapter: Chapter, facts: Mapping[str, Any]) -> dict[str, str]:
    """One execution with its parameters."""
    values = dict(facts.get("parameters", {}))
    has_profile = chapter.parameters.get("profile")
    start = datetime.fromisoformat(facts["start_time"])
    return {
        "Chapter": f"[{chapter.name}]({chapter.name})",
        "Profile": values.pop("profile", has_profile.default.strip('"') if has_profile else ""),
        "Parameters": ", ".join(f"{key} = {value}" for key, value in values.items()) or "defaults",
        "Started (UTC)": start.strftime("%Y-%m-%d %H:%M"),
        "Seconds": f"{facts['duration']:.0f}",
    }


def machine_rows() -> list[dict[str, str]]:
    """The machine that executed the chapters, and the installed versions."""
    import jax

    devices = jax.devices()
    facts = {
        "device": f"{devices[0].platform}: {devices[0].device_kind}",
        "cores": str(available_cores()),
        "system": f"{platform.system()} on {platform.machine()}",
        "Python": platform.python_version(),
        **{name: _version(name) for name in PACKAGES},
    }
    return [{"": name, "This book": value} for name, value in facts.items()]


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def _markdown(rows: Iterable[dict[str, str]]) -> str:
    return MarkdownTable(pd.DataFrame(list(rows)))._repr_markdown_()
