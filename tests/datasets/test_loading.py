"""Files are found in the stated order, and a wrong file is an error that says what to do."""

import dataclasses
import gzip
import io
import shutil
import time
import zipfile

import numpy as np
import pandas as pd
import pytest

from vst.datasets import CATALOGUE, describe, load_dataset, places
from vst.datasets import download as downloading
from vst.datasets.reading import READERS
from vst.errors import DataError, MissingDataError


@pytest.fixture
def bundle(monkeypatch, tmp_path):
    """A copy of the bundled files that a test may damage."""
    copy = tmp_path / "bundle"
    shutil.copytree(places.bundled_directory(), copy)
    monkeypatch.setattr(places, "bundled_directory", lambda: copy)
    return copy


@pytest.fixture
def no_network(monkeypatch):
    def refuse(*args, **kwargs):
        raise downloading.requests.ConnectionError(OSError("no network"))

    monkeypatch.setattr(downloading.requests, "get", refuse)


@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(lambda raw: raw[: len(raw) // 2], id="truncated"),
        pytest.param(lambda raw: raw.replace(b"24.0", b"24.1", 1), id="one digit changed"),
        pytest.param(lambda raw: raw + b"\n", id="one byte more"),
        pytest.param(lambda raw: b"<html>not found</html>", id="another file"),
    ],
)
def test_a_damaged_file_is_named_with_what_was_expected_and_found(bundle, damage):
    path = bundle / "boston.csv"
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(DataError) as error:
        load_dataset("boston")
    message = str(error.value)
    assert str(path) in message
    assert describe("boston").files[0].sha256 in message
    assert "found" in message
    assert "git checkout -- data/boston.csv" in message


def test_an_empty_file_is_called_empty(bundle):
    (bundle / "boston.csv").write_bytes(b"")
    with pytest.raises(DataError, match=r"boston\.csv is empty"):
        load_dataset("boston")


def test_a_bundled_file_that_is_gone_is_missed(bundle):
    (bundle / "boston.csv").unlink()
    with pytest.raises(MissingDataError, match=r"boston\.csv.*reinstall"):
        load_dataset("boston")


@pytest.mark.parametrize("name", ["song", "ct_slices", "jester", "stock", "song_8k", "ctslice_757"])
def test_without_network_and_file_three_ways_are_named_in_under_a_second(
    no_network, name, clean_machine
):
    began = time.perf_counter()
    with pytest.raises(MissingDataError) as error:
        load_dataset(name)
    assert time.perf_counter() - began < 1
    message = str(error.value)
    assert "VST_DATA" in message
    assert str(clean_machine) in message
    assert "vst data fetch" in message
    assert describe(name).files[0].name in message


def test_a_data_directory_that_does_not_exist_is_an_error(monkeypatch, tmp_path):
    monkeypatch.setenv("VST_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(DataError, match=r"VST_DATA names .*nowhere"):
        load_dataset("stock")
    assert load_dataset("yacht").n == 308


def ratings(rows=19181, columns=40):
    values = np.linspace(-10, 10, rows * columns).reshape(rows, columns)
    buffer = io.BytesIO()
    np.save(buffer, values)
    return buffer.getvalue()


def test_the_named_directory_comes_before_the_cache(monkeypatch, tmp_path, clean_machine):
    name = describe("jester").files[0].name
    named = tmp_path / "named"
    for directory in (named, clean_machine):
        directory.mkdir(parents=True)
    (clean_machine / name).write_bytes(ratings())
    assert load_dataset("jester").n == 19181
    # A wrong file in the first place is an error, not a reason to look in the second.
    (named / name).write_bytes(ratings(rows=100))
    monkeypatch.setenv("VST_DATA", str(named))
    with pytest.raises(DataError, match=r"expected 19181 rows x 40 columns, found 100 x 40"):
        load_dataset("jester")


def test_jester_has_32_contexts_and_8_arms(clean_machine):
    clean_machine.mkdir(parents=True)
    (clean_machine / describe("jester").files[0].name).write_bytes(ratings())
    dataset = load_dataset("jester")
    assert (dataset.n, dataset.d) == (19181, 32)
    assert dataset.X.shape == (19181, 32)
    assert dataset.Y.shape == (19181, 8)
    assert list(dataset.table.columns) == [*dataset.X.columns, *dataset.Y.columns]
    with pytest.raises(DataError, match="8 targets"):
        _ = dataset.y


def test_values_out_of_range_are_refused(clean_machine):
    clean_machine.mkdir(parents=True)
    buffer = io.BytesIO()
    np.save(buffer, np.full((19181, 40), 99.0))
    (clean_machine / describe("jester").files[0].name).write_bytes(buffer.getvalue())
    with pytest.raises(DataError, match="-10 to 10"):
        load_dataset("jester")


@pytest.mark.parametrize(
    "content", [b"\x93NUMPY broken", ratings()[:1000]], ids=["no array", "cut"]
)
def test_an_unreadable_array_is_refused(clean_machine, content):
    clean_machine.mkdir(parents=True)
    path = clean_machine / describe("jester").files[0].name
    path.write_bytes(content)
    with pytest.raises(DataError, match=r"cannot be read.*vst data fetch --again jester"):
        load_dataset("jester")


def small_zip(member, text):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(member, text)
    return buffer.getvalue()


def test_a_small_song_is_not_song(clean_machine):
    """The layout is UCI's (year first, no header), the number of rows is not."""
    clean_machine.mkdir(parents=True)
    text = "".join(f"{2001 + i}," + ",".join(["1.5"] * 90) + "\n" for i in range(3))
    path = clean_machine / "YearPredictionMSD.txt.zip"
    path.write_bytes(small_zip("YearPredictionMSD.txt", text))
    with pytest.raises(DataError, match=r"expected 515345 rows x 91 columns, found 3 x 91"):
        load_dataset("song")
    path.write_bytes(path.read_bytes()[:-40])
    with pytest.raises(DataError, match="cannot be read"):
        load_dataset("song")


def test_song_is_read_with_the_year_last(clean_machine, monkeypatch):
    clean_machine.mkdir(parents=True)
    monkeypatch.setitem(CATALOGUE, "song", dataclasses.replace(describe("song"), rows=3))
    text = "".join(f"{2001 + i}," + ",".join(str(j) for j in range(90)) + "\n" for i in range(3))
    (clean_machine / "YearPredictionMSD.txt.zip").write_bytes(
        small_zip("YearPredictionMSD.txt", text)
    )
    dataset = load_dataset("song")
    assert dataset.y.tolist() == [2001, 2002, 2003]
    assert dataset.X.columns[[0, 11, 12, 89]].tolist() == [
        "timbre_avg_01",
        "timbre_avg_12",
        "timbre_cov_01",
        "timbre_cov_78",
    ]
    assert dataset.X.iloc[0].tolist() == list(range(90))


def test_the_patients_number_is_no_feature_of_ct_slices(clean_machine, monkeypatch):
    clean_machine.mkdir(parents=True)
    monkeypatch.setitem(CATALOGUE, "ct_slices", dataclasses.replace(describe("ct_slices"), rows=2))
    header = ["patientId", *(f"value{i}" for i in range(384)), "reference"]
    frame = pd.DataFrame(np.tile([7.0, *np.ones(384), 50.0], (2, 1)), columns=header)
    (clean_machine / "slice_localization_data.zip").write_bytes(
        small_zip("slice_localization_data.csv", frame.to_csv(index=False))
    )
    dataset = load_dataset("ct_slices")
    assert dataset.d == 384
    assert "patientId" not in dataset.table
    assert dataset.y.tolist() == [50, 50]


# --- what cannot be bundled -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "shape", "caveat"),
    [
        ("song_8k", (8162, 90), "8162 of the 515,345"),
        ("ctslice_757", (757, 384), "757 of the 53,500"),
        ("jester", (19181, 32), "Jester-1"),
        ("stock", (3713, 21), ""),
    ],
)
def test_fetched_files_load_as_what_they_are(fetched, name, shape, caveat):
    dataset = load_dataset(name)
    assert dataset.name == name
    assert dataset.X.shape == shape
    assert caveat in dataset.caveat
    assert dataset.sha256 in {file.sha256 for file in describe(name).files}


@pytest.mark.parametrize(("part", "whole"), [("song_8k", "song"), ("ctslice_757", "ct_slices")])
def test_a_part_is_not_passed_off_as_the_whole(fetched, no_network, part, whole):
    assert load_dataset(part).name == part
    with pytest.raises(MissingDataError, match=f"{whole} is not on this machine"):
        load_dataset(whole)


def test_a_part_under_the_wholes_file_name_is_refused(fetched, monkeypatch, tmp_path):
    part = gzip.decompress((fetched / "song_8k.csv.gz").read_bytes())
    (tmp_path / "YearPredictionMSD.txt.zip").write_bytes(
        small_zip("YearPredictionMSD.txt", part.split(b"\n", 1)[1])
    )
    monkeypatch.setenv("VST_DATA", str(tmp_path))
    with pytest.raises(DataError, match="515345 rows"):
        load_dataset("song")


def test_the_published_text_form_of_stock_reads_as_the_table_does(fetched, tmp_path):
    table = load_dataset("stock").table
    path = tmp_path / "raw_stock_contexts"
    path.write_text(
        " ".join(table.columns) + "\n" + table.to_csv(sep=" ", header=False, index=False)
    )
    pd.testing.assert_frame_equal(READERS["stock text"](path), table)
