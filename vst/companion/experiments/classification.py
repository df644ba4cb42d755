"""Classification, which the paper leaves for later: our classifiers and five others, all untuned.

A cell is one model on one random split of one table. Besides its scores it stores how often its
predictions of a given confidence are right (`reliability`), and its accuracy on the rows that it is most
certain of (`abstention`).
"""

import time
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from jaxtyping import Float, Int
from sklearn.metrics import log_loss

from vst.companion.classifiers import CLASSIFIERS
from vst.companion.experiments import datasets
from vst.companion.experiments.cells import Cell, as_parameters, as_text
from vst.companion.experiments.detection import auroc
from vst.companion.experiments.experiment import Experiment, Job, Option, Part
from vst.companion.experiments.fingerprints import CLASSIFIER
from vst.companion.experiments.profiles import Profile
from vst.companion.models import check_names
from vst.companion.protocol.class_tables import (
    CLASS_TABLES,
    WITH_SCIKIT_LEARN,
    class_split,
    load_class_table,
    shuffled,
)
from vst.datasets import Dataset

NAME = "classification"

#: Random splits of each table.
SPLITS = 5

#: Bins of the confidence, for the calibration error and the reliability diagrams.
BINS = 10

#: Shares of the rows that are kept when a model may abstain.
KEPT = tuple(round(0.5 + 0.05 * i, 2) for i in range(11))

#: No class gets less probability than this: a single row must not decide a mean.
SMALLEST = 1e-6

#: How a row's uncertainty is measured; peers have only the first.
MEASURES = ("entropy", "mutual_information")


def jobs(
    profile: Profile,
    *,
    compute: bool = True,
    datasets: Sequence[str] = (),
    models: Sequence[str] = (),
    splits: int = 0,
    seed: int = 0,
) -> list[Job]:
    """All jobs: every classifier on every split of every table."""
    check_names("classifier", list(models), tuple(CLASSIFIERS))
    used = range(splits or min(SPLITS, profile.folds))
    tables = list(datasets) or (["penguins"] if profile.datasets else list(CLASS_TABLES))
    for table in tables:
        load(table)
    return [
        Job((cell,), compute_cells, needs=needs(table), fitted_by=fitted_by(name))
        for table in tables
        for name in models or CLASSIFIERS
        for cell in _cells(profile, table, name, used, seed)
    ]


def _cells(profile: Profile, table: str, name: str, splits: range, seed: int) -> list[Cell]:
    limits, own = profile.limits, CLASSIFIERS[name].parameters
    text = as_text({k: min(v, limits[k]) if k in limits else v for k, v in own.items()})
    return [Cell(NAME, table, name, split, seed, text) for split in splits]


def fitted_by(name: str) -> str:
    """The name that a classifier's rows are fingerprinted under."""
    return CLASSIFIER + name


def needs(table: str) -> str:
    """The data set that must be on this machine; scikit-learn's always are."""
    return "" if table in WITH_SCIKIT_LEARN else table


def load(table: str) -> Dataset:
    """A table by its name, or a user's file."""
    return _load(table, datasets.file(table))


@lru_cache(maxsize=2)
def _load(table: str, file: str) -> Dataset:
    """Like `load`; ``file`` changes when a user's file changes."""
    return load_class_table(table, datasets.as_file(table))


def compute_cells(cells: Sequence[Cell]) -> list[dict[str, Any]]:
    """Fit and score one cell after the other."""
    return [_computed(cell) for cell in cells]


def _computed(cell: Cell) -> dict[str, Any]:
    data = load(cell.dataset)
    split = class_split(data.y, cell.fold)
    X, y = data.X, data.y.astype(str).to_numpy()
    inside, outside = X.iloc[split.test], shuffled(X.iloc[split.test], cell.fold)
    start = time.process_time()
    model = CLASSIFIERS[cell.model].build(X, cell.seed, **as_parameters(cell.parameters))
    model.fit(X.iloc[split.train], y[split.train])
    predicted = predict(model, inside)
    seconds = round(time.process_time() - start, 3)
    truth = np.searchsorted(model.classes_.astype(str), y[split.test])
    return {
        **scores(predicted.proba, truth),
        **detection(predicted, predict(model, outside)),
        "reliability": reliability(predicted.proba, truth),
        "abstention": abstention(predicted, truth),
        "rows": len(split.test),
        "classes": len(model.classes_),
        "data_sha256": data.sha256,
        "seconds": seconds,
    }


class Predicted(NamedTuple):
    """Probabilities of the classes, and how uncertain each row is."""

    proba: Float[np.ndarray, "n classes"]
    uncertainty: dict[str, Float[np.ndarray, " n"]]  #: by measure


def predict(model: Any, X: pd.DataFrame) -> Predicted:
    """Predict with any classifier; only ours tell their mutual information."""
    if hasattr(model, "predict_dist"):
        found = model.predict_dist(X)
        return Predicted(found.proba, {name: getattr(found, name) for name in MEASURES})
    proba = np.asarray(model.predict_proba(X))
    entropy = -np.sum(proba * np.log(np.maximum(proba, np.finfo(float).tiny)), axis=1)
    return Predicted(proba, {"entropy": entropy})


def scores(proba: Float[np.ndarray, "n classes"], truth: Int[np.ndarray, " n"]) -> dict[str, float]:
    """Log loss, Brier score, accuracy and expected calibration error.

    Examples
    --------
    >>> found = scores(np.array([[0.8, 0.2], [0.4, 0.6]]), np.array([0, 0]))
    >>> found["accuracy"], found["brier"]
    (0.5, 0.4)
    """
    classes = np.arange(proba.shape[1])
    floored = np.maximum(proba, SMALLEST)
    loss = log_loss(truth, floored / floored.sum(axis=1, keepdims=True), labels=classes)
    bins = pd.DataFrame(reliability(proba, truth))
    off = np.abs(bins["confidence"] - bins["correct"])
    return {
        "log_loss": round(float(loss), 5),
        "brier": round(
            float(np.mean(np.sum((proba - np.eye(len(classes))[truth]) ** 2, axis=1))), 5
        ),
        "accuracy": round(float(np.mean(proba.argmax(axis=1) == truth)), 5),
        "ece": round(float(np.average(off, weights=bins["number"])), 5),
    }


def reliability(
    proba: Float[np.ndarray, "n classes"], truth: Int[np.ndarray, " n"]
) -> list[dict[str, Any]]:
    """Mean confidence in the predicted class, and how often it is right, by bins of the confidence."""
    frame = pd.DataFrame(
        {"confidence": proba.max(axis=1), "correct": proba.argmax(axis=1) == truth}
    )
    frame["bin"] = np.minimum((frame["confidence"] * BINS).astype(int), BINS - 1)
    groups = frame.groupby("bin")
    found = groups.agg(
        confidence=("confidence", "mean"), correct=("correct", "mean"), number=("correct", "size")
    )
    return found.round(5).reset_index().to_dict("records")  # type: ignore[return-value]


def abstention(predicted: Predicted, truth: Int[np.ndarray, " n"]) -> list[dict[str, Any]]:
    """Accuracy on the most certain rows, for each share of the rows that is kept."""
    right = predicted.proba.argmax(axis=1) == truth
    found = []
    for measure, values in predicted.uncertainty.items():
        order = np.argsort(values, kind="stable")
        for kept in KEPT:
            most_certain = order[: max(round(kept * len(order)), 1)]
            accuracy = round(float(np.mean(right[most_certain])), 5)
            found.append({"measure": measure, "kept": kept, "accuracy": accuracy})
    return found


def detection(inside: Predicted, outside: Predicted) -> dict[str, float | None]:
    """AUROC of test rows against shuffled ones, by each measure of uncertainty."""
    return {
        f"auroc_{measure}": round(
            auroc(inside.uncertainty[measure], outside.uncertainty[measure]), 5
        )
        if measure in inside.uncertainty
        else None
        for measure in MEASURES
    }


CLASSIFICATION = Experiment(
    NAME,
    "log loss, calibration and OOD detection of every classifier on every table",
    (
        Option("datasets", "names", "tables; your own file as file.csv:target (default: all)"),
        Option("models", "names", "classifiers (default: all)"),
        Option("splits", "count", f"random splits of each table (default {SPLITS})"),
        Option("seed", "number", "seed of the fits (default 0)"),
    ),
    jobs,
    (
        "fold", "rows", "classes", "log_loss", "brier", "accuracy", "ece",
        *(f"auroc_{measure}" for measure in MEASURES), "data_sha256",
    ),
    parts={
        "reliability": Part(("bin", "confidence", "correct", "number"), unique=1),
        "abstention": Part(("measure", "kept", "accuracy"), unique=2),
    },
    summarised=("log_loss", "accuracy", "ece"),
    fitted_by=fitted_by,
)  # fmt: skip
