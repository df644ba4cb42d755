from contextlib import nullcontext

import numpy as np
import pandas as pd
import pytest

from vst.companion.classifiers import CLASSIFIERS
from vst.companion.experiments import CLASSIFICATION, classification, obtain
from vst.companion.experiments.profiles import PROFILES
from vst.companion.protocol.class_tables import (
    CLASS_TABLES,
    class_split,
    load_class_table,
    shuffled,
)
from vst.errors import UserError

SMOKE = PROFILES["smoke"]


def mixed(rng, n=60):
    X = pd.DataFrame({"x": rng.normal(size=n), "kind": rng.choice(["a", "b"], n)})
    X.loc[::7, "x"] = np.nan
    X.loc[::8, "kind"] = None
    y = np.where(X["x"].fillna(0) > 0, "up", "down")
    return X, y


@pytest.mark.parametrize("name", CLASS_TABLES)
def test_every_table_has_classes_and_is_split_by_them(name):
    data = load_class_table(name)
    assert data.y.nunique() >= 2
    assert not data.y.isna().any()
    split = class_split(data.y, 0)
    assert len(np.intersect1d(split.train, split.test)) == 0
    assert len(split.train) + len(split.test) == data.n
    shares = data.y.iloc[split.test].value_counts(normalize=True)
    np.testing.assert_allclose(shares, data.y.value_counts(normalize=True)[shares.index], atol=0.03)


def test_at_least_three_tables_have_gaps_and_text():
    found = [load_class_table(name).X for name in CLASS_TABLES]
    both = [X.isna().to_numpy().any() and not X.dtypes.map(pd.api.types.is_numeric_dtype).all()
            for X in found]  # fmt: skip
    assert sum(both) >= 3


def test_an_unknown_table_is_refused_with_the_names():
    with pytest.raises(UserError, match="choose from votes"):
        classification.jobs(SMOKE, datasets=["vote"])


def test_a_class_with_one_row_cannot_be_split():
    with pytest.raises(UserError, match="only one row has the class 'b'"):
        class_split(pd.Series(["a", "a", "b"]), 0)


def test_shuffled_rows_have_the_same_values_in_other_combinations(rng):
    X, _ = mixed(rng)
    other = shuffled(X, 0)
    assert other.dtypes.equals(X.dtypes)
    for name in X:
        assert sorted(map(str, other[name])) == sorted(map(str, X[name]))
    assert not other.equals(X)


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_every_classifier_takes_gaps_text_and_new_categories(name, rng):
    X, y = mixed(rng)
    row = CLASSIFIERS[name]
    cut = {k: min(v, SMOKE.limits.get(k, v)) for k, v in row.parameters.items()}
    model = row.build(X, 0, **cut).fit(X, y)
    new = X.assign(kind="c")
    with pytest.warns(UserWarning, match="categories") if row.is_ours else nullcontext():
        proba = model.predict_proba(new)
    assert proba.shape == (len(X), 2)
    np.testing.assert_allclose(np.sum(proba, axis=1), 1, atol=1e-5)
    assert list(model.classes_) == ["down", "up"]


def test_scores_are_those_of_definitions():
    proba = np.array([[0.9, 0.1], [0.6, 0.4], [0.2, 0.8], [0.2, 0.8]])
    found = classification.scores(proba, np.array([0, 1, 1, 0]))
    assert found["accuracy"] == 0.5
    assert found["log_loss"] == pytest.approx(-np.mean(np.log([0.9, 0.4, 0.8, 0.2])), abs=1e-5)
    assert found["brier"] == pytest.approx(2 * np.mean([0.01, 0.36, 0.04, 0.64]), abs=1e-5)
    # Bins: 0.9 (right), 0.6 (wrong), and twice 0.8 (half right).
    assert found["ece"] == pytest.approx((0.1 + 0.6 + 2 * 0.3) / 4, abs=1e-5)


def test_a_probability_of_zero_costs_a_bounded_amount():
    found = classification.scores(np.array([[1.0, 0.0]]), np.array([1]))
    assert found["log_loss"] == pytest.approx(-np.log(1e-6), rel=1e-3)


def test_the_most_certain_rows_are_kept():
    """The two least certain of four rows are wrong."""
    predicted = classification.Predicted(
        np.array([[0.9, 0.1], [0.8, 0.2], [0.6, 0.4], [0.55, 0.45]]),
        {"entropy": np.array([0.1, 0.2, 0.6, 0.7])},
    )
    found = classification.abstention(predicted, np.array([0, 0, 1, 1]))
    by_share = {row["kept"]: row["accuracy"] for row in found}
    assert (by_share[0.5], by_share[0.75], by_share[1.0]) == (1.0, pytest.approx(2 / 3, 1e-4), 0.5)


def test_ours_tell_mutual_information_and_peers_do_not(rng):
    X, y = mixed(rng)
    row = CLASSIFIERS["logistic"]
    found = classification.predict(row.build(X, 0, **row.parameters).fit(X, y), X)
    assert set(found.uncertainty) == {"entropy"}
    assert classification.detection(found, found) == {
        "auroc_entropy": 0.5, "auroc_mutual_information": None,
    }  # fmt: skip


def test_a_run_on_a_users_file_goes_on_where_it_stopped(tmp_path, monkeypatch, rng):
    X, y = mixed(rng, 80)
    X.assign(direction=y).to_csv(tmp_path / "moves.csv", index=False)
    monkeypatch.chdir(tmp_path)
    chosen = {"datasets": ["moves.csv:direction"], "models": ["logistic", "xgboost"], "splits": 2}
    first = obtain(CLASSIFICATION, "smoke", workers=0, **chosen)
    assert len(first.results) == 4
    assert first.missing == 0
    assert set(first.parts["reliability"]["key"]) == set(first.results["key"])
    said = []
    obtain(CLASSIFICATION, "smoke", workers=0, announce=said.append, **chosen)
    assert said[0].startswith("4 cells, 0 to compute")


def test_published_rows_come_out_again():
    """One split of a fast peer and one of ours, at full length."""
    published = obtain(CLASSIFICATION, "paper", datasets=["cultivars"]).results
    for name, tolerance in (("logistic", 1e-4), ("vst", 0.05)):
        [job] = [
            job
            for job in classification.jobs(PROFILES["paper"], datasets=["cultivars"], models=[name])
            if job.cells[0].fold == 0
        ]
        stored = published[published["key"] == job.cells[0].key]
        assert len(stored) == 1
        [again] = job.compute_cells(job.cells)
        assert again["log_loss"] == pytest.approx(stored["log_loss"].item(), abs=tolerance)
