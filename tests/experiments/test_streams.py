"""The streams: what comes when, and that runs are stored part by part."""

import numpy as np
import pytest

from vst.companion.experiments import STREAM_RUNS, obtain, streams
from vst.companion.experiments.experiment import Results
from vst.companion.experiments.experiment import published as published_directory
from vst.companion.experiments.profiles import PROFILES


def test_a_stream_has_every_row_once_and_never_shows_test_rows():
    found = streams.stream("power", seed=1)
    shown = np.concatenate([x for x, _ in found.parts])
    x_test, _ = found.tests[-1]
    assert len(found.parts) == len(found.tests) == 50
    assert len(shown) + len(x_test) == 9568
    rows = np.unique(np.concatenate([shown, x_test]), axis=0)
    again = np.concatenate([x for x, _ in streams.stream("power", seed=2).parts])
    assert len(rows) == len(np.unique(np.concatenate([again, x_test, shown]), axis=0))
    assert not np.array_equal(shown, again)


def test_the_stream_that_drifts_is_scored_on_what_comes_next():
    found = streams.stream("drift", seed=0, parts=4)
    for (x, y), (later_x, later_y) in zip(found.parts[1:], found.tests[:-1], strict=True):
        np.testing.assert_array_equal(x, later_x)
        np.testing.assert_array_equal(y, later_y)


def test_the_direction_of_the_drift_turns_by_half_a_circle(rng):
    x, y = streams.drifting(rng, 6000)
    slopes = [np.polyfit(x[rows, 0], y[rows], 1)[0] for rows in (slice(0, 600), slice(5400, 6000))]
    assert slopes[0] == pytest.approx(1, abs=0.15)
    assert slopes[1] == pytest.approx(-1, abs=0.15)


def test_a_small_run_scores_every_part(tmp_path):
    loaded = obtain(STREAM_RUNS, "smoke", out=tmp_path, workers=0, streams=["drift"], seeds=1)
    assert loaded.missing == 0
    assert loaded.results["model"].tolist() == list(streams.STRATEGIES)
    after = loaded.parts["after"].groupby("key")["part"].agg(["count", "max"])
    assert (after == 5).all().all()
    last = loaded.parts["after"].sort_values("part").groupby("key")["log_likelihood"].last()
    np.testing.assert_array_equal(
        last[loaded.results["key"]].to_numpy(), loaded.results["log_likelihood"]
    )


@pytest.fixture(scope="module")
def published():
    jobs = streams.jobs(PROFILES["paper"], compute=False)
    return jobs, Results(STREAM_RUNS, published_directory(streams.NAME))


def test_everything_is_published(published):
    jobs, store = published
    assert set(store.load()["key"]) == {cell.key for job in jobs for cell in job.cells}


def test_a_published_run_comes_out_again(published):
    """Within the spread of fits: rounding differs between machines."""
    jobs, store = published
    (job,) = (j for j in jobs if j.label == "drift with forgetting" and j.cells[0].seed == 0)
    row = store.load(["drift"]).set_index("key").loc[job.cells[0].key]
    found = streams.compute_cells(job.cells)[0]
    assert found["log_likelihood"] == pytest.approx(row["log_likelihood"], abs=0.2)
