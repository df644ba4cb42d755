"""The scikit-learn estimators: thin, stateful wrappers around pure functions."""

from dataclasses import asdict
from inspect import signature
from os import PathLike
from typing import Any

from vst import storage
from vst.estimators.choosing import VSTClassifierCV, VSTRegressorCV
from vst.estimators.classifiers import VSGBMClassifier, VSTClassifier
from vst.estimators.ensemble import VSGBMRegressor
from vst.estimators.tree import VSTRegressor
from vst.soft_trees import SoftTrees

__all__ = [
    "VSGBMClassifier",
    "VSGBMRegressor",
    "VSTClassifier",
    "VSTClassifierCV",
    "VSTRegressor",
    "VSTRegressorCV",
    "estimator",
    "load_model",
]

#: The estimators by their names in files.
ESTIMATORS = {
    cls.__name__: cls
    for cls in (
        VSTRegressor,
        VSGBMRegressor,
        VSTRegressorCV,
        VSTClassifier,
        VSGBMClassifier,
        VSTClassifierCV,
    )
}


def estimator(setting: SoftTrees, **options: Any) -> VSTRegressor | VSGBMRegressor:
    """The estimator for these settings; ``options`` are its other arguments."""
    cls = VSGBMRegressor if setting.n_trees else VSTRegressor
    own = signature(cls).parameters
    described = {name: value for name, value in asdict(setting).items() if name in own}
    return cls(**described | {"whiten": bool(setting.whiten)} | options)


def load_model(path: str | PathLike) -> Any:
    """Read a model of any kind that was written by its ``save``.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     VSTRegressor(rank=0, steps=20, tol=0).fit([[0], [1]], [0, 1]).save(f"{folder}/a.vst")
    ...     type(load_model(f"{folder}/a.vst")).__name__
    'VSTRegressor'
    """
    return storage.load(ESTIMATORS, path)
