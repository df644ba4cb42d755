"""Every data set: what the catalogue says about it, read from ``catalogue.toml``.

A new data set is a file in ``data/`` and an entry there.
"""

import difflib
import tomllib
from dataclasses import dataclass
from importlib.resources import files
from typing import Any, Literal

from vst.errors import DataError

Task = Literal["regression", "bandit", "ood"]

#: How a file is laid out; `vst.datasets.reading` has one reader for each.
Layout = Literal["csv", "categories", "ct", "song zip", "ct zip", "ratings", "stock text"]


@dataclass(frozen=True)
class DataFile:
    """One form in which a data set comes: a file name, how to read it, and how to know it is right.

    Attributes
    ----------
    name
        File name, in the repository's ``data/`` or in a data directory of the user's.
    sha256
        Checksum of the file, or None where the publisher gives none and none is known.
    layout
        How the file is read.
    url
        Where the file is downloaded from, or None if it is not.
    caveat
        What to say beside every number that comes from this file; empty if nothing.
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
    """What the paper says of a data set: its name, and the numbers printed for it."""

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
        What the paper uses them for.
    rows, features
        Shape of the table without its targets.
    target
        Column to predict; None where the bandit makes its own rewards.
    target_label
        What the target is, with its unit, for the axis of a figure.
    arms
        Number of last columns that are the rewards of a bandit's arms.
    limits
        Bounds that no value of the target passes (no value of the table, for a bandit's); None
        where there are none.
    source, url, licence, citation
        Where the data come from, and on what terms.
    files
        The forms the data set comes in, best first.
    paper
        What the paper says of it, if it does.
    bundled
        Whether the file comes with the package.
    package
        The package that a bundled file was taken from, if it was.
    changes
        What was changed on the way from the source to the file.
    note
        What a user should know before relying on the data.
    part_of
        Name of the data set this is a part of. A part has a name of its own and never stands in
        for the whole.
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
        """The form that can be downloaded, if there is one."""
        return next((file for file in self.files if file.url), None)


def _info(entry: dict[str, Any]) -> DatasetInfo:
    """The facts of one entry of the file."""
    nested = {
        "files": tuple(DataFile(**file) for file in entry["files"]),
        "limits": tuple(entry["limits"]) if "limits" in entry else None,
        "paper": InPaper(**entry["paper"]) if "paper" in entry else None,
        "package": Package(**entry["package"]) if "package" in entry else None,
    }
    return DatasetInfo(**{**entry, **nested})


_ENTRIES = tomllib.loads(files("vst.datasets").joinpath("catalogue.toml").read_text("utf-8"))

#: Everything `load_dataset` knows, by name, in the file's order.
CATALOGUE: dict[str, DatasetInfo] = {info.name: info for info in map(_info, _ENTRIES["dataset"])}

#: Data sets, and parts of them under names of their own.
WHOLE_SETS = tuple(info for info in CATALOGUE.values() if info.part_of is None)
PARTS = tuple(info for info in CATALOGUE.values() if info.part_of is not None)


def describe(name: str) -> DatasetInfo:
    """Facts of a data set by its name.

    >>> describe("yacht").rows
    308
    """
    if name in CATALOGUE:
        return CATALOGUE[name]
    close = difflib.get_close_matches(str(name), CATALOGUE, n=1)
    hint = f"did you mean {close[0]!r}? " if close else ""
    raise DataError(
        f"there is no data set {name!r}: {hint}the names are {', '.join(CATALOGUE)}; "
        "a table of your own is read with load_table"
    )
