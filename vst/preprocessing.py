"""Everything done to a table before a model sees it: checks, one-hot columns, standardising."""

import datetime
import itertools
import math
import numbers
import warnings
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from jaxtyping import Float
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_array, check_X_y, validate_data

from vst.arrays import empty_aligned, row_blocks
from vst.errors import DataError

#: Directions with less than this share of the largest variance are rounding noise and are dropped.
WHITENING_TOLERANCE = 1e-8


@dataclass(frozen=True)
class TableEncoder:
    """One-hot encoding of a table's categorical columns; numbers pass through.

    Attributes
    ----------
    columns
        Column names, in the table's order.
    categories
        The categories of each column when the encoder was fitted, or None for a numeric column.
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
        return _numbered(
            [
                str(name) if category is None else f"{name}={category}"
                for name, categories in zip(self.columns, self.categories, strict=True)
                for category in (categories if categories is not None else (None,))
            ]
        )

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


class Standardiser(NamedTuple):
    """An affine map that gives the training rows' features zero mean and unit variance.

    With a rotation it also makes them uncorrelated (PCA whitening). Directions without variance,
    like constant columns, map to zero.
    """

    mean: Float[np.ndarray, " d"]
    scale: Float[np.ndarray, " d"]
    rotation: Float[np.ndarray, "d d"] | None = None

    @classmethod
    def fit(cls, x: Float[np.ndarray, "n d"], *, whiten: bool = False) -> "Standardiser":
        """Learn the map from training rows."""
        mean, scale = location_and_scale(x)
        if not whiten:
            return cls(mean, scale)
        scaled = ((block - mean) / scale for block in row_blocks(x))
        products = np.sum([z.T @ z for z in scaled], axis=0)
        variances, directions = np.linalg.eigh(products / len(x))
        kept = variances > WHITENING_TOLERANCE * variances.max(initial=0)
        stretch = np.where(kept, 1 / np.sqrt(np.where(kept, variances, 1)), 0)
        return cls(mean, scale, directions * stretch)

    @classmethod
    def identity(cls, d: int) -> "Standardiser":
        """The map that does not change the features."""
        return cls(np.zeros(d), np.ones(d))

    def __call__(self, x: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n d"]:
        """Apply the map; the result is float32, the models' precision."""
        result = empty_aligned(np.shape(x))
        for block, part in zip(row_blocks(x), row_blocks(result), strict=True):
            z = (block - self.mean) / self.scale
            part[:] = z if self.rotation is None else z @ self.rotation
        return result


@dataclass(frozen=True, eq=False)
class Standardised:
    """A table that is standardised on access, so that a large one is never copied."""

    x: Float[np.ndarray, "n d"]
    standardiser: Standardiser

    @property
    def dtype(self) -> np.dtype:
        """The models' precision."""
        return np.dtype(np.float32)

    def __len__(self) -> int:
        return len(self.x)

    def __getitem__(self, rows: Any) -> Float[np.ndarray, "m d"]:
        return self.standardiser(self.x[rows])


#: Training standardises a table lazily if a copy would have more than LARGE_TABLE bytes and the table
#: has more rows than MANY_CHUNKS chunks of minibatches. Below, that would be slower and save no memory.
LARGE_TABLE = 2**27
MANY_CHUNKS = 4


def training_inputs(
    x: Float[np.ndarray, "n d"], standardiser: Standardiser, chunk_rows: int
) -> Standardised | Float[np.ndarray, "n d"]:
    """A standardised copy of a table, or a lazily standardised view of a large one.

    ``chunk_rows`` is the number of rows in one chunk of minibatches.
    """
    lazy = Standardised(x, standardiser)
    large = lazy.dtype.itemsize * x.size > LARGE_TABLE and len(x) > MANY_CHUNKS * chunk_rows
    return lazy if large else lazy[:]


def location_and_scale(
    x: Float[np.ndarray, "n ..."],
) -> tuple[Float[np.ndarray, "..."], Float[np.ndarray, "..."]]:
    """Mean and standard deviation of each column; a column constant up to rounding has scale 1."""
    # In units of the largest value, neither can overflow or underflow.
    extremes = [(block.min(axis=0), block.max(axis=0)) for block in row_blocks(x)]
    lows, highs = zip(*extremes, strict=True)
    least, most = np.min(lows, axis=0).astype(float), np.max(highs, axis=0).astype(float)
    unit = np.maximum(np.abs(least), np.abs(most))
    unit = np.where(unit > 0, unit, 1.0)
    constant = most / unit - least / unit <= 10 * np.finfo(float).eps
    share = _mean(block / unit for block in row_blocks(x))
    variance = _mean(np.square(block / unit - share) for block in row_blocks(x))
    mean = np.where(constant, x[0], share * unit)
    return mean, np.where(constant, 1.0, np.sqrt(variance) * unit)


def _mean(blocks: Iterable[Float[np.ndarray, "m ..."]]) -> Float[np.ndarray, "..."]:
    """Mean over the rows of all blocks."""
    sums, counts = zip(*((block.sum(axis=0), len(block)) for block in blocks), strict=True)
    return np.sum(sums, axis=0) / sum(counts)


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
    if pd.api.types.is_numeric_dtype(column):
        return None
    _refuse_date_column(column)
    _require_present(column)
    values = [getattr(v, "item", lambda v=v: v)() for v in column.unique()]
    odd = next((v for v in values if not isinstance(v, str | int | float)), None)
    if odd is not None:
        raise DataError(
            f"column {column.name!r} holds {odd!r}, which is not a category: use text or numbers"
        )
    return tuple(sorted(values, key=str))


def _refuse_date_column(column: pd.Series) -> None:
    dates = (pd.DatetimeTZDtype, pd.PeriodDtype)
    if isinstance(column.dtype, dates) or getattr(column.dtype, "kind", "") in "mM":
        raise DataError(
            f"column {column.name!r} holds dates: convert it to numbers or text, "
            f"for example df[{column.name!r}].dt.dayofyear"
        )


def _numbers(column: pd.Series) -> Float[np.ndarray, " n"]:
    _refuse_date_column(column)  # pandas would count nanoseconds
    try:
        return pd.to_numeric(column).to_numpy(float, na_value=np.nan)
    except (ValueError, TypeError) as error:
        raise DataError(
            f"column {column.name!r} must be numeric, as in the training data: {error}"
        ) from None


def _one_hot(column: pd.Series, known: tuple[Hashable, ...]) -> Float[np.ndarray, "n categories"]:
    _require_present(column)
    values = column.astype(object).to_numpy()
    unseen = sorted(set(values) - set(known), key=str)
    if unseen:
        warnings.warn(
            f"column {column.name!r} holds categories that the training data did not have; they are "
            f"encoded as zeros: {', '.join(map(str, unseen[:5]))}{' ...' if unseen[5:] else ''}",
            UserWarning,
            stacklevel=2,
        )
    return (values[:, None] == np.array(known, dtype=object)[None, :]).astype(float)


def _require_present(column: pd.Series) -> None:
    missing = int(column.isna().sum())
    if missing:
        raise DataError(
            f"column {column.name!r} has {missing} missing value{'s' if missing > 1 else ''} in "
            f"{len(column)} rows: fill them in, for example with "
            f"df[{column.name!r}].fillna('missing'), or drop these rows"
        )


Table = pd.DataFrame | Float[np.ndarray, "n d"]

#: Precisions that are used without conversion; other tables are converted to the first.
PRECISIONS = [np.float64, np.float32]

#: A column with at most this many categories never triggers the warning about names.
MANY_CATEGORIES = 20

#: Inputs further out than this, in standard deviations, overflow float32 inside a model.
FARTHEST = 1e9


def count(name: str, value: Any, *, least: int = 1) -> int:
    """Require an integer >= ``least``, and return it."""
    if not isinstance(value, numbers.Integral) or isinstance(value, bool) or value < least:
        raise ValueError(f"{name} must be an integer >= {least}, got {value!r}")
    return int(value)


def positive(name: str, value: Any, *, zero_allowed: bool = False) -> None:
    """Require a finite positive number (or zero, if allowed)."""
    finite = isinstance(value, numbers.Real) and math.isfinite(value)
    if not finite or value < 0 or (value == 0 and not zero_allowed):
        kind = "non-negative" if zero_allowed else "positive"
        raise ValueError(f"{name} must be a {kind} number, got {value!r}")


def one_of(name: str, value: Any, allowed: tuple[Any, ...]) -> None:
    """Require one of the allowed values."""
    if value not in allowed:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, allowed))}, got {value!r}")


def check_training_data(
    estimator: BaseEstimator, X: Table, y: Any
) -> tuple[Float[np.ndarray, "n d"], Float[np.ndarray, " n"], TableEncoder | None]:
    """Checked arrays to fit on, and the encoder if ``X`` is a DataFrame."""
    rules = {
        "dtype": PRECISIONS,
        "ensure_all_finite": False,
        "ensure_min_samples": 2,
        "y_numeric": True,
        "estimator": estimator,
    }
    _refuse_masked("X", X)
    _refuse_masked("y", y)
    y = _numeric(y)
    if isinstance(X, pd.DataFrame):
        validate_data(estimator, X, y, skip_check_array=True)
        encoder = TableEncoder.fit(X)
        _warn_of_names(encoder, len(X))
        x, y = check_X_y(encoder.encode(X), y, **rules)
        names = encoder.feature_names
    else:
        encoder = None
        _refuse_dates(X)
        del rules["estimator"]
        x, y = validate_data(estimator, X, y, **rules)
        names = [str(i) for i in range(x.shape[1])]
    _require_finite(x, names)
    return x, np.asarray(y, float), encoder


def check_new_data(
    estimator: BaseEstimator, X: Table, encoder: TableEncoder | None, standardiser: Standardiser
) -> Standardised:
    """Checked inputs to predict on, encoded like the training table and standardised on access."""
    _refuse_masked("X", X)
    if encoder is not None and isinstance(X, pd.DataFrame):
        validate_data(estimator, X, reset=False, skip_check_array=True)
        x = check_array(encoder.encode(X), ensure_all_finite=False, estimator=estimator)
    elif encoder is not None and any(encoder.categories):
        raise ValueError(
            "this model was fitted on a DataFrame with categorical columns: predict on a "
            f"DataFrame with the columns {', '.join(map(str, encoder.columns))}"
        )
    else:
        _refuse_dates(X)
        x = validate_data(estimator, X, reset=False, dtype=PRECISIONS, ensure_all_finite=False)
    names = encoder.feature_names if encoder else [str(i) for i in range(x.shape[1])]
    _require_finite(x, names)
    far = np.max(
        [
            np.abs((block - standardiser.mean) / standardiser.scale).max(0)
            for block in row_blocks(x)
        ],
        axis=0,
    )
    if (far > FARTHEST).any():
        column = int(np.argmax(far))
        raise ValueError(
            f"column {names[column]!r} lies up to {far[column]:.0e} standard deviations away from "
            f"the training data: check whether it holds a code for a missing value"
        )
    return Standardised(x, standardiser)


def target_units(y: Float[np.ndarray, " n"]) -> tuple[float, float]:
    """Mean and standard deviation of the target; a constant target has scale 1, with a warning."""
    mean, scale = (float(value) for value in location_and_scale(y))
    if np.abs(y - mean).max() <= 1e-12 * scale:
        warnings.warn(
            f"the target is constant ({mean:g}): the model can only learn that value", stacklevel=4
        )
    return mean, scale


def _warn_of_names(encoder: TableEncoder, n: int) -> None:
    """Warn of columns with so many categories that they probably name the rows."""
    for column, categories in zip(encoder.columns, encoder.categories, strict=True):
        if categories is not None and len(categories) > max(MANY_CATEGORIES, n // 2):
            warnings.warn(
                f"column {column!r} has {len(categories)} categories in {n} rows, and each becomes a "
                "feature: drop it if it only names the rows",
                stacklevel=5,
            )


def _numeric(y: Any) -> Any:
    """Return a numeric target, or raise an error that says why it is not numeric."""
    if y is None or hasattr(y, "toarray"):
        return y  # scikit-learn's own messages for missing and sparse targets are clear
    values = np.asarray(y)
    if any(map(_is_date, _suspects(values))):
        raise ValueError(
            "y must be numeric, got dates: convert them to numbers, for example days since a date"
        )
    if values.dtype.kind in "OUS":
        try:
            return values.astype(float)
        except (TypeError, ValueError):
            example = next((v for v in values.ravel() if not _is_number(v)), values.ravel()[0])
            raise ValueError(
                f"y must be numeric, because this is a regression model, got {example!r}"
            ) from None
    return y


def _refuse_masked(name: str, values: Any) -> None:
    """Refuse masked values, which NumPy would treat as numbers."""
    if np.ma.is_masked(values):
        masked = int(np.ma.getmaskarray(values).sum())
        raise ValueError(
            f"{name} is a masked array with {masked} of {values.size} values masked: drop these rows, "
            f"or fill them in and pass {name}.filled()"
        )


def _refuse_dates(X: Any) -> None:
    """Refuse dates and NaT, which NumPy would convert to numbers of days or nanoseconds."""
    if isinstance(X, pd.DataFrame):
        for i in range(X.shape[1]):
            _refuse_date_column(X.iloc[:, i])
    if hasattr(X, "toarray"):
        return
    try:
        values = np.asarray(X)
    except ValueError:
        return  # rows of different lengths: scikit-learn says so
    for i, value in enumerate(_suspects(values)):
        if _is_date(value):
            column = i % values.shape[-1] if values.ndim > 1 else 0
            raise ValueError(
                f"column '{column}' of X holds dates, for example {value!r}: convert them to numbers, "
                "for example days since a date"
            )


def _suspects(values: np.ndarray) -> Iterable[Any]:
    """Values that may be dates: one of an array of dates, all of an object array, else none."""
    if values.dtype.kind in "Mm":
        return values.flat[:1]
    return values.flat if values.dtype.kind == "O" else ()


def _is_date(value: Any) -> bool:
    dates = (datetime.date, datetime.timedelta, np.datetime64, np.timedelta64, pd.Period)
    return isinstance(value, dates) or value is pd.NaT


def _is_number(value: Any) -> bool:
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return True


def _require_finite(x: Float[np.ndarray, "n d"], names: list[str]) -> None:
    bad = np.sum([(~np.isfinite(block)).sum(axis=0) for block in row_blocks(x)], axis=0)
    if bad.any():
        column = int(np.argmax(bad > 0))
        raise ValueError(
            f"X holds NaN or inf in column {names[column]!r}, in {bad[column]} of {len(x)} rows: "
            f"drop these rows, or fill the values in (sklearn.impute.SimpleImputer)"
        )
