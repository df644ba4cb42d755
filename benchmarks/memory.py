"""Memory of training, by the posterior's rank, and of a fit to a million rows of 90 features."""

import json
import sys
from dataclasses import replace

import jax
import numpy as np

import vst
from benchmarks.measure import Row, in_new_process, peak_memory, report
from benchmarks.training import PROGRAM, ROWS, table
from vst.arrays import Rows
from vst.bound import Hyperparameters
from vst.inference import _compiled, _train, fit

RANKS = (0, 10, 20, 40, 80)
LARGE = (1_000_000, 90)
STEPS = 500
MEGA = 1e6


def working_memory(rank: int) -> int:
    """Bytes that one replica's compiled training program needs besides the data."""
    program = replace(PROGRAM, rank=rank)
    x, y = table(ROWS)
    seen = {}

    def spy(*arguments: object, **options: object) -> object:
        seen["memory"] = _compiled("cpu").lower(*arguments, **options).compile().memory_analysis()
        return _train(*arguments, **options)

    vst.inference._train, original = spy, vst.inference._train
    try:
        fit(jax.random.key(0), program, Hyperparameters(), x, y, Rows.all(ROWS), steps=1)
    finally:
        vst.inference._train = original
    data = x.nbytes + y.nbytes
    return seen["memory"].temp_size_in_bytes + seen["memory"].argument_size_in_bytes - data


def fit_large(dtype: str) -> None:
    """Fit and predict a large table in this process, and print sizes in bytes as JSON."""
    vst.configure()
    rng = np.random.default_rng(0)
    x = np.empty(LARGE, dtype)
    for block in np.array_split(x, 100):
        block[:] = rng.normal(size=block.shape)
    y = np.abs(x[:, 0]) + 0.1 * rng.normal(size=len(x))
    model = vst.VSTRegressor(steps=STEPS).fit(x, y)
    fitted = peak_memory()
    model.predict(x, return_std=True)
    print(json.dumps({"data": x.nbytes + y.nbytes, "fit": fitted, "predict": peak_memory()}))


def main() -> None:
    by_rank = {rank: working_memory(rank) for rank in RANKS}
    per_rank = np.diff(list(by_rank.values())) / np.diff(RANKS)
    lines = [Row(f"{rank} columns", size / MEGA, "MB") for rank, size in by_rank.items()]
    most = per_rank.max() / PROGRAM.shape.n_params
    lines.append(Row("per parameter and column, at most", most, "bytes", "<=64"))
    in_new_process("benchmarks.memory", "float32")  # compiles first: that also takes memory
    for dtype in ("float64", "float32"):
        size = json.loads(in_new_process("benchmarks.memory", dtype))
        limit = 1.5 * size["data"] + 500 * MEGA
        lines += [
            Row(f"a million rows of 90 features in {dtype}", size["data"] / MEGA, "MB"),
            Row(f"peak of the process that fits them, {dtype}", size["fit"] / MEGA, "MB"),
            Row(f"peak with predictions for all of them, {dtype}", size["predict"] / MEGA, "MB"),
            Row(
                f"peak over 1.5 times the data and 500 MB, {dtype}",
                size["predict"] / limit,
                "x",
                "<=1",
            ),
        ]
    report("memory", lines)


if __name__ == "__main__":
    fit_large(sys.argv[1]) if len(sys.argv) > 1 else main()
