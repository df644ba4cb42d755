"""Gaps in a table: left to the model, filled in before it, and not there at all.

A fifth of the cells of three data sets are removed at random, from the training and the test rows.
"""

import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float
from sklearn.impute import SimpleImputer

from vst.companion.experiments.cells import Cell, as_parameters, as_text
from vst.companion.experiments.experiment import Experiment, Job, Option
from vst.companion.experiments.profiles import Profile
from vst.companion.models import check_names
from vst.datasets import load_dataset
from vst.estimators import VSTRegressorCV

NAME = "gaps"

DATASETS = ("boston", "concrete", "kin8nm")

#: Share of the cells that are removed, share of the rows that score a model, and random splits.
REMOVED, TEST_SHARE, SPLITS = 0.2, 0.2, 5

#: What the model gets: the whole table, the table with its gaps, or one without gaps that scikit-learn's
#: ``SimpleImputer(add_indicator=True)`` made of it.
WHOLE, GAPS, IMPUTED = "no gaps", "gaps", "imputed"
WAYS = (WHOLE, GAPS, IMPUTED)

#: The registry's model whose code fits them.
FITTED_BY = "vst-cv"

#: Training rows, training target, test rows, test target.
Parts = tuple[
    Float[np.ndarray, "n d"], Float[np.ndarray, " n"],
    Float[np.ndarray, "t d"], Float[np.ndarray, " t"],
]  # fmt: skip


def parts(name: str, way: str, seed: int) -> Parts:
    """A random split of a data set, with gaps in the same cells for every way to treat them."""
    data = load_dataset(name)
    rng = np.random.default_rng([seed, *name.encode()])
    order = rng.permutation(data.n)
    x, y = data.X.to_numpy(float)[order], data.y.to_numpy(float)[order]
    gaps = rng.random(x.shape) < REMOVED
    if way != WHOLE:
        x[gaps] = np.nan
    test = round(TEST_SHARE * data.n)
    x_train, x_test = x[test:], x[:test]
    if way == IMPUTED:
        imputer = SimpleImputer(add_indicator=True).fit(x_train)
        x_train, x_test = imputer.transform(x_train), imputer.transform(x_test)
    return x_train, y[test:], x_test, y[:test]


def jobs(
    profile: Profile, *, compute: bool = True, datasets: Sequence[str] = (), splits: int = 0
) -> list[Job]:
    """All jobs: every data set and split, with each way to treat gaps."""
    check_names("data set", list(datasets), DATASETS)
    text = as_text({"effort": profile.limits.get("effort", VSTRegressorCV().effort)})
    small = profile.computes
    return [
        Job(
            (Cell(NAME, name, way, 0, seed, text),),
            compute_cells,
            needs=name,
            fitted_by=FITTED_BY,
        )
        for name in datasets or (DATASETS[:1] if small else DATASETS)
        for seed in range(splits or min(profile.seeds, SPLITS))
        for way in WAYS
    ]


def compute_cells(cells: Sequence[Cell]) -> list[dict[str, Any]]:
    """Scores of the model on one table, and the processor seconds that it took."""
    return [_scores(cell) for cell in cells]


def _scores(cell: Cell) -> dict[str, Any]:
    x, y, x_test, y_test = parts(cell.dataset, cell.model, cell.seed)
    described = as_parameters(cell.parameters)
    model = VSTRegressorCV(effort=described["effort"], random_state=cell.seed)
    start, scale = time.process_time(), y.std()
    found = model.fit(x, y).predict_dist(x_test)
    scores = found.log_prob(y_test)
    return {
        "rows": len(y_test),
        "log_likelihood": round(float(scores.mean() + np.log(scale)), 5),
        "rmse": round(float(np.sqrt(np.mean((found.mean - y_test) ** 2)) / scale), 5),
        "seconds": round(time.process_time() - start, 3),
    }


def gains(results: pd.DataFrame) -> pd.DataFrame:
    """Log-likelihood with gaps above that of the imputed table: mean and standard error by data set."""
    wide = results.pivot_table(
        "log_likelihood", ["dataset", "seed"], "model", sort=False, observed=True
    )
    if not {GAPS, IMPUTED} <= set(wide):
        return pd.DataFrame(columns=["mean", "error"])
    difference = (wide[GAPS] - wide[IMPUTED]).groupby("dataset", sort=False)
    return pd.DataFrame({"mean": difference.mean(), "error": difference.sem()})


GAP_RUNS = Experiment(
    NAME,
    "tables with gaps: left to the model, or filled in before",
    (
        Option("datasets", "names", "data sets (default: the profile's)"),
        Option("splits", "count", f"random splits (default: {SPLITS})"),
    ),
    jobs,
    ("rows", "log_likelihood", "rmse"),
    summarised=("log_likelihood", "rmse"),
    fitted_by=lambda _: FITTED_BY,
)
