"""The tables with classes to predict: bundled ones, and those that come with scikit-learn."""

import hashlib
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from jaxtyping import Int
from sklearn import datasets as scikit_learn
from sklearn.model_selection import train_test_split

from vst.datasets import CATALOGUE, Dataset, load_dataset
from vst.errors import UserError
from vst.tables import load_table

#: Share of the rows that a split holds out.
TEST_SHARE = 0.2


class Origin(NamedTuple):
    """A table of scikit-learn."""

    load: Callable[..., Any]
    label: str
    target: str


#: The tables that come with scikit-learn. Its wine has other rows than the catalogue's red wine.
WITH_SCIKIT_LEARN: dict[str, Origin] = {
    "breast_cancer": Origin(scikit_learn.load_breast_cancer, "breast cancer", "diagnosis"),
    "digits": Origin(scikit_learn.load_digits, "digits", "digit"),
    "cultivars": Origin(scikit_learn.load_wine, "wine cultivars", "cultivar"),
}

#: All tables of the chapter, those with gaps first.
CLASS_TABLES = ("votes", "credit", "penguins", "mushroom", *WITH_SCIKIT_LEARN)


def load_class_table(name: str, file: tuple[str, str] = ("", "")) -> Dataset:
    """A table with classes by its name, or a user's file with its target."""
    path, target = file
    if path:
        return load_table(path, target=target, classes=True)
    if name in WITH_SCIKIT_LEARN:
        return _of_scikit_learn(name)
    if name in CLASS_TABLES:
        return load_dataset(name)
    raise UserError(
        f"there is no table with classes {name}: choose from {', '.join(CLASS_TABLES)}, or name your "
        "own file with its target, as in loans.csv:granted"
    )


def class_label(name: str) -> str:
    """Name in tables and figures.

    Examples
    --------
    >>> class_label("breast_cancer"), class_label("votes")
    ('breast cancer', 'votes')
    """
    if name in WITH_SCIKIT_LEARN:
        return WITH_SCIKIT_LEARN[name].label
    return CATALOGUE[name].label


def _of_scikit_learn(name: str) -> Dataset:
    origin = WITH_SCIKIT_LEARN[name]
    found = origin.load(as_frame=True)
    names = np.asarray(found.target_names).astype(str)
    table = found.data.assign(**{origin.target: names[found.target.to_numpy()]})
    hashed = pd.util.hash_pandas_object(table, index=False).to_numpy().tobytes()
    return Dataset(
        name=name,
        table=table,
        targets=(origin.target,),
        source="scikit-learn, from the UCI Machine Learning Repository",
        licence="CC BY 4.0",
        sha256=hashlib.sha256(hashed).hexdigest(),
        label=origin.label,
    )


class ClassSplit(NamedTuple):
    """Row numbers of one random split, with the same shares of all classes in both parts."""

    train: Int[np.ndarray, " n"]
    test: Int[np.ndarray, " m"]


def class_split(classes: pd.Series, number: int) -> ClassSplit:
    """Hold out a fifth of the rows of each class."""
    if (rare := classes.value_counts()).min() < 2:
        raise UserError(
            f"only one row has the class {rare.idxmin()!r}: a class needs two rows or more, one to "
            "learn from and one to test on"
        )
    train, test = train_test_split(
        np.arange(len(classes)), test_size=TEST_SHARE, stratify=classes, random_state=number
    )
    return ClassSplit(np.sort(train), np.sort(test))


def shuffled(table: pd.DataFrame, seed: int) -> pd.DataFrame:
    """Every column shuffled by itself: each value is usual, their combination is not."""
    rng = np.random.default_rng(seed)
    columns = {name: rng.permutation(table[name].to_numpy()) for name in table.columns}
    return pd.DataFrame(columns).astype(table.dtypes)
