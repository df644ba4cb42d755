import errno
import os
import subprocess
import sys
import warnings
from pathlib import Path

import pandas as pd
import pytest

import vst
from vst.companion.experiments.store import DamagedResultsWarning, Store
from vst.errors import UserError

COLUMNS = ("key", "score", "note")
HEADER = b"key,score,note\n"

# The processes of these tests import the store without its packages, which would import JAX: they are
# forked.
PREAMBLE = """
import os, random, signal, sys, time, types, warnings
from pathlib import Path
for name in ("vst", "vst.companion", "vst.companion.experiments"):
    package = types.ModuleType(name)
    package.__path__ = [str(Path(sys.argv[1], *name.split(".")[1:]))]
    sys.modules[name] = package
from vst.companion.experiments.store import DamagedResultsWarning, Store
assert "jax" not in sys.modules
warnings.simplefilter("error")
warnings.filterwarnings("ignore", ".*fork", DeprecationWarning)  # threads that libraries started
directory = Path(sys.argv[2])
COLUMNS = ("key", "score", "note")

def rows(*keys):
    return [{"key": key, "score": 0.5, "note": 'a "quoted", text'} for key in keys]

def forked(work, *arguments):
    child = os.fork()
    if not child:
        try:
            work(*arguments)
        except BaseException as error:
            print(repr(error), file=sys.stderr, flush=True)
            os._exit(1)
        os._exit(0)
    return child
"""

CROWD = """
def work(store, number, start, gun):
    os.close(gun)
    os.read(start, 1)  # until the parent fires by closing its end
    for i in range(200):
        store.append("yacht", rows(f"{number}-{i}"))

for repetition in range(20):
    if repetition == 1:
        os.fsync = lambda _: None  # so that most of the time goes into what is tested
    store = Store(directory / str(repetition), COLUMNS)
    start, gun = os.pipe()
    children = [forked(work, store, number, start, gun) for number in range(8)]
    os.close(start)
    os.close(gun)
    for _ in range(5):
        store.load()  # never sees half a line, which would be a warning
    assert [os.waitpid(child, 0)[1] for child in children] == [0] * 8
    lines = (store.directory / "yacht.csv").read_text().splitlines()
    assert lines[0] == "key,score,note"
    expected = {f'{n}-{i},0.5,"a ""quoted"", text"' for n in range(8) for i in range(200)}
    assert len(lines) == 1601 and set(lines[1:]) == expected
    assert os.listdir(store.directory) == ["yacht.csv"]
    assert len(store.load()) == 1600
"""

KILLS = """
def batch_of(number):
    return [{"key": f"{number}-{i}", "note": 100_000 * "n"} for i in range(20)]

def write_a_part_and_die(descriptor, data, write=os.write):
    write(descriptor, data[: random.randrange(len(data))])
    os.kill(os.getpid(), signal.SIGKILL)

def work(store, acknowledge, batches):
    for number in range(1000):
        if number == batches:
            os.write = write_a_part_and_die
        store.append("yacht", batch_of(number))
        os.write(acknowledge, b".")

torn = 0
for repetition in range(20):
    store = Store(directory / str(repetition), COLUMNS)
    done, acknowledge = os.pipe()
    in_a_write = repetition % 2
    child = forked(work, store, acknowledge, 2 if in_a_write else None)
    os.close(acknowledge)
    first = os.read(done, 1)
    if not in_a_write:
        time.sleep(random.uniform(0, 0.02))
        os.kill(child, signal.SIGKILL)
    assert os.WTERMSIG(os.waitpid(child, 0)[1]) == signal.SIGKILL
    acknowledged = len(first + os.read(done, 1000))
    os.close(done)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        loaded = store.load()
    assert all("cut off" in str(warning.message) for warning in caught)
    torn += len(caught)
    expected = [row["key"] for number in range(acknowledged + 1) for row in batch_of(number)]
    assert loaded["key"].tolist() == expected[: len(loaded)]
    assert acknowledged * 20 <= len(loaded)
    store.append("yacht", rows("after"))
    assert store.load()["key"].tolist() == [*loaded["key"], "after"]
assert torn >= 5
"""


def forks(script, directory):
    """Run a script that forks, in a process without JAX."""
    command = [sys.executable, "-c", PREAMBLE + script, str(Path(vst.__file__).parent)]
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(
        [*command, str(directory)], capture_output=True, text=True, env=environment, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def rows(*keys):
    return [{"key": key, "score": i / 2, "note": 'a "quoted", text'} for i, key in enumerate(keys)]


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path, COLUMNS)


@pytest.fixture
def yacht(tmp_path):
    """The file of one data set."""
    return tmp_path / "yacht.csv"


def fail(number):
    def failing(*_):
        raise OSError(number, os.strerror(number))

    return failing


def damages_of(store):
    """What is loaded, and the warning's lines."""
    with pytest.warns(DamagedResultsWarning) as caught:
        loaded = store.load()
    assert len(caught) == 1
    return loaded["key"].tolist(), str(caught[0].message).splitlines()[1:]


def test_what_is_appended_is_loaded(tmp_path):
    store = Store(tmp_path / "results", COLUMNS)
    store.append("yacht", rows("a", "b"))
    store.append("yacht", rows("c"))
    store.append("boston", rows("d"))
    assert store.load()["key"].tolist() == ["d", "a", "b", "c"]
    assert store.load(["yacht"])["note"].tolist() == ['a "quoted", text'] * 3
    assert pd.read_csv(tmp_path / "results" / "yacht.csv").columns.tolist() == list(COLUMNS)
    assert sorted(os.listdir(tmp_path / "results")) == ["boston.csv", "yacht.csv"]


def test_an_empty_store_has_columns_and_no_rows(tmp_path):
    assert Store(tmp_path, COLUMNS).load(["yacht"]).columns.tolist() == list(COLUMNS)
    assert len(Store(tmp_path / "nowhere", COLUMNS).load()) == 0


def test_keys_are_text(store):
    store.append("yacht", rows("001", "2e3"))
    assert store.load()["key"].tolist() == ["001", "2e3"]


def test_the_last_row_of_a_key_counts(store):
    store.append("yacht", [{"key": "a", "score": 1, "note": ""}])
    store.append("yacht", [{"key": "a", "score": 2, "note": ""}])
    assert store.load()["score"].tolist() == [2]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
def test_eight_processes_that_append_at_once_lose_and_tear_nothing(tmp_path):
    forks(CROWD, tmp_path)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
def test_a_kill_loses_at_most_the_batch_being_written(tmp_path):
    forks(KILLS, tmp_path)


@pytest.mark.parametrize("lost", [1, 5, 20])
def test_a_torn_write_loses_only_itself(store, yacht, lost):
    store.append("yacht", rows("a", "b"))
    store.append("yacht", rows("c"))
    yacht.write_bytes(yacht.read_bytes()[:-lost])
    keys, damages = damages_of(store)
    assert keys == ["a", "b"]
    assert damages == ["- yacht.csv line 4 is cut off, as by a kill: the next write drops it"]
    store.append("yacht", rows("d"))
    assert store.load()["key"].tolist() == ["a", "b", "d"]
    assert store.load().notna().all(axis=None)


def test_a_file_torn_in_its_first_line_starts_again(store, yacht):
    yacht.write_text("key,sco")
    assert damages_of(store)[0] == []
    store.append("yacht", rows("a"))
    assert store.load()["key"].tolist() == ["a"]


def test_a_file_without_a_line_that_is_not_ours_is_left_alone(store, yacht):
    yacht.write_bytes(b"somebody's notes")
    assert "foreign header" in damages_of(store)[1][0]
    with pytest.raises(UserError, match="foreign header"):
        store.append("yacht", rows("a"))
    assert yacht.read_bytes() == b"somebody's notes"


def test_an_empty_file_is_an_empty_store(store, yacht):
    yacht.touch()
    assert len(store.load()) == 0
    store.append("yacht", rows("a"))
    assert yacht.read_bytes().startswith(HEADER)


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        (b"x,1", "has the wrong number of fields: 2 instead of 3"),
        (b"x,1,2,3", "has the wrong number of fields: 4 instead of 3"),
        (b"", "has the wrong number of fields: 0 instead of 3"),
        (b'x,1,"open', "is not CSV"),
        (b"x,1,caf\xe9", "is not UTF-8"),
        (b"x,\0\0\0,y", "has NUL bytes"),
        (HEADER[:-1], "repeats the header"),
    ],
)
def test_a_damaged_line_is_named_and_the_others_are_kept(store, yacht, line, fault):
    yacht.write_bytes(HEADER + b"a,1,n\n" + line + b"\nb,2,n\n")
    keys, [damage] = damages_of(store)
    assert keys == ["a", "b"]
    assert damage.startswith(f"- yacht.csv line 3 {fault}")


def test_one_warning_lists_a_few_damages_of_all_files(store, tmp_path):
    for name in ("boston", "yacht"):
        (tmp_path / f"{name}.csv").write_bytes(HEADER + b"a\n" * 4)
    damages = damages_of(store)[1]
    assert len(damages) == 6
    assert damages[0] == "- boston.csv line 2 has the wrong number of fields: 1 instead of 3"
    assert damages[-1] == "- 3 more"


@pytest.mark.parametrize(
    "header", ["model,score", "key,score,note,more", "key,key", "", "\0\0\0", "clé,score,note"]
)
def test_a_file_with_a_foreign_header_is_named_and_neither_used_nor_changed(store, yacht, header):
    content = header.encode("latin-1") + b"\na,1,n\n"
    yacht.write_bytes(content)
    keys, [damage] = damages_of(store)
    assert keys == []
    assert damage.startswith("- yacht.csv line 1 is a foreign header: expected")
    assert "None of its rows are used" in damage
    for attempt in (lambda: store.append("yacht", [{"key": "a"}]), store.require_writable):
        with pytest.raises(
            UserError, match=r"yacht\.csv.* expected .* found .* Move the file away"
        ):
            attempt()
    assert yacht.read_bytes() == content


@pytest.mark.parametrize(
    ("header", "problem"),
    [("score,key,note", "has the columns in another order"), ("key,note", "lacks score")],
)
def test_a_file_with_earlier_columns_is_read_and_must_be_migrated_before_a_write(
    store, yacht, header, problem
):
    line = ",".join({"key": "007", "score": "1", "note": "n"}[name] for name in header.split(","))
    yacht.write_text(f"{header}\n{line}\n{line[:3]}")
    content = yacht.read_bytes()
    keys, damages = damages_of(store)
    assert keys == ["007"]
    assert damages[0].startswith(f"- yacht.csv line 1 {problem}: expected")
    assert damages[1] == "- yacht.csv line 3 is cut off, as by a kill: remove it"
    for attempt in (lambda: store.append("yacht", rows("b")), store.require_writable):
        with pytest.raises(UserError, match=f"{problem}.* To migrate the file"):
            attempt()
    assert yacht.read_bytes() == content


def test_earlier_and_present_files_load_into_the_same_columns(store, tmp_path):
    (tmp_path / "boston.csv").write_text("note,key\nn,a\n")
    store.append("yacht", rows("b"))
    with pytest.warns(DamagedResultsWarning):
        loaded = store.load()
    assert loaded.columns.tolist() == list(COLUMNS)
    assert loaded["score"].isna().tolist() == [True, False]


def test_a_file_that_was_saved_by_an_editor_of_windows_is_whole(store, yacht):
    yacht.write_bytes(b"\xef\xbb\xbfkey,score,note\r\na,1,n\r\n")
    store.append("yacht", rows("b"))
    assert store.load()["key"].tolist() == ["a", "b"]
    assert store.load()["note"].tolist() == ["n", 'a "quoted", text']


@pytest.mark.parametrize("value", ["two\nlines", "two\rlines", "nul\0", "\ud800"])
def test_a_value_that_could_not_be_read_back_is_refused(store, yacht, value):
    with pytest.raises(ValueError, match=r"cannot be stored|can't encode"):
        store.append("yacht", [*rows("a"), {"key": "b", "note": value}])
    assert not yacht.exists()


@pytest.mark.parametrize("function", ["write", "fsync"])
def test_a_full_disk_in_a_run_loses_the_batch_and_says_how_to_go_on(
    store, yacht, monkeypatch, function
):
    store.append("yacht", rows("a"))
    whole = yacht.read_bytes()
    with monkeypatch.context() as patch:
        patch.setattr(os, function, fail(errno.ENOSPC))
        with pytest.raises(
            UserError, match=r"No space left.* 2 rows are lost.* same command again"
        ):
            store.append("yacht", rows("b", "c"))
    assert yacht.read_bytes() == whole
    store.append("yacht", rows("b", "c"))
    assert store.load()["key"].tolist() == ["a", "b", "c"]


def test_a_batch_that_is_half_written_to_a_full_disk_is_cut_off_again(store, yacht, monkeypatch):
    store.append("yacht", rows("a"))
    whole, write = yacht.read_bytes(), os.write

    def nearly_full(descriptor, data):
        if len(data) < 40:
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(descriptor, data[:40])

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", nearly_full)
        with pytest.raises(UserError, match="4 rows are lost"):
            store.append("yacht", rows("b", "c", "d", "e"))
    assert yacht.read_bytes() == whole


def test_every_batch_is_flushed_to_the_disk(store, yacht, monkeypatch):
    flushed = []
    monkeypatch.setattr(
        os, "fsync", lambda descriptor: flushed.append(os.fstat(descriptor).st_size)
    )
    store.append("yacht", rows("a"))
    assert flushed == [yacht.stat().st_size]


def test_a_file_that_is_deleted_while_a_writer_waits_is_made_anew(store, yacht, monkeypatch):
    fcntl = pytest.importorskip("fcntl")
    store.append("yacht", rows("a"))
    lock = fcntl.flock

    def late(*arguments):
        monkeypatch.undo()
        yacht.unlink()
        lock(*arguments)

    monkeypatch.setattr(fcntl, "flock", late)
    store.append("yacht", rows("b"))
    assert store.load()["key"].tolist() == ["b"]


def test_a_file_system_without_locks_can_be_read_and_is_not_written_to(store, yacht, monkeypatch):
    fcntl = pytest.importorskip("fcntl")
    store.append("yacht", rows("a"))
    monkeypatch.setattr(fcntl, "flock", fail(errno.ENOLCK))
    assert store.load()["key"].tolist() == ["a"]
    with pytest.raises(UserError, match="No locks available"):
        store.require_writable()


def test_a_place_that_can_be_written_to_is_left_as_it_was(tmp_path):
    store = Store(tmp_path / "a" / "b", COLUMNS)
    store.require_writable()
    store.require_writable(["yacht"])
    assert os.listdir(store.directory) == []
    store.append("yacht", rows("a"))
    whole = (store.directory / "yacht.csv").read_bytes()
    store.require_writable()
    assert (store.directory / "yacht.csv").read_bytes() == whole


def test_a_place_that_cannot_be_written_to_is_found_beforehand(tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    for place in (tmp_path / "file", tmp_path / "file" / "below", Path("/proc/results")):
        with pytest.raises(UserError, match=f"cannot be written to {place}: .* another directory"):
            Store(place, COLUMNS).require_writable()
    with pytest.raises(UserError, match="a file is in the way"):
        Store(tmp_path / "file", COLUMNS).require_writable()
    for number in (errno.EROFS, errno.EACCES):
        with monkeypatch.context() as patch:
            patch.setattr(os, "open", fail(number))
            with pytest.raises(UserError, match=os.strerror(number)):
                Store(tmp_path, COLUMNS).require_writable()


@pytest.mark.parametrize("function", ["write", "fsync"])
def test_a_full_disk_is_found_beforehand(store, tmp_path, monkeypatch, function):
    monkeypatch.setattr(os, function, fail(errno.ENOSPC))
    with pytest.raises(UserError, match="No space left"):
        store.require_writable()
    assert os.listdir(tmp_path) == []


def test_a_file_that_cannot_be_appended_to_is_found_beforehand(store, yacht):
    yacht.mkdir()
    with pytest.raises(UserError, match=r"yacht\.csv: Is a directory"):
        store.require_writable()
    store.require_writable(["boston"])
    with pytest.raises(UserError, match=r"yacht\.csv cannot be read: Is a directory"):
        store.load()


def test_rows_that_are_not_kept_leave_the_file_and_the_last_of_equal_rows_stays(store, yacht):
    for key, score in [("a", 1.0), ("b", 2.0), ("a", 3.0), ("c", 4.0)]:
        store.append("yacht", [{"key": key, "score": score, "note": 'with "quotes", and more'}])
    store.append("boston", [{"key": "d", "score": 5.0, "note": ""}])
    assert store.keep({"a", "c", "d"}) == 2
    assert sorted(store.load()["score"]) == [3.0, 4.0, 5.0]
    assert yacht.read_bytes().count(b"\n") == 3
    before = yacht.read_bytes()
    assert store.keep({"a", "c", "d"}) == 0
    assert yacht.read_bytes() == before


def test_nothing_is_removed_from_a_damaged_file(store, yacht):
    store.append("yacht", [{"key": "a", "score": 1.0, "note": ""}])
    yacht.write_bytes(yacht.read_bytes() + b"b,2.0\n")
    before = yacht.read_bytes()
    with pytest.raises(UserError, match=r"damaged: line 3 .* Nothing was removed"):
        store.keep(set())
    assert yacht.read_bytes() == before


@pytest.mark.parametrize("function", ["write", "fsync"])
def test_a_full_disk_removes_nothing(store, yacht, monkeypatch, function):
    store.append("yacht", [{"key": "a", "score": 1.0, "note": ""}])
    before = yacht.read_bytes()
    monkeypatch.setattr(os, function, fail(errno.ENOSPC))
    with pytest.raises(UserError, match="No space left"):
        store.keep(set())
    assert os.listdir(yacht.parent) == ["yacht.csv"]
    assert yacht.read_bytes() == before


def test_published_results_are_whole():
    results = Path(vst.__file__).parents[1] / "data" / "results"
    directories = {path.parent for path in results.rglob("*.csv")} - {results}
    assert directories
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for directory in directories:
            [header] = {path.read_text().partition("\n")[0] for path in directory.glob("*.csv")}
            Store(directory, header.split(",")).load()
