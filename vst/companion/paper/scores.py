"""Scores over folds, in the form of the paper's tables."""

import pandas as pd

from vst.datasets import CATALOGUE

#: Parts of a data set that appear in its column, under their own name.
WHOLE = {info.name: info.part_of for info in CATALOGUE.values() if info.part_of}


def scores_of(results: pd.DataFrame, column: str) -> pd.DataFrame:
    """Mean and standard deviation of one score over folds: model, dataset, mean, error, folds."""
    present = results.dropna(subset=[column])
    groups = present.groupby(["model", "dataset"], sort=False)[column]
    return groups.agg(mean="mean", error="std", folds="size").reset_index()


def column_of(dataset: str) -> str:
    """The column of the paper's tables for a data set: its own, or that of the whole it is part of.

    Examples
    --------
    >>> column_of("song_8k"), column_of("boston")
    ('song', 'boston')
    """
    return WHOLE.get(dataset) or dataset
