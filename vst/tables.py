"""Loads a user's own table as a `Dataset`, like those of the catalogue."""

import bz2
import codecs
import csv
import difflib
import gzip
import hashlib
import io
import lzma
import warnings
import zipfile
from collections.abc import Callable, Iterator
from itertools import islice
from os import PathLike
from pathlib import Path
from typing import IO

import numpy as np
import pandas as pd

from vst.datasets.dataset import Dataset
from vst.datasets.reading import UNREADABLE, checksum
from vst.errors import DataError

CSV = (".csv", ".csv.gz", ".csv.bz2", ".csv.xz", ".csv.zip")
PARQUET = (".parquet", ".pq")

#: Also errors from compressed files that are damaged or need a password.
BROKEN = (*UNREADABLE, lzma.LZMAError, RuntimeError, csv.Error)

#: Bytes from which a file's encoding is guessed.
HEAD = 2**16

#: What people write where a number is missing, in lower case.
CODES = {
    "?", "-", "--", ".", "..", "*", "na", "n/a", "#n/a", "n.a.", "nan", "<na>", "nil", "null",
    "none", "missing", "unknown", "#value!", "#div/0!",
}  # fmt: skip

#: A column with at most this share of words is numeric with codes, not categorical.
FEW_WORDS = 0.05


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
        Name in tables and figures; by default the file's name.

    Returns
    -------
    Dataset
        Text columns stay text; preparing the data turns them into one column per category. An empty
        cell is a missing value. Words like ``NA`` are missing values in numeric columns only.

    Examples
    --------
    >>> frame = pd.DataFrame({"size": [1, 2, 3], "kind": ["a", "b", "a"], "price": [1.5, 2.5, 3.0]})
    >>> load_table(frame, target="price").d
    2
    """
    frame_given = isinstance(path_or_frame, pd.DataFrame)
    if isinstance(path_or_frame, pd.DataFrame):
        table, where, name = path_or_frame.copy(), "the DataFrame", name or "table"
        source = "a DataFrame"
        table.columns = table.columns.map(str)
    else:
        path = Path(path_or_frame).expanduser()
        table, where, name = read_table(path), str(path), name or path.name.split(".")[0]
        source = path.name
    target = str(target)
    _check_columns(table, target, where)
    table[target] = _numeric_target(table[target], where)
    table = table[[column for column in table.columns if column != target] + [target]]
    refuse_codes(table, where)
    return Dataset(
        name=name,
        table=table.reset_index(drop=True),
        targets=(target,),
        source=source,
        licence="the user's",
        sha256=_checksum_of_values(table) if frame_given else checksum(path),
        label=name,
    )


def read_table(path: Path) -> pd.DataFrame:
    """Read a CSV or Parquet file; a faulty file raises a `DataError` that says what to do."""
    if not path.is_file():
        near = difflib.get_close_matches(
            path.name, [p.name for p in path.parent.iterdir()] if path.parent.is_dir() else [], n=1
        )
        hint = f"; is it {path.parent / near[0]}?" if near else ""
        raise DataError(f"there is no file {path}{hint}")
    if path.stat().st_size == 0:
        raise DataError(f"{path} is empty: it needs a row of column names and rows of values")
    if not path.name.lower().endswith(CSV + PARQUET):
        raise DataError(
            f"{path} has an unsupported file type: use {', '.join(CSV[:2] + PARQUET[:1])}, "
            "or read it with pandas and pass the DataFrame"
        )
    try:
        is_csv = path.name.lower().endswith(CSV)
        table = _read_csv(path) if is_csv else pd.read_parquet(path)
    except DataError:
        raise
    except ImportError as error:
        raise DataError(
            f"reading {path.name} needs another package: pip install pyarrow ({error})"
        ) from error
    except BROKEN as error:
        raise DataError(f"{path} cannot be read as a table: {error}{_advice(path)}") from error
    table.columns = table.columns.map(str)
    return table


def _advice(path: Path) -> str:
    """What to do with a file that cannot be read."""
    if path.suffix.lower() == ".csv":
        return ""
    if path.name.lower().endswith(PARQUET):
        return "; it is damaged or not a Parquet file: copy it again"
    kind = path.suffix
    return (
        f"; it is damaged or not a {kind} file: copy it again, or unpack it and pass the .csv file"
    )


def _read_csv(path: Path) -> pd.DataFrame:
    header = _header(path)
    _check_named(header, str(path))
    # pandas would rename the second of two equal columns and so hide the mistake.
    _check_unique(pd.Series(header), str(path))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", pd.errors.DtypeWarning)  # _with_words handles it
            table = pd.read_csv(path)
    except UnicodeDecodeError as error:
        raise _needs_options(path, {"encoding": _one_byte_encoding(error)}) from error
    except pd.errors.ParserError:
        _check_lengths(path, len(header))
        raise
    if len(table) and not isinstance(table.index, pd.RangeIndex):
        # The first row is longer than the header: pandas used its first value as the index.
        _check_lengths(path, len(header))
    return _with_words(table, path)


def _with_words(table: pd.DataFrame, path: Path) -> pd.DataFrame:
    """Read text columns again if pandas took words like NA as missing, or some values as numbers."""
    mixed = [
        str(name)
        for name, column in table.items()
        if not pd.api.types.is_numeric_dtype(column)
        and (column.isna().any() or pd.api.types.infer_dtype(column) != "string")
    ]
    if mixed:
        table[mixed] = pd.read_csv(
            path, usecols=mixed, dtype=str, keep_default_na=False, na_values=[""]
        )
    return table


def _header(path: Path) -> list[str]:
    """The column names of a comma-separated UTF-8 file; other formats raise an error."""
    encoding = _encoding(path)
    options = {} if encoding == "utf-8" else {"encoding": encoding}
    first = [row for _, row in islice(_rows(path, encoding), 2)]
    if not first:
        raise DataError(f"{path} is empty: it needs a row of column names and rows of values")
    if not _agree(first):
        for separator in ";\t|":
            if _agree([row for _, row in islice(_rows(path, encoding, separator), 2)]):
                options["sep"] = separator
    if options:
        raise _needs_options(path, options)
    return first[0]


def _agree(rows: list[list[str]]) -> bool:
    """Whether the rows have the same number of values, and more than one."""
    return len(rows[0]) > 1 and len(rows[0]) == len(rows[-1])


def _needs_options(path: Path, options: dict[str, str]) -> DataError:
    names = {";": "semicolons", "\t": "tabs", "|": "vertical bars"}
    separator, encoding = options.get("sep"), options.get("encoding")
    found = [f"separated by {names[separator]}"] if separator else []
    found += [f"encoded in {encoding}"] if encoding else []
    call = "".join(f", {option}={value!r}" for option, value in options.items())
    return DataError(
        f"{path} must use commas and UTF-8, but looks {' and '.join(found)}: read it with "
        f"pd.read_csv({path.name!r}{call}) and pass the DataFrame"
    )


def _encoding(path: Path) -> str:
    with _opened(path) as stream:
        head = stream.read(HEAD)
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    for encoding, bytes_ in (("utf-16-le", head[1::2]), ("utf-16-be", head[::2])):
        if 2 * bytes_.count(0) > len(bytes_):  # half of the bytes of plain letters are zero
            return encoding
    if 0 in head:
        raise DataError(
            f"{path} is not a text file: if it is compressed, its name must end in "
            f"{' or '.join(CSV[1:])}"
        )
    try:
        codecs.getincrementaldecoder("utf-8")().decode(head)
    except UnicodeDecodeError as error:
        return _one_byte_encoding(error)
    return "utf-8"


def _one_byte_encoding(error: UnicodeDecodeError) -> str:
    """Windows uses 0x80 to 0x9f for quotes and the euro; Latin-1 has no printable characters there."""
    return "cp1252" if error.object[error.start] < 0xA0 else "latin-1"


def _rows(path: Path, encoding: str, separator: str = ",") -> Iterator[tuple[int, list[str]]]:
    """The raw rows of a CSV file, without blank ones, and the line numbers they end at."""
    encoding = "utf-8-sig" if encoding == "utf-8" else encoding
    with _opened(path) as stream, io.TextIOWrapper(stream, encoding, "replace", "") as text:
        reader = csv.reader(text, delimiter=separator)
        yield from ((reader.line_num, row) for row in reader if row)


def _opened(path: Path) -> IO[bytes]:
    openers: dict[str, Callable] = {
        ".gz": gzip.open,
        ".bz2": bz2.open,
        ".xz": lzma.open,
        ".zip": _open_zip,
    }
    return openers.get(path.suffix.lower(), open)(path, "rb")


def _open_zip(path: Path, _: str) -> IO[bytes]:
    archive = zipfile.ZipFile(path)
    if len(archive.namelist()) != 1:
        raise DataError(
            f"{path} must hold one file, got {len(archive.namelist())}: unpack it and pass the .csv file"
        )
    return archive.open(archive.namelist()[0])


def _check_lengths(path: Path, names: int) -> None:
    for line, row in _rows(path, "utf-8"):
        if len(row) > names:
            raise DataError(
                f"{path} cannot be read as a table: line {line} has {len(row)} values, but the header "
                f"has {names} names; remove the extra values, such as a comma at the line's end, or "
                "put values that contain a comma in double quotes"
            )


def _check_columns(table: pd.DataFrame, target: str, where: str) -> None:
    _check_unique(table.columns.to_series(), where)
    if target not in table.columns:
        near = difflib.get_close_matches(target, table.columns, n=1, cutoff=0.5)
        hint = f"did you mean {near[0]!r}? " if near else ""
        names = ", ".join(table.columns[:30]) + (", ..." if len(table.columns) > 30 else "")
        raise DataError(f"{where} has no column {target!r}: {hint}its columns are {names}")
    if len(table) == 0:
        raise DataError(f"{where} has column names but no rows: add rows of values")
    if table.shape[1] < 2:
        raise DataError(
            f"{where} has no column besides the target {target!r}: add columns to predict it from"
        )


def _check_named(names: list[str], where: str) -> None:
    if "" in names:
        raise DataError(
            f"column {names.index('') + 1} of {where} has no name: give it one, or drop it if it "
            "holds row numbers (df.to_csv(..., index=False) does not write them)"
        )


def _check_unique(names: pd.Series, where: str) -> None:
    twice = names[names.duplicated()].unique()
    if len(twice):
        raise DataError(
            f"{where} has more than one column named {', '.join(map(repr, twice))}: "
            "rename or drop them"
        )


def refuse_codes(table: pd.DataFrame, where: str) -> None:
    """Refuse numeric columns that contain a few words such as ``?``.

    The words make such a column text, so it would become one column per number.
    """
    for name, column in table.items():
        if column.dtype == object or isinstance(column.dtype, pd.StringDtype):
            present = column.dropna().astype(str)
            words = present[pd.to_numeric(present, errors="coerce").isna()]
            are_codes = words.str.strip().str.lower().isin(CODES).all()
            if 0 < len(words) < len(present) and (
                are_codes or len(words) <= FEW_WORDS * len(present)
            ):
                raise _code_error(str(name), words, len(column), where)


def _code_error(name: str, words: pd.Series, rows: int, where: str) -> DataError:
    values = words.unique().tolist()
    shown = ", ".join(map(repr, values[:3])) + (", ..." if values[3:] else "")
    return DataError(
        f"column {name!r} of {where} holds numbers, but {shown} in {len(words)} of {rows} rows: if this "
        f"marks missing values, read the file with pd.read_csv(..., na_values={values[:3]}), drop or "
        "fill in these rows and pass the DataFrame; if the column holds categories, pass the "
        f"DataFrame with df[{name!r}].astype('category')"
    )


def _numeric_target(column: pd.Series, where: str) -> pd.Series:
    if pd.api.types.is_datetime64_any_dtype(column):
        raise DataError(
            f"the target {column.name!r} of {where} must hold numbers, got dates: convert them, "
            "for example to days since a date"
        )
    numbers = pd.to_numeric(column, errors="coerce")
    words = column[numbers.isna() & column.notna()]
    if len(words):
        raise DataError(
            f"the target {column.name!r} of {where} must hold numbers, because this is regression; "
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
