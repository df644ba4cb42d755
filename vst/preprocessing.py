"""Everything done to a table before a model sees it: checks, one-hot columns, standardising."""

import datetime
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd
from jaxtyping import Float, Int
from sklearn.base import BaseEstimator
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    _check_sample_weight,
    check_array,
    check_X_y,
    column_or_1d,
    validate_data,
)

from vst.arrays import empty_aligned, row_blocks
from vst.encoding import TableEncoder, refuse_date_column
from vst.moments import covariance, location_and_scale, mean
from vst.warn import warn

Table = pd.DataFrame | Float[np.ndarray, "n d"]

#: The coordinates of standardised inputs. Turning them to their principal axes changes neither the prior
#: nor the likelihood of a soft tree, but there a linear leaf's weights are independent under the exact
#: posterior, so a diagonal covariance fits better. Whitening also stretches the axes.
Axes = Literal["features", "principal", "whitened"]

#: Tables with more features keep their own axes: finding others takes cubic time.
MOST_TURNED = 1000

#: Directions with less than this share of the largest variance are rounding noise: whitening drops them.
WHITENING_TOLERANCE = 1e-8

#: A target with no more distinct values, each repeated at least twice on average, is rounded or a count.
FEW_VALUES = 20


#: Indicators of categories and gaps are divided by this, the standard deviation of one that holds for
#: half of the rows. With unit variance, a rare category would have a large value, and so a large effect
#: before anything is known of it. Held-out training rows of votes and credit were predicted worse then.
INDICATOR_SCALE = 0.5


class Standardiser(NamedTuple):
    """An affine map that gives the training rows' features zero mean and unit variance.

    The rotation, if any, turns them to other `Axes` afterwards, and stretches them for whitening.
    Constant columns map to zero. A gap (NaN) becomes its column's mean, and a column that has gaps in
    the training rows gets an indicator of them, another feature.
    """

    mean: Float[np.ndarray, " features"]  #: of the columns, then of the indicators
    scale: Float[np.ndarray, " features"]
    rotation: Float[np.ndarray, "features features"] | None = None
    gaps: tuple[int, ...] = ()  #: columns that have an indicator

    @classmethod
    def fit(
        cls,
        x: Float[np.ndarray, "n d"],
        axes: Axes = "features",
        weights: Float[np.ndarray, " n"] | None = None,
        categories: Sequence[int] = (),
    ) -> "Standardiser":
        """Learn the map from training rows, which may have weights.

        ``categories`` are the columns that tell whether a row has a category.
        """
        centre, scale = location_and_scale(x, weights)
        scale[list(categories)] = INDICATOR_SCALE
        share = mean((np.isnan(block) for block in row_blocks(x)), weights)
        gaps = tuple(np.flatnonzero(share).tolist())
        if gaps:
            share = share[list(gaps)]
            centre = np.concatenate([centre, share])
            scale = np.concatenate([scale, np.full(len(gaps), INDICATOR_SCALE)])
        plain = cls(centre, scale, gaps=gaps)
        if axes == "features" or (axes == "principal" and len(centre) > MOST_TURNED):
            return plain
        variances, directions = np.linalg.eigh(
            covariance(map(plain.scaled, row_blocks(x)), weights)
        )
        # An axis has no sign of its own: its largest component is made positive.
        largest = np.abs(directions).argmax(axis=0)
        directions *= np.sign(directions[largest, np.arange(len(directions))])
        if axes == "principal":
            return plain._replace(rotation=directions)
        kept = variances > WHITENING_TOLERANCE * variances.max(initial=0)
        stretch = np.where(kept, 1 / np.sqrt(np.where(kept, variances, 1)), 0)
        return plain._replace(rotation=directions * stretch)

    @classmethod
    def identity(cls, d: int) -> "Standardiser":
        """The map that does not change the features."""
        return cls(np.zeros(d), np.ones(d))

    @property
    def n_columns(self) -> int:
        """Number of columns that it maps."""
        return len(self.mean) - len(self.gaps)

    def scaled(self, block: Float[np.ndarray, "m d"]) -> Float[np.ndarray, "m features"]:
        """Columns and indicators with zero mean, and numbers with unit variance, before any rotation."""
        d = self.n_columns
        z = (block - self.mean[:d]) / self.scale[:d]
        missing = np.isnan(z)
        if missing.any():
            z[missing] = 0
        if not self.gaps:
            return z
        indicators = (missing[:, self.gaps] - self.mean[d:]) / self.scale[d:]
        return np.concatenate([z, indicators], axis=1)

    def __call__(self, x: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n features"]:
        """Apply the map; the result is float32, the models' precision."""
        result = empty_aligned((len(x), len(self.mean)))
        for block, part in zip(row_blocks(x), row_blocks(result), strict=True):
            z = self.scaled(block)
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


def check_weights(
    X: Table, sample_weight: Any
) -> tuple[Int[np.ndarray, " m"], Float[np.ndarray, " m"]]:
    """The rows whose weight is not zero, and their weights."""
    weights = _check_sample_weight(sample_weight, X, ensure_non_negative=True).astype(float)
    used = np.flatnonzero(weights)
    if len(used) < 2:
        raise ValueError(
            f"sample_weight is zero for all rows but {len(used)}: at least 2 must count"
        )
    return used, weights[used]


#: Precisions that are used without conversion; other tables are converted to the first.
PRECISIONS = [np.float64, np.float32]

#: A column with at most this many categories never triggers the warning about names.
MANY_CATEGORIES = 20

#: Inputs further out than this, in standard deviations, overflow float32 inside a model.
FARTHEST = 1e9


def check_training_data(
    estimator: BaseEstimator, X: Table, y: Any, *, numeric: bool = True
) -> tuple[Float[np.ndarray, "n d"], np.ndarray, TableEncoder | None]:
    """Checked arrays to fit on, and the encoder if ``X`` is a DataFrame.

    Without ``numeric`` the target may hold any labels.
    """
    rules = {
        "dtype": PRECISIONS,
        "ensure_all_finite": False,
        "ensure_min_samples": 2,
        "y_numeric": numeric,
        "estimator": estimator,
    }
    _refuse_masked("X", X)
    _refuse_masked("y", y)
    y = _numeric(y) if numeric else check_labels(y)
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
        x, y = validate_data(estimator, _with_nan(X), y, **rules)
        names = [str(i) for i in range(x.shape[1])]
    _require_finite(x, names)
    empty = np.all([np.isnan(block).all(axis=0) for block in row_blocks(x)], axis=0)
    if empty.any():
        raise ValueError(f"column {names[int(np.argmax(empty))]!r} has no values: drop it")
    if numeric:
        return x, np.asarray(y, float), encoder
    check_classification_targets(y)
    return x, np.asarray(y), encoder


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
        x = validate_data(
            estimator, _with_nan(X), reset=False, dtype=PRECISIONS, ensure_all_finite=False
        )
    names = encoder.feature_names if encoder else [str(i) for i in range(x.shape[1])]
    _require_finite(x, names)
    d = standardiser.n_columns
    mean, scale = standardiser.mean[:d], standardiser.scale[:d]
    far = np.max(
        [np.fmax.reduce(np.abs((block - mean) / scale), initial=0) for block in row_blocks(x)],
        axis=0,
    )
    _warn_of_new_gaps(x, names, standardiser)
    if (far > FARTHEST).any():
        column = int(np.argmax(far))
        raise ValueError(
            f"column {names[column]!r} lies up to {far[column]:.0e} standard deviations away from "
            f"the training data: check whether it holds a code for a missing value"
        )
    return Standardised(x, standardiser)


def rounding_error(y: Float[np.ndarray, " n"]) -> float:
    """Standard deviation of the error that rounding makes in a target with few values; else 0.

    Examples
    --------
    >>> round(rounding_error(np.array([3, 4, 4, 5, 3, 5])), 3), rounding_error(np.array([0.1, 0.7, 0.9]))
    (0.289, 0.0)
    """
    values = np.unique(y)
    if not 1 < len(values) <= min(FEW_VALUES, len(y) // 2):
        return 0.0
    return float(np.diff(values).min() / np.sqrt(12))


def target_units(
    y: Float[np.ndarray, " n"], weights: Float[np.ndarray, " n"] | None = None
) -> tuple[float, float]:
    """Mean and standard deviation of the target; a constant target has scale 1, with a warning."""
    mean, scale = (float(value) for value in location_and_scale(y, weights))
    if np.abs(y - mean).max() <= 1e-12 * scale:
        warn(f"the target is constant ({mean:g}): the model can only learn that value")
    return mean, scale


def _warn_of_names(encoder: TableEncoder, n: int) -> None:
    """Warn of columns with so many categories that they probably name the rows."""
    for column, categories in zip(encoder.columns, encoder.categories, strict=True):
        if categories is not None and len(categories) > max(MANY_CATEGORIES, n // 2):
            warn(
                f"column {column!r} has {len(categories)} categories in {n} rows, and each becomes a "
                "feature: drop it if it only names the rows"
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


def check_numbers(y: Any) -> Float[np.ndarray, " n"]:
    """Targets of a regressor that are checked without their table."""
    _refuse_masked("y", y)
    return check_array(column_or_1d(_numeric(y)), ensure_2d=False, dtype=float, input_name="y")


def check_labels(y: Any) -> Any:
    """Labels of classes; gaps among them are an error."""
    if y is None or hasattr(y, "toarray"):
        return y  # scikit-learn's own messages for missing and sparse targets are clear
    missing = pd.isna(np.asarray(y, dtype=object))
    if missing.any():
        raise ValueError(
            f"y has no label (NaN or None) in {missing.sum()} of {missing.size} rows: drop these rows"
        )
    return y


def _with_nan(X: Any) -> Any:
    """An array of objects with NaN for None and pandas' NA, which NumPy takes for no numbers."""
    if isinstance(X, np.ndarray) and X.dtype.kind == "O":
        missing = pd.isna(X)
        return np.where(missing, np.nan, X) if missing.any() else X
    return X


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
            refuse_date_column(X.iloc[:, i])
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


def _warn_of_new_gaps(
    x: Float[np.ndarray, "n d"], names: list[str], standardiser: Standardiser
) -> None:
    """Warn of gaps in columns that have none in the training data."""
    missing = np.sum([np.isnan(block).sum(axis=0) for block in row_blocks(x)], axis=0)
    missing[list(standardiser.gaps)] = 0
    if missing.any():
        listed = [f"{names[i]!r} ({missing[i]} of {len(x)} rows)" for i in np.flatnonzero(missing)]
        warn(
            "values are missing in columns that have no gaps in the training data; they are replaced by "
            f"the column's mean: {', '.join(listed[:5])}{' ...' if listed[5:] else ''}"
        )


def _require_finite(x: Float[np.ndarray, "n d"], names: list[str]) -> None:
    bad = np.sum([np.isinf(block).sum(axis=0) for block in row_blocks(x)], axis=0)
    if bad.any():
        column = int(np.argmax(bad > 0))
        raise ValueError(
            f"X holds inf in column {names[column]!r}, in {bad[column]} of {len(x)} rows: drop these "
            "rows, or mark the values as missing (NaN)"
        )
