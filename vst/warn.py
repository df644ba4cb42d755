"""Warnings that name the line of the user's program which led to them."""

import sys
import warnings
from types import FrameType

#: Code that stands between the user and a warning: this package, and scikit-learn's wrappers and loops.
_INSIDE = ("vst", "sklearn", "joblib")


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn, and name the first caller outside this package as the place."""
    depth = 2
    frame: FrameType | None = sys._getframe(1)
    while frame and frame.f_globals.get("__name__", "").partition(".")[0] in _INSIDE:
        frame, depth = frame.f_back, depth + 1
    warnings.warn(message, category, stacklevel=depth)
