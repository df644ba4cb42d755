"""Reads a user's CSV or Parquet file; a faulty one raises an error that says what to do."""

import bz2
import codecs
import csv
import difflib
import gzip
import io
import lzma
import warnings
import zipfile
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import IO

import pandas as pd

from vst.datasets.reading import UNREADABLE
from vst.errors import DataError

CSV = (".csv", ".csv.gz", ".csv.bz2", ".csv.xz", ".csv.zip")
PARQUET = (".parquet", ".pq")

#: Also errors from compressed files that are damaged or need a password.
BROKEN = (*UNREADABLE, lzma.LZMAError, RuntimeError, csv.Error)

#: Bytes from which a file's encoding is guessed.
HEAD = 2**16


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
    require_unique(pd.Series(header), str(path))
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
        f"{path} must use commas and UTF-8, but looks {' and '.join(found)}: save it again "
        f"in that form, or pass the DataFrame of pd.read_csv({path.name!r}{call})"
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


def _check_named(names: list[str], where: str) -> None:
    if "" in names:
        raise DataError(
            f"column {names.index('') + 1} of {where} has no name: give it one, or drop it if it "
            "holds row numbers (df.to_csv(..., index=False) does not write them)"
        )


def require_unique(names: pd.Series, where: str) -> None:
    """Refuse a table with two columns of one name."""
    twice = names[names.duplicated()].unique()
    if len(twice):
        raise DataError(
            f"{where} has more than one column named {', '.join(map(repr, twice))}: "
            "rename or drop them"
        )
