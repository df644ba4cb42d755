"""What the book says of gaps follows from the runs."""

import pandas as pd
import pytest

from vst.companion.experiments.gaps import WAYS
from vst.companion.report import gaps


def made_up(gain):
    scores = dict(zip(WAYS, (0.5, 0.2 + gain, 0.2), strict=True))
    return pd.DataFrame(
        {
            "dataset": name, "model": way, "seed": seed,
            "log_likelihood": score + 0.1 * seed, "rmse": 1 - score,
        }
        for name in ("boston", "kin8nm") for seed in range(2) for way, score in scores.items()
    )  # fmt: skip


@pytest.mark.parametrize(("gain", "count"), [(0.03, 2), (0.0, 2), (-0.01, 0)])
def test_the_answer_counts_where_the_model_is_at_least_as_good(gain, count):
    text = gaps.answer(made_up(gain)).text
    assert f"on **{count} of 2** data sets" in text
    shown = f"{gain:+.3f}".replace("-", "\N{MINUS SIGN}")
    assert f"boston {shown} ± 0.000" in text


def test_the_table_has_both_scores_for_every_way():
    frame = gaps.table(made_up(0.1)).frame
    assert frame["score"].tolist() == ["log-likelihood"] * 2 + ["RMSE"] * 2
    assert frame.iloc[0, 2:].tolist() == ["0.550", "0.350", "0.250"]


def test_without_runs_the_page_says_how_to_get_them():
    assert "vst run gaps" in gaps.answer(made_up(0)[:0]).text
