"""A table of the user's own is the same kind of object, and mistakes are named."""

import bz2
import gzip
import lzma
import zipfile

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
    refused(frame[["price"]], "no column besides the target")


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
    refused(tmp_path / "t.xlsx", r"unsupported file type.*pass the DataFrame")


def test_row_numbers_that_were_saved_are_no_feature(tmp_path):
    table = pd.DataFrame({"size": [1.0, 2.0], "price": [3.0, 4.0]})
    table.to_csv(tmp_path / "homes.csv")
    with pytest.raises(DataError, match=r"column 1 of .* has no name.*index=False"):
        load_table(tmp_path / "homes.csv", target="price")


ROWS = "size,town,price\n" + "".join(f"{i},{'xy'[i % 2]},{2 * i}\n" for i in range(40))


@pytest.fixture
def written(tmp_path):
    """Write a file, and return its path."""

    def write(content, name="homes.csv", encoding="utf-8"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode(encoding))
        return path

    return write


@pytest.mark.parametrize("code", ["?", "-", "n/a ", "unknown", "oops"])
def test_a_word_among_numbers_is_named(written, code):
    path = written(ROWS.replace("\n7,", f"\n{code},"))
    message = r"'size' .* holds numbers, but '{}' in 1 of 40 rows.*na_values=.*astype\('category'\)"
    refused(path, message.format(code.replace("?", r"\?")))
    frame = pd.read_csv(path, na_values=[], keep_default_na=False)
    refused(frame, r"'size' of the DataFrame holds numbers, but")
    assert load_table(frame.astype({"size": "category"}), target="price").d == 2


def test_codes_are_codes_however_many_there_are(written):
    path = written("size,kind,price\n1,5,1\n?,a,2\nNULL,b,3\n?,a,4\n")
    refused(path, r"'size' of .* but '\?', 'NULL' in 3 of 4 rows")


def test_text_with_some_numbers_is_text():
    frame = pd.DataFrame({"ticket": ["7", "8", "9", "A1"], "y": range(4)})
    assert load_table(frame, target="y").X["ticket"].tolist() == ["7", "8", "9", "A1"]


def test_rows_longer_than_the_header_are_found(written):
    for extra, line in (("0,x,0,", 2), ("2,y,0,5", 2), ("3,x,6,7,8", 5)):
        lines = ROWS.splitlines()
        lines[line - 1] = extra
        values = extra.count(",") + 1
        refused(
            written("\n".join(lines)),
            f"line {line} has {values} values, but the header has 3 names",
        )
    shifted = ROWS.replace("\n", ",\n").replace("price,", "price")
    refused(written(shifted), r"line 2 has 4 values.*a comma at the line's end")


def test_words_like_na_are_text_among_text_and_gaps_among_numbers(written):
    table = "country,size,price\nNA,1,1\nDE,NA,2\nNone,3,3\nnull,4,4\n"
    features = load_table(written(table), target="price").X
    assert features["country"].tolist() == ["NA", "DE", "None", "null"]
    assert features["size"].isna().tolist() == [False, True, False, False]


def test_an_empty_cell_is_a_gap(written):
    features = load_table(written("kind,price\nNA,1\n,2\nb,3\n"), target="price").X
    assert features["kind"].isna().tolist() == [False, True, False]


def test_a_column_is_text_or_numbers_as_a_whole(written):
    """Of a large file pandas reads parts, and may take 1 as a number in one and as text in another."""
    rows = ["1"] * 300_000 + ["a"] * 100_000
    path = written("kind,price\n" + "".join(f"{kind},1\n" for kind in rows))
    assert set(load_table(path, target="price").X["kind"]) == {"1", "a"}


def test_a_column_may_be_called_na(written):
    assert list(load_table(written("NA,price\n1,2\n"), target="price").X) == ["NA"]


def test_other_separators_and_encodings_get_advice(written):
    german = ROWS.replace(",", ";").replace("town", "stra\u00dfe")
    cases = [
        (german, "utf-8", r"separated by semicolons: .*read_csv\('homes.csv', sep=';'\)"),
        (german, "latin-1", r"by semicolons and encoded in latin-1: .*encoding='latin-1', sep=';'"),
        (ROWS.replace(",", "\t"), "utf-8", r"separated by tabs: .*sep='\\t'\)"),
        (ROWS, "utf-16", r"encoded in utf-16: .*encoding='utf-16'\)"),
        (ROWS, "utf-16-le", r"encoded in utf-16-le: .*encoding='utf-16-le'\)"),
        (ROWS, "utf-16-be", "encoded in utf-16-be: "),
        (ROWS.replace("x", "\u00e9"), "latin-1", "encoded in latin-1: .*pass the DataFrame"),
        (ROWS.replace("x", "\u20ac"), "cp1252", "encoded in cp1252: "),
        (ROWS * 3000 + "1,\u00e9,2\n", "latin-1", r"encoded in latin-1: "),
        ("size;price\n1,5;2,5\n", "utf-8", "separated by semicolons"),
    ]
    for text, encoding, message in cases:
        refused(written(text, encoding=encoding), message)


def test_the_advice_is_right(written):
    path = written(ROWS.replace(",", ";").replace("x", "\u00e9"), encoding="latin-1")
    frame = pd.read_csv(path, encoding="latin-1", sep=";")
    assert set(load_table(frame, target="price").X["town"]) == {"\u00e9", "y"}


def test_a_byte_order_mark_is_no_part_of_a_name(written):
    path = written(ROWS, encoding="utf-8-sig")
    assert list(load_table(path, target="price").X) == ["size", "town"]


@pytest.mark.parametrize("kind", ["gz", "bz2", "xz", "zip"])
def test_packed_files_are_read_and_damaged_ones_get_advice(written, tmp_path, kind):
    noise = np.random.default_rng(0).integers(0, 10**6, size=(3000, 2))
    text = "size,price\n" + "".join(f"{a},{b}\n" for a, b in noise)
    path = tmp_path / f"homes.csv.{kind}"
    if kind == "zip":
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("homes.csv", text)
    else:
        path.write_bytes({"gz": gzip, "bz2": bz2, "xz": lzma}[kind].compress(text.encode()))
    assert load_table(path, target="price").n == 3000
    whole = path.read_bytes()
    flipped = bytearray(whole)
    flipped[len(whole) // 2] ^= 255
    for damaged in (whole[: len(whole) // 2], bytes(flipped), b"no such file"):
        message = rf"cannot be read as a table: .* damaged or not a \.{kind} file: copy it again"
        refused(written(damaged, path.name), message)


def test_a_packed_file_under_the_name_of_an_unpacked_one(written):
    refused(written(gzip.compress(ROWS.encode())), r"is not a text file: .*\.csv\.gz")


def test_a_zip_file_of_two_tables(tmp_path):
    with zipfile.ZipFile(tmp_path / "homes.csv.zip", "w") as archive:
        archive.writestr("a.csv", ROWS)
        archive.writestr("b.csv", ROWS)
    refused(tmp_path / "homes.csv.zip", "must hold one file, got 2: unpack it")
