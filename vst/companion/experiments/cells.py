"""The unit of an experiment: one model, fitted to one fold of one data set with given parameters."""

import hashlib
import json
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any


@dataclass(frozen=True)
class Cell:
    """A result's full description: the same description gives the same result.

    Attributes
    ----------
    experiment, dataset, model
        Names.
    fold
        Which of the training part's folds is left out.
    seed
        Of everything random in the fit; the split and the folds do not depend on it.
    parameters
        The model's hyperparameters as JSON with sorted keys, so that equal ones compare equal.
    """

    experiment: str
    dataset: str
    model: str
    fold: int
    seed: int
    parameters: str

    @cached_property
    def key(self) -> str:
        """Twelve hexadecimal digits that stand for the description."""
        text = json.dumps(asdict(self), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:12]


def as_text(parameters: dict[str, Any]) -> str:
    """Hyperparameters as the text that a cell carries.

    Examples
    --------
    >>> as_text({"rank": 5, "beta": 2.0})
    '{"beta": 2.0, "rank": 5}'
    """
    return json.dumps(parameters, sort_keys=True)


def as_parameters(text: str) -> dict[str, Any]:
    """The hyperparameters that a cell carries."""
    return json.loads(text)
