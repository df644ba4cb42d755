"""The paper's protocol: splits and folds, prepared arrays, out-of-distribution rows, test curves."""

from vst.companion.protocol.ood import OODSet, ood_set
from vst.companion.protocol.prepared import Prepared, prepare
from vst.companion.protocol.splits import Folds, Split, make_folds, split_rows

__all__ = [
    "Folds",
    "OODSet",
    "Prepared",
    "Split",
    "make_folds",
    "ood_set",
    "prepare",
    "split_rows",
]
