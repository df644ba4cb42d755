"""A table of the user's own is the same kind of object, and mistakes are named."""

import numpy as np
import pandas as pd
import pytest

from vst.companion.protocol import prepare
from vst.errors import DataError
from vst.tables import load_table


@pytest.fixture
def frame():
    return pd.DataFrame(
        {"price": [1.0, 2.0, 3.5], "size": [4, 5, 6], "kind": ["a", "b", "a"]}, index=[7, 8, 9]
    )


@pytest.mark.parametrize("ending", ["csv", "csv.gz", "parquet"])
def test_files_and_frames_give_the_same(frame, tmp_path, ending):
    path = tmp_path / f"homes.{ending}"
    if ending == "parquet":
        pytest.importorskip("pyarrow", reason="Parquet files need pyarrow")
        frame.to_parquet(path, index=False)
    else:
        frame.to_csv(path, index=False)
    one, other = load_table(path, target="price"), load_table(frame, target="price")
    pd.testing.assert_frame_equal(one.X, other.X)
    pd.testing.assert_series_equal(one.y, other.y)
    assert (one.name, one.n, one.d) == ("homes", 3, 2)
    assert one.source == f"homes.{ending}"
    assert len(one.sha256) == len(other.sha256) == 64


def test_the_target_is_taken_from_wherever_it_is(frame):
    dataset = load_table(frame, target="price", name="homes")
    assert dataset.X.columns.tolist() == ["size", "kind"]
    assert dataset.y.tolist() == [1.0, 2.0, 3.5]
    assert dataset.label == "homes"


def test_the_users_frame_is_not_changed(frame):
    before = frame.copy()
    load_table(frame, target="price")
    pd.testing.assert_frame_equal(frame, before)


def test_the_checksum_of_a_frame_follows_its_values(frame):
    changed = frame.assign(size=[4, 5, 7])
    sums = {load_table(f, target="price").sha256 for f in (frame, frame.copy(), changed)}
    assert len(sums) == 2


def test_columns_may_be_numbered():
    dataset = load_table(pd.DataFrame(np.eye(3)), target=2)
    assert dataset.targets == ("2",)
    assert dataset.d == 2


def test_a_table_can_be_prepared():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=50), "k": ["x", "y"] * 25, "t": rng.normal(size=50)})
    data = prepare(load_table(frame, target="t"), folds=5)
    assert data.x_train.shape == (40, 3)
    assert data.feature_names == ["a", "k=x", "k=y"]


def refused(table, message, target="price"):
    with pytest.raises(DataError, match=message):
        load_table(table, target=target)


def test_a_missing_file(tmp_path, frame):
    frame.to_csv(tmp_path / "homes.csv")
    refused(tmp_path / "home.csv", r"there is no file .*home\.csv; is it .*homes\.csv\?")
    refused(tmp_path / "no" / "home.csv", "there is no file")


def test_a_missing_column(frame):
    refused(frame, r"no column 'prize': did you mean 'price'\? its columns are price", "prize")


def test_empty_tables(tmp_path, frame):
    path = tmp_path / "t.csv"
    path.write_text("")
    refused(path, "is empty")
    path.write_text("price,size\n")
    refused(path, "no rows")
    refused(frame.iloc[:0], "no rows")
    refused(frame[["price"]], "no other column")


def test_targets_that_are_no_numbers(frame):
    refused(frame, r"'kind' .*must hold numbers.*'a'", "kind")
    refused(frame.assign(price=pd.date_range("2020", periods=3)), "must hold numbers")


def test_missing_and_infinite_targets(frame):
    for bad in (np.nan, np.inf):
        refused(frame.assign(price=[1, bad, 2]), r"in 1 of 3 rows.*dropna")


def test_two_columns_of_one_name(tmp_path, frame):
    path = tmp_path / "t.csv"
    path.write_text("price,a,a\n1,2,3\n")
    refused(path, r"more than one column named 'a'")
    frame.columns = ["price", "a", "a"]
    refused(frame, "more than one column named 'a'")


def test_files_that_are_no_tables(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,b\n1,2\n1,2,3,4\n")
    refused(path, "cannot be read as a table")
    (tmp_path / "t.csv.gz").write_bytes(b"no gzip")
    refused(tmp_path / "t.csv.gz", "cannot be read as a table")
    (tmp_path / "t.xlsx").write_bytes(b"x")
    refused(tmp_path / "t.xlsx", r"no kind that is read here.*pass the DataFrame")


def test_row_numbers_that_were_saved_are_no_feature(tmp_path):
    table = pd.DataFrame({"size": [1.0, 2.0], "price": [3.0, 4.0]})
    table.to_csv(tmp_path / "homes.csv")
    with pytest.raises(DataError, match=r"column 1 of .* has no name.*index=False"):
        load_table(tmp_path / "homes.csv", target="price")
