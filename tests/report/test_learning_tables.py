"""What the chapter on learning on says follows from the runs."""

import pandas as pd
import pytest

from vst.companion.experiments import Obtained
from vst.companion.experiments.streams import STRATEGIES
from vst.companion.report import learning


def made_up(gap=0.02, share=0.05):
    """Two streams of four parts; ``partial_fit`` is behind by a gap, at a share of the cost."""
    rows, after = [], []
    for stream in ("power", "drift"):
        for model in STRATEGIES:
            for seed in range(2):
                key = f"{stream}-{model}-{seed}"
                last = 1.0 - (gap if model == "partial_fit" else 0.0)
                seconds = 10.0 * (share if model == "partial_fit" else 1.0)
                rows.append((key, stream, model, seed, last, seconds))
                for part in range(1, 5):
                    score = last + 0.1 * (part - 4) + (model == "with forgetting") * (part == 3)
                    after.append((key, part, 100 * part, score, seconds / 4))
    return Obtained(
        results=pd.DataFrame(
            rows, columns=["key", "dataset", "model", "seed", "log_likelihood", "seconds"]
        ),
        parts={
            "after": pd.DataFrame(
                after, columns=["key", "part", "rows", "log_likelihood", "part_seconds"]
            )
        },
        datasets=["power", "drift"],
        models=list(STRATEGIES),
        missing=0,
        absent=[],
    )


@pytest.mark.parametrize(
    ("gap", "share", "near", "cheap"),
    [(0.02, 0.05, 1, 1), (0.06, 0.05, 0, 1), (-0.2, 0.05, 1, 1), (0.02, 0.2, 1, 0)],
)
def test_the_answer_counts_near_and_cheap_streams(gap, share, near, cheap):
    text = learning.answer(made_up(gap, share)).text
    assert f"again after every part on **{near} of 1**" in text
    assert f"at most 10% of that on **{cheap} of 1**" in text
    assert f"{'behind' if gap > 0 else 'ahead'} by {abs(gap):.3f} nats" in text
    assert f"{share:.1%} of the cost" in text


def test_what_is_there_and_what_is_missing_is_said():
    found = made_up()
    text = learning.availability(found).text
    assert text == "20 runs: 5 ways to learn, 2 streams, 2 orders of the rows."
    few = Obtained(found.results, found.parts, found.datasets, found.models, 3, [])
    assert "**3 more are not there yet**" in learning.availability(few).text


def test_a_stream_that_drifts_is_scored_over_its_later_parts():
    scores = learning.scores(made_up()).groupby(["dataset", "model"])["log_likelihood"].mean()
    assert scores["power", "refit"] == 1
    assert scores["drift", "refit"] == pytest.approx(0.95)
    assert scores["drift", "with forgetting"] == pytest.approx(1.45)
    assert "*with forgetting* is best (1.450;" in learning.answer(made_up()).text


def test_the_table_has_scores_and_costs():
    table = learning.score_table(made_up()).frame.set_index("what is done with each part")
    assert list(table.index) == list(STRATEGIES)
    assert table["power"]["partial_fit"] == "0.980 ± 0.000 (5%)"
    assert table["power"]["refit"] == "1.000 ± 0.000 (100%)"


def test_the_picture_has_a_panel_for_each_stream_and_a_line_for_each_strategy():
    figure = learning.curves(made_up())
    assert [axis.get_title("left") for axis in figure.axes] == ["power", "drift"]
    assert [len(axis.lines) for axis in figure.axes] == [5, 5]
    assert set(learning.LINES) == set(STRATEGIES)


def test_without_refits_there_is_no_cost():
    some = made_up()
    runs = some.results[some.results["model"] != "refit"]
    few = Obtained(runs, some.parts, some.datasets, some.models, 0, [])
    assert "are needed" in learning.answer(few).text
    table = learning.score_table(few).frame
    assert table["power"][0] == "0.980 ± 0.000 (no refits)"
