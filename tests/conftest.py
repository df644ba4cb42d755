"""Test hygiene: NaNs and reused random keys are errors, and every test has a key of its own."""

import os
import zlib
from pathlib import Path

import jax
import numpy as np
import pytest
from hypothesis import settings

import vst
from vst import inference, runtime

vst.configure(devices=2)
jax.config.update("jax_debug_nans", True)
jax.config.update("jax_debug_key_reuse", True)

# Compilation makes the first example of a property slow and later ones fast.
settings.register_profile("vst", deadline=None, max_examples=25, derandomize=True)
settings.load_profile("vst")


NAMED = os.environ.get("VST_DATA")


@pytest.fixture(autouse=True)
def few_programs():
    """Let a process run any number of tests."""
    yield
    runtime.make_room_for_programs()


@pytest.fixture
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


@pytest.fixture
def seed(request):
    """A seed from the test's name: tests do not share random numbers, and reruns repeat them."""
    return zlib.crc32(request.node.name.encode())


@pytest.fixture
def key(seed):
    return jax.random.key(seed)


@pytest.fixture
def rng(seed):
    return np.random.default_rng(seed)


@pytest.fixture
def float64():
    with jax.enable_x64(True):
        yield


@pytest.fixture
def compilations(monkeypatch):
    """A list that grows with every compilation of a training program; nothing is compiled before."""
    found, original = [], inference.train_replica

    def counted(*arguments):
        found.append(1)
        return original(*arguments)

    monkeypatch.setattr(inference, "train_replica", counted)
    jax.clear_caches()
    return found


#: Files of fixtures hold no doctests, and there are several of this name.
collect_ignore_glob = ["conftest.py", "*/conftest.py"]
