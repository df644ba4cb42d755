"""Our estimators in the protocol of the literature: random splits, scores in the target's own units.

Since Hernandez-Lobato and Adams (2015) most papers hold out a tenth of the rows, twenty times, or five
times on the large *protein*. Which rows those are is not in the data, so the splits here are our own.
"""

import time
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
from jaxtyping import Float

from vst.companion.experiments import datasets as catalogue
from vst.companion.experiments import regression
from vst.companion.experiments.cells import Cell, as_parameters, as_text
from vst.companion.experiments.experiment import Experiment, Job, Option
from vst.companion.experiments.profiles import Profile
from vst.companion.models import MODEL_BY_ID, check_names
from vst.datasets import load_dataset
from vst.errors import UserError
from vst.estimators import VSGBMRegressor, VSTRegressor, VSTRegressorCV

NAME = "literature"

DATASETS = (
    "boston", "concrete", "energy", "kin8nm", "naval", "power", "protein", "wine", "yacht",
)  # fmt: skip

#: Share of the rows that score a model, and splits of each data set.
TEST_SHARE, SPLITS, FEW_SPLITS = 0.1, 20, {"protein": 5}

Estimator = VSTRegressor | VSGBMRegressor | VSTRegressorCV

#: The registry's models whose code fits the estimators.
MODELS = ("vst-linear", "vsgbm-joint", "vst-cv")

#: Training rows, training target, test rows, test target.
Parts = tuple[
    Float[np.ndarray, "n d"], Float[np.ndarray, " n"],
    Float[np.ndarray, "t d"], Float[np.ndarray, " t"],
]  # fmt: skip


def parts(name: str, split: int) -> Parts:
    """A random split of a data set, in its own units."""
    data = load_dataset(name)
    order = np.random.default_rng([split, *name.encode()]).permutation(data.n)
    x, y = data.X.to_numpy(float)[order], data.y.to_numpy(float)[order]
    test = round(TEST_SHARE * data.n)
    return x[test:], y[test:], x[:test], y[:test]


def jobs(
    profile: Profile,
    *,
    compute: bool = True,
    datasets: Sequence[str] = (),
    models: Sequence[str] = (),
    splits: int = 0,
) -> list[Job]:
    """All jobs, split by split, so that an interrupted run has whole splits.

    Data sets that the literature does not have are left out.
    """
    check_names("model", list(models), MODELS)
    if splits > SPLITS:
        raise UserError(f"the literature has {SPLITS} splits: choose 1 to {SPLITS}")
    most = splits or profile.literature_splits
    chosen = regression.chosen_datasets(profile, datasets, compute)
    return [
        Job((_cell(profile, name, model, split),), compute_cells, needs=name)
        for split in range(most)
        for name in chosen
        if name in DATASETS and split < FEW_SPLITS.get(name, SPLITS)
        for model in models or MODELS
    ]


def _cell(profile: Profile, dataset: str, model: str, split: int) -> Cell:
    return Cell(NAME, dataset, model, split, 0, described(model, dataset, profile))


def estimator(model: str, dataset: str) -> Estimator:
    """An untuned estimator: settings tuned elsewhere in the book have seen rows that are held out here.

    The single tree has the README's first advice, a mixture of four on whitened inputs.
    """
    if model == "vst-cv":
        return VSTRegressorCV()
    if model == "vst-linear":
        return VSTRegressor(members=4, whiten=True)
    setting = MODEL_BY_ID[model].setting_for(catalogue.size(dataset), {})
    return VSGBMRegressor(**{**asdict(setting), "whiten": False, "smallest_scale": "auto"})


def described(model: str, dataset: str, profile: Profile) -> str:
    """The estimator's parameters as text, cut to the profile's limits."""
    given = estimator(model, dataset).get_params()
    cut = {name: min(given[name], most) for name, most in profile.limits.items() if name in given}
    return as_text({**given, **cut})


def compute_cells(cells: Sequence[Cell]) -> list[dict[str, Any]]:
    """Scores of the estimator on one split, in the target's units."""
    return [_scores(cell) for cell in cells]


def _scores(cell: Cell) -> dict[str, Any]:
    x, y, x_test, y_test = parts(cell.dataset, cell.fold)
    model = estimator(cell.model, cell.dataset).set_params(**as_parameters(cell.parameters))
    start = time.process_time()
    found = model.set_params(random_state=cell.fold).fit(x, y).predict_dist(x_test)
    lower, upper = found.interval(0.9)
    return {
        "log_likelihood": float(f"{found.log_prob(y_test).mean():.6g}"),
        "rmse": float(f"{np.sqrt(np.mean((found.mean - y_test) ** 2)):.6g}"),
        "coverage": round(float(np.mean((lower <= y_test) & (y_test <= upper))), 5),
        "seconds": round(time.process_time() - start, 3),
    }


def target_scale(name: str) -> float:
    """Standard deviation of a data set's target: converts scores to standardised units."""
    return float(load_dataset(name).y.to_numpy(float).std())


LITERATURE = Experiment(
    NAME,
    "our estimators, untuned, on twenty random splits as in the literature",
    (
        Option("datasets", "names", "data sets of the literature (default: the profile's)"),
        Option("models", "names", f"estimators (default: {', '.join(MODELS)})"),
        Option("splits", "count", f"random splits (default: {SPLITS}, and 5 of protein)"),
    ),
    jobs,
    ("fold", "log_likelihood", "rmse", "coverage"),
    summarised=("log_likelihood", "rmse", "coverage"),
)
