"""The user's own table: models fitted to most of its rows and tested on the rest.

The target decides whether it is a table of numbers or of classes.
"""

from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float

from vst.companion.protocol import split_rows
from vst.companion.protocol.class_tables import class_split, shuffled
from vst.companion.protocol.prepared import require_usable
from vst.datasets import Dataset, load_dataset
from vst.errors import UserError
from vst.estimators import VSTClassifier, VSTClassifierCV, VSTRegressor, VSTRegressorCV
from vst.table_files import read_table
from vst.tables import Task, refuse_codes, split_table

#: The bundled table that the chapter shows by default.
EXAMPLE = "concrete"

#: With fewer rows, too few are left to test a model on.
FEWEST_ROWS = 30


@dataclass(frozen=True, eq=False)
class Held:
    """A table, its held-out rows, and the rows without a target."""

    dataset: Dataset
    x_train: pd.DataFrame
    y_train: np.ndarray  #: numbers, or labels of classes
    x_test: pd.DataFrame
    y_test: np.ndarray
    unknown: pd.DataFrame  #: features of the rows without a target
    classes: bool = False


@dataclass(frozen=True, eq=False)
class OwnFit:
    """A fitted model and its predictions of the held-out rows."""

    model: Any
    predicted: Any  #: a distribution of numbers or of classes
    seconds: float

    @property
    def label(self) -> str:
        """The model's name in tables and figures: its class, as a user types it."""
        return type(self.model).__name__

    @property
    def is_first(self) -> bool:
        """Whether it is the model to use, rather than the tree to look into."""
        return isinstance(self.model, VSTRegressorCV | VSTClassifierCV)

    @property
    def mixture(self) -> VSTRegressorCV | VSTClassifierCV:
        """The model that chose; a single tree has no choice to show."""
        if not isinstance(self.model, VSTRegressorCV | VSTClassifierCV):
            raise TypeError(f"{self.label} does not choose: give the fit of a VSTRegressorCV")
        return self.model

    @property
    def tree(self) -> VSTRegressor | VSTClassifier:
        """The single tree; a mixture or an ensemble has none to draw."""
        if not isinstance(self.model, VSTRegressor | VSTClassifier):
            raise TypeError(f"{self.label} has no single tree: give the fit of a VSTRegressor")
        return self.model


def hold_out(table: str = "", target: str = "", *, task: Task = "auto", seed: int = 0) -> Held:
    """Read a table and hold out every fifth row; without a name, use the bundled example.

    Rows without a target are set aside, to be predicted.
    """
    if bool(table) != bool(target):
        given, lacking = ("table", "target") if table else ("target", "table")
        raise UserError(f"{given} was given without {lacking}: name the file and its column")
    if table:
        dataset, unknown, classes = split_table(table, target=target, task=task)
    else:
        dataset, unknown, classes = load_dataset(EXAMPLE), pd.DataFrame(), False
    if dataset.n < FEWEST_ROWS:
        raise UserError(
            f"{dataset.name} has {dataset.n} row{'s' if dataset.n != 1 else ''}: at least "
            f"{FEWEST_ROWS} are needed, since a fifth of them is held out"
        )
    require_usable(dataset.name, dataset.X)
    split = class_split(dataset.y, seed) if classes else split_rows(dataset.n, seed=seed)
    y = dataset.y.astype(str).to_numpy() if classes else dataset.y.to_numpy(float)
    return Held(
        dataset,
        dataset.X.iloc[split.train].reset_index(drop=True),
        y[split.train],
        dataset.X.iloc[split.test].reset_index(drop=True),
        y[split.test],
        unknown,
        classes,
    )


def first_model(held: Held, effort: float, seed: int) -> VSTRegressorCV | VSTClassifierCV:
    """The model to use on a table; ``effort`` multiplies its gradient steps."""
    cls = VSTClassifierCV if held.classes else VSTRegressorCV
    return cls(effort=effort, random_state=seed)


def single_tree(held: Held, depth: int, seed: int) -> VSTRegressor | VSTClassifier:
    """One soft tree, in the paper's form."""
    cls = VSTClassifier if held.classes else VSTRegressor
    return cls(depth=depth, random_state=seed)


def fit(held: Held, model: Any) -> OwnFit:
    """Fit a model to the training rows, and predict the held-out ones."""
    start = perf_counter()
    model.fit(held.x_train, held.y_train)
    predicted = model.predict_dist(held.x_test)
    return OwnFit(model, predicted, perf_counter() - start)


def other_rows(held: Held, other: str = "", *, seed: int = 0) -> tuple[pd.DataFrame, str]:
    """Rows to compare with the held-out ones, and a phrase that describes them.

    Without a second file, every column of the held-out rows is shuffled separately: the features keep
    their ranges and lose their correlations.
    """
    if not other:
        words = "the held-out rows themselves, with every column shuffled separately"
        return shuffled(held.x_test, seed), words
    path = Path(other).expanduser()
    frame = read_table(path)
    missing = [str(name) for name in held.x_test.columns if name not in frame.columns]
    if missing:
        raise UserError(
            f"{other} has no column {', '.join(missing)}: it needs the features of "
            f"{held.dataset.name}"
        )
    if len(frame) == 0:
        raise UserError(f"{other} has column names but no rows: add rows of values")
    features = frame[list(held.x_test.columns)]
    refuse_codes(features, other)
    require_usable(path.name, features)
    return features, f"the {len(frame):,} rows of {path.name}"


def pit(fitted: OwnFit, y: Float[np.ndarray, " m"]) -> Float[np.ndarray, " m"]:
    """Probability integral transform: where each target lies in its predictive distribution.

    Uniform on [0, 1] if the distributions are right.
    """
    return fitted.predicted.cdf(y)


def coverage(
    values: Float[np.ndarray, " m"], levels: Float[np.ndarray, " l"]
) -> Float[np.ndarray, " l"]:
    """Share of targets inside the central interval of each level, from their PIT values.

    Examples
    --------
    >>> coverage(np.array([0.05, 0.3, 0.5, 0.99]), np.array([0.5, 0.95]))
    array([0.5 , 0.75])
    """
    distance = 2 * np.abs(np.asarray(values) - 0.5)
    return np.mean(distance[None, :] <= np.asarray(levels)[:, None], axis=1)
