"""A broken download never looks like a good file, and the next attempt continues it."""

import dataclasses
import hashlib
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from vst.datasets import load_dataset
from vst.datasets.catalogue import CATALOGUE, DataFile, describe
from vst.datasets.download import download
from vst.errors import DataError, MissingDataError

CONTENT = bytes(range(256)) * 2000
SHA256 = hashlib.sha256(CONTENT).hexdigest()


class Server(ThreadingHTTPServer):
    """Serves one file; breaks the connection after ``break_after`` bytes if that is set."""

    content = CONTENT
    break_after = None
    ranges = True
    status = 200

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.requests = []

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_port}/file.bin"


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        server = self.server
        asked = self.headers.get("Range")
        server.requests.append(asked)
        start = (
            int(asked.removeprefix("bytes=").removesuffix("-")) if asked and server.ranges else 0
        )
        if server.status != 200:
            self.send_error(server.status)
            return
        if start >= len(server.content):
            self.send_error(416)
            return
        body = server.content[start:]
        self.send_response(206 if start else 200)
        if start:
            last = len(server.content) - 1
            self.send_header("Content-Range", f"bytes {start}-{last}/{last + 1}")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body if server.break_after is None else body[: server.break_after])

    def log_message(self, *args):
        pass


@pytest.fixture
def server():
    with Server() as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def target(tmp_path):
    return tmp_path / "data" / "file.bin"


def fetch(server, target, **options):
    return download(
        server.url, target, **({"sha256": SHA256, "check": lambda path: None} | options)
    )


def leftovers(target):
    return sorted(path.name for path in target.parent.rglob("*") if path.is_file())


def test_a_good_download_is_in_place(server, target):
    assert fetch(server, target) == target
    assert target.read_bytes() == CONTENT
    assert leftovers(target) == ["file.bin"]


def test_a_truncated_download_is_no_file_and_the_next_attempt_continues_it(server, target):
    server.break_after = 65_536
    with pytest.raises(MissingDataError, match=r"broke after 65536 of 512000 bytes"):
        fetch(server, target)
    assert not target.exists()
    assert leftovers(target) == ["file.bin.part"]
    server.break_after = None
    fetch(server, target)
    assert server.requests == [None, "bytes=65536-"]
    assert target.read_bytes() == CONTENT
    assert leftovers(target) == ["file.bin"]


def test_a_truncated_download_is_noticed_without_a_checksum(server, target):
    server.break_after = 65_536
    with pytest.raises(MissingDataError):
        fetch(server, target, sha256=None)
    assert not target.exists()


def test_a_server_that_cannot_continue_sends_the_whole_file(server, target):
    server.break_after = 65_536
    with pytest.raises(MissingDataError):
        fetch(server, target)
    server.break_after, server.ranges = None, False
    fetch(server, target)
    assert target.read_bytes() == CONTENT


def test_a_part_longer_than_the_file_is_begun_anew(server, target):
    part = target.parent / "incoming" / "file.bin.part"
    part.parent.mkdir(parents=True)
    part.write_bytes(CONTENT + b"more")
    fetch(server, target)
    assert target.read_bytes() == CONTENT


def test_a_wrong_checksum_keeps_nothing_and_names_both(server, target):
    server.content = CONTENT[:-1] + b"?"
    found = hashlib.sha256(server.content).hexdigest()
    with pytest.raises(DataError) as error:
        fetch(server, target)
    assert SHA256 in str(error.value)
    assert found in str(error.value)
    assert leftovers(target) == []


def test_a_part_of_another_file_is_caught_by_the_checksum_and_not_kept(server, target):
    part = target.parent / "incoming" / "file.bin.part"
    part.parent.mkdir(parents=True)
    part.write_bytes(b"?" * 1000)
    with pytest.raises(DataError, match="not the expected file"):
        fetch(server, target)
    assert leftovers(target) == []
    fetch(server, target)
    assert target.read_bytes() == CONTENT


def test_a_file_that_fails_its_check_is_not_kept(server, target):
    def refuse(path):
        assert path.read_bytes() == CONTENT
        raise DataError("wrong shape")

    with pytest.raises(DataError, match="wrong shape"):
        fetch(server, target, check=refuse)
    assert leftovers(target) == []


def test_a_failed_download_leaves_the_old_file_alone(server, target):
    target.parent.mkdir(parents=True)
    target.write_bytes(b"old")
    server.status = 503
    with pytest.raises(MissingDataError, match="503"):
        fetch(server, target)
    assert target.read_bytes() == b"old"


def test_nobody_listening_is_said_at_once(server, target):
    server.shutdown()
    server.server_close()
    with pytest.raises(MissingDataError, match=r"127\.0\.0\.1 cannot be reached"):
        fetch(server, target)


@pytest.fixture
def stock_from(server, monkeypatch):
    """The catalogue's stock, three rows of it, from the local server."""
    header = " ".join(f"S{i}" for i in range(21))
    server.content = "\n".join([header] + [" ".join(["0.5"] * 21)] * 3).encode() + b"\n"
    file = DataFile(
        "raw_stock_contexts",
        hashlib.sha256(server.content).hexdigest(),
        layout="stock text",
        url=server.url,
    )
    info = dataclasses.replace(describe("stock"), rows=3, files=(file,))
    monkeypatch.setitem(CATALOGUE, "stock", info)
    return server


def test_load_dataset_downloads_once(stock_from, clean_machine):
    assert load_dataset("stock").X.shape == (3, 21)
    assert load_dataset("stock").table.columns[0] == "S0"
    assert len(stock_from.requests) == 1
    assert [path.name for path in clean_machine.iterdir() if path.is_file()] == [
        "raw_stock_contexts"
    ]


def test_a_download_of_the_wrong_shape_is_not_kept(stock_from, monkeypatch, clean_machine):
    monkeypatch.setitem(CATALOGUE, "stock", dataclasses.replace(CATALOGUE["stock"], rows=4))
    with pytest.raises(DataError, match="expected 4 rows x 21 columns, found 3 x 21"):
        load_dataset("stock")
    assert not any(path.is_file() for path in clean_machine.rglob("*"))
