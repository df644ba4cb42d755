"""Loads a user's own table as a `Dataset`, like those of the catalogue."""

import difflib
import hashlib
from os import PathLike
from pathlib import Path
from typing import Literal

import numpy as np
import pandas as pd

from vst.datasets.dataset import Dataset
from vst.datasets.reading import checksum
from vst.errors import DataError
from vst.table_files import read_table, require_unique

#: What to predict; ``"auto"``: the target decides.
Task = Literal["auto", "regression", "classification"]

#: What people write where a number is missing, in lower case.
CODES = {
    "?", "-", "--", ".", "..", "*", "na", "n/a", "#n/a", "n.a.", "nan", "<na>", "nil", "null",
    "none", "missing", "unknown", "#value!", "#div/0!",
}  # fmt: skip

#: A column with at most this share of words is numeric with codes, not categorical.
FEW_WORDS = 0.05


def load_table(
    path_or_frame: str | PathLike[str] | pd.DataFrame,
    *,
    target: str,
    name: str | None = None,
    classes: bool = False,
) -> Dataset:
    """Make a data set of a CSV or Parquet file, or of a DataFrame.

    Parameters
    ----------
    path_or_frame
        A ``.csv`` file (also compressed, ``.csv.gz``), a ``.parquet`` file, or a DataFrame.
    target
        The column to predict, which must hold numbers or, with ``classes``, labels.
    name
        Name in tables and figures; by default the file's name.
    classes
        Whether the target holds classes.

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
    table, where, name = _opened_table(path_or_frame, str(target), name)
    return _dataset(path_or_frame, table, str(target), where, name, classes=classes)


def split_table(
    path_or_frame: str | PathLike[str] | pd.DataFrame,
    *,
    target: str,
    name: str | None = None,
    task: Task = "auto",
) -> tuple[Dataset, pd.DataFrame, bool]:
    """The rows of a table that have a target, the features of those that have none, and the task.

    Parameters
    ----------
    path_or_frame, target, name
        As for :func:`load_table`.
    task
        ``"regression"``, ``"classification"``, or ``"auto"``: the target decides.

    Returns
    -------
    tuple
        The data set, the features of the rows without a target, and whether the target holds classes.
    """
    if task not in ("auto", "regression", "classification"):
        raise DataError(f"task must be auto, regression or classification, got {task!r}")
    target = str(target)
    table, where, name = _opened_table(path_or_frame, target, name)
    known = table[target].notna()
    if not known.any():
        raise DataError(f"the target {target!r} of {where} has no values: choose another column")
    values = table.loc[known, target].unique()
    if task != "regression" and len(values) < 2:
        raise DataError(
            f"the target {target!r} of {where} is {values[0]} in every row, so there is nothing to "
            "predict: choose another target"
        )
    classes = holds_classes(table[target]) if task == "auto" else task == "classification"
    dataset = _dataset(path_or_frame, table[known], target, where, name, classes=classes)
    features = table.loc[~known].drop(columns=target).reset_index(drop=True)
    return dataset, features, classes


def holds_classes(column: pd.Series) -> bool:
    """Whether a target looks like classes: text, categories, truth values, or numbers with two values.

    Examples
    --------
    >>> [holds_classes(pd.Series(v)) for v in (["a", "b", None], [0, 1, 1], [1.5, 2.0, 7.5])]
    [True, True, False]
    """
    present = column.dropna()
    if pd.api.types.is_bool_dtype(present) or isinstance(present.dtype, pd.CategoricalDtype):
        return True
    numbers = pd.to_numeric(present, errors="coerce")
    words = present[numbers.isna()].astype(str).str.strip().str.lower()
    if len(words):
        return not words.isin(CODES).all()
    return bool(numbers.nunique() <= 2)


def _opened_table(
    path_or_frame: str | PathLike[str] | pd.DataFrame, target: str, name: str | None
) -> tuple[pd.DataFrame, str, str]:
    """The table, what to call it in an error, and its name."""
    if isinstance(path_or_frame, pd.DataFrame):
        table, where, name = path_or_frame.copy(), "the DataFrame", name or "table"
        table.columns = table.columns.map(str)
    else:
        path = Path(path_or_frame).expanduser()
        table, where, name = read_table(path), str(path), name or path.name.split(".")[0]
    _check_columns(table, target, where)
    return table, where, name


def _dataset(
    origin: str | PathLike[str] | pd.DataFrame,
    table: pd.DataFrame,
    target: str,
    where: str,
    name: str,
    *,
    classes: bool,
) -> Dataset:
    check = _class_target if classes else _numeric_target
    table = table.assign(**{target: check(table[target], where)})
    table = table[[column for column in table.columns if column != target] + [target]]
    refuse_codes(table.drop(columns=target), where)
    frame_given = isinstance(origin, pd.DataFrame)
    return Dataset(
        name=name,
        table=table.reset_index(drop=True),
        targets=(target,),
        source="a DataFrame" if frame_given else Path(origin).name,  # type: ignore[arg-type]
        licence="the user's",
        sha256=_checksum_of_values(table) if frame_given else checksum(Path(origin).expanduser()),  # type: ignore[arg-type]
        label=name,
    )


def _check_columns(table: pd.DataFrame, target: str, where: str) -> None:
    require_unique(table.columns.to_series(), where)
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
        f"marks missing values, leave these cells empty in the file, or pass the DataFrame of "
        f"pd.read_csv(..., na_values={values[:3]}); if the column holds categories, pass the DataFrame "
        f"with df[{name!r}].astype('category')"
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


def _class_target(column: pd.Series, where: str) -> pd.Series:
    """Labels as they are; a gap is an error, since no class can be learned from it."""
    missing = int(column.isna().sum())
    if missing:
        raise DataError(
            f"the target {column.name!r} of {where} is missing in {missing} of {len(column)} rows: drop "
            f"them, for example with df.dropna(subset=[{column.name!r}])"
        )
    if column.nunique() < 2:
        raise DataError(
            f"the target {column.name!r} of {where} has one class, {column.iloc[0]!s}: classes can only "
            "be learned from two or more"
        )
    return column


def _checksum_of_values(table: pd.DataFrame) -> str:
    digest = hashlib.sha256("\n".join(table.columns).encode())
    digest.update(pd.util.hash_pandas_object(table, index=False).to_numpy().tobytes())
    return digest.hexdigest()
