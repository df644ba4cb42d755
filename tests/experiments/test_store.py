import pandas as pd
import pytest

from vst.companion.experiments.store import Store

COLUMNS = ("key", "score", "note")


def rows(*keys):
    return [{"key": key, "score": i / 2, "note": 'a "quoted", text'} for i, key in enumerate(keys)]


def test_what_is_appended_is_loaded(tmp_path):
    store = Store(tmp_path / "results", COLUMNS)
    store.append("yacht", rows("a", "b"))
    store.append("yacht", rows("c"))
    store.append("boston", rows("d"))
    assert store.load()["key"].tolist() == ["d", "a", "b", "c"]
    assert store.load(["yacht"])["note"].tolist() == ['a "quoted", text'] * 3
    assert pd.read_csv(tmp_path / "results" / "yacht.csv").columns.tolist() == list(COLUMNS)


def test_an_empty_store_has_columns_and_no_rows(tmp_path):
    assert Store(tmp_path, COLUMNS).load(["yacht"]).columns.tolist() == list(COLUMNS)
    assert len(Store(tmp_path / "nowhere", COLUMNS).load()) == 0


def test_the_last_row_of_a_key_counts(tmp_path):
    store = Store(tmp_path, COLUMNS)
    store.append("yacht", [{"key": "a", "score": 1, "note": ""}])
    store.append("yacht", [{"key": "a", "score": 2, "note": ""}])
    assert store.load()["score"].tolist() == [2]


@pytest.mark.parametrize("lost", [1, 5, 20])
def test_a_torn_write_loses_only_itself(tmp_path, lost):
    store = Store(tmp_path, COLUMNS)
    path = tmp_path / "yacht.csv"
    store.append("yacht", rows("a", "b"))
    store.append("yacht", rows("c"))
    path.write_bytes(path.read_bytes()[:-lost])
    assert store.load()["key"].tolist() == ["a", "b"]
    store.append("yacht", rows("d"))
    assert store.load()["key"].tolist() == ["a", "b", "d"]
    assert store.load().notna().all(axis=None)


def test_a_file_torn_in_its_first_line_starts_again(tmp_path):
    (tmp_path / "yacht.csv").write_text("key,sco")
    store = Store(tmp_path, COLUMNS)
    assert len(store.load()) == 0
    store.append("yacht", rows("a"))
    assert store.load()["key"].tolist() == ["a"]
