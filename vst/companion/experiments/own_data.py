"""The user's own table: models fitted to most of its rows and tested on the rest."""

from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

import numpy as np
import pandas as pd
from jaxtyping import Float

from vst.companion.protocol import split_rows
from vst.companion.protocol.prepared import require_usable
from vst.datasets import Dataset, load_dataset
from vst.errors import UserError
from vst.estimators import VSTRegressor, VSTRegressorCV
from vst.predictive import PredictiveDistribution
from vst.table_files import read_table
from vst.tables import load_table, refuse_codes

#: The bundled table that the chapter shows by default.
EXAMPLE = "concrete"

#: With fewer rows, too few are left to test a model on.
FEWEST_ROWS = 30


@dataclass(frozen=True, eq=False)
class Held:
    """A table and its held-out rows."""

    dataset: Dataset
    x_train: pd.DataFrame
    y_train: Float[np.ndarray, " n"]
    x_test: pd.DataFrame
    y_test: Float[np.ndarray, " m"]


@dataclass(frozen=True, eq=False)
class OwnFit:
    """A fitted model and its predictions of the held-out rows."""

    model: VSTRegressorCV | VSTRegressor
    predicted: PredictiveDistribution
    seconds: float

    @property
    def label(self) -> str:
        """The model's name in tables and figures: its class, as a user types it."""
        return type(self.model).__name__

    @property
    def is_mixture(self) -> bool:
        """Whether it chose its models itself."""
        return isinstance(self.model, VSTRegressorCV)

    @property
    def mixture(self) -> VSTRegressorCV:
        """The model that chose; a single tree has no choice to show."""
        if not isinstance(self.model, VSTRegressorCV):
            raise TypeError(f"{self.label} does not choose: give the fit of a VSTRegressorCV")
        return self.model

    @property
    def tree(self) -> VSTRegressor:
        """The single tree; a mixture has none to draw."""
        if not isinstance(self.model, VSTRegressor):
            raise TypeError(f"{self.label} has no single tree: give the fit of a VSTRegressor")
        return self.model


def hold_out(table: str = "", target: str = "", *, seed: int = 0) -> Held:
    """Read a table and hold out every fifth row; without a name, use the bundled example."""
    if bool(table) != bool(target):
        given, lacking = ("table", "target") if table else ("target", "table")
        raise UserError(f"{given} was given without {lacking}: name the file and its column")
    dataset = load_table(table, target=target) if table else load_dataset(EXAMPLE)
    if dataset.n < FEWEST_ROWS:
        raise UserError(
            f"{dataset.name} has {dataset.n} row{'s' if dataset.n != 1 else ''}: at least "
            f"{FEWEST_ROWS} are needed, since a fifth of them is held out"
        )
    require_usable(dataset.name, dataset.X)
    split = split_rows(dataset.n, seed=seed)
    y = dataset.y.to_numpy(float)
    return Held(
        dataset,
        dataset.X.iloc[split.train].reset_index(drop=True),
        y[split.train],
        dataset.X.iloc[split.test].reset_index(drop=True),
        y[split.test],
    )


def fit(held: Held, model: VSTRegressorCV | VSTRegressor) -> OwnFit:
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
        rng = np.random.default_rng(seed)
        columns = {name: rng.permutation(held.x_test[name]) for name in held.x_test.columns}
        words = "the held-out rows themselves, with every column shuffled separately"
        return pd.DataFrame(columns).astype(held.x_test.dtypes), words
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
