"""A table of the user's own, as the same object that the catalogue's data sets are."""

import difflib
import hashlib
from os import PathLike
from pathlib import Path

import numpy as np
import pandas as pd

from vst.datasets.dataset import Dataset
from vst.datasets.reading import UNREADABLE, checksum
from vst.errors import DataError

CSV = (".csv", ".csv.gz", ".csv.bz2", ".csv.xz", ".csv.zip")
PARQUET = (".parquet", ".pq")


def load_table(
    path_or_frame: str | PathLike[str] | pd.DataFrame, *, target: str, name: str | None = None
) -> Dataset:
    """Make a data set of a CSV or Parquet file, or of a DataFrame.

    Parameters
    ----------
    path_or_frame
        A ``.csv`` file (also compressed, ``.csv.gz``), a ``.parquet`` file, or a DataFrame.
    target
        The column to predict, which must hold numbers.
    name
        What to call it in tables; by default the file's name.

    Returns
    -------
    Dataset
        Text columns stay text: they become one column per category when the data are prepared.

    Examples
    --------
    >>> frame = pd.DataFrame({"size": [1, 2, 3], "kind": ["a", "b", "a"], "price": [1.5, 2.5, 3.0]})
    >>> load_table(frame, target="price").d
    2
    """
    if isinstance(path_or_frame, pd.DataFrame):
        table, where, name = path_or_frame.copy(), "the DataFrame", name or "table"
        source = "a DataFrame"
    else:
        path = Path(path_or_frame).expanduser()
        table, where, name = _read(path), str(path), name or path.name.split(".")[0]
        source = path.name
    table.columns = table.columns.map(str)
    target = str(target)
    _check_columns(table, target, where)
    table[target] = _numeric_target(table[target], where)
    table = table[[column for column in table.columns if column != target] + [target]]
    frame_given = isinstance(path_or_frame, pd.DataFrame)
    return Dataset(
        name=name,
        table=table.reset_index(drop=True),
        targets=(target,),
        source=source,
        licence="the user's",
        sha256=_checksum_of_values(table) if frame_given else checksum(path),
        label=name,
    )


def _read(path: Path) -> pd.DataFrame:
    if not path.is_file():
        near = difflib.get_close_matches(
            path.name, [p.name for p in path.parent.iterdir()] if path.parent.is_dir() else [], n=1
        )
        hint = f"; is it {path.parent / near[0]}?" if near else ""
        raise DataError(f"there is no file {path}{hint}")
    if path.stat().st_size == 0:
        raise DataError(f"{path} is empty: it needs a row of column names and rows of values")
    lower = path.name.lower()
    try:
        if lower.endswith(PARQUET):
            return pd.read_parquet(path)
        if lower.endswith(CSV):
            # pandas would rename the second of two equal columns, and hide the mistake.
            header = pd.read_csv(path, header=None, nrows=1, dtype=str).iloc[0]
            _check_named(header, str(path))
            _check_unique(header, str(path))
            return pd.read_csv(path)
    except DataError:
        raise
    except ImportError as error:
        raise DataError(
            f"reading {path.name} needs another package: pip install pyarrow ({error})"
        ) from error
    except UNREADABLE as error:
        raise DataError(f"{path} cannot be read as a table: {error}") from error
    raise DataError(
        f"{path} is of no kind that is read here: use {', '.join(CSV[:2] + PARQUET[:1])}, "
        "or read it with pandas and pass the DataFrame"
    )


def _check_columns(table: pd.DataFrame, target: str, where: str) -> None:
    _check_unique(table.columns.to_series(), where)
    if target not in table.columns:
        near = difflib.get_close_matches(target, table.columns, n=1, cutoff=0.5)
        hint = f"did you mean {near[0]!r}? " if near else ""
        names = ", ".join(table.columns[:30]) + (", ..." if len(table.columns) > 30 else "")
        raise DataError(f"{where} has no column {target!r}: {hint}its columns are {names}")
    if len(table) == 0:
        raise DataError(f"{where} has column names but no rows")
    if table.shape[1] < 2:
        raise DataError(f"{where} has the target {target!r} and no other column to predict it from")


def _check_named(names: pd.Series, where: str) -> None:
    if names.isna().any():
        raise DataError(
            f"column {int(names.isna().argmax()) + 1} of {where} has no name: give it one, or drop it "
            "if it holds row numbers, which pandas does not write with df.to_csv(..., index=False)"
        )


def _check_unique(names: pd.Series, where: str) -> None:
    twice = names[names.duplicated()].unique()
    if len(twice):
        raise DataError(
            f"{where} has more than one column named {', '.join(map(repr, twice))}: "
            "rename or drop them"
        )


def _numeric_target(column: pd.Series, where: str) -> pd.Series:
    if pd.api.types.is_datetime64_any_dtype(column):
        raise DataError(f"the target {column.name!r} of {where} must hold numbers, it holds dates")
    numbers = pd.to_numeric(column, errors="coerce")
    words = column[numbers.isna() & column.notna()]
    if len(words):
        raise DataError(
            f"the target {column.name!r} of {where} must hold numbers, since this is regression; "
            f"{len(words)} of {len(column)} rows do not, for example {words.iloc[0]!r}"
        )
    values = numbers.to_numpy(float, na_value=np.nan)
    bad = int((~np.isfinite(values)).sum())
    if bad:
        raise DataError(
            f"the target {column.name!r} of {where} is missing or infinite in {bad} of "
            f"{len(values)} rows: drop them, for example with df.dropna(subset=[{column.name!r}])"
        )
    return pd.Series(values, index=column.index, name=column.name)


def _checksum_of_values(table: pd.DataFrame) -> str:
    digest = hashlib.sha256("\n".join(table.columns).encode())
    digest.update(pd.util.hash_pandas_object(table, index=False).to_numpy().tobytes())
    return digest.hexdigest()
