import os
import subprocess
import sys

import jax
import pytest

import vst
from vst import memory, runtime


def test_configuring_too_late_says_so():
    code = "import jax, vst; jax.numpy.zeros(1).block_until_ready(); vst.configure(devices=3)"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert result.returncode == 1
    assert "call vst.configure() before the first fit" in result.stderr


def test_no_devices_are_refused():
    with pytest.raises(ValueError, match="devices must be an integer >= 1"):
        vst.configure(devices=-1)


@pytest.mark.skipif(not runtime.MAPS.exists(), reason="only Linux limits and lists them")
def test_programs_are_forgotten_before_a_process_has_too_many(monkeypatch):
    traced = []
    program = jax.jit(lambda x: traced.append(1) or x + 1)
    for most, count in ((10**9, 1), (0, 2)):
        monkeypatch.setattr(runtime, "MOST_MAPS", most)
        program(1.0)
        runtime.make_room_for_programs()
        program(1.0)
        assert len(traced) == count


def test_configuring_first_gives_one_device_per_core():
    code = "import vst; vst.configure(devices=3); import jax; print(jax.local_device_count())"
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert result.stdout == "3\n"


def test_a_device_calls_lapack_with_the_threads_of_its_own_core():
    """More than that wait for each other, in a pinned process for whole time slices."""
    code = (
        "import vst; vst.configure(); from threadpoolctl import threadpool_info; "
        "print({lib['num_threads'] for lib in threadpool_info() if lib['user_api'] == 'blas'})"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert result.stdout == "{1}\n"


FORKED = """
import os, signal, sys, warnings
import numpy as np, vst
warnings.simplefilter("ignore")  # JAX's own, which comes in the parent
x = np.random.default_rng(0).normal(size=(50, 2))
model = vst.VSTRegressor(depth=1, steps=10)
{before}
child = os.fork()
if child == 0:
    signal.alarm(60)  # a child that hangs does not outlive this test
    try:
        {inside}
        print("fine", flush=True)
    except RuntimeError as error:
        print(error, flush=True)
    os._exit(0)
os.waitpid(child, 0)
"""


@pytest.mark.parametrize(
    "inside", ["model.predict(x)", "model.fit(x, x[:, 0])", "distribution.mean"]
)
@pytest.mark.skipif(not hasattr(os, "fork"), reason="nothing can be forked here")
def test_a_child_forked_after_jax_was_used_says_so_and_does_not_hang(inside):
    before = "model.fit(x, x[:, 0]); distribution = model.predict_dist(x)"
    code = FORKED.format(before=before, inside=inside)
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120
    )
    assert 'multiprocessing.get_context("spawn")' in result.stdout


@pytest.mark.skipif(not hasattr(os, "fork"), reason="nothing can be forked here")
def test_a_child_forked_before_jax_was_used_can_use_it():
    code = FORKED.format(before="", inside="model.fit(x, x[:, 0]).predict(x)")
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120
    )
    assert result.stdout == "fine\n"


def test_the_memory_of_this_machine_is_known():
    assert memory.memory_limit() > 2**28


@pytest.mark.parametrize("file", memory.LIMIT_FILES)
def test_the_limit_of_a_container_counts(file, tmp_path, monkeypatch):
    (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / file).write_text("1000000000\n")
    monkeypatch.setattr(memory, "CONTROL_GROUPS", tmp_path)
    assert memory.memory_limit() == 10**9
    with pytest.raises(MemoryError, match=r"it would need about 2.0 GB .* may use 1.0 GB: lower x"):
        memory.require_memory(2 * 10**9, "it", "lower x")
    (tmp_path / file).write_text("max\n")
    assert memory.memory_limit() > 10**9


def test_where_no_limit_is_known_everything_is_tried(monkeypatch):
    monkeypatch.setattr(memory, "memory_limit", lambda: None)
    memory.require_memory(10**30, "it", "lower x")
