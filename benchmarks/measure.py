"""What the benchmarks share: timing, the machine's description, and the table of results."""

import platform
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from datetime import date
from pathlib import Path
from typing import NamedTuple

import jax
import pandas as pd

import vst
from vst.datasets.places import bundled_directory
from vst.runtime import available_cores

RESULTS = bundled_directory() / "benchmarks" / "results.csv"

ROOT = Path(__file__).parents[1]

MICRO = 1e6


class Row(NamedTuple):
    """A line of a report; a target is ``<=`` or ``>=`` and a number, or empty."""

    measure: str
    value: float
    unit: str
    target: str = ""


class Timing(NamedTuple):
    """Wall times of one function."""

    seconds: float  #: shortest of several calls
    compile: float  #: extra time of the first call


def timings(*functions: Callable[[], object], rounds: int = 8) -> list[Timing]:
    """Time each function, after a first call that compiles it.

    The functions take turns, so that a temporarily busy machine slows all of them alike.
    """
    first = [_seconds(function) for function in functions]
    best = first
    for _ in range(rounds):
        best = [min(old, _seconds(f)) for old, f in zip(best, functions, strict=True)]
    return [Timing(b, max(f - b, 0.0)) for f, b in zip(first, best, strict=True)]


def _seconds(function: Callable[[], object]) -> float:
    start = time.perf_counter()
    jax.block_until_ready(function())
    return time.perf_counter() - start


def in_new_process(module: str, *arguments: object) -> str:
    """Run a benchmark module in a new process, and return the last line it prints."""
    command = [sys.executable, "-m", module, *map(str, arguments)]
    result = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True)
    return result.stdout.strip().splitlines()[-1]


def peak_memory() -> int:
    """Peak memory of this process so far, in bytes."""
    unit = 1 if sys.platform == "darwin" else 1024
    return unit * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def report(benchmark: str, rows: Iterable[Row]) -> None:
    """Print a benchmark's rows, and store them with today's date and this machine.

    They replace an earlier run of the same day on the same machine; older runs stay as history.
    """
    frame = pd.DataFrame(rows, columns=Row._fields)
    frame["holds"] = [_holds(v, t) for v, t in zip(frame.value, frame.target, strict=True)]
    print(f"\n{benchmark} ({machine()})")
    print(frame.to_string(index=False, float_format=lambda v: f"{v:.3g}"), flush=True)
    run = {"date": date.today().isoformat(), "machine": machine(), "benchmark": benchmark}
    for i, (name, value) in enumerate(run.items()):
        frame.insert(i, name, value)
    frame["value"] = frame["value"].map(lambda v: float(f"{v:.4g}"))
    if RESULTS.exists():
        older = pd.read_csv(RESULTS, keep_default_na=False)
        same = (older[list(run)] == pd.Series(run)).all(axis=1)
        frame = pd.concat([older[~same], frame])
    RESULTS.parent.mkdir(exist_ok=True)
    frame.to_csv(RESULTS, index=False)


def verdict() -> None:
    """Print which targets today's runs on this machine meet."""
    frame = pd.read_csv(RESULTS, keep_default_na=False)
    today = frame[(frame.machine == machine()) & (frame.date == date.today().isoformat())]
    targets = today[today.target != ""]
    print(f"\n{(targets.holds == 'yes').sum()} of {len(targets)} targets hold")
    for row in targets.itertuples():
        mark = "holds" if row.holds == "yes" else "FAILS"
        print(f"  {mark}  {row.benchmark}: {row.measure} {row.value:.3g} {row.unit} ({row.target})")


def machine() -> str:
    """Processor, cores and versions: what a number measured here depends on."""
    model = platform.processor() or platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        names = [line for line in cpuinfo.read_text().splitlines() if line.startswith("model name")]
        model = names[0].split(":", 1)[1].strip() if names else model
    return f"{model}; {available_cores()} cores; jax {jax.__version__}; vst {vst.__version__}"


def _holds(value: float, target: str) -> str:
    if not target:
        return ""
    limit = float(target[2:])
    return "yes" if (value >= limit if target.startswith(">=") else value <= limit) else "NO"
