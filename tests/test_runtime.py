import subprocess
import sys


def test_configuring_too_late_says_so():
    code = "import jax, vst; jax.numpy.zeros(1).block_until_ready(); vst.configure(devices=3)"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert result.returncode == 1
    assert "call vst.configure() before the first fit" in result.stderr


def test_configuring_first_gives_one_device_per_core():
    code = "import vst; vst.configure(devices=3); import jax; print(jax.local_device_count())"
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert result.stdout == "3\n"
