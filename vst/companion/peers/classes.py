"""Peers for classes: classifiers of scikit-learn, CatBoost and XGBoost, with their own defaults.

Where a library takes gaps and text itself, it gets them as they are. For the others, gaps in numbers
become the mean, with an indicator, numbers are standardised, and text becomes one column per category.
"""

from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import RandomForestClassifier, VotingClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import LabelEncoder, OneHotEncoder, StandardScaler

from vst.companion.peers.libraries import library

#: What CatBoost gets for a gap in a text column: it takes gaps in numbers only.
GAP = "missing"


def text_columns(table: pd.DataFrame) -> list[str]:
    """The columns of text or categories."""
    return [str(name) for name in table.columns if not pd.api.types.is_numeric_dtype(table[name])]


def prepared(table: pd.DataFrame, classifier: Any) -> Pipeline:
    """A classifier that gets numbers without gaps."""
    text = text_columns(table)
    numbers = [name for name in table.columns if name not in text]
    filled = make_pipeline(SimpleImputer(add_indicator=True), StandardScaler())
    columns = ColumnTransformer(
        [("numbers", filled, numbers), ("text", OneHotEncoder(handle_unknown="ignore"), text)],
        sparse_threshold=0,
    )
    return make_pipeline(columns, classifier)


def logistic_regression(table: pd.DataFrame, seed: int, *, C: float, steps: int) -> Pipeline:
    """Logistic regression with a quadratic penalty."""
    return prepared(table, LogisticRegression(C=C, max_iter=steps, random_state=seed))


def random_forest(table: pd.DataFrame, seed: int, *, n_learners: int) -> Pipeline:
    """A random forest."""
    return prepared(table, RandomForestClassifier(n_learners, random_state=seed, n_jobs=1))


def deep_ensemble(
    table: pd.DataFrame, seed: int, *, members: int, units: int, steps: int
) -> Pipeline:
    """Networks with two hidden layers that start from different weights and stop early."""
    networks = [
        (
            str(i),
            MLPClassifier(
                (units, units), max_iter=steps, early_stopping=True, n_iter_no_change=20,
                random_state=1000 * seed + i,
            ),
        )
        for i in range(members)
    ]  # fmt: skip
    return prepared(table, VotingClassifier(networks, voting="soft"))


class CatBoost(BaseEstimator):
    """CatBoost, which takes text columns by name, and gaps in numbers."""

    def __init__(self, text: list[str], n_learners: int, seed: int):
        self.text, self.n_learners, self.seed = text, n_learners, seed

    def fit(self, X: pd.DataFrame, y: np.ndarray) -> "CatBoost":
        """Fit to a table."""
        options: dict[str, Any] = {"verbose": 0, "thread_count": 1, "allow_writing_files": False}
        self.model_ = library("catboost").CatBoostClassifier(
            iterations=self.n_learners, random_seed=self.seed, cat_features=self.text, **options
        )
        self.model_.fit(self._told(X), y)
        self.classes_ = self.model_.classes_
        return self

    def predict_proba(self, X: pd.DataFrame) -> np.ndarray:
        """Probabilities of the classes."""
        return self.model_.predict_proba(self._told(X))

    def _told(self, X: pd.DataFrame) -> pd.DataFrame:
        return X.assign(**{name: X[name].astype(object).fillna(GAP) for name in self.text})


def catboost(table: pd.DataFrame, seed: int, *, n_learners: int) -> CatBoost:
    """CatBoost."""
    return CatBoost(text_columns(table), n_learners, seed)


class XGBoost(BaseEstimator):
    """XGBoost, which takes gaps and categories; classes are numbered for it."""

    def __init__(self, n_learners: int, seed: int):
        self.n_learners, self.seed = n_learners, seed

    def fit(self, X: pd.DataFrame, y: np.ndarray) -> "XGBoost":
        """Fit to a table, whose categories it keeps."""
        self.types_ = {
            name: pd.CategoricalDtype(X[name].dropna().unique().tolist())
            for name in text_columns(X)
        }
        self.labels_ = LabelEncoder().fit(y)
        self.model_ = library("xgboost").XGBClassifier(
            n_estimators=self.n_learners, random_state=self.seed, n_jobs=1, enable_categorical=True
        )
        self.model_.fit(X.astype(self.types_), self.labels_.transform(y))
        self.classes_ = self.labels_.classes_
        return self

    def predict_proba(self, X: pd.DataFrame) -> np.ndarray:
        """Probabilities of the classes; a new category is a gap."""
        return self.model_.predict_proba(X.astype(self.types_))


def xgboost(table: pd.DataFrame, seed: int, *, n_learners: int) -> XGBoost:
    """XGBoost."""
    return XGBoost(n_learners, seed)
