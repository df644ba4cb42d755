"""The tables with gaps, and the runs on them."""

import numpy as np
import pytest

from vst.companion.experiments import GAP_RUNS, gaps, obtain


@pytest.fixture
def parts():
    return {way: gaps.parts("boston", way, seed=3) for way in gaps.WAYS}


def test_a_fifth_of_the_cells_is_missing_and_nothing_else_changes(parts):
    (x, y, x_test, y_test), holed = parts[gaps.WHOLE], parts[gaps.GAPS]
    assert len(x) + len(x_test) == 506
    for whole, gappy in ((x, holed[0]), (x_test, holed[2])):
        there = ~np.isnan(gappy)
        assert 1 - there.mean() == pytest.approx(gaps.REMOVED, abs=0.03)
        np.testing.assert_array_equal(whole[there], gappy[there])
    np.testing.assert_array_equal(y, holed[1])
    np.testing.assert_array_equal(y_test, holed[3])


def test_the_imputer_fills_the_same_gaps_with_means_of_training_rows(parts):
    x, _, x_test, _ = parts[gaps.GAPS]
    filled, _, filled_test, _ = parts[gaps.IMPUTED]
    d = x.shape[1]
    for rows, done in ((x, filled), (x_test, filled_test)):
        expected = np.where(np.isnan(rows), np.nanmean(x, axis=0), rows)
        np.testing.assert_allclose(done[:, :d], expected)
        np.testing.assert_array_equal(done[:, d:], np.isnan(rows))


def test_small_runs_score_every_row(tmp_path):
    found = obtain(GAP_RUNS, "smoke", out=tmp_path, workers=0, splits=1)
    assert found.missing == 0
    assert found.results["model"].tolist() == list(gaps.WAYS)
    assert (found.results["rows"] == 101).all()
    assert np.isfinite(found.results["log_likelihood"]).all()


def test_everything_is_published():
    assert obtain(GAP_RUNS, "paper").missing == 0
