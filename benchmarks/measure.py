"""What the benchmarks share: timing, the machine's description, and the table of results."""

import platform
import time
from collections.abc import Callable
from datetime import date
from pathlib import Path

import jax
import pandas as pd

import vst
from vst.runtime import available_cores

RESULTS = Path(__file__).with_name("results.csv")


def best_seconds(*functions: Callable[[], object], rounds: int = 8) -> list[float]:
    """Shortest wall time of each call, after one that warms up, which compiles what it needs.

    The functions take turns, so that a machine that is busy for a while slows all of them alike.
    """
    for function in functions:
        jax.block_until_ready(function())
    best = [float("inf")] * len(functions)
    for _ in range(rounds):
        for i, function in enumerate(functions):
            start = time.perf_counter()
            jax.block_until_ready(function())
            best[i] = min(best[i], time.perf_counter() - start)
    return best


def report(benchmark: str, rows: list[tuple[str, float, str, str]]) -> None:
    """Print (what, value, unit, target) rows, and keep them with today's date and this machine."""
    frame = pd.DataFrame(rows, columns=["measure", "value", "unit", "target"])
    frame["holds"] = [
        _holds(value, target) for value, target in zip(frame.value, frame.target, strict=True)
    ]
    print(f"\n{benchmark} ({machine()})")
    print(frame.to_string(index=False, float_format=lambda v: f"{v:.3g}"))
    frame.insert(0, "benchmark", benchmark)
    frame.insert(0, "machine", machine())
    frame.insert(0, "date", date.today().isoformat())
    frame["value"] = frame["value"].map(lambda v: float(f"{v:.4g}"))
    if RESULTS.exists():
        older = pd.read_csv(RESULTS, keep_default_na=False)
        same = (older.benchmark == benchmark) & (older.machine == machine())
        frame = pd.concat([older[~same], frame])
    frame.to_csv(RESULTS, index=False)


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
