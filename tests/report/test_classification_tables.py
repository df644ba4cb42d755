import numpy as np
import pandas as pd
import pytest
from bs4 import BeautifulSoup

from vst.companion.classifiers import CLASSIFIERS
from vst.companion.experiments import CLASSIFICATION, obtain
from vst.companion.report import classification

TABLES = ["votes", "penguins"]

#: Log loss of each classifier: one of ours is best, one is far behind logistic regression.
LOSSES = {
    "vst-cv": 0.15, "vst": 0.5, "vsgbm": 0.1, "logistic": 0.2, "forest": 0.3, "catboost": 0.104,
    "xgboost": 0.3, "deep-ensemble": 0.4,
}  # fmt: skip


@pytest.fixture
def results():
    rows = []
    for table in TABLES:
        for split in range(2):
            for model, loss in LOSSES.items():
                ours = CLASSIFIERS[model].is_ours
                rows.append(
                    {
                        "key": f"{table}{split}{model}", "dataset": table, "fold": split,
                        "model": model, "rows": 600, "log_loss": loss + 0.001 * split,
                        "accuracy": 1 - loss, "brier": loss, "ece": loss / 4, "seconds": 1.0,
                        "auroc_entropy": 0.6, "auroc_mutual_information": 0.8 if ours else np.nan,
                    }
                )  # fmt: skip
    return pd.DataFrame(rows)


@pytest.fixture
def published():
    return obtain(CLASSIFICATION, "paper")


def cells(html):
    table = BeautifulSoup(html.text, "html.parser")
    return {row.th.text: [str(cell) for cell in row.find_all("td")] for row in table.tbody("tr")}


def test_the_answer_counts_tables(results):
    text = classification.answer(results).text
    assert "at most 0.005 above that of the best of the 5 peers" in text
    assert "`VSGBMClassifier` on **2 of 2 tables**" in text
    assert "`VSTClassifier` is at most 0.300 worse" in text
    assert "`VSGBMClassifier` is better on all tables" in text


def test_the_answer_follows_the_scores(results):
    worse = results.assign(log_loss=results["log_loss"].where(results["model"] != "vsgbm", 0.6))
    assert "VSGBMClassifier` on **0 of 2" in classification.answer(worse).text


def test_level_scores_are_bold(results):
    found = cells(classification.score_table(results, TABLES))
    assert all("<b>" in cell for cell in found["VSGBMClassifier"])
    assert not any("<b>" in cell for cell in found["VSTClassifier"])


def test_a_high_accuracy_is_the_best(results):
    found = cells(classification.score_table(results, TABLES, "accuracy"))
    assert all("<b>" in cell for cell in found["VSGBMClassifier"])


def test_what_was_asked_is_judged_for_each_of_ours(results):
    table = classification.targets(results).frame.set_index("model")
    verdicts = table[[name for name in table if name.startswith("asked")]]
    assert verdicts.loc["VSGBMClassifier"].tolist() == ["holds"] * 3
    assert verdicts.loc["VSTClassifier"].tolist() == ["**does not hold**"] * 3


def test_mutual_information_is_compared_with_entropy(results):
    assert "on 2 of 2 tables (medians 0.800 and 0.600)" in (
        classification.detection_summary(results).text
    )
    assert len(classification.detection_table(results, TABLES).frame) == len(LOSSES) + 3


def test_bins_of_several_fits_are_pooled_by_their_numbers():
    parts = pd.DataFrame(
        {"bin": [9, 9], "confidence": [0.9, 1.0], "correct": [1.0, 0.5], "number": [30, 10]}
    )
    pooled = classification._pooled(parts)
    assert pooled.loc[9].tolist() == pytest.approx([0.925, 0.875, 40])
    assert classification._calibration_error(pooled) == pytest.approx(0.05)


def test_figures_show_every_classifier(published, results):
    labels = [row.label for row in CLASSIFIERS.values()]
    dots = classification.dots(results, TABLES)
    assert [text.get_text() for text in dots.axes[0].get_yticklabels()] == labels
    panels = classification.reliability(published.parts["reliability"], published.results).axes
    titles = [axis.get_title("left") for axis in panels if axis.get_visible()]
    assert [title.split(":")[0] for title in titles] == labels
    curves = classification.abstention(published.parts["abstention"], published.results)
    assert len(curves.axes[0].lines) == len(labels) + 3
    assert len(classification.times(published.results).axes[0].get_yticks()) == len(labels)


def test_everything_is_published(published):
    assert published.missing == 0
    facts = classification.table_facts(published.results, published.datasets).frame
    assert len(facts) == 7


def test_without_results_the_chapter_says_how_to_get_them(results):
    assert "vst run classification" in classification.answer(results.iloc[:0]).text
