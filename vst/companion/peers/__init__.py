"""The models that the paper compares with, and three others, behind one small interface.

    fitted = SGLB().fit(x, y, seed=0)
    fitted.mean_draws(x_test)        # draws or members of the mean function, (draws, n)
    fitted.log_prob(x_test, y_test)  # predictive log density, (n,)

A peer's library is imported when the peer is fitted; ``pip install "vst[peers]"`` installs them all.
"""

from vst.companion.peers.interface import ConstantTargetError, Fitted, NoDensityError, Peer
from vst.companion.peers.libraries import MissingLibraryError
from vst.companion.peers.ranges import Choices, Interval, Range, Ranges, Whole

__all__ = [
    "Choices",
    "ConstantTargetError",
    "Fitted",
    "Interval",
    "MissingLibraryError",
    "NoDensityError",
    "Peer",
    "Range",
    "Ranges",
    "Whole",
]
