"""Results as tidy CSV files, one per data set, that survive a kill at any moment.

Rows are appended: each batch in one write that is flushed to disk, under a lock on the file
itself, which the operating system releases when its holder dies. An interrupted write leaves an
incomplete last line, which the next writer drops. A reader keeps every complete line and reports the
others.
"""

import csv
import io
import os
import sys
import tempfile
import time
import warnings
from collections.abc import Container, Iterable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import IO, Any

import pandas as pd

from vst.errors import UserError

PROBE_BYTES = 2**16
SHOWN = 5  # damaged lines that a warning lists


class DamagedResultsWarning(UserWarning):
    """Some lines of a results file are unusable; the others were read."""


class Store:
    """A directory of result files.

    Parameters
    ----------
    directory
        Where the files are; created with the first row.
    columns
        Columns of every file, in order.
    unique
        Columns that identify a row; of several equal rows the last one counts.
    """

    def __init__(self, directory: Path, columns: Iterable[str], unique: Iterable[str] = ("key",)):
        self.directory = directory
        self.columns = tuple(columns)
        self.unique = tuple(unique)

    def append(self, name: str, rows: Iterable[dict[str, Any]]) -> None:
        """Add rows to the file of one data set: all of them, or none and a ``UserError``."""
        lines = _lines(rows, self.columns)
        path = self._path(name)
        try:
            self.directory.mkdir(parents=True, exist_ok=True)
            with _locked(path, "a+b") as file:
                length = _appendable_length(file, path, self.columns)
                _write(file, length, b"".join(lines if length else [_header(self.columns), *lines]))
        except OSError as error:
            lost = "1 row is" if len(lines) == 1 else f"{len(lines)} rows are"
            raise UserError(
                f"{path} cannot be written to: {_reason(error)}. {lost} lost; all earlier ones are "
                "kept. Fix this and run the same command again: it continues from there."
            ) from error

    def load(self, names: Iterable[str] | None = None) -> pd.DataFrame:
        """All rows, or those of some data sets; a ``DamagedResultsWarning`` names unusable lines."""
        frames, damages = [], []
        for name in self._names() if names is None else names:
            columns, lines, faults = _examine(_content(self._path(name)), self.columns, self.unique)
            damages += [f"{name}.csv {fault}" for fault in faults]
            if lines:
                frames.append(_frame(columns, lines))
        if damages:
            shown = damages[:SHOWN] + [f"{len(damages) - SHOWN} more"] * (len(damages) > SHOWN)
            message = f"{self.directory} has damaged results; only complete lines are used:"
            warnings.warn("\n- ".join([message, *shown]), DamagedResultsWarning, stacklevel=2)
        rows = pd.concat(frames or [_frame(self.columns, [])]).reindex(columns=list(self.columns))
        return rows.drop_duplicates(list(self.unique), keep="last").reset_index(drop=True)

    def keep(self, keys: Container[str]) -> int:
        """Keep only the rows with these keys, and the last of equal ones; return how many were removed.

        Each file is replaced as a whole, so a kill leaves it as it was or as it should be.
        """
        return sum(self._keep(name, keys) for name in self._names())

    def _keep(self, name: str, keys: Container[str]) -> int:
        path = self._path(name)
        with _locked(path, "r+b") as file:
            columns, lines, faults = _examine(file.read(), self.columns, self.unique)
            if faults:
                raise UserError(f"{path} is damaged: {faults[0]} Nothing was removed from it.")
            rows = [dict(zip(columns, _fields(line), strict=True)) for line in lines]
            last = {tuple(row[name] for name in self.unique): i for i, row in enumerate(rows)}
            left = [lines[i] for i in sorted(last.values()) if rows[i]["key"] in keys]
            if len(left) < len(lines):
                _replace(path, b"".join(line + b"\n" for line in [_header(columns)[:-1], *left]))
        return len(lines) - len(left)

    def require_writable(self, names: Iterable[str] | None = None) -> None:
        """Raise a ``UserError`` if rows cannot be appended to all files, or those of some data sets."""
        path = self.directory
        try:
            path.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=path, buffering=0) as probe:
                # Random bytes: some file systems store zeros without using space.
                _write(probe, 0, os.urandom(PROBE_BYTES))
            for name in self._names() if names is None else names:
                path = self._path(name)
                with suppress(FileNotFoundError), _locked(path, "r+b") as file:
                    _appendable_length(file, path, self.columns)
        except OSError as error:
            raise UserError(
                f"results cannot be written to {path}: {_reason(error)}. Fix this or choose "
                "another directory."
            ) from error

    def _path(self, name: str) -> Path:
        return self.directory / f"{name}.csv"

    def _names(self) -> list[str]:
        return sorted(path.stem for path in self.directory.glob("*.csv"))


def _lines(rows: Iterable[dict[str, Any]], columns: tuple[str, ...]) -> list[bytes]:
    """Rows as lines of CSV; values that a reader would report as damage are refused."""
    text = io.StringIO()
    csv.DictWriter(text, columns, lineterminator="\n").writerows(rows)
    *lines, _ = text.getvalue().encode().split(b"\n")
    for line in lines:
        if fault := _fault(line, columns):
            raise ValueError(f"a value cannot be stored on one line of CSV: {line!r} {fault}")
    return [line + b"\n" for line in lines]


def _header(columns: tuple[str, ...]) -> bytes:
    return ",".join(columns).encode() + b"\n"


def _frame(columns: tuple[str, ...], lines: list[bytes]) -> pd.DataFrame:
    return pd.read_csv(io.BytesIO(_header(columns) + b"\n".join(lines)), dtype={"key": str})


def _examine(
    content: bytes, columns: tuple[str, ...], unique: tuple[str, ...]
) -> tuple[tuple[str, ...], list[bytes], list[str]]:
    """The columns of a file, its complete lines, and the faults of the others."""
    *lines, torn = content.split(b"\n")
    cut = f"line {len(lines) + 1} is cut off, as by a kill"
    if _is_begun_header(content, columns):
        return columns, [], [f"{cut}: the next write drops it"] if torn else []
    header = (lines or [torn])[0]
    found, problem = _header_fields(header), _header_problem(header, columns)
    if not _is_earlier(found, columns) or not set(unique) <= set(found):
        return columns, [], [f"line 1 {problem} None of its rows are used."]
    checked = [(line, _fault(line, found)) for line in lines[1:]]
    faults = [f"line 1 {problem} Its rows are used."] if problem else []
    faults += [f"line {i} {fault}" for i, (_, fault) in enumerate(checked, start=2) if fault]
    if torn:
        faults.append(cut + (": remove it" if problem else ": the next write drops it"))
    return found, [line for line, fault in checked if not fault], faults


def _fault(line: bytes, columns: tuple[str, ...]) -> str:
    """The fault of a line; empty if it is a valid row."""
    if b"\0" in line:
        return "has NUL bytes"
    try:
        fields = _fields(line)
    except UnicodeDecodeError:
        return "is not UTF-8"
    except csv.Error as error:
        return f"is not CSV ({error})"
    if fields == columns:
        return "repeats the header"
    if len(fields) != len(columns):
        return f"has the wrong number of fields: {len(fields)} instead of {len(columns)}"
    return ""


def _fields(line: bytes) -> tuple[str, ...]:
    # Windows editors put a byte order mark before the header.
    return tuple(next(csv.reader([line.decode("utf-8-sig")], strict=True)))


def _header_fields(line: bytes) -> tuple[str, ...]:
    """The columns of a header; none if it cannot be read."""
    try:
        return _fields(line)
    except (UnicodeDecodeError, csv.Error):
        return ()


def _is_begun_header(content: bytes, columns: tuple[str, ...]) -> bool:
    """Whether a file is empty or its first write was cut off in the header."""
    return b"\n" not in content and _header(columns).startswith(content)


def _is_earlier(found: tuple[str, ...], columns: tuple[str, ...]) -> bool:
    """Whether a header has only columns of the store, in any order."""
    return 0 < len(found) == len(set(found)) and set(found) <= set(columns)


def _header_problem(header: bytes, columns: tuple[str, ...]) -> str:
    """The fault of a header and how to fix it; empty if there is none."""
    found = _header_fields(header)
    if found == columns:
        return ""
    shown = header[:300].decode(errors="backslashreplace").strip()
    expected = f'expected "{",".join(columns)}", found "{shown}".'
    if not _is_earlier(found, columns):
        return f"is a foreign header: {expected} Move the file away or choose another directory."
    lacking = [column for column in columns if column not in found]
    what = f"lacks {', '.join(lacking)}" if lacking else "has the columns in another order"
    return (
        f"{what}: {expected} To migrate the file, rewrite it with the expected columns in that "
        "order, new ones empty; or move it away to compute its rows again."
    )


def _appendable_length(file: IO[bytes], path: Path, columns: tuple[str, ...]) -> int:
    """Where to append: after the last complete line of a file with the right header."""
    file.seek(0)
    content = file.read()
    if _is_begun_header(content, columns):
        return 0
    if problem := _header_problem(content.partition(b"\n")[0], columns):
        raise UserError(f"nothing can be appended to {path}: line 1 {problem}")
    return content.rfind(b"\n") + 1


def _content(path: Path) -> bytes:
    """A file's content while nobody is writing to it; empty if there is no file."""
    try:
        with _locked(path, "rb") as file:
            return file.read()
    except (FileNotFoundError, NotADirectoryError):
        return b""
    except OSError as error:
        raise UserError(f"{path} cannot be read: {_reason(error)}.") from error


def _write(file: IO[bytes], length: int, data: bytes) -> None:
    """Write data after the first bytes of a file, to disk; on failure keep only those bytes."""
    try:
        file.truncate(length)
        left = memoryview(data)
        while left:  # one write, unless the disk is nearly full
            left = left[os.write(file.fileno(), left) :]
        os.fsync(file.fileno())
    except OSError:
        with suppress(OSError):
            file.truncate(length)
        raise


def _replace(path: Path, data: bytes) -> None:
    """Replace a file as a whole; other processes that wait for its lock then open the new one."""
    new = path.with_suffix(".new")
    try:
        with new.open("wb", buffering=0) as file:
            _write(file, 0, data)
        new.replace(path)
    except OSError as error:
        new.unlink(missing_ok=True)
        raise UserError(f"{path} cannot be replaced: {_reason(error)}.") from error


@contextmanager
def _locked(path: Path, mode: str) -> Iterator[IO[bytes]]:
    """Open a file with a lock: shared for reading, exclusive for writing."""
    while True:
        with path.open(mode, buffering=0) as file:
            # A file system without locks can still be read.
            with suppress(OSError) if mode == "rb" else nullcontext():
                _lock(file, shared=mode == "rb")
            if _is_at(file, path):  # not deleted or replaced while we waited
                yield file
                return


def _is_at(file: IO[bytes], path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(file.fileno()), path.stat())
    except FileNotFoundError:
        return False


if sys.platform == "win32":
    import msvcrt

    def _lock(file: IO[bytes], *, shared: bool) -> None:
        """Lock a byte that nobody uses; closing the file unlocks it."""
        file.seek(2**30)
        while True:
            with suppress(PermissionError):
                msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
                break
            time.sleep(0.01)
        file.seek(0)
else:
    import fcntl

    def _lock(file: IO[bytes], *, shared: bool) -> None:
        """Wait for the lock; closing the file's last descriptor releases it."""
        fcntl.flock(file, fcntl.LOCK_SH if shared else fcntl.LOCK_EX)


def _reason(error: OSError) -> str:
    if isinstance(error, FileExistsError | NotADirectoryError):
        return "a file is in the way"
    return error.strerror or str(error)
