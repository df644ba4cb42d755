from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from vst.companion.experiments import datasets
from vst.companion.report import ood
from vst.errors import MissingDataError


@pytest.fixture
def rows(monkeypatch):
    """Outside rows that are farther away than all inside ones, but only in whitened features."""
    near, far = np.full((4, 2), 1.0), np.full((3, 2), 2.0)

    def ood_set(data):
        return SimpleNamespace(x_in=near, x_out=far if data else near)

    monkeypatch.setattr(ood.regression, "prepared", lambda dataset, whiten: whiten)
    monkeypatch.setattr(ood, "ood_set", ood_set)


def test_distances_are_compared_by_their_auroc(rows):
    assert ood.distances("yacht") == {"plain": 0.5, "Mahalanobis": 1.0}


def test_the_table_sets_soft_trees_beside_distances(rows, monkeypatch):
    monkeypatch.setattr(datasets, "here", lambda: ["yacht"])
    results = pd.DataFrame(
        {"model": "vst-plus", "dataset": "yacht", "fold": [0, 1], "auroc": [0.8, 0.9]}
    )
    [row] = ood.distance_table(results, ["yacht", "boston"]).frame.to_dict("records")
    assert row["Mahalanobis distance"] == "1.000"
    assert row["VST+"] == "0.850"
    assert row["VST (linear)"] == ""
    assert row["paper's VST (linear)"] == "0.655"


def test_without_outside_rows_there_is_nothing_to_compare(monkeypatch):
    def absent(data):
        raise MissingDataError("no song")

    monkeypatch.setattr(ood, "ood_set", absent)
    assert ood.distances("yacht") is None


def test_models_that_reach_the_paper_are_counted_per_data_set():
    rows = [("vst-linear", "yacht", 0.9), ("sglb", "yacht", 0.1), ("sglb", "boston", 0.99)]
    results = pd.DataFrame(rows, columns=["model", "dataset", "auroc"]).assign(fold=0)
    assert ood.reached_by_dataset(results).frame.to_dict("records") == [
        {"data set": "yacht", "soft trees": "1 of 1", "peers": "0 of 1"},
        {"data set": "boston", "soft trees": "0 of 0", "peers": "1 of 1"},
    ]
