"""What the blind replication decides: ranks of the models, and each claim a second time.

Only whole comparisons count: a split of a data set on which every model has a result.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.stats import friedmanchisquare, studentized_range

from vst.companion.paper.claims.claim import Verdict
from vst.companion.paper.claims.registry import verdicts
from vst.companion.paper.evidence import Evidence

#: Which scores are better when higher.
HIGHER_IS_BETTER = {"log_likelihood": True, "rmse": False, "crps": False}

#: Level of the tests.
SIGNIFICANCE = 0.05

#: The chapters whose claims rest on regression results alone.
CHAPTERS = ("regression", "ood")


def whole(results: pd.DataFrame, models: Sequence[str]) -> pd.DataFrame:
    """The rows of splits (column ``fold``) of data sets on which every model has a result."""
    wanted = results[results["model"].isin(models)]
    counts = wanted.groupby(["dataset", "fold"])["model"].transform("nunique")
    return wanted[counts == len(set(models))].reset_index(drop=True)


@dataclass(frozen=True, eq=False)
class Ranks:
    """Ranks of models over data sets, and how far apart they must be to differ.

    Attributes
    ----------
    mean
        Mean rank of each model, best first; 1 is the best.
    datasets
        Number of data sets.
    p_value
        Friedman's test that all models rank alike; NaN for fewer than two data sets.
    critical_difference
        Nemenyi's: mean ranks that are closer do not differ at the 5 % level (Demsar, 2006).
    """

    mean: "pd.Series[float]"
    datasets: int
    p_value: float
    critical_difference: float


def ranks(results: pd.DataFrame, score: str) -> Ranks:
    """Rank the models that have the score, on each data set by their mean over its splits."""
    means = results.dropna(subset=[score]).pivot_table(
        index="dataset", columns="model", values=score, sort=False
    )
    # A model without this score somewhere cannot be ranked.
    means = means.dropna(axis="columns")
    placed = means.rank(axis="columns", ascending=not HIGHER_IS_BETTER[score])
    n, k = placed.shape
    p_value = float("nan")
    if n > 1 and k > 2:
        p_value = float(friedmanchisquare(*(placed[model] for model in placed)).pvalue)
    return Ranks(placed.mean().sort_values(), n, p_value, critical_difference(k, n))


def critical_difference(models: int, datasets: int) -> float:
    """Nemenyi's critical difference of mean ranks.

    Examples
    --------
    >>> round(critical_difference(5, 30), 3)
    1.114
    """
    if models < 2 or datasets < 1:
        return float("nan")
    quantile = studentized_range.ppf(1 - SIGNIFICANCE, models, np.inf) / np.sqrt(2)
    return float(quantile * np.sqrt(models * (models + 1) / (6 * datasets)))


@dataclass(frozen=True)
class Again:
    """A claim's verdicts on the paper's split and on the blind ones."""

    published: Verdict
    blind: Verdict

    @property
    def is_decided(self) -> bool:
        """Whether the blind results suffice."""
        return self.blind.here.holds != "undecided"

    @property
    def is_robust(self) -> bool:
        """Whether the blind splits give the same verdict."""
        return self.is_decided and self.published.word == self.blind.word


def decide_again(published: pd.DataFrame, blind: pd.DataFrame) -> list[Again]:
    """Every claim on regression results, by the published and by the blind ones."""
    found = [
        [one for chapter in CHAPTERS for one in verdicts(Evidence(regression=results), chapter)]
        for results in (published, blind)
    ]
    return [Again(*pair) for pair in zip(*found, strict=True)]
