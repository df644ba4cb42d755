"""The two distances that separate rows without a model."""

from types import SimpleNamespace

import numpy as np
import pytest

from vst.companion.experiments import datasets, distances
from vst.errors import MissingDataError


@pytest.fixture
def rows(monkeypatch):
    """Outside rows that are farther away than all inside ones, but only in whitened features."""
    near, far = np.full((4, 2), 1.0), np.full((3, 2), 2.0)

    def ood_set(data):
        return SimpleNamespace(x_in=near, x_out=far if data else near)

    monkeypatch.setattr(distances, "prepared", lambda dataset, axes: axes == "whitened")
    monkeypatch.setattr(distances, "ood_set", ood_set)


def test_distances_are_compared_by_their_auroc(rows):
    assert distances.distances("yacht") == {"plain": 0.5, "Mahalanobis": 1.0}


@pytest.fixture
def elsewhere(monkeypatch, tmp_path):
    """A machine without outside rows, and a file of stored distances."""

    def absent(data):
        raise MissingDataError("no song")

    monkeypatch.setattr(distances, "ood_set", absent)
    monkeypatch.setattr(distances, "place", lambda: tmp_path / "distances.csv")
    return tmp_path / "distances.csv"


def test_without_outside_rows_the_stored_distances_are_shown(elsewhere):
    assert distances.distances("yacht") is None
    elsewhere.write_text("dataset,plain,Mahalanobis\nyacht,0.25,0.75\n")
    assert distances.distances("yacht") == {"plain": 0.25, "Mahalanobis": 0.75}
    assert distances.distances("boston") is None


def test_storing_keeps_what_cannot_be_computed_here(elsewhere):
    elsewhere.write_text("dataset,plain,Mahalanobis\nyacht,0.25,0.75\n")
    distances.store()
    assert distances.stored() == {"yacht": {"plain": 0.25, "Mahalanobis": 0.75}}


def test_without_the_data_set_nothing_is_computed(clean_machine):
    assert distances.computed("song") is None


def test_the_stored_distances_come_out_again():
    assert set(distances.stored()) == set(datasets.papers())
    for name in ("yacht", "energy"):
        found = distances.computed(name)
        if found is not None:
            assert found == pytest.approx(distances.stored()[name], abs=1e-4)
