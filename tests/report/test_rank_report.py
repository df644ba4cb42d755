import pandas as pd

from vst.companion.report import rank

FOUND = pd.DataFrame(
    {
        "model": "vst-linear",
        "dataset": ["boston", "wine", "energy"],
        "slope": [0.1, -0.1, 0.05],
        "error": 0.01,
        "effect": ["helps", "hurts", "helps"],
        "rank 1": 0.5,
        "full": [0.6, 0.4, 0.55],
    }
)


def test_the_data_sets_with_the_largest_increase_come_first():
    assert rank.largest(FOUND, 2) == ["boston", "energy"]


def test_a_slope_is_shown_with_its_error_and_effect():
    row = rank.slope_table(FOUND).frame.iloc[1]
    assert row["per doubling"] == "\N{MINUS SIGN}0.1000 ± 0.0100"
    assert row["rank"] == "hurts"
