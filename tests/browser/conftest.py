"""One browser for all tests of a process, and the book to open in it."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import chromium
import pytest

from vst.companion.driver import driver

ROOT = Path(__file__).parents[2]


@contextmanager
def only_one(lock: Path) -> Iterator[None]:
    """Let one process at a time through; the lock is a directory."""
    while True:
        try:
            lock.mkdir()
            break
        except FileExistsError:
            time.sleep(0.1)
    try:
        yield
    finally:
        lock.rmdir()


@pytest.fixture(scope="session")
def built_book(tmp_path_factory):
    """The directory of the book's pages, which are built if they are not up to date."""
    run = tmp_path_factory.getbasetemp().parent  # shared by the test processes
    with only_one(run / "book.lock"):
        return driver.build(ROOT).parent


@pytest.fixture(scope="session")
def book_url(built_book):
    with chromium.served(built_book) as url:
        yield url


@pytest.fixture(scope="session")
def browser():
    browser = chromium.start()
    yield browser
    browser.quit()
