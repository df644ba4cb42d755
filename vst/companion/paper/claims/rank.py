"""The rule for figure 3: whether detection improves with the rank of the posterior.

Only fits that converged count: a posterior far from its optimum shows the optimiser, not the rank.
"""

from itertools import product

import numpy as np
import pandas as pd
from scipy.stats import linregress

from vst.companion.paper.claims.claim import Judgement, decided, undecided
from vst.companion.paper.claims.tables import VST
from vst.companion.paper.scores import column_of
from vst.companion.paper.tables import DATASETS

#: The share of configurations in which rank has to help, and the share in which it may hurt.
HELPS, HURTS = 0.5, 0.1

#: The share of all configurations that must have converged fits at two ranks or more.
ENOUGH = 0.75


def converged(results: pd.DataFrame) -> pd.DataFrame:
    """The fits that converged."""
    return results[results["converged"].astype(bool)]


def slopes(results: pd.DataFrame, score: str = "auroc") -> pd.DataFrame:
    """Slope of a score over the logarithm of the rank, from rank 1 up, with its standard error.

    Every fold and rank is a point of a linear regression on ``log2(rank)``: the slope is the gain from
    doubling the rank. A slope more than two standard errors from zero is clear.

    Returns
    -------
    pandas.DataFrame
        One row per model and data set: model, dataset, slope, error, effect, and the mean scores at
        rank 1 and at full rank.
    """
    rows = []
    for (model, dataset), group in results.groupby(["model", "dataset"], sort=False):
        used = group[(group["rank"] >= 1) & group[score].notna()]
        if used["rank"].nunique() < 2:
            continue
        line = linregress(np.log2(used["rank"].to_numpy(float)), used[score].to_numpy(float))
        clear = abs(line.slope) > 2 * line.stderr
        means = used.groupby("rank")[score].mean()
        rows.append(
            {
                "model": model,
                "dataset": dataset,
                "slope": line.slope,
                "error": line.stderr,
                "effect": ("helps" if line.slope > 0 else "hurts") if clear else "no clear effect",
                "rank 1": means.iloc[0],
                "full": means.iloc[-1],
            }
        )
    columns = ["model", "dataset", "slope", "error", "effect", "rank 1", "full"]
    return pd.DataFrame(rows, columns=columns)


def generally_helps(results: pd.DataFrame) -> Judgement:
    """Rank helps in most configurations of data set and leaves, and hurts in few."""
    found = slopes(converged(results))
    places = set(zip(found["model"], found["dataset"].map(column_of), strict=True))
    helps, hurts = (int((found["effect"] == kind).sum()) for kind in ("helps", "hurts"))
    text = f"helps in {helps}, hurts in {hurts} of {len(found)}" if len(found) else ""
    wanted = set(product(VST, DATASETS))
    if len(places & wanted) < ENOUGH * len(wanted):
        return undecided(text)
    holds = helps > HELPS * len(found) and hurts < HURTS * len(found)
    return decided(text, holds=holds, partly=helps > hurts)
