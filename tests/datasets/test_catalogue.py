"""The catalogue agrees with the paper, with the files, and with what is written about them."""

import time

import numpy as np
import pandas as pd
import pytest

from vst.companion.protocol.provenance import provenance
from vst.datasets import CATALOGUE, describe, load_dataset
from vst.datasets.catalogue import PARTS, WHOLE_SETS
from vst.datasets.places import bundled_directory
from vst.errors import DataError

BUNDLED = [info.name for info in WHOLE_SETS if info.bundled]

# The paper's table of regression data sets: rows and features as printed.
PAPER = {
    "boston": (506, 13),
    "naval": (11934, 16),
    "power": (9568, 4),
    "protein": (45730, 9),
    "yacht": (308, 6),
    "song": (514345, 90),
    "concrete": (1030, 8),
    "energy": (768, 8),
    "kin8nm": (8192, 8),
    "wine": (1599, 11),
}

# Mean and standard deviation of the public data sets' targets.
TARGETS = {
    "boston": (22.5328, 9.1880),
    "naval": (0.9750, 0.01472),
    "power": (454.3650, 17.0661),
    "protein": (7.7485, 6.1182),
    "yacht": (10.4954, 15.1359),
    "concrete": (35.8178, 16.6976),
    "energy": (22.3072, 10.0836),
    "kin8nm": (0.7143, 0.2636),
    "wine": (5.6360, 0.8073),
}


@pytest.mark.parametrize("name", TARGETS)
def test_shape_and_target_are_the_papers(name):
    dataset = load_dataset(name)
    assert (dataset.n, dataset.d) == PAPER[name]
    assert dataset.X.shape == PAPER[name]
    assert dataset.y.shape == (dataset.n,)
    assert (dataset.y.mean(), dataset.y.std(ddof=0)) == pytest.approx(TARGETS[name], rel=1e-3)
    limits = describe(name).limits
    assert (dataset.y.min(), dataset.y.max()) == pytest.approx(limits, rel=1e-9)


@pytest.mark.parametrize("name", PAPER)
def test_the_catalogue_keeps_the_papers_printed_numbers(name):
    paper = describe(name).paper
    assert (paper.rows, paper.features) == PAPER[name]
    assert paper.name.lower() == name


def test_only_song_and_mushroom_differ_from_the_paper_and_say_so():
    for info in (info for info in WHOLE_SETS if info.paper):
        printed = info.paper.rows
        if printed not in (None, info.rows):
            assert info.name in ("song", "mushroom")
            said = info.note.replace(",", "")
            assert str(printed) in said
            assert str(info.rows) in said


def test_mushroom_has_22_categories_and_two_classes():
    dataset = load_dataset("mushroom")
    assert (dataset.n, dataset.d) == (8124, 22)
    assert dataset.y.value_counts().to_dict() == {"e": 4208, "p": 3916}
    assert not any(pd.api.types.is_numeric_dtype(dtype) for dtype in dataset.X.dtypes)


def test_naval_has_two_constant_columns():
    X = load_dataset("naval").X
    assert X.columns[X.max() == X.min()].tolist() == [
        "gt_compressor_inlet_temp",
        "gt_compressor_inlet_pressure",
    ]


@pytest.mark.parametrize("name", BUNDLED)
def test_bundled_sets_load_in_under_a_second(name):
    began = time.perf_counter()
    dataset = load_dataset(name)
    assert time.perf_counter() - began < 1
    assert dataset.sha256 == describe(name).files[0].sha256
    assert dataset.source
    assert dataset.licence


def test_the_paper_has_fourteen_sets_ten_of_them_bundled_and_two_are_here_in_parts():
    papers = [info for info in WHOLE_SETS if info.paper]
    assert len(papers) == 14
    assert sum(info.bundled for info in papers) == 10
    assert {info.name: info.part_of for info in PARTS} == {
        "song_8k": "song",
        "ctslice_757": "ct_slices",
    }


def test_every_set_has_its_provenance():
    for info in CATALOGUE.values():
        assert info.source
        assert info.url.startswith("https://")
        assert info.licence
        assert info.citation.endswith(".")
        assert info.bundled == (info.package is not None)
        assert all(file.sha256 or file.url for file in info.files)


def test_a_part_never_has_the_wholes_file():
    for part in PARTS:
        whole = describe(part.part_of)
        assert not {f.name for f in part.files} & {f.name for f in whole.files}
        assert str(part.rows) in part.files[0].caveat


def test_the_contested_data_set_says_so():
    note = describe("boston").note
    assert "Contested" in note
    assert "because the paper reports it" in note


def test_the_provenance_page_is_the_catalogues():
    page = (bundled_directory() / "README.md").read_text(encoding="utf-8")
    assert page == provenance(), "run: vst data provenance > data/README.md"


def test_bundled_data_are_only_what_may_be_bundled():
    allowed = {describe(name).files[0].name for name in BUNDLED}
    tables = {path.name for path in bundled_directory().glob("*.csv*")}
    assert tables == allowed


def test_an_unknown_name_is_answered_with_the_nearest():
    with pytest.raises(DataError, match="did you mean 'boston'"):
        load_dataset("bostn")
    with pytest.raises(DataError, match="load_table"):
        load_dataset("what is this")


def test_numbers_are_numbers():
    for name in TARGETS:
        assert np.isfinite(load_dataset(name).table.to_numpy(float)).all()
