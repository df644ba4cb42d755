"""Which scores of a table are bold: the paper's rule.

The paper bolds "the highest score, as well as any score if its error bar and the highest score's error
bar overlap". Its tables settle two open points: scores are compared within a group, with the deep
ensemble in both groups; and error bars that only touch do not overlap. With these, all 305 scores with
an error bar follow the rule.
"""

from collections.abc import Mapping

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float

from vst.companion.models import GROUPS, MODELS, SHARED_GROUP

#: Ends of error bars closer than this are the same number, up to the rounding of floats.
SAME = 1e-9


def bold(
    mean: Float[np.ndarray, " n"], error: Float[np.ndarray, " n"], *, higher_is_better: bool
) -> Bool[np.ndarray, " n"]:
    """Mark the best of the competing scores, and every score not clearly worse.

    Parameters
    ----------
    mean, error
        Scores and the half-widths of their error bars. NaN is a missing score; it is not marked.
    higher_is_better
        Whether the best score is the highest or the lowest.

    Examples
    --------
    >>> bold(np.array([1.0, 0.9, 0.5]), np.array([0.1, 0.1, 0.1]), higher_is_better=True)
    array([ True,  True, False])
    """
    mean, error = np.asarray(mean, dtype=float), np.asarray(error, dtype=float)
    if mean.shape != error.shape:
        raise ValueError(
            f"means and errors must have equal shapes, got {mean.shape} and {error.shape}"
        )
    if np.any(error < 0):
        raise ValueError(f"error bars must not be negative, got {np.nanmin(error):g}")
    if np.isnan(mean).all():
        return np.zeros(mean.shape, dtype=bool)
    best = np.nanargmax(mean if higher_is_better else -mean)
    distance = np.abs(mean - mean[best])
    return (distance < SAME) | (distance < error + error[best] - SAME)


def bold_cells(
    scores: pd.DataFrame,
    *,
    higher_is_better: bool,
    columns: str = "dataset",
    groups: Mapping[str, str] | None = None,
) -> pd.Series:
    """Mark the cells of a whole table.

    Parameters
    ----------
    scores
        One row per cell, with columns ``model``, ``mean``, ``error`` and the one named by ``columns``.
    higher_is_better
        Whether the best score is the highest or the lowest.
    columns
        What the columns of the printed table are; each is marked separately.
    groups
        Group of each model, by its id; by default those of the registry. The deep ensemble
        competes in every group, and is marked if it would be in any.

    Returns
    -------
    pandas.Series
        True where the cell is bold, with the index of ``scores``.
    """
    if groups is None:
        groups = {model.id: model.group for model in MODELS}
    unknown = sorted(set(scores["model"]) - set(groups))
    if unknown:
        raise ValueError(f"no group is given for {', '.join(unknown)}")
    group = scores["model"].map(groups)
    marks = pd.Series(False, index=scores.index)
    for _, column in scores.groupby(columns, sort=False):
        for name in dict.fromkeys([*GROUPS, *groups.values()]):
            rivals = column[group[column.index] == name]
            if rivals.empty or name == SHARED_GROUP:
                continue
            competing = column[group[column.index].isin([name, SHARED_GROUP])]
            marks[competing.index] |= bold(
                competing["mean"].to_numpy(),
                competing["error"].to_numpy(),
                higher_is_better=higher_is_better,
            )
    return marks


def departures(
    scores: pd.DataFrame,
    *,
    higher_is_better: bool,
    columns: str = "dataset",
    groups: Mapping[str, str] | None = None,
) -> pd.DataFrame:
    """Cells whose printed mark, in the column ``bold``, differs from the rule's."""
    marks = bold_cells(scores, higher_is_better=higher_is_better, columns=columns, groups=groups)
    return scores[marks != scores["bold"]]
