"""The paper's claims, with one rule and one verdict each.

`CLAIMS` lists all of them. A rule uses `vst.companion.paper.evidence.Evidence`, and every page takes
its verdicts from `verdicts`.
"""

from vst.companion.paper.claims.bandits import NEAR_ZERO
from vst.companion.paper.claims.claim import WORDS, Claim, Judgement, Verdict
from vst.companion.paper.claims.rank import converged, slopes
from vst.companion.paper.claims.registry import CLAIMS, verdicts
from vst.companion.paper.claims.tables import MANY_TREES, ONE_TREE, VSGBM, VST, count

__all__ = [
    "CLAIMS",
    "MANY_TREES",
    "NEAR_ZERO",
    "ONE_TREE",
    "VSGBM",
    "VST",
    "WORDS",
    "Claim",
    "Judgement",
    "Verdict",
    "converged",
    "count",
    "slopes",
    "verdicts",
]
