"""The facts of every data set, read from ``catalogue.toml``.

To add a data set, put a file in ``data/`` and an entry in ``catalogue.toml``.
"""

import difflib
import tomllib
from dataclasses import dataclass
from importlib.resources import files
from typing import Any, Literal

from vst.errors import DataError

Task = Literal["regression", "classification", "bandit", "ood"]

#: File layouts; `vst.datasets.reading` has one reader for each.
Layout = Literal["csv", "categories", "ct", "song zip", "ct zip", "ratings", "stock text"]


@dataclass(frozen=True)
class DataFile:
    """One file form of a data set: its name, how to read it and how to check it.

    Attributes
    ----------
    name
        File name, in the repository's ``data/`` or in a data directory of the user.
    sha256
        Checksum of the file, or None if it is unknown.
    layout
        How the file is read.
    url
        Where to download the file, or None if it cannot be downloaded.
    caveat
        Shown beside every number that comes from this file; may be empty.
    """

    name: str
    sha256: str | None = None
    layout: Layout = "csv"
    url: str | None = None
    caveat: str = ""


@dataclass(frozen=True)
class Package:
    """The Python package that a bundled file was taken from."""

    name: str
    version: str
    licence: str
    member: str  #: the file inside the package's archive

    def __str__(self) -> str:
        return f"{self.name} {self.version}"


@dataclass(frozen=True)
class InPaper:
    """What the paper prints about a data set."""

    name: str
    rows: int | None = None
    features: int | None = None


@dataclass(frozen=True)
class DatasetInfo:
    """The facts of one data set.

    Attributes
    ----------
    name
        The name `load_dataset` takes.
    title
        What the data are, in a few words.
    task
        What they are used for; the paper has no classification.
    rows, features
        Shape of the table without its targets.
    target
        Column to predict; None if the bandit generates its own rewards.
    target_label
        The target with its unit, for the axis of a figure.
    gaps
        Number of missing values.
    arms
        Number of trailing columns that hold the rewards of a bandit's arms.
    limits
        Bounds of the target (of the whole table, for a bandit), or None.
    source, url, licence, citation
        Where the data come from, and their terms of use.
    files
        The file forms of the data set, best first.
    paper
        What the paper prints about it, if anything.
    bundled
        Whether the file comes with the package.
    package
        The package that a bundled file was taken from, if any.
    changes
        How the file differs from the source.
    note
        What a user should know before relying on the data.
    part_of
        Name of the data set this is a part of. A part has its own name and never replaces the
        whole.
    label
        Name in tables and figures.
    """

    name: str
    title: str
    task: Task
    rows: int
    features: int
    source: str
    url: str
    licence: str
    citation: str
    files: tuple[DataFile, ...]
    target: str | None = None
    limits: tuple[float, float] | None = None
    paper: InPaper | None = None
    bundled: bool = False
    package: Package | None = None
    target_label: str = ""
    gaps: int = 0
    arms: int = 0
    changes: str = "nothing"
    note: str = ""
    part_of: str | None = None
    label: str = ""

    def __post_init__(self) -> None:
        if not self.label:
            object.__setattr__(self, "label", self.name.replace("_", " "))

    @property
    def download(self) -> DataFile | None:
        """The file that can be downloaded, if there is one."""
        return next((file for file in self.files if file.url), None)


def _info(entry: dict[str, Any]) -> DatasetInfo:
    """The facts of one entry of ``catalogue.toml``."""
    nested = {
        "files": tuple(DataFile(**file) for file in entry["files"]),
        "limits": tuple(entry["limits"]) if "limits" in entry else None,
        "paper": InPaper(**entry["paper"]) if "paper" in entry else None,
        "package": Package(**entry["package"]) if "package" in entry else None,
    }
    return DatasetInfo(**{**entry, **nested})


_ENTRIES = tomllib.loads(files("vst.datasets").joinpath("catalogue.toml").read_text("utf-8"))

#: All data sets of `load_dataset`, by name, in the file's order.
CATALOGUE: dict[str, DatasetInfo] = {info.name: info for info in map(_info, _ENTRIES["dataset"])}

#: Complete data sets, and parts of them, which have their own names.
WHOLE_SETS = tuple(info for info in CATALOGUE.values() if info.part_of is None)
PARTS = tuple(info for info in CATALOGUE.values() if info.part_of is not None)


def describe(name: str) -> DatasetInfo:
    """The facts of a data set, by name.

    >>> describe("yacht").rows
    308
    """
    if name in CATALOGUE:
        return CATALOGUE[name]
    close = difflib.get_close_matches(str(name), CATALOGUE, n=1)
    hint = f"did you mean {close[0]!r}? " if close else ""
    raise DataError(
        f"there is no data set {name!r}: {hint}the names are {', '.join(CATALOGUE)}; "
        "use load_table to read your own table"
    )
