"""Variational boosted soft trees: calibrated uncertainty for tables."""

from vst.class_distribution import ClassDistribution
from vst.datasets import load_dataset
from vst.estimators import (
    VSGBMClassifier,
    VSGBMRegressor,
    VSTClassifier,
    VSTClassifierCV,
    VSTRegressor,
    VSTRegressorCV,
    load_model,
)
from vst.posterior import LowRankGaussian
from vst.predictive import PredictiveDistribution
from vst.runtime import configure
from vst.tables import load_table
from vst.tree import SoftTree, TreeShape

__all__ = [
    "ClassDistribution",
    "LowRankGaussian",
    "PredictiveDistribution",
    "SoftTree",
    "TreeShape",
    "VSGBMClassifier",
    "VSGBMRegressor",
    "VSTClassifier",
    "VSTClassifierCV",
    "VSTRegressor",
    "VSTRegressorCV",
    "configure",
    "load_dataset",
    "load_model",
    "load_table",
]

__version__ = "0.1.0"
