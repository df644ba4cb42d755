"""The evidence for the claims' rules: the results of this book's experiments."""

from typing import Literal, NamedTuple

import pandas as pd

from vst.companion.experiments import BANDITS, PICTURES, RANK, REGRESSION, obtain

Part = Literal["regression", "rank", "runs", "histories", "pictures"]


class Evidence(NamedTuple):
    """Results of the experiments. A part that is None was not requested or does not exist.

    Attributes
    ----------
    regression
        One row per model, data set and fold: model, dataset, fold, log_likelihood, rmse, auroc,
        seconds.
    rank
        One row per model, data set, rank and fold: model, dataset, fold, rank, auroc.
    runs
        One row per agent, bandit and seed: key, model, dataset, seed, steps, regret, random_regret.
    histories
        Cumulative regret over the steps of the runs: key, step, regret.
    pictures
        One row per fit: dataset (the picture), model, seed, variant (``"usual"`` for the fits that
        the figure shows), rows, rmse, inside, outside, ratio, reached, away, seconds.
    """

    regression: pd.DataFrame | None = None
    rank: pd.DataFrame | None = None
    runs: pd.DataFrame | None = None
    histories: pd.DataFrame | None = None
    pictures: pd.DataFrame | None = None


def gather(profile: str = "paper") -> Evidence:
    """The results of a profile: ``paper`` reads the published ones, others compute what is missing."""
    played = obtain(BANDITS, profile)
    return Evidence(
        regression=obtain(REGRESSION, profile).results,
        rank=obtain(RANK, profile).results,
        runs=played.results,
        histories=played.parts["histories"],
        pictures=obtain(PICTURES, profile).results,
    )
