"""What is done to a user's table before the models of the paper see it, and what is refused."""

import numpy as np
import pandas as pd
import pytest

from vst.companion.protocol import prepare
from vst.errors import DataError
from vst.tables import load_table


def test_targets_near_the_largest_numbers_keep_their_spread():
    rng = np.random.default_rng(0)
    y = rng.normal(5, 1, size=60)
    frame = pd.DataFrame({"a": rng.normal(size=60)})
    small, huge = (prepare(load_table(frame.assign(y=y * unit), target="y")) for unit in (1, 1e300))
    np.testing.assert_allclose(huge.y_train, small.y_train, rtol=1e-5)
    np.testing.assert_allclose(huge.y_test, small.y_test, rtol=1e-5)
    assert huge.target_scale == pytest.approx(1e300 * small.target_scale)


@pytest.mark.parametrize(
    ("rows", "folds", "least"), [(12, 10, 13), (6, 5, 7), (2, 2, 3), (1, 2, 3)]
)
def test_too_few_rows_say_how_many_are_needed(rows, folds, least):
    def table(n):
        return load_table(pd.DataFrame({"a": np.arange(n), "y": np.arange(n)}), target="y")

    with pytest.raises(
        DataError, match=f"has {rows} rows?: {folds} folds .* at least {least} rows"
    ):
        prepare(table(rows), folds=folds)
    assert len(prepare(table(least), folds=folds).folds.train.counts) == folds


def test_gaps_become_features():
    frame = pd.DataFrame({"town": ["x", "y", None, "x"] * 5, "size": [1.0, np.nan] * 10})
    data = prepare(load_table(frame.assign(y=np.arange(20)), target="y"))
    assert np.isfinite(data.x_train).all()
    assert data.x_train.shape[1] == 3 + 2  # three towns, the size and whether it is missing
