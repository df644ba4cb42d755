"""Every data set of the paper: the one place that knows their facts."""

import difflib

from vst.datasets.catalogue.bundled import BUNDLED
from vst.datasets.catalogue.fetched import PARTS, TO_FETCH
from vst.datasets.catalogue.info import DataFile, DatasetInfo, InPaper, Package
from vst.errors import DataError

__all__ = [
    "CATALOGUE",
    "PARTS",
    "WHOLE_SETS",
    "DataFile",
    "DatasetInfo",
    "InPaper",
    "Package",
    "describe",
]

#: The paper's fourteen data sets.
WHOLE_SETS: tuple[DatasetInfo, ...] = BUNDLED + TO_FETCH

#: Everything `load_dataset` knows, by name: those fourteen, then parts of two of them.
CATALOGUE: dict[str, DatasetInfo] = {info.name: info for info in WHOLE_SETS + PARTS}


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
