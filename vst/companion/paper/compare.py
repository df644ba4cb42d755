"""Who wins on which data set, by the paper's bold rule."""

from collections.abc import Sequence
from typing import Literal

import pandas as pd

from vst.companion.paper.bold_rule import bold_cells

Outcome = Literal["better", "equal", "worse"]


def outcomes(
    scores: pd.DataFrame,
    ours: Sequence[str],
    rivals: Sequence[str],
    *,
    higher_is_better: bool,
    columns: str = "dataset",
) -> "pd.Series[str]":
    """Compare two sets of models, data set by data set.

    All of them compete for bold. The first set is ``"better"`` where only it has bold marks,
    ``"worse"`` where it has none, ``"equal"`` where both have some.

    Parameters
    ----------
    scores
        One row per cell, with columns ``model``, ``mean``, ``error`` and the one named by ``columns``.
    ours, rivals
        Ids of models; those without scores in this table are ignored.
    higher_is_better
        Whether the best score is the highest or the lowest.
    columns
        What is compared one by one.

    Returns
    -------
    pandas.Series
        An `Outcome` for each data set.
    """
    models = [*ours, *rivals]
    competing = scores[scores["model"].isin(models)]
    if not (set(ours) & set(competing["model"]) and set(rivals) & set(competing["model"])):
        raise ValueError(f"the scores must contain both sides, got {ours} against {rivals}")
    marks = bold_cells(
        competing,
        higher_is_better=higher_is_better,
        columns=columns,
        groups=dict.fromkeys(models, "competing"),
    )

    def outcome(column: pd.DataFrame) -> Outcome:
        bolded = set(column.loc[marks[column.index], "model"])
        if not bolded & set(rivals):
            return "better"
        return "equal" if bolded & set(ours) else "worse"

    return pd.Series({name: outcome(c) for name, c in competing.groupby(columns, sort=False)})
