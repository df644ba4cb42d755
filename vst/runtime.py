"""How JAX uses this machine: one device per core, and a cache of compiled programs."""

import os
from pathlib import Path

import jax
import scipy.linalg  # noqa: F401  JAX calls its LAPACK; only loaded libraries can be limited
from threadpoolctl import threadpool_limits


def configure(*, devices: int | None = None, cache: Path | None = None) -> None:
    """Set up JAX for stacks of replicas. Call this first: JAX fixes its devices at first use.

    On a CPU, XLA runs small programs like a soft tree's training step on one core. With one device
    per core, replicas (folds, seeds, members) use all cores. GPUs do not need this. BLAS and LAPACK,
    which JAX calls for large ranks, get as many threads as a device has cores: with more, threads
    wait for each other, and a process with one core was twenty times slower.

    Parameters
    ----------
    devices
        Number of CPU devices; by default the number of cores this process may use.
    cache
        Directory of compiled programs, by default ``~/.cache/vst/jax``.
    """
    if devices is not None and devices < 1:
        raise ValueError(f"devices must be an integer >= 1, got {devices!r}")
    count = devices or available_cores()
    try:
        jax.config.update("jax_num_cpu_devices", count)
    except RuntimeError as error:
        raise RuntimeError(
            "JAX is already in use and its devices cannot be changed: call vst.configure() before "
            "the first fit"
        ) from error
    threadpool_limits(max(1, available_cores() // count), user_api="blas")
    jax.config.update("jax_compilation_cache_dir", str(cache or user_cache() / "jax"))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.2)


#: Each compiled program maps a few pieces of memory, and Linux ends a process that has 65,530 of them.
MOST_MAPS, MAPS = 30_000, Path("/proc/self/maps")


def make_room_for_programs() -> None:
    """Forget the compiled programs before there are too many of them for one process."""
    if MAPS.exists() and MAPS.read_bytes().count(b"\n") > MOST_MAPS:
        jax.clear_caches()


class _Process:
    """Whether this process was forked from one that used JAX; JAX's threads do not exist here."""

    forked = False

    @classmethod
    def after_fork(cls) -> None:
        cls.forked = cls.forked or _jax_is_started()


if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=_Process.after_fork)


def require_own_process() -> None:
    """Raise RuntimeError in a forked process, where JAX would wait for threads that do not exist."""
    if _Process.forked:
        raise RuntimeError(
            "this process was forked from one that had used JAX, so JAX would wait forever: start "
            'processes with multiprocessing.get_context("spawn") or with joblib'
        )


def _jax_is_started() -> bool:
    """Whether JAX has fixed its devices; only then does it refuse a new number of devices."""
    devices = jax.config.values["jax_num_cpu_devices"]
    try:
        jax.config.update("jax_num_cpu_devices", devices + 1)
    except RuntimeError:
        return True
    jax.config.update("jax_num_cpu_devices", devices)
    return False


def available_cores() -> int:
    """Cores this process may use; in a container they can be fewer than the machine's."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on macOS or Windows
        return os.cpu_count() or 1


def user_cache() -> Path:
    """Directory of this user's files that can be recreated."""
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "vst"
