"""The models for people who use skpro: ``pip install "vst[skpro]"``."""

from typing import Any, ClassVar

import numpy as np
import pandas as pd
from sklearn.base import clone
from skpro.distributions.base import BaseDistribution
from skpro.regression.base import BaseProbaRegressor

from vst.estimators import VSTRegressor, VSTRegressorCV
from vst.predictive import PredictiveDistribution


class SkproRegressor(BaseProbaRegressor):
    """A regressor of this package, with skpro's interface.

    Parameters
    ----------
    estimator
        The regressor, which is cloned; by default a ``VSTRegressorCV``.

    Examples
    --------
    >>> import pandas as pd
    >>> from vst import VSTRegressor
    >>> from vst.skpro import SkproRegressor
    >>> model = SkproRegressor(VSTRegressor(depth=0, rank=0, steps=200, tol=0.0))
    >>> X = pd.DataFrame({"x": [0.0, 1.0, 2.0, 3.0]})
    >>> model.fit(X, pd.DataFrame({"y": [0.0, 1.0, 2.0, 3.0]})).predict_proba(X).shape
    (4, 1)
    """

    _tags: ClassVar = {"capability:missing": True}

    def __init__(self, estimator: Any = None):
        self.estimator = estimator
        super().__init__()

    def _fit(self, X: pd.DataFrame, y: pd.DataFrame) -> "SkproRegressor":
        model = VSTRegressorCV() if self.estimator is None else clone(self.estimator)
        self.estimator_ = model.fit(_named(X), y.iloc[:, 0].to_numpy())
        self._columns = y.columns
        return self

    def _predict(self, X: pd.DataFrame) -> pd.DataFrame:
        return pd.DataFrame(self.estimator_.predict(_named(X)), X.index, self._columns)

    def _predict_proba(self, X: pd.DataFrame) -> "SkproDistribution":
        return SkproDistribution(self.estimator_.predict_dist(_named(X)), X.index, self._columns)

    @classmethod
    def get_test_params(cls, parameter_set: str = "default") -> list[dict[str, Any]]:
        """Settings for skpro's own checks."""
        return [
            {"estimator": VSTRegressor(depth=depth, rank=0, steps=100, tol=0.0)} for depth in (0, 1)
        ]


def _named(X: pd.DataFrame) -> pd.DataFrame:
    """scikit-learn wants names of columns to be text."""
    return X.set_axis(X.columns.map(str), axis=1)


class SkproDistribution(BaseDistribution):
    """A predictive distribution with skpro's interface, in the target's units.

    Parameters
    ----------
    predicted
        The distribution of all rows.
    index, columns
        Of the rows, and of the one target.
    """

    _tags: ClassVar = {
        "broadcast_init": "off",
        "distr:measuretype": "continuous",
        "capabilities:exact": ["mean", "var", "pdf", "log_pdf", "cdf", "ppf"],
        "capabilities:approx": ["energy", "pdfnorm"],
    }

    def __init__(self, predicted: PredictiveDistribution, index: Any = None, columns: Any = None):
        self.predicted = predicted
        super().__init__(index=index, columns=columns)

    def _subset_param(
        self, val: Any, rowidx: Any, colidx: Any, coerce_scalar: bool = False
    ) -> PredictiveDistribution:
        return val if rowidx is None else val[rowidx]

    def _mean(self) -> np.ndarray:
        return self._shaped(self.predicted.mean)

    def _var(self) -> np.ndarray:
        return self._shaped(np.square(self.predicted.std))

    def _log_pdf(self, x: np.ndarray) -> np.ndarray:
        return self._shaped(self.predicted.log_prob(self._flat(x)))

    def _pdf(self, x: np.ndarray) -> np.ndarray:
        return np.exp(self._log_pdf(x))

    def _cdf(self, x: np.ndarray) -> np.ndarray:
        return self._shaped(self.predicted.cdf(self._flat(x)))

    def _ppf(self, p: np.ndarray) -> np.ndarray:
        levels, place = np.unique(self._flat(p), return_inverse=True)
        found = self.predicted.quantile(levels)
        return self._shaped(found[place, np.arange(len(place))])

    def _flat(self, values: np.ndarray) -> np.ndarray:
        return np.broadcast_to(np.ravel(values), (len(self.predicted),))

    def _shaped(self, values: np.ndarray) -> np.ndarray:
        return values[:, None] if self.ndim else values[0]
