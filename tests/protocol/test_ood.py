"""OOD sets: test rows against another data set's rows, and a caption that says which."""

import dataclasses

import numpy as np
import pandas as pd
import pytest

from vst.companion.protocol import ood_set, prepare
from vst.datasets import load_dataset
from vst.datasets.catalogue import WHOLE_SETS
from vst.errors import DataError, MissingDataError
from vst.tables import load_table


@pytest.fixture(scope="module")
def yacht():
    return prepare(load_dataset("yacht"), folds=2)


def test_ood_rows_are_as_many_and_as_wide_and_standardised_by_themselves(yacht):
    ood = ood_set(yacht, partner="protein")
    assert ood.x_out.shape == ood.x_in.shape == (62, 6)
    np.testing.assert_array_equal(ood.x_in, yacht.x_test)
    np.testing.assert_allclose(ood.x_out.mean(axis=0), 0, atol=1e-5)
    np.testing.assert_allclose(ood.x_out.std(axis=0), 1, rtol=1e-4)


def test_ood_rows_are_distinct_rows_of_the_partners_first_features(yacht):
    """In every feature of this partner, a row's place in the order is its number."""
    row = np.arange(100.0)
    powers = pd.DataFrame({f"x{p}": row**p for p in range(1, 8)} | {"last": -row, "y": row})
    x = ood_set(yacht, partner=load_table(powers, target="y")).x_out
    first, *others = np.argsort(x, axis=0).T
    assert all((other == first).all() for other in others)
    assert len(np.unique(x[:, 0])) == len(x) == 62


def test_the_caption_names_rows_and_partner(yacht):
    ood = ood_set(yacht, partner="protein")
    assert (ood.name, ood.partner) == ("yacht", "protein")
    assert "62 test rows of yacht" in ood.caption
    assert "62 of the 45730 rows of protein, first 6 features" in ood.caption
    assert "not the paper's partner" in ood.caption


def test_the_same_seed_draws_the_same_rows(yacht):
    draws = [ood_set(yacht, partner="protein", seed=seed).x_out for seed in (0, 0, 1)]
    np.testing.assert_array_equal(draws[0], draws[1])
    assert not np.array_equal(draws[0], draws[2])


def test_a_partner_with_fewer_rows_gives_all_and_says_so():
    ood = ood_set(prepare(load_dataset("power"), folds=2), partner="boston")
    assert len(ood.x_in) == 1914
    assert len(ood.x_out) == 506
    assert "all 506 rows of boston" in ood.caption
    assert "fewer than the test rows" in ood.caption


def test_a_partner_with_too_few_features_is_refused_and_others_named():
    with pytest.raises(DataError, match=r"power has 4 features and boston has 13.*partner: naval"):
        ood_set(prepare(load_dataset("boston"), folds=2), partner="power")


def test_categories_of_a_partner_become_columns(yacht):
    assert ood_set(yacht, partner="mushroom").x_out.shape == (62, 6)


def test_constant_features_of_a_partner_become_zero():
    ood = ood_set(prepare(load_dataset("boston"), folds=2), partner="naval")
    assert np.isfinite(ood.x_out).all()


@pytest.mark.parametrize("axes", ["principal", "whitened"])
def test_outside_rows_are_turned_to_the_data_sets_own_axes(axes, yacht):
    data = prepare(load_dataset("yacht"), folds=2, axes=axes)
    plain = ood_set(yacht, partner="protein")
    turned = ood_set(data, partner="protein")
    np.testing.assert_allclose(
        turned.x_out, plain.x_out @ data.standardiser.rotation, rtol=1e-3, atol=1e-4
    )


def test_a_data_set_is_not_its_own_partner(yacht):
    with pytest.raises(DataError, match="its own OOD partner"):
        ood_set(yacht, partner="yacht")


def test_without_song_nothing_takes_its_place_unasked(yacht):
    with pytest.raises(MissingDataError) as error:
        ood_set(yacht)
    message = str(error.value)
    assert "vst data fetch song" in message
    assert "can be named as partner: boston, naval" in message


def test_a_table_of_ones_own_has_ood_rows_too():
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(40, 3)), columns=["a", "b", "y"])
    data = prepare(load_table(frame, target="y", name="mine"), folds=2)
    assert "test rows of mine" in ood_set(data, partner="wine").caption


# --- what cannot be bundled -------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", [i.name for i in WHOLE_SETS if i.bundled and i.task == "regression"]
)
def test_every_regression_set_has_ood_rows_from_song(fetched, name):
    data = prepare(load_dataset(name), folds=2)
    ood = ood_set(data)
    assert ood.partner == "song_8k"
    assert ood.x_out.shape == (min(len(data.x_test), 8162), data.x_test.shape[1])
    assert "song (8k) is 8162 of the 515,345 rows of song" in ood.caption
    assert "not the paper's partner" in ood.caption


def test_songs_own_ood_rows_are_ct_slices(fetched):
    ood = ood_set(prepare(load_dataset("song_8k"), folds=2))
    assert ood.partner == "ctslice_757"
    assert ood.x_out.shape == (757, 90)
    assert "ct slices (757)" in ood.caption


def test_song_is_preferred_to_its_part(fetched, yacht, monkeypatch):
    part = load_dataset("song_8k")
    monkeypatch.setattr("vst.companion.protocol.ood.find", lambda info: info.name)
    monkeypatch.setattr(
        "vst.companion.protocol.ood.load_dataset",
        lambda name: dataclasses.replace(part, name=name, label=name, caveat=""),
    )
    ood = ood_set(yacht)
    assert ood.partner == "song"
    assert ood.caption.endswith("of song, first 6 features.")
