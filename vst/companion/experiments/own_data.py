"""The user's own table: the models beyond the paper, fitted to most rows and tested on the rest."""

from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float

from vst.companion.protocol import split_rows
from vst.companion.protocol.prepared import require_complete
from vst.datasets import Dataset, load_dataset
from vst.errors import UserError
from vst.estimators import VSGBMRegressor, VSTRegressor
from vst.predictive import PredictiveDistribution
from vst.tables import load_table, read_table, refuse_codes

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

    name: str  #: as in ``vst.companion.paper.label``
    model: VSTRegressor | VSGBMRegressor
    predicted: PredictiveDistribution
    seconds: float


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
    require_complete(dataset.name, dataset.X)
    split = split_rows(dataset.n, seed=seed)
    y = dataset.y.to_numpy(float)
    return Held(
        dataset,
        dataset.X.iloc[split.train].reset_index(drop=True),
        y[split.train],
        dataset.X.iloc[split.test].reset_index(drop=True),
        y[split.test],
    )


def fit_both(
    held: Held, *, depth: int = 4, members: int = 10, steps: int = 8000, seed: int = 0
) -> list[OwnFit]:
    """Fit VST+ and VSGBM+ (whitened inputs, a mixture of posteriors)."""
    beyond: dict[str, Any] = {
        "depth": depth, "whiten": True, "members": members, "random_state": seed,
    }  # fmt: skip
    models: dict[str, VSTRegressor | VSGBMRegressor] = {
        "vst-plus": VSTRegressor(steps=steps, **beyond),
        "vsgbm-plus": VSGBMRegressor(steps=max(steps // 2, 1), **beyond),
    }
    found = []
    for name, model in models.items():
        start = perf_counter()
        model.fit(held.x_train, held.y_train)
        predicted = model.predict_dist(held.x_test)
        found.append(OwnFit(name, model, predicted, perf_counter() - start))
    return found


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
    require_complete(path.name, features)
    return features, f"the {len(frame):,} rows of {path.name}"


def pit(fit: OwnFit, y: Float[np.ndarray, " m"]) -> Float[np.ndarray, " m"]:
    """Probability integral transform: where each target lies in its predictive distribution.

    Uniform on [0, 1] if the distributions are right.
    """
    return fit.predicted.cdf(y)


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
