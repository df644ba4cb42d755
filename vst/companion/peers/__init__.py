"""The models that the paper compares with, and two of today's, behind one small interface.

    fitted = PEERS["sglb"].defaults.fit(x, y, seed=0)
    fitted.mean_draws(x_test)        # draws or members of the mean function, (draws, n)
    fitted.log_prob(x_test, y_test)  # predictive log density, (n,)

Each peer's library is imported when it is fitted: ``pip install "vst[peers]"`` installs them all.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from vst.companion.peers import bartz, deep_ensemble, ngboost, sglb, xbart, xgboost
from vst.companion.peers.interface import ConstantTargetError, Fitted, NoDensityError, Peer
from vst.companion.peers.libraries import MissingLibraryError
from vst.companion.peers.ranges import Choices, Interval, Range, Ranges, Whole

__all__ = [
    "LARGE",
    "PEERS",
    "Choices",
    "ConstantTargetError",
    "Fitted",
    "Interval",
    "MissingLibraryError",
    "NoDensityError",
    "Peer",
    "PeerEntry",
    "Range",
    "Ranges",
    "Whole",
]


#: Rows of a large table.
LARGE = 10_000


@dataclass(frozen=True)
class PeerEntry:
    """A peer in the table.

    Parameters
    ----------
    defaults
        Hyperparameters before tuning; ``dataclasses.replace`` changes some of them.
        They were chosen with the test scores of boston, yacht, concrete and energy in view, so that
        scores of untuned peers on these sets are optimistic: only tuned ones are results.
    ranges
        The paper's tuning ranges, by the names of ``defaults``' fields; none for a peer of today.
    own_ranges
        Where a tuner looks for what the paper does not name.
    large
        What is different for a table of at least ``LARGE`` rows, on which the rest takes too long.
    has_density
        Whether it predicts a distribution, and so has a log-likelihood.
    """

    defaults: Peer
    ranges: Ranges
    own_ranges: Ranges = field(default_factory=dict)
    large: Mapping[str, Any] = field(default_factory=dict)
    has_density: bool = True


#: Every peer by name, in the order of the paper's tables.
PEERS: dict[str, PeerEntry] = {
    "deep-ensemble": PeerEntry(
        deep_ensemble.DeepEnsemble(), deep_ensemble.RANGES, deep_ensemble.OWN_RANGES
    ),
    "xbart-1": PeerEntry(xbart.ONE_TREE, xbart.ONE_TREE_RANGES, xbart.OWN_RANGES),
    "sglb-1": PeerEntry(sglb.ONE_TREE, sglb.ONE_TREE_RANGES, sglb.ONE_TREE_OWN_RANGES),
    "xgboost-1": PeerEntry(xgboost.ONE_TREE, xgboost.ONE_TREE_RANGES, has_density=False),
    "xbart": PeerEntry(xbart.XBART(), xbart.RANGES, xbart.OWN_RANGES),
    "sglb": PeerEntry(sglb.SGLB(), sglb.RANGES, sglb.OWN_RANGES),
    "xgboost": PeerEntry(xgboost.XGBoost(), xgboost.RANGES, has_density=False),
    "ngboost": PeerEntry(ngboost.NGBoost(), {}, ngboost.OWN_RANGES),
    "bartz": PeerEntry(bartz.BART(), {}, bartz.OWN_RANGES, bartz.LARGE),
}
