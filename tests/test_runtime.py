import subprocess
import sys

import pytest

import vst


def test_configuring_too_late_says_so():
    code = "import jax, vst; jax.numpy.zeros(1).block_until_ready(); vst.configure(devices=3)"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert result.returncode == 1
    assert "call vst.configure() before the first fit" in result.stderr


def test_no_devices_are_refused():
    with pytest.raises(ValueError, match="devices must be a whole number of at least 1"):
        vst.configure(devices=-1)


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
