"""Checks at the door: what a user passes in, and what to do when it cannot be used."""

import math
import numbers
import warnings
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_array, check_X_y, validate_data

from vst.arrays import row_blocks
from vst.data.preparation import Standardised, Standardiser, TableEncoder, location_and_scale

Table = pd.DataFrame | Float[np.ndarray, "n d"]

#: Precisions in which a table is taken as it is; others are converted to the first.
PRECISIONS = [np.float64, np.float32]

#: Up to so many categories are never too many for a column.
MANY_CATEGORIES = 20

#: Inputs further out than this, in standard deviations, overflow float32 on their way through a model.
FARTHEST = 1e9


def count(name: str, value: Any, *, least: int = 1) -> int:
    """A whole number of at least ``least``."""
    if not isinstance(value, numbers.Integral) or isinstance(value, bool) or value < least:
        raise ValueError(f"{name} must be a whole number of at least {least}, got {value!r}")
    return int(value)


def positive(name: str, value: Any, *, zero_allowed: bool = False) -> None:
    """A finite positive number (or zero where allowed)."""
    finite = isinstance(value, numbers.Real) and math.isfinite(value)
    if not finite or value < 0 or (value == 0 and not zero_allowed):
        kind = "non-negative" if zero_allowed else "positive"
        raise ValueError(f"{name} must be a {kind} number, got {value!r}")


def one_of(name: str, value: Any, allowed: tuple[Any, ...]) -> None:
    """One of a few values."""
    if value not in allowed:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, allowed))}, got {value!r}")


def check_training_data(
    estimator: BaseEstimator, X: Table, y: Any
) -> tuple[Float[np.ndarray, "n d"], Float[np.ndarray, " n"], TableEncoder | None]:
    """Numbers to fit on, and the encoder that made them from a DataFrame."""
    rules = {
        "dtype": PRECISIONS,
        "ensure_all_finite": False,
        "ensure_min_samples": 2,
        "y_numeric": True,
        "estimator": estimator,
    }
    y = _numeric(y)
    if isinstance(X, pd.DataFrame):
        validate_data(estimator, X, y, skip_check_array=True)
        encoder = TableEncoder.fit(X)
        _warn_of_names(encoder, len(X))
        x, y = check_X_y(encoder.encode(X), y, **rules)
        names = encoder.feature_names
    else:
        encoder = None
        del rules["estimator"]
        x, y = validate_data(estimator, X, y, **rules)
        names = [str(i) for i in range(x.shape[1])]
    _require_finite(x, names)
    return x, np.asarray(y, float), encoder


def check_new_data(
    estimator: BaseEstimator, X: Table, encoder: TableEncoder | None, standardiser: Standardiser
) -> Standardised:
    """Numbers to predict on, encoded as the training table was, and standardised when looked at."""
    if encoder is not None and isinstance(X, pd.DataFrame):
        validate_data(estimator, X, reset=False, skip_check_array=True)
        x = check_array(encoder.encode(X), ensure_all_finite=False, estimator=estimator)
    elif encoder is not None and any(encoder.categories):
        raise ValueError(
            "this model was fitted on a DataFrame with categorical columns: predict on a "
            f"DataFrame with the columns {', '.join(map(str, encoder.columns))}"
        )
    else:
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
            f"the training data: is that a code for a missing value?"
        )
    return Standardised(x, standardiser)


def target_units(y: Float[np.ndarray, " n"]) -> tuple[float, float]:
    """Mean and standard deviation of the target; a constant one has scale 1, and a warning."""
    mean, scale = (float(value) for value in location_and_scale(y))
    if np.abs(y - mean).max() <= 1e-12 * scale:
        warnings.warn(
            f"the target is constant ({mean:g}): the model can only learn that value", stacklevel=4
        )
    return mean, scale


def _warn_of_names(encoder: TableEncoder, n: int) -> None:
    """A column with a category for every other row is more likely a name than a feature."""
    for column, categories in zip(encoder.columns, encoder.categories, strict=True):
        if categories is not None and len(categories) > max(MANY_CATEGORIES, n // 2):
            warnings.warn(
                f"column {column!r} has {len(categories)} categories in {n} rows, each of which becomes "
                "a feature: drop it if it only names the rows",
                stacklevel=5,
            )


def _numeric(y: Any) -> Any:
    """The target as it came if it is numeric, or an error that says what is wrong with it."""
    if y is None or hasattr(y, "toarray"):
        return y  # scikit-learn's own messages for missing and sparse targets are clear
    values = np.asarray(y)
    if values.dtype.kind in "Mm":
        raise ValueError(
            "y must be numeric: turn dates into numbers, for example days since a date"
        )
    if values.dtype.kind in "OUS":
        try:
            return values.astype(float)
        except (TypeError, ValueError):
            example = next((v for v in values.ravel() if not _is_number(v)), values.ravel()[0])
            raise ValueError(
                f"y must be numeric: this is a regression model, got {example!r}"
            ) from None
    return y


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
            f"X holds NaN or inf in column {names[column]!r}, in {bad[column]} of "
            f"{len(x)} rows: drop them, or fill them in (sklearn.impute.SimpleImputer)"
        )
