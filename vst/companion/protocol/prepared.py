"""Prepares a data set as the arrays of the paper's regression protocol."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from jaxtyping import Float

from vst.companion.protocol.splits import Folds, Split, make_folds, rows_for, split_rows
from vst.datasets.dataset import Dataset
from vst.encoding import TableEncoder, gap_name
from vst.errors import DataError
from vst.moments import location_and_scale
from vst.preprocessing import Axes, Standardiser


@dataclass(frozen=True, eq=False)
class Prepared:
    """Standardised training and test rows of a data set, and the folds of the training rows.

    All statistics come from the training rows. Scores in these units are the paper's.

    Attributes
    ----------
    dataset
        The data set.
    split
        Row numbers of the training and test rows in the data set's table.
    folds
        Row numbers of ``x_train``, in arrays of fixed shape.
    feature_names
        Names of the columns of ``x_train``; a categorical column has one per category.
    encoder, standardiser
        The maps from the table to ``x_train``.
    target_mean, target_scale
        ``y_train * target_scale + target_mean`` is in the data set's own units.
    """

    dataset: Dataset
    x_train: Float[np.ndarray, "n_train d"]
    y_train: Float[np.ndarray, " n_train"]
    x_test: Float[np.ndarray, "n_test d"]
    y_test: Float[np.ndarray, " n_test"]
    split: Split
    folds: Folds
    feature_names: list[str]
    encoder: TableEncoder
    standardiser: Standardiser
    target_mean: float
    target_scale: float


def prepare(
    dataset: Dataset, *, seed: int = 0, folds: int = 10, axes: Axes = "features"
) -> Prepared:
    """Split, encode and standardise a data set as the paper does.

    Categorical columns become one column per category of the training rows; features and target are
    standardised with the statistics of the training rows; constant columns become zero.

    Parameters
    ----------
    seed
        Seed of the split and the folds.
    folds
        Number of cross-validation folds of the training rows.
    axes
        Coordinates of the standardised features; soft trees use the principal axes.

    Examples
    --------
    >>> from vst.datasets import load_dataset
    >>> data = prepare(load_dataset("yacht"))
    >>> data.x_train.shape, data.x_test.shape, data.folds.train.indices.shape
    ((246, 6), (62, 6), (10, 222))
    """
    _require_rows(dataset, folds)
    split = split_rows(dataset.n, seed=seed)
    features, target = dataset.X, _numbers(dataset)
    require_usable(dataset.name, features)
    encoder = TableEncoder.fit(features.iloc[split.train])
    raw_train = encoder.encode(features.iloc[split.train])
    raw_test = encoder.encode(features.iloc[split.test])
    names = encoder.feature_names
    standardiser = Standardiser.fit(raw_train, axes, categories=encoder.indicators)
    names = [*names, *(gap_name(names[i]) for i in standardiser.gaps)]
    if standardiser.rotation is not None:
        names = [f"direction {i}" for i in range(1, len(names) + 1)]
    mean, scale = _units(target[split.train])
    return Prepared(
        dataset=dataset,
        x_train=standardiser(raw_train),
        y_train=((target[split.train] - mean) / scale).astype(np.float32),
        x_test=standardiser(raw_test),
        y_test=((target[split.test] - mean) / scale).astype(np.float32),
        split=split,
        folds=make_folds(len(split.train), folds, seed=seed),
        feature_names=names,
        encoder=encoder,
        standardiser=standardiser,
        target_mean=mean,
        target_scale=scale,
    )


def require_usable(name: str, table: pd.DataFrame) -> None:
    """Refuse infinite values, and columns without any value; single gaps are filled in later."""
    for column in table.columns:
        values = table[column]
        infinite = int(values.isin([np.inf, -np.inf]).sum())
        if infinite:
            raise DataError(
                f"column {str(column)!r} of {name} is infinite in {infinite} of {len(table)} rows: drop "
                "these rows, or leave the cells empty"
            )
        if len(table) and values.isna().all():
            raise DataError(f"column {str(column)!r} of {name} has no values: drop it")


def require_finite(name: str, x: Float[np.ndarray, "n d"], columns: list[str]) -> None:
    """Refuse missing and infinite features, and name the first column that has them."""
    bad = ~np.isfinite(x)
    if bad.any():
        column = int(np.argmax(bad.any(axis=0)))
        raise DataError(
            f"column {columns[column]!r} of {name} is missing or infinite in "
            f"{int(bad[:, column].sum())} of {len(x)} rows: fill these in or drop them"
        )


def _numbers(dataset: Dataset) -> Float[np.ndarray, " n"]:
    if not pd.api.types.is_numeric_dtype(dataset.y):
        raise DataError(
            f"the target {dataset.y.name!r} of {dataset.name} holds categories, not numbers: "
            "choose a regression data set"
        )
    return dataset.y.to_numpy(float)


def _require_rows(dataset: Dataset, folds: int) -> None:
    if dataset.n < rows_for(folds):
        raise DataError(
            f"{dataset.name} has {dataset.n} row{'s' if dataset.n != 1 else ''}: {folds} folds of its "
            f"training rows need a table of at least {rows_for(folds)} rows"
        )


def _units(y: Float[np.ndarray, " n"]) -> tuple[float, float]:
    if y.min() == y.max():
        raise DataError(
            f"the target is {y[0]:g} in every training row, so there is nothing to predict: choose "
            "another target"
        )
    mean, scale = location_and_scale(y)
    return float(mean), float(scale)
