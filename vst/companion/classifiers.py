"""The registry of classifiers: one row holds everything the companion knows about one."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from vst.companion.models import FAMILIES
from vst.companion.peers import classes
from vst.estimators import VSGBMClassifier, VSTClassifier, VSTClassifierCV


@dataclass(frozen=True)
class Classifier:
    """A row of the tables.

    Attributes
    ----------
    id, label
        Name in data files and on the command line, and in tables and figures.
    family
        A name in `FAMILIES`, which gives the colour.
    build
        Makes an unfitted estimator from a training table, a seed and the parameters.
    parameters
        The settings that a profile may cut; all others are the library's defaults.
    is_ours
        Whether this package fits it.
    mark
        Marker in figures.
    """

    id: str
    label: str
    family: str
    build: Callable[..., Any]
    parameters: Mapping[str, Any]
    is_ours: bool = False
    mark: str = "o"

    @property
    def colour(self) -> str:
        """Its family's colour."""
        return FAMILIES[self.family].colour


def _tree(table: pd.DataFrame, seed: int, **parameters: Any) -> VSTClassifier:
    return VSTClassifier(**parameters, random_state=seed)


def _ensemble(table: pd.DataFrame, seed: int, **parameters: Any) -> VSGBMClassifier:
    return VSGBMClassifier(**parameters, random_state=seed)


def _mixture(table: pd.DataFrame, seed: int, **parameters: Any) -> VSTClassifierCV:
    return VSTClassifierCV(**parameters, random_state=seed)


def _defaults(cls: type, *names: str) -> dict[str, Any]:
    """The default values of an estimator's settings."""
    own = cls().get_params()
    return {name: own[name] for name in names}


#: Every row, ours first.
CLASSIFIERS: dict[str, Classifier] = {
    row.id: row
    for row in (
        Classifier(
            "vst-cv", "VSTClassifierCV", "vst", _mixture,
            _defaults(VSTClassifierCV, "effort"), is_ours=True, mark="*",
        ),
        Classifier(
            "vst", "VSTClassifier", "vst", _tree,
            _defaults(VSTClassifier, "steps", "members"), is_ours=True,
        ),
        Classifier(
            "vsgbm", "VSGBMClassifier", "vsgbm", _ensemble,
            _defaults(VSGBMClassifier, "steps", "members", "n_trees"), is_ours=True, mark="s",
        ),
        Classifier(
            "logistic", "Logistic regression", "logistic", classes.logistic_regression,
            {"C": 1.0, "steps": 5000}, mark="D",
        ),
        Classifier(
            "forest", "Random forest", "forest", classes.random_forest, {"n_learners": 500}, mark="^",
        ),
        Classifier(
            "catboost", "CatBoost", "catboost", classes.catboost, {"n_learners": 1000}, mark="v",
        ),
        Classifier(
            "xgboost", "XGBoost", "xgboost", classes.xgboost, {"n_learners": 100}, mark="P",
        ),
        Classifier(
            "deep-ensemble", "Deep ensemble", "deep-ensemble", classes.deep_ensemble,
            {"members": 5, "units": 100, "steps": 500}, mark="X",
        ),
    )
}  # fmt: skip
