"""Results as tidy CSV files, one per data set, that survive a kill at any moment.

Rows are only ever appended, each batch in one write that is flushed to the disk. A write that was cut
off leaves a last line without its end, which the next reader or writer drops.
"""

import csv
import io
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pandas as pd


class Store:
    """A directory of result files.

    Parameters
    ----------
    directory
        Where the files are; made when the first row is written.
    columns
        Columns of every file, in order.
    unique
        Columns that identify a row; of several such rows the last one written counts.
    """

    def __init__(self, directory: Path, columns: Iterable[str], unique: Iterable[str] = ("key",)):
        self.directory = directory
        self.columns = tuple(columns)
        self.unique = tuple(unique)

    def append(self, name: str, rows: Iterable[dict[str, Any]]) -> None:
        """Add rows to the file of one data set."""
        self.directory.mkdir(parents=True, exist_ok=True)
        path = self.directory / f"{name}.csv"
        text = io.StringIO()
        writer = csv.DictWriter(text, self.columns, lineterminator="\n")
        new = not path.exists() or _drop_torn_line(path) == 0
        if new:
            writer.writeheader()
        writer.writerows(rows)
        with path.open("ab") as file:
            file.write(text.getvalue().encode())
            file.flush()
            os.fsync(file.fileno())

    def load(self, names: Iterable[str] | None = None) -> pd.DataFrame:
        """All rows, or those of some data sets."""
        if names is None:
            names = sorted(path.stem for path in self.directory.glob("*.csv"))
        frames = [self._read(self.directory / f"{name}.csv") for name in names]
        rows = pd.concat([frame for frame in frames if len(frame)] or [self._empty()])
        return rows.drop_duplicates(list(self.unique), keep="last").reset_index(drop=True)

    def _read(self, path: Path) -> pd.DataFrame:
        if not path.exists():
            return self._empty()
        complete = path.read_bytes().rpartition(b"\n")[0]
        if not complete:
            return self._empty()
        return pd.read_csv(io.BytesIO(complete), dtype={"key": str})

    def _empty(self) -> pd.DataFrame:
        return pd.DataFrame(columns=list(self.columns))


def _drop_torn_line(path: Path) -> int:
    """Cut off what follows the last line's end; return the length of what is left."""
    content = path.read_bytes()
    length = content.rfind(b"\n") + 1
    if length < len(content):
        os.truncate(path, length)
    return length
