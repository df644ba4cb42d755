"""Reads a file into a table: one reader per layout, and the checks for every file."""

import hashlib
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from vst.datasets.catalogue import DataFile, DatasetInfo
from vst.errors import DataError

#: Errors that readers raise for a damaged archive, table or array.
UNREADABLE = (
    ValueError,  # includes pandas' parser errors, wrong encodings and NumPy's format errors
    OSError,
    EOFError,
    KeyError,
    zlib.error,
    zipfile.BadZipFile,
)


def read(info: DatasetInfo, path: Path, file: DataFile, *, remedy: str) -> tuple[pd.DataFrame, str]:
    """Read a data set's file, and check it against the catalogue.

    Parameters
    ----------
    remedy
        What the user should do if the file is wrong; ends the error message.

    Returns
    -------
    tuple
        The table, targets last, and the file's sha256.
    """
    digest = checksum(path)
    if path.stat().st_size == 0:
        raise DataError(f"{path} is empty: {remedy}")
    if file.sha256 is not None and digest != file.sha256:
        raise DataError(
            f"{path} is damaged or a different file: expected sha256 {file.sha256}, "
            f"found {digest}; {remedy}"
        )
    try:
        table = READERS[file.layout](path)
    except UNREADABLE as error:
        raise DataError(f"{path} cannot be read ({error}); {remedy}") from error
    _check(info, table, path, remedy)
    return table, digest


def checksum(path: Path) -> str:
    """SHA-256 of a file, as 64 hexadecimal digits."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _check(info: DatasetInfo, table: pd.DataFrame, path: Path, remedy: str) -> None:
    expected = (info.rows, info.features + info.arms + (info.target is not None))
    if table.shape != expected:
        raise DataError(
            f"{path} has the wrong shape for {info.name}: expected {expected[0]} rows x "
            f"{expected[1]} columns, found {table.shape[0]} x {table.shape[1]}; {remedy}"
        )
    if info.target is not None and table.columns[-1] != info.target:
        raise DataError(
            f"{path} has the wrong last column for {info.name}: expected {info.target!r}, "
            f"found {table.columns[-1]!r}; {remedy}"
        )
    if np.isinf(table.select_dtypes("number").to_numpy()).any():
        raise DataError(f"{path} holds infinite values, but {info.name} has none; {remedy}")
    missing = int(table.isna().to_numpy().sum())
    if missing != info.gaps:
        raise DataError(
            f"{path} has {missing} missing values, but {info.name} has {info.gaps or 'none'}; {remedy}"
        )
    if info.limits is not None:
        bounded = table.to_numpy() if info.target is None else table[info.target].to_numpy()
        low, high = float(bounded.min()), float(bounded.max())
        if low < info.limits[0] or high > info.limits[1]:
            raise DataError(
                f"{path} holds values from {low:g} to {high:g} where {info.name} has "
                f"{info.limits[0]:g} to {info.limits[1]:g}; {remedy}"
            )


def _categories(path: Path) -> pd.DataFrame:
    return pd.read_csv(path, dtype=str, keep_default_na=False)


def _ct(path: Path, **options: Any) -> pd.DataFrame:
    return pd.read_csv(path, **options).drop(columns="patientId")


def _ct_zip(path: Path) -> pd.DataFrame:
    return _ct(path, compression="zip")


def _song_zip(path: Path) -> pd.DataFrame:
    averages = [f"timbre_avg_{i:02d}" for i in range(1, 13)]
    covariances = [f"timbre_cov_{i:02d}" for i in range(1, 79)]
    features = averages + covariances
    table = pd.read_csv(path, compression="zip", header=None)
    if table.shape[1] != 1 + len(features):
        raise ValueError(f"expected {1 + len(features)} columns, found {table.shape[1]}")
    table.columns = pd.Index(["year", *features])
    return table[[*features, "year"]]


def _ratings(path: Path) -> pd.DataFrame:
    ratings = np.load(path, allow_pickle=False)
    if ratings.ndim != 2:
        raise ValueError(f"expected a matrix, found {ratings.ndim} dimensions")
    names = [f"rating_{i:02d}" for i in range(1, ratings.shape[1] + 1)]
    return pd.DataFrame(ratings, columns=names)


def _stock_text(path: Path) -> pd.DataFrame:
    with path.open() as stream:
        names = stream.readline().replace('"', "").replace("#", "").split()
    table = pd.read_csv(path, sep=r"\s+", skiprows=1, header=None)
    if len(names) != table.shape[1]:
        names = [f"stock_{i:02d}" for i in range(1, table.shape[1] + 1)]
    table.columns = pd.Index(names)
    return table


READERS: dict[str, Callable[[Path], pd.DataFrame]] = {
    "csv": pd.read_csv,
    "categories": _categories,
    "ct": _ct,
    "ct zip": _ct_zip,
    "song zip": _song_zip,
    "ratings": _ratings,
    "stock text": _stock_text,
}
