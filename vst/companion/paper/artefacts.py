"""The 14 figures, tables and algorithms of the paper, and the chapter that rebuilds each.

Numbers are the paper's. The supplement restarts its section numbers at 1, but its figure and table
numbers continue those of the main text.
"""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Artefact:
    """A figure, table or algorithm of the paper.

    Attributes
    ----------
    kind, number
        As in the paper.
    title
        What it shows.
    chapter
        The chapter of the book that rebuilds it.
    in_supplement
        Whether it is in the supplement.
    panels
        What its panels show, in order; empty if it has one panel.
    """

    kind: Literal["algorithm", "figure", "table"]
    number: int
    title: str
    chapter: str
    in_supplement: bool = False
    panels: tuple[str, ...] = ()

    @property
    def id(self) -> str:
        """Name in links and files, such as ``"table-1"``."""
        return f"{self.kind}-{self.number}"

    @property
    def name(self) -> str:
        """Name in prose, such as "Table 1"."""
        return f"{self.kind.capitalize()} {self.number}"


ARTEFACTS: tuple[Artefact, ...] = (
    Artefact("algorithm", 1, "boosting variational soft trees", "method"),
    Artefact("table", 1, "test log-likelihood on ten regression data sets", "regression"),
    Artefact("table", 2, "AUROC of telling out-of-distribution inputs apart", "ood"),
    Artefact("table", 3, "cumulative regret on four bandits", "bandits"),
    Artefact("table", 4, "sizes of the regression data sets", "data", in_supplement=True),
    Artefact("table", 5, "ranges the hyperparameters were tuned in", "regression", True),
    Artefact("table", 6, "test RMSE on ten regression data sets", "regression", True),
    Artefact(
        "figure",
        1,
        "a soft tree's weights, and the distributions a Bayesian soft tree has instead",
        "method",
        panels=("soft tree", "Bayesian soft tree"),
    ),
    Artefact(
        "figure",
        2,
        "uncertainty in the tails, outside the data",
        "uncertainty",
        panels=("VST", "XBART", "SGLB"),
    ),
    Artefact("figure", 3, "out-of-distribution AUROC against the posterior's rank", "rank"),
    Artefact(
        "figure",
        4,
        "regret over the steps of four bandits",
        "bandits",
        panels=("financial", "mushroom", "jester", "exploration"),
    ),
    Artefact(
        "figure",
        5,
        "uncertainty in a gap between two clusters of data",
        "uncertainty",
        in_supplement=True,
        panels=("VST", "XBART", "SGLB"),
    ),
    Artefact(
        "figure",
        6,
        "fits of a step function",
        "uncertainty",
        in_supplement=True,
        panels=("VST", "XBART", "SGLB"),
    ),
    Artefact(
        "figure",
        7,
        "fits of a Daubechies wavelet",
        "uncertainty",
        in_supplement=True,
        panels=("VST", "VSGBM", "XBART", "SGLB"),
    ),
)

ARTEFACT_BY_ID: dict[str, Artefact] = {artefact.id: artefact for artefact in ARTEFACTS}
