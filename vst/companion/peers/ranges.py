"""Tuning ranges of hyperparameters: three kinds, as plain data."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Interval:
    """All numbers from ``low`` to ``high``; with ``log``, uniform on a log scale.

    Examples
    --------
    >>> 0.5 in Interval(0.001, 1.0, log=True)
    True
    """

    low: float
    high: float
    log: bool = False

    def __contains__(self, value: Any) -> bool:
        return self.low <= value <= self.high


@dataclass(frozen=True)
class Whole:
    """The integers from ``low`` to ``high``, both included.

    Examples
    --------
    >>> 6 in Whole(1, 6), 2.5 in Whole(1, 6)
    (True, False)
    """

    low: int
    high: int
    log: bool = False

    def __contains__(self, value: Any) -> bool:
        return value == int(value) and self.low <= value <= self.high


@dataclass(frozen=True)
class Choices:
    """A few values; a single value means that the hyperparameter is not tuned.

    Examples
    --------
    >>> 0.1 in Choices((0.001, 0.01, 0.1))
    True
    """

    values: tuple[Any, ...]

    def __contains__(self, value: Any) -> bool:
        return value in self.values


Range = Interval | Whole | Choices
Ranges = Mapping[str, Range]

#: Lower bounds on the scale of a boosted Normal, which can otherwise collapse on single rows.
SMALLEST_SCALES = Choices((0.001, 0.003, 0.01, 0.03, 0.1, 0.3))


def without(ranges: Ranges, *names: str) -> Ranges:
    """The ranges without the hyperparameters that a variant fixes.

    Examples
    --------
    >>> without({"depth": Whole(1, 6), "n_learners": Whole(1, 1000)}, "n_learners")
    {'depth': Whole(low=1, high=6, log=False)}
    """
    unknown = set(names) - set(ranges)
    if unknown:
        raise ValueError(f"there is no range for {', '.join(sorted(unknown))}")
    return {name: value for name, value in ranges.items() if name not in names}
