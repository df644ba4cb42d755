"""The models that the paper compares with, and two of today's, behind one small interface.

    fitted = PEERS["sglb"].defaults.fit(x, y, seed=0)
    fitted.mean_draws(x_test)        # draws or members of the mean function, (draws, n)
    fitted.log_prob(x_test, y_test)  # predictive log density, (n,)

Each peer's library is imported when it is fitted: ``pip install "vst[peers]"`` installs them all.
"""

from dataclasses import dataclass

from vst.baselines import bartz, deep_ensemble, ngboost, sglb, xbart, xgboost
from vst.baselines.interface import ConstantTargetError, Fitted, NoDensityError, Peer
from vst.baselines.libraries import MissingLibraryError
from vst.baselines.ranges import Choices, Interval, Range, Ranges, Whole

__all__ = [
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
        Where a tuner looks, by the names of ``defaults``' fields.
    has_density
        Whether it predicts a distribution, and so has a log-likelihood.
    in_paper
        Whether the paper compares with it; the ranges are then the paper's.
    """

    defaults: Peer
    ranges: Ranges
    has_density: bool = True
    in_paper: bool = True


#: Every peer by name, in the order of the paper's tables.
PEERS: dict[str, PeerEntry] = {
    "deep-ensemble": PeerEntry(deep_ensemble.DeepEnsemble(), deep_ensemble.RANGES),
    "xbart-1": PeerEntry(xbart.ONE_TREE, xbart.ONE_TREE_RANGES),
    "sglb-1": PeerEntry(sglb.ONE_TREE, sglb.ONE_TREE_RANGES),
    "xgboost-1": PeerEntry(xgboost.ONE_TREE, xgboost.ONE_TREE_RANGES, has_density=False),
    "xbart": PeerEntry(xbart.XBART(), xbart.RANGES),
    "sglb": PeerEntry(sglb.SGLB(), sglb.RANGES),
    "xgboost": PeerEntry(xgboost.XGBoost(), xgboost.RANGES, has_density=False),
    "ngboost": PeerEntry(ngboost.NGBoost(), ngboost.RANGES, in_paper=False),
    "bartz": PeerEntry(bartz.BART(), bartz.RANGES, in_paper=False),
}
