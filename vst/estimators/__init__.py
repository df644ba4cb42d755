"""The scikit-learn estimators: thin, stateful wrappers around pure functions."""

from dataclasses import asdict
from inspect import signature
from typing import Any

from vst.estimators.choosing import VSTRegressorCV
from vst.estimators.classifiers import VSGBMClassifier, VSTClassifier
from vst.estimators.ensemble import VSGBMRegressor
from vst.estimators.tree import VSTRegressor
from vst.soft_trees import SoftTrees

__all__ = [
    "VSGBMClassifier",
    "VSGBMRegressor",
    "VSTClassifier",
    "VSTRegressor",
    "VSTRegressorCV",
    "estimator",
]


def estimator(setting: SoftTrees, **options: Any) -> VSTRegressor | VSGBMRegressor:
    """The estimator for these settings; ``options`` are its other arguments."""
    cls = VSGBMRegressor if setting.n_trees else VSTRegressor
    own = signature(cls).parameters
    described = {name: value for name, value in asdict(setting).items() if name in own}
    return cls(**described | {"whiten": bool(setting.whiten)} | options)
