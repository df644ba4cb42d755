"""The columns of a table as numbers: text and categories become one column per category."""

import itertools
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from jaxtyping import Float

from vst.errors import DataError
from vst.warn import warn


@dataclass(frozen=True)
class TableEncoder:
    """One-hot encoding of a table's categorical columns; numbers pass through.

    Attributes
    ----------
    columns
        Column names, in the table's order.
    categories
        The categories of each column when the encoder was fitted, or None for a numeric column. A gap
        in a column of text is a category of its own, None.
    """

    columns: tuple[Hashable, ...]
    categories: tuple[tuple[Hashable, ...] | None, ...]

    @classmethod
    def fit(cls, frame: pd.DataFrame) -> "TableEncoder":
        """Learn which columns are categorical (text, category), and their categories."""
        if isinstance(frame.columns, pd.MultiIndex) or not frame.columns.is_unique:
            raise DataError(
                "column names must be unique and have one level: rename the table's columns"
            )
        return cls(tuple(frame.columns), tuple(_categories(frame[name]) for name in frame.columns))

    @property
    def feature_names(self) -> list[str]:
        """Names of the encoded features: ``column`` or ``column=category``.

        Names are unique: a repeated name gets a number. For example, if a column is called ``a=u``,
        the category ``u`` of a later column ``a`` becomes ``a=u (2)``.
        """
        named = zip(self.columns, self.categories, strict=True)
        return _numbered([feature for column in named for feature in _features(*column)])

    @property
    def indicators(self) -> list[int]:
        """Numbers of the encoded features that tell whether a row has a category."""
        known = [None if c is None else len(c) for c in self.categories]
        flags = [flag for size in known for flag in ([False] if size is None else [True] * size)]
        return [i for i, flag in enumerate(flags) if flag]

    def encode(self, frame: pd.DataFrame) -> Float[np.ndarray, "n features"]:
        """Turn a table into numbers. An unseen category becomes zeros, with a warning."""
        missing = [str(name) for name in self.columns if name not in frame.columns]
        if missing:
            raise DataError(f"the table has no column {', '.join(missing)}: add it")
        blocks = [
            _numbers(frame[name])[:, None] if known is None else _one_hot(frame[name], known)
            for name, known in zip(self.columns, self.categories, strict=True)
        ]
        return np.hstack(blocks) if blocks else np.empty((len(frame), 0))


def _features(name: Hashable, categories: tuple[Hashable, ...] | None) -> list[str]:
    """Names of the features of one column."""
    if categories is None:
        return [str(name)]
    return [gap_name(name) if each is None else f"{name}={each}" for each in categories]


def gap_name(column: Hashable) -> str:
    """The name of the feature that tells where a column has gaps."""
    return f"{column} is missing"


def _numbered(names: Sequence[str]) -> list[str]:
    """The names, with a number appended to each repeated one."""
    given, found = set(names), dict[str, None]()
    for name in names:
        others = (f"{name} ({i})" for i in itertools.count(2))
        free = (other for other in others if other not in given and other not in found)
        found[next(free) if name in found else name] = None
    return list(found)


def _categories(column: pd.Series) -> tuple[Hashable, ...] | None:
    column = column.infer_objects()
    if pd.api.types.is_complex_dtype(column):
        raise DataError(f"column {column.name!r} holds complex numbers: use real numbers")
    if pd.api.types.is_numeric_dtype(column) or _are_numbers(column):
        return None
    refuse_date_column(column)
    present = column.dropna()
    if present.empty:
        raise DataError(f"column {column.name!r} has no values: drop it")
    values = [getattr(v, "item", lambda v=v: v)() for v in present.unique()]
    odd = next((v for v in values if not isinstance(v, str | int | float)), None)
    if odd is not None:
        raise DataError(
            f"column {column.name!r} holds {odd!r}, which is not a category: use text or numbers"
        )
    gap = (None,) if len(present) < len(column) else ()
    return (*sorted(values, key=str), *gap)


def _are_numbers(column: pd.Series) -> bool:
    """Whether an object column holds numbers, and gaps."""
    kinds = ("integer", "floating", "mixed-integer-float", "boolean")
    return column.dtype == object and pd.api.types.infer_dtype(column, skipna=True) in kinds


def refuse_date_column(column: pd.Series) -> None:
    """Refuse dates, which NumPy would convert to numbers of days or nanoseconds."""
    dates = (pd.DatetimeTZDtype, pd.PeriodDtype)
    if isinstance(column.dtype, dates) or getattr(column.dtype, "kind", "") in "mM":
        raise DataError(
            f"column {column.name!r} holds dates: convert it to numbers or text, "
            f"for example df[{column.name!r}].dt.dayofyear"
        )


def _numbers(column: pd.Series) -> Float[np.ndarray, " n"]:
    refuse_date_column(column)  # pandas would count nanoseconds
    try:
        return pd.to_numeric(column).to_numpy(float, na_value=np.nan)
    except (ValueError, TypeError) as error:
        raise DataError(
            f"column {column.name!r} must be numeric, as in the training data: {error}"
        ) from None


def _one_hot(column: pd.Series, known: tuple[Hashable, ...]) -> Float[np.ndarray, "n categories"]:
    values = column.astype(object).where(column.notna(), None).to_numpy()
    unseen = sorted(set(values) - set(known), key=str)
    if unseen:
        warn(
            f"column {column.name!r} holds categories that the training data did not have; they are "
            f"encoded as zeros: {', '.join(map(_shown, unseen[:5]))}{' ...' if unseen[5:] else ''}",
        )
    return (values[:, None] == np.array(known, dtype=object)[None, :]).astype(float)


def _shown(category: Hashable) -> str:
    return "missing values" if category is None else str(category)
