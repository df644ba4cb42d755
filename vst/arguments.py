"""Checks of arguments: each raises ValueError with what is allowed and what was given."""

import math
import numbers
from typing import Any


def count(name: str, value: Any, *, least: int = 1) -> int:
    """Require an integer >= ``least``, and return it."""
    if not isinstance(value, numbers.Integral) or isinstance(value, bool) or value < least:
        raise ValueError(f"{name} must be an integer >= {least}, got {value!r}")
    return int(value)


def positive(name: str, value: Any, *, zero_allowed: bool = False, instead: str = "") -> None:
    """Require a finite positive number (or zero, if allowed).

    ``instead`` is a word that the caller accepts too, for the error message.
    """
    finite = isinstance(value, numbers.Real) and math.isfinite(value)
    if not finite or value < 0 or (value == 0 and not zero_allowed):
        kind = "non-negative" if zero_allowed else "positive"
        other = f" or {instead}" if instead else ""
        raise ValueError(f"{name} must be a {kind} number{other}, got {value!r}")


def share(name: str, value: Any) -> None:
    """Require a number from 0 up to, but not including, 1."""
    if not isinstance(value, numbers.Real) or not 0 <= float(value) < 1:
        raise ValueError(f"{name} must be a number >= 0 and < 1, got {value!r}")


def one_of(name: str, value: Any, allowed: tuple[Any, ...]) -> None:
    """Require one of the allowed values."""
    if value not in allowed:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, allowed))}, got {value!r}")
