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


def test_a_bound_that_falls_is_marked_and_rounded_targets_are_left_out_of_the_count():
    checked = pd.DataFrame(
        {
            "model": "vst-linear",
            "dataset": ["boston", "energy", "wine"],
            "rank 0": 0.0,
            "full": 0.1,
            "fall": [0.0, 0.2, 0.5],
            "error": 0.01,
            "holds": [True, False, False],
            "told": [True, False, False],
            "converged": [1.0, 0.5, 0.0],
        }
    )
    assert rank.nested_table(checked).frame["rises or stays"].tolist() == [
        "yes",
        "**no**",
        "**no**",
    ]
    text = rank.nested_summary(checked).text
    assert "clearly falls in 1 of 2 configurations" in text
    assert "cannot be told" not in text
    assert "75% of these fits converged" in text
    assert "likelihood of wine has no bound" in text


def test_a_fall_within_a_wide_error_cannot_be_told():
    checked = pd.DataFrame(
        {
            "model": "vst-const", "dataset": ["naval", "yacht"], "rank 0": 0.0, "full": 0.1,
            "fall": [1.5, 0.0], "error": 2.4, "holds": True, "told": [False, True], "converged": 0.2,
        }
    )  # fmt: skip
    shown = rank.nested_table(checked).frame["rises or stays"].tolist()
    assert shown == ["cannot be told", "yes"]
    text = rank.nested_summary(checked).text
    assert "clearly falls in 0 of 2" in text
    assert "cannot be told on *naval* with VST (const.); it rises" in text


def test_a_clear_effect_is_shown_with_the_share_of_its_fits_that_converged():
    results = pd.DataFrame(
        {
            "model": "vst-const", "dataset": "wine", "rank": [0, 1, 5, 20],
            "auroc": [0.7, 0.5, 0.6, 0.7], "converged": [True, False, False, False],
        }
    )  # fmt: skip
    found = FOUND.head(1).assign(model="vst-const", dataset="wine", effect="helps", full=0.7)
    text = rank.clear_note(found, results).text
    assert "It helps on *wine* with VST (const.), of whose fits 25% converged" in text
    assert "AUROC at rank 0 is 0.700, and 0.700 at full rank" in text
    assert "Of 1 configuration about 0 would be clear by chance" in text
    assert "no configuration" in rank.clear_note(found[:0], results).text
