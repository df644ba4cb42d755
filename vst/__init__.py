"""Variational boosted soft trees: calibrated uncertainty for tabular regression."""

from vst.datasets import load_dataset
from vst.estimators import VSGBMRegressor, VSTRegressor
from vst.posterior import LowRankGaussian
from vst.predictive import PredictiveDistribution
from vst.runtime import configure
from vst.tables import load_table
from vst.tree import SoftTree, TreeShape

__all__ = [
    "LowRankGaussian",
    "PredictiveDistribution",
    "SoftTree",
    "TreeShape",
    "VSGBMRegressor",
    "VSTRegressor",
    "configure",
    "load_dataset",
    "load_table",
]

__version__ = "0.1.0"
