"""No test looks at this user's cache or data directory unless it says so."""

import os
from pathlib import Path

import pytest

NAMED = os.environ.get("VST_DATA")


@pytest.fixture(autouse=True)
def clean_machine(monkeypatch, tmp_path):
    """A machine without ``VST_DATA`` and with an empty cache, which is the value."""
    monkeypatch.delenv("VST_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "vst" / "data"


@pytest.fixture
def fetched(monkeypatch):
    """The directory of data sets that may not be bundled."""
    if not NAMED or not (Path(NAMED) / "song_8k.csv.gz").is_file():
        pytest.skip("needs data that cannot be bundled: set VST_DATA to a directory that has them")
    monkeypatch.setenv("VST_DATA", NAMED)
    return Path(NAMED)
