"""Every model on every bundled data set, with its tuned settings: time, memory and log-likelihood.

The time is for the paper's ten folds on all cores. The folds of a soft tree are one program that uses
every core. A peer runs as many folds in parallel as there are cores, each in its own process with one
thread, and its time is scaled to ten folds. Loading libraries and compiling do not count. Short fits
are repeated, and their median counts. A peer's fold that takes more than LIMIT seconds to fit and score
is stopped, and its time is a lower bound. The row of an untuned model says so, and the model is not
compared. Rows are written as soon as they are measured; today's rows of this machine are not measured
again.
"""

import json
import math
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import date
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from tqdm import tqdm

import vst
from benchmarks.measure import RESULTS, ROOT, Row, machine, peak_memory, report
from vst.companion.experiments.fitting import fit_stack, fitted, prepared_for
from vst.companion.experiments.regression import setting_for
from vst.companion.experiments.trials import tuned_settings
from vst.companion.models import MODEL_BY_ID, label
from vst.companion.peers import Fitted, NoDensityError, Peer
from vst.companion.protocol import Prepared
from vst.minibatches import CHUNK
from vst.runtime import available_cores
from vst.soft_trees import SoftTrees

TABLE = RESULTS.with_name("models.csv")
COLUMNS = (
    "date", "machine", "dataset", "model", "part", "compile_seconds", "fit_seconds",
    "predict_seconds", "peak_mb", "log_likelihood", "stopped", "tuned",
)  # fmt: skip

DATASETS = (
    "boston", "yacht", "energy", "concrete", "wine", "kin8nm", "power", "naval", "protein",
)  # fmt: skip
OURS, CHOOSING, BOOSTED = "vst-linear", "vst-cv", "vsgbm-linear"
PEERS = ("xbart", "sglb", "ngboost", "bartz", "deep-ensemble")
MODELS = (OURS, CHOOSING, BOOSTED, *PEERS)

#: Target for the median time of a peer over that of the model that chooses for itself.
MEDIAN = {(CHOOSING, "ngboost"): ">=1"}

#: Target share of data sets on which one soft tree is faster than a peer.
FASTER = {
    "xbart": Fraction(1, 2),
    "sglb": Fraction(1),
    "ngboost": Fraction(1),
    "bartz": Fraction(1),
}

#: Target share of data sets on which it predicts at least as well as each peer.
AS_GOOD = Fraction(6, 9)

FOLDS = 10
LIMIT = 150

#: A fit is repeated this many times, or until this many seconds have passed.
REPEATS, ENOUGH = 3, 5

#: Models that compile a program for their data, in a first fit that does not count. This fit can be
#: shorter if the program does not depend on its length.
COMPILED: dict[str, dict[str, float]] = {
    "deep-ensemble": {"steps": 1}, "bartz": {}, CHOOSING: {"effort": 0.01},
}  # fmt: skip

#: Rows of the fit that only loads a peer's library.
WARM_UP_ROWS = 50

#: Printed by a process when the measured part begins.
READY = "ready"

#: Shorter trainings of a VST, as divisors of its steps: when does it reach the best peer?
PARTS = (1, 4)


def measure_soft(dataset: str, model: str, part: int) -> dict[str, Any]:
    """Fit the ten folds of a soft tree in this process, with a share of the tuned steps."""
    setting = setting_for(model, dataset, tuned_settings())
    setting = replace(setting, steps=setting.steps // part)
    data = prepared_for(setting, dataset)

    def run(setting: SoftTrees) -> tuple[float, float, float]:
        start = time.perf_counter()
        stack = fit_stack([setting] * FOLDS, data, range(FOLDS), [0] * FOLDS)
        models = [fitted(stack, i) for i in range(FOLDS)]
        middle = time.perf_counter()
        scores = [log_likelihood(model, data) for model in models]
        same_folds = scores[: side_by_side()]
        return middle - start, time.perf_counter() - middle, float(np.mean(same_folds))

    print(READY, flush=True)
    brief = replace(setting, steps=CHUNK, n_trees=min(setting.n_trees, 1))
    compiling = sum(run(brief)[:2]) - sum(run(brief)[:2])
    return _row(max(compiling, 0.0), *repeated(partial(run, setting)))


def measure_peer(dataset: str, model: str, fold: int) -> dict[str, Any]:
    """Fit one fold of a peer in this process."""
    setting = setting_for(model, dataset, tuned_settings())
    data = prepared_for(setting, dataset)
    used = data.folds.train.rows(fold)
    x, y = data.x_train[used], data.y_train[used]

    def run(setting: Peer) -> tuple[float, float, float]:
        start = time.perf_counter()
        fitted = setting.fit(x, y, seed=0)
        middle = time.perf_counter()
        score = log_likelihood(fitted, data)
        return middle - start, time.perf_counter() - middle, score

    if MODEL_BY_ID[model].library:
        setting.fit(x[:WARM_UP_ROWS], y[:WARM_UP_ROWS], seed=0)
    brief = replace(setting, **COMPILED.get(model, {}))
    first = sum(run(brief)[:2]) if model in COMPILED else 0.0
    print(READY, flush=True)
    found = repeated(partial(run, setting))
    compiling = first - sum(found[:2]) if brief == setting else first
    return _row(max(compiling, 0.0), *found)


def repeated(run: Callable[[], tuple[float, float, float]]) -> tuple[float, float, float]:
    """Median times to fit and predict over several runs, and the score, which is always the same."""
    runs = [run()]
    while len(runs) < REPEATS and sum(fit + predict for fit, predict, _ in runs) < ENOUGH:
        runs.append(run())
    fits, predictions, scores = zip(*runs, strict=True)
    return float(np.median(fits)), float(np.median(predictions)), scores[0]


def log_likelihood(model: Fitted, data: Prepared) -> float:
    try:
        return float(np.mean(model.log_prob(data.x_test, data.y_test)))
    except NoDensityError:
        return float("nan")


def _row(compiling: float, fit: float, predict: float, score: float) -> dict[str, Any]:
    return {
        "compile_seconds": compiling,
        "fit_seconds": fit,
        "predict_seconds": predict,
        "peak_mb": peak_memory() / 1e6,
        "log_likelihood": score,
    }


def measure(dataset: str, model: str, part: int) -> dict[str, Any]:
    """Time for the ten folds on all cores, measured in separate processes."""
    tuned = int(not MODEL_BY_ID[model].trials or (dataset, model) in tuned_settings())
    if MODEL_BY_ID[model].is_soft:
        return _in_new_process(dataset, model, part) | {"stopped": 0, "tuned": tuned}
    folds = range(side_by_side())
    with ThreadPoolExecutor(len(folds)) as pool:
        found = pd.DataFrame(pool.map(partial(_in_new_process, dataset, model), folds))
    row = found.reindex(columns=COLUMNS[5:]).mean(skipna=False).to_dict()
    row["stopped"] = int(found["stopped"].any())
    for column in ("fit_seconds", "predict_seconds"):
        row[column] *= math.ceil(FOLDS / len(folds))
    return row | {"tuned": tuned}


def _in_new_process(dataset: str, model: str, number: int) -> dict[str, Any]:
    command = [sys.executable, "-m", "benchmarks.models", dataset, model, str(number)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        while (line := process.stdout.readline()) and line.strip() != READY:
            pass
        try:
            output, _ = process.communicate(timeout=None if MODEL_BY_ID[model].is_soft else LIMIT)
        except subprocess.TimeoutExpired:
            process.kill()
            return {"fit_seconds": LIMIT, "stopped": 1}
    if process.returncode:
        raise RuntimeError(f"{model} failed on {dataset}: see above")
    return json.loads(output.strip().splitlines()[-1]) | {"stopped": 0}


def side_by_side() -> int:
    """Folds of a peer that run at the same time."""
    return min(available_cores(), FOLDS)


def wanted(on: Sequence[str], names: Sequence[str]) -> Iterator[tuple[str, str, int]]:
    for dataset in on:
        for model in names:
            for part in PARTS if model == OURS else PARTS[:1]:
                yield dataset, model, part


def measure_all(on: Sequence[str] = DATASETS, names: Sequence[str] = MODELS) -> pd.DataFrame:
    """Measure what is not yet in the table, and return today's rows of this machine."""
    run = {"date": date.today().isoformat(), "machine": machine()}
    done = set(map(tuple, _today(run)[["dataset", "model", "part"]].values))
    todo = [job for job in wanted(on, names) if job not in done]
    with tqdm(todo, unit="measurement", disable=not todo) as bar:
        for dataset, model, part in bar:
            bar.set_postfix_str(f"{dataset} {model}")
            row = run | {"dataset": dataset, "model": model, "part": part}
            row |= measure(dataset, model, part)
            frame = pd.DataFrame([row], columns=COLUMNS).round(4)
            frame.to_csv(TABLE, mode="a", header=not TABLE.exists(), index=False)
    return _today(run)


def _today(run: dict[str, str]) -> pd.DataFrame:
    if not TABLE.exists():
        return pd.DataFrame(columns=COLUMNS)
    table = pd.read_csv(TABLE)
    return table[(table[list(run)] == pd.Series(run)).all(axis=1)]


def summary(table: pd.DataFrame) -> Iterator[Row]:
    """The measures with targets: which model is faster, and at what log-likelihood."""
    whole = table[(table["part"] == 1) & (table["tuned"] == 1)]
    measured = set(whole["model"])
    for ours in (name for name in (OURS, CHOOSING) if name in measured):
        for peer in (name for name in PEERS if name in measured):
            yield from comparison(table, ours, peer)
    seconds = whole.pivot_table(index="dataset", columns="model", values="fit_seconds")
    if BOOSTED in measured:
        slower = (seconds[BOOSTED] / seconds[OURS]).dropna()
        times = f"time of {label(BOOSTED)} over {label(OURS)}"
        yield Row(f"{times}, median", slower.median(), "x", "<=5")
        yield Row(f"{times}, most", slower.max(), "x", "<=5")


def comparison(table: pd.DataFrame, ours: str, peer: str) -> Iterator[Row]:
    """How one of our models compares with a peer on the data sets that both have finished."""
    whole = table[(table["part"] == 1) & (table["tuned"] == 1)]
    seconds, scores, stopped = (
        whole.pivot_table(index="dataset", columns="model", values=column, dropna=False)
        for column in ("fit_seconds", "log_likelihood", "stopped")
    )
    ratio = seconds[peer] / seconds[ours]
    # A lower bound below one says nothing.
    ratio = ratio[~((stopped[peer] == 1) & (ratio <= 1))].dropna()
    bounded = ", at least" if (stopped.loc[ratio.index, peer] == 1).any() else ""
    we, they = label(ours), label(peer)
    yield Row(
        f"time of {they} over {we}, median{bounded}",
        ratio.median(),
        "x",
        MEDIAN.get((ours, peer), ""),
    )
    share = FASTER.get(peer) if ours == OURS else None
    yield counted(f"{we} faster than {they}", ratio > 1, share)
    compared = scores.loc[ratio.index, [ours, peer]].dropna()
    better = compared[ours] >= compared[peer]
    yield counted(f"{we} at least as good as {they}", better, AS_GOOD)
    trainings = table[table["model"] == ours].set_index("dataset")
    sooner = [
        bool(
            (
                (trainings.loc[[name], "log_likelihood"] >= score)
                & (trainings.loc[[name], "fit_seconds"] < seconds[peer][name])
            ).any()
        )
        for name, score in compared[peer].items()
    ]
    yield counted(f"{we} as good as {they} in less time", sooner)


def counted(what: str, holds: Sequence[bool], share: Fraction | None = None) -> Row:
    """On how many data sets something holds, and the target number."""
    total = len(holds)
    target = "" if share is None else f">={math.ceil(share * total)}"
    return Row(what, sum(holds), f"of {total} data sets", target)


def main() -> None:
    report("models", summary(measure_all()))


def child() -> None:
    dataset, model, number = sys.argv[1:]
    measured = measure_soft if MODEL_BY_ID[model].is_soft else measure_peer
    with tempfile.TemporaryDirectory() as empty:
        vst.configure(devices=None if MODEL_BY_ID[model].is_soft else 1, cache=Path(empty))
        print(json.dumps(measured(dataset, model, int(number))))


if __name__ == "__main__":
    child() if len(sys.argv) > 1 else main()
