import pandas as pd

from vst.companion.experiments import datasets, distances
from vst.companion.report import ood


def test_the_table_sets_soft_trees_beside_distances():
    results = pd.DataFrame(
        {"model": "vst-cv", "dataset": "yacht", "fold": [0, 1], "auroc": [0.8, 0.9]}
    )
    by_dataset = {"yacht": {"plain": 0.5, "Mahalanobis": 1.0}, "boston": None}
    [row] = ood.distance_table(results, by_dataset).frame.to_dict("records")
    assert row["data set"] == "yacht"
    assert row["plain distance"] == "0.500"
    assert row["Mahalanobis distance"] == "1.000"
    assert row["VST (CV)"] == "0.850"
    assert row["VST (linear)"] == ""
    assert row["paper's VST (linear)"] == "0.655"


def test_a_reader_without_the_outside_rows_gets_the_stored_distances(monkeypatch):
    monkeypatch.setattr(distances, "computed", lambda dataset: None)
    nothing = pd.DataFrame(columns=["model", "dataset", "fold", "auroc"])
    by_dataset = {name: distances.distances(name) for name in datasets.papers()}
    rows = ood.distance_table(nothing, by_dataset).frame
    assert len(rows) == len(datasets.papers())
    assert rows["Mahalanobis distance"].astype(float).between(0, 1).all()


def test_the_comparison_by_the_papers_score_is_counted():
    models = ["deep-ensemble", "xbart-1", "sglb-1", "vst-const", "vst-linear"]
    results = pd.DataFrame(
        [
            {"model": model, "dataset": dataset, "fold": fold, "auroc_node": score + 0.001 * fold}
            for dataset, vst in (("boston", 0.9), ("yacht", 0.1))
            for model in models
            for fold in (0, 1)
            for score in [vst if model.startswith("vst") else 0.5]
        ]
    )
    text = ood.node_note(results).text
    assert (
        text
        == "By this score VST is better than its peers on 1, equal on 0 and worse on 1 of 2 data sets."
    )


def test_models_that_reach_the_paper_are_counted_per_data_set():
    rows = [("vst-linear", "yacht", 0.9), ("sglb", "yacht", 0.1), ("sglb", "boston", 0.99)]
    results = pd.DataFrame(rows, columns=["model", "dataset", "auroc"]).assign(fold=0)
    assert ood.reached_by_dataset(results).frame.to_dict("records") == [
        {"data set": "yacht", "soft trees": "1 of 1", "peers": "0 of 1"},
        {"data set": "boston", "soft trees": "0 of 0", "peers": "1 of 1"},
    ]
