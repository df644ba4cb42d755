"""Names of data sets in experiments: a name in the catalogue, or ``file.csv:target``."""

import hashlib
from pathlib import Path

from vst.companion.models import Size
from vst.datasets import CATALOGUE, Dataset, load_dataset
from vst.datasets.places import bundled_directory, find
from vst.datasets.reading import checksum
from vst.encoding import TableEncoder
from vst.errors import UserError
from vst.tables import load_table

#: The regression data sets of the catalogue.
REGRESSION = tuple(info.name for info in CATALOGUE.values() if info.task == "regression")


#: The paper's regression data sets, in the column order of its tables.
PAPER_ORDER = (
    "power", "protein", "boston", "naval", "yacht", "song", "concrete", "energy", "kin8nm", "wine",
)  # fmt: skip


def papers() -> list[str]:
    """The paper's data sets. Without results on *song*, its part stands in, under its own name."""
    whole = (bundled_directory() / "results" / "regression" / "song.csv").exists()
    return ["song_8k" if name == "song" and not whole else name for name in PAPER_ORDER]


def load(name: str) -> Dataset:
    """Read a data set of the catalogue, or a user's file."""
    path, target = as_file(name)
    return load_table(path, target=target) if path else load_dataset(name)


def size(name: str) -> Size:
    """Rows and encoded features; for the catalogue's data sets, even if the data are missing here."""
    if name in CATALOGUE:
        return Size(CATALOGUE[name].rows, CATALOGUE[name].features)
    dataset = load(name)
    return Size(dataset.n, len(TableEncoder.fit(dataset.X).feature_names))


def label(name: str) -> str:
    """Name in tables and figures.

    Examples
    --------
    >>> label("song_8k"), label("tables/homes.csv:price")
    ('song (8k)', 'homes')
    """
    return CATALOGUE[name].label if name in CATALOGUE else _stem(name)


def file(name: str) -> str:
    """The name of a data set's results file; it changes when a user's file changes."""
    path, target = as_file(name)
    if not path:
        return name
    content = f"{target} of {checksum(Path(path).expanduser())}"
    return f"{_stem(name)}-{hashlib.sha256(content.encode()).hexdigest()[:8]}"


def _stem(name: str) -> str:
    return Path(as_file(name)[0] or name).name.split(".")[0]


def as_file(name: str) -> tuple[str, str]:
    """Path and target of a user's file; both are empty for a name in the catalogue.

    Examples
    --------
    >>> as_file("homes.csv:price"), as_file("boston")
    (('homes.csv', 'price'), ('', ''))
    """
    parts = name.split(":")
    splits = [(":".join(parts[:i]), ":".join(parts[i:])) for i in range(1, len(parts))]
    # The path and the column may contain colons: the longest path that exists wins.
    existing = [split for split in splits if Path(split[0]).expanduser().is_file()]
    return (existing or splits or [("", "")])[-1]


def is_file(name: str) -> bool:
    """Whether a name stands for a user's file."""
    return bool(as_file(name)[0])


def is_here(name: str) -> bool:
    """Whether a data set is on this machine; an empty name means that none is needed."""
    return not name or is_file(name) or find(CATALOGUE[name]) is not None


def check(names: list[str]) -> None:
    """Refuse unknown data sets and those not on this machine, before anything is computed."""
    known = [name for name in names if not is_file(name)]
    unknown = [name for name in known if name not in REGRESSION]
    if unknown:
        raise UserError(
            f"there is no regression data set {', '.join(unknown)}: choose from "
            f"{', '.join(REGRESSION)}, or name your own file with its target, as in homes.csv:price"
        )
    absent = [name for name in known if not is_here(name)]
    if absent:
        raise UserError(f"not on this machine: {', '.join(absent)}; download with `vst data fetch`")
    for name in set(names) - set(known):
        load(name)
