"""The benchmarks' table: what is kept of earlier runs, and what holds."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from benchmarks import measure, models
from benchmarks.measure import Row


@pytest.fixture
def results(tmp_path, monkeypatch):
    monkeypatch.setattr(measure, "RESULTS", tmp_path / "benchmarks" / "results.csv")
    return measure.RESULTS


def test_a_report_says_what_holds(results, capsys):
    measure.report(
        "speed", [Row("slow", 2.0, "x", "<=1"), Row("fast", 2.0, "x", ">=1"), Row("", 1, "s")]
    )
    assert pd.read_csv(results, keep_default_na=False)["holds"].tolist() == ["NO", "yes", ""]
    measure.verdict()
    assert "1 of 2 targets hold" in capsys.readouterr().out


def test_a_run_replaces_that_of_the_same_day_and_keeps_older_ones(results):
    measure.report("speed", [Row("first", 1.0, "s")])
    old = pd.read_csv(results).assign(date="2020-01-01")
    old.to_csv(results, index=False)
    for value in (2.0, 3.0):
        measure.report("speed", [Row("first", value, "s")])
    measure.report("size", [Row("first", 4.0, "MB")])
    assert pd.read_csv(results)["value"].tolist() == [1.0, 3.0, 4.0]


def test_a_function_is_timed_apart_from_its_first_call(monkeypatch):
    now, pauses = [0.0], iter([8.0, 2.0, 1.0, 3.0])
    monkeypatch.setattr(measure, "time", SimpleNamespace(perf_counter=lambda: now[0]))

    def function():
        now[0] += next(pauses)

    (timing,) = measure.timings(function, rounds=3)
    assert timing == (1.0, 7.0)


def test_the_summary_of_models_counts_data_sets():
    rows = [
        {"dataset": d, "model": m, "part": 1, "fit_seconds": s, "log_likelihood": score,
         "stopped": 0, "tuned": 1}
        for d, m, s, score in [
            ("a", "vst-linear", 1.0, 0.5), ("a", "sglb", 3.0, 0.4), ("a", "vsgbm-linear", 4.0, 0.0),
            ("b", "vst-linear", 2.0, 0.5), ("b", "sglb", 1.0, 0.6), ("b", "vsgbm-linear", 4.0, 0.0),
        ]
    ]  # fmt: skip
    stopped = {"part": 1, "log_likelihood": None, "stopped": 1, "tuned": 1}
    rows.append({"dataset": "a", "model": "bartz", "fit_seconds": 7.0} | stopped)
    rows.append({"dataset": "b", "model": "bartz", "fit_seconds": 1.0} | stopped)  # says nothing
    rows.append({"dataset": "a", "model": "xbart", "fit_seconds": 9.0} | stopped | {"tuned": 0})
    found = {row.measure: row for row in models.summary(pd.DataFrame(rows))}
    assert found["time of BART (bartz) over VST (linear), median, at least"].value == 7.0
    assert not any("XBART" in measure for measure in found)
    assert found["time of SGLB over VST (linear), median"].value == 1.75
    assert found["VST (linear) faster than SGLB"][1:] == (1, "of 2 data sets", ">=2")
    assert found["VST (linear) at least as good as SGLB"][1:] == (1, "of 2 data sets", ">=2")
    assert found["time of VSGBM (linear) over VST (linear), most"].value == 4.0


def test_a_shorter_training_counts_if_it_is_as_good_and_quicker():
    rows = pd.DataFrame(
        [
            ("a", "vst-linear", 1, 4.0, 0.5), ("a", "vst-linear", 4, 1.0, 0.3),
            ("a", "sglb", 1, 2.0, 0.2), ("a", "xbart", 1, 2.0, 0.4),
        ],
        columns=["dataset", "model", "part", "fit_seconds", "log_likelihood"],
    ).assign(stopped=0, tuned=1)  # fmt: skip
    found = {row.measure: row.value for row in models.summary(rows)}
    assert found["VST (linear) as good as SGLB in less time"] == 1
    assert found["VST (linear) as good as XBART in less time"] == 0


def test_a_process_that_takes_too_long_is_a_lower_bound(monkeypatch):
    monkeypatch.setattr(models, "LIMIT", 0.01)
    row = models.measure("yacht", "xbart", 1)
    assert row["stopped"] == 1
    assert row["fit_seconds"] == pytest.approx(0.01 * -(-models.FOLDS // models.side_by_side()))
    assert np.isnan(row["log_likelihood"])


@pytest.mark.parametrize(("seconds", "runs"), [([1.0, 2.0, 1.5], 3), ([2.0, 4.0], 2), ([9.0], 1)])
def test_short_fits_are_repeated_and_their_median_counts(seconds, runs):
    left = iter(seconds)
    fit, predict, score = models.repeated(lambda: (next(left), 0.5, 7.0))
    assert (fit, predict, score) == (np.median(seconds), 0.5, 7.0)
    assert len(seconds) == runs
    assert next(left, None) is None
