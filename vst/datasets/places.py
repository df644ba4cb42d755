"""The places of data files: the package, ``VST_DATA`` and the user's cache."""

import os
from pathlib import Path
from typing import Literal, NamedTuple

from vst.datasets.catalogue import DataFile, DatasetInfo
from vst.errors import DataError
from vst.runtime import user_cache

VARIABLE = "VST_DATA"

Place = Literal["bundled", "VST_DATA", "cache"]


class Found(NamedTuple):
    """A file of a data set, and where it was found."""

    path: Path
    file: DataFile
    place: Place


def find(info: DatasetInfo) -> Found | None:
    """Find a data set's file: in the package if bundled, else in ``VST_DATA``, then in the cache.

    The reader checks the file later. A wrong file in the first place is an error; the search never
    skips it.
    """
    places: list[tuple[Place, Path | None]]
    if info.bundled:
        places = [("bundled", bundled_directory())]
    else:
        places = [("VST_DATA", named_directory()), ("cache", cache_directory())]
    for place, directory in places:
        for file in info.files:
            if directory is not None and (directory / file.name).is_file():
                return Found(directory / file.name, file, place)
    return None


def bundled_directory() -> Path:
    """Directory of the bundled files: inside an installed package, or ``data/`` of a checkout."""
    here = Path(__file__).resolve()
    installed = here.parents[1] / "_bundled"
    return installed if installed.is_dir() else here.parents[2] / "data"


def in_checkout() -> bool:
    """Whether the bundled files belong to a checkout, where they may be written."""
    return bundled_directory().name == "data"


def named_directory() -> Path | None:
    """Directory named by the environment variable ``VST_DATA``, if it is set."""
    name = os.environ.get(VARIABLE)
    if not name:
        return None
    directory = Path(name).expanduser()
    if not directory.is_dir():
        raise DataError(f"{VARIABLE} names {name}, which is not a directory: correct or unset it")
    return directory


def cache_directory() -> Path:
    """Directory of downloads; it may not exist yet."""
    return user_cache() / "data"
