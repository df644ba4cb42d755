"""Small, fast settings of the estimators, shared by the tests of what they have in common."""

import numpy as np
import pandas as pd

from vst import (
    VSGBMClassifier,
    VSGBMRegressor,
    VSTClassifier,
    VSTClassifierCV,
    VSTRegressor,
    VSTRegressorCV,
)

FAST = {"depth": 2, "rank": 2, "learning_rate": 1e-2, "steps": 600, "batch_size": 64}

VST = VSTRegressor(**FAST)
VSGBM = VSGBMRegressor(**FAST, n_trees=2, draws=100)
BOTH = [VST, VSGBM]

#: Beyond the paper: an ensemble trained as one, one with a noise tree on top, and the one that chooses.
JOINT = VSGBMRegressor(**FAST, n_trees=3, training="joint", noise="tree")
NOISE_TREE = VSGBMRegressor(**FAST, n_trees=2, noise="tree")
CHOOSING = VSTRegressorCV(effort=0.1)
CHOOSING_CLASSES = VSTClassifierCV(effort=0.1)

CLASSIFIERS = [VSTClassifier(**FAST), VSGBMClassifier(**FAST, n_trees=3, members=1)]


def name(model):
    return type(model).__name__


def table(rng, n=80):
    """A table with a number, a text column and a category, and a target that needs all three."""
    frame = pd.DataFrame(
        {
            "size": rng.normal(size=n),
            "town": rng.choice(["north", "south"], n),
            "kind": pd.Categorical(rng.choice(["a", "b", "c"], n)),
        }
    )
    y = frame["size"] + 2 * (frame["town"] == "north") - 3 * (frame["kind"] == "b")
    return frame, y + 0.1 * rng.normal(size=n)


def matrix(rng, n=80):
    x = rng.normal(size=(n, 3))
    return x, np.abs(x[:, 0]) + x[:, 1] + 0.1 * rng.normal(size=n)
