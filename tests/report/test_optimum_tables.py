"""The method chapter's tables on the optimum, from made-up rows."""

import pandas as pd
import pytest

from vst.companion.report import optimum
from vst.tree import SMALLEST_SCALE


def path(dataset, weight, steps, **scores):
    usual = {"elbo": 0.0, "log_likelihood": 0.0, "coverage": 0.9, "width": 1.0, "auroc": 0.5}
    return {
        "part": "path", "dataset": dataset, "kl_weight": weight, "steps": steps, "fold": 0,
        "smallest_scale": SMALLEST_SCALE, "parameters": "", "validation_elbo": 0.0,
        "validation_log_likelihood": 0.0, **usual, **scores,
    }  # fmt: skip


ROWS = pd.DataFrame(
    [
        path(dataset, weight, steps, elbo=gain * steps / 40_000, log_likelihood=steps / 1e5)
        for dataset, gain in (("boston", 0.02), ("naval", 2.0), ("wine", 0.0))
        for weight in (1.0, 0.3, 0.1)
        for steps in (250, 1000, 10_000, 40_000)
    ]
    + [path("wine", 1.0, steps, smallest_scale=0.36, elbo=-1.0) for steps in (10_000, 40_000)]
)


def test_four_times_the_steps_are_compared_with_a_default_fit():
    gains = optimum.gains_of_longer(ROWS)
    assert gains.to_dict() == pytest.approx({"boston": 0.015, "naval": 1.5, "wine": 0.0})
    text = optimum.converged_summary(ROWS).text
    assert "on 2 of 3 data sets" in text
    assert "Exceptions: *naval* (1.500)" in text


def test_data_sets_with_rounded_targets_are_not_averaged():
    assert set(optimum.without_rounded(ROWS)["dataset"]) == {"boston", "naval"}
    assert "on 2 of 2 data sets" in optimum.advice(ROWS).text


def test_the_figure_has_a_curve_per_weight_in_every_panel():
    figure = optimum.path(ROWS)
    assert [
        len([line for line in axis.lines if len(line.get_xdata()) == 4]) for axis in figure.axes
    ] == [3] * 4


def test_rounded_targets_are_shown_with_and_without_a_floor():
    table = optimum.rounded_table(ROWS).frame
    assert table["smallest scale"].tolist() == ["1e-06", "1e-06", "0.36", "0.36"]


def trial(dataset, name, by_likelihood, by_bound, test):
    return path(dataset, 1.0, 100) | {
        "part": "trials", "parameters": name, "validation_log_likelihood": by_likelihood,
        "validation_elbo": by_bound, "log_likelihood": test,
    }  # fmt: skip


def test_each_rule_chooses_its_own_trial():
    rows = pd.DataFrame(
        [
            trial("boston", "a", 0.3, -2.0, 0.2), trial("boston", "b", 0.1, -1.0, 0.1),
            trial("yacht", "a", 1.0, 0.5, 1.0), trial("yacht", "b", 0.9, 0.4, 0.8),
        ]
    )  # fmt: skip
    found = optimum.chosen(rows).set_index(["rule", "dataset"])["parameters"].to_dict()
    assert found == {
        ("validation_log_likelihood", "boston"): "a", ("validation_elbo", "boston"): "b",
        ("validation_log_likelihood", "yacht"): "a", ("validation_elbo", "yacht"): "a",
    }  # fmt: skip
    table = optimum.chosen_table(rows).frame
    assert table["log-likelihood, by bound"].tolist() == ["0.100", "1.000"]


def test_the_table_of_optimisers_shows_both_lengths_and_the_gain():
    rows = pd.DataFrame(
        {"model": name, "dataset": "boston", "steps": steps, "elbo": value}
        for name, steps, value in [
            ("first edition", 10_000, -2.0), ("first edition", 40_000, -1.0),
            ("kept", 10_000, -1.01), ("kept", 40_000, -1.0),
        ]
    )  # fmt: skip
    table = optimum.optimiser_table(rows).frame
    shown = [text.replace("\N{MINUS SIGN}", "-") for text in table["boston"]]
    assert shown == ["-2.00 → -1.00", "-1.01 → -1.00"]
    assert table["gain"].tolist() == ["1.000", "0.010"]


@pytest.mark.parametrize(
    ("light", "words"), [(0.6, "not the same as a lighter KL term"), (0.97, "does not tell")]
)
def test_early_stops_and_light_kl_terms_are_told_apart_by_coverage(light, words):
    rows = ROWS.copy()
    rows.loc[(rows["kl_weight"] == 1) & (rows["steps"] == 1000), "coverage"] = 0.99
    rows.loc[(rows["kl_weight"] == 0.1) & (rows["steps"] == 40_000), "coverage"] = light
    assert words in optimum.temperature_summary(rows).text
