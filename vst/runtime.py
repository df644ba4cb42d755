"""How JAX uses this machine: one device per core, and compiled programs kept between runs."""

import os
from pathlib import Path

import jax
import scipy.linalg  # noqa: F401  whose LAPACK JAX calls: only what is loaded can be limited
from threadpoolctl import threadpool_limits


def configure(*, devices: int | None = None, cache: Path | None = None) -> None:
    """Set JAX up for stacks of replicas. Call it first thing: JAX fixes its devices at first use.

    On a CPU, XLA runs programs as small as a soft tree's training step on one core. With one device
    per core, replicas (folds, seeds, members) are divided over all of them. GPUs need no such help.
    BLAS and LAPACK, which JAX calls for large ranks, get the cores that a device has: more threads
    than that wait for each other, and made fits in a process with one core twenty times as slow.

    Parameters
    ----------
    devices
        Number of CPU devices; by default the cores this process may use.
    cache
        Directory of compiled programs, by default ``~/.cache/vst/jax``.
    """
    if devices is not None and devices < 1:
        raise ValueError(f"devices must be a whole number of at least 1, got {devices!r}")
    count = devices or available_cores()
    try:
        jax.config.update("jax_num_cpu_devices", count)
    except RuntimeError as error:
        raise RuntimeError(
            "JAX has computed something already, and its devices cannot be changed any more: call "
            "vst.configure() before the first fit"
        ) from error
    threadpool_limits(max(1, available_cores() // count), user_api="blas")
    jax.config.update("jax_compilation_cache_dir", str(cache or user_cache() / "jax"))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.2)


class _Process:
    """Whether this process was forked from one in which JAX was at work, whose threads it lacks."""

    forked = False

    @classmethod
    def after_fork(cls) -> None:
        cls.forked = cls.forked or _jax_is_started()


if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=_Process.after_fork)


def require_own_process() -> None:
    """Raise RuntimeError in a forked process where JAX would wait for threads that are not there."""
    if _Process.forked:
        raise RuntimeError(
            "this process was forked from one that had used JAX, where JAX waits forever: start "
            'processes with multiprocessing.get_context("spawn"), or with joblib, whose default does'
        )


def _jax_is_started() -> bool:
    """Whether JAX has fixed its devices: then, and only then, it refuses another number of them."""
    devices = jax.config.values["jax_num_cpu_devices"]
    try:
        jax.config.update("jax_num_cpu_devices", devices + 1)
    except RuntimeError:
        return True
    jax.config.update("jax_num_cpu_devices", devices)
    return False


def available_cores() -> int:
    """Cores this process may use, which in a container can be fewer than the machine has."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on macOS or Windows
        return os.cpu_count() or 1


def user_cache() -> Path:
    """Where files that can be made again are kept for this user."""
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "vst"
