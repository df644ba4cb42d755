"""Tables and pictures of the benchmarks."""

import pandas as pd
import pytest

from vst.companion.models import label
from vst.companion.report import speed


@pytest.fixture
def results():
    rows = [
        ("rank", "0 columns", 10.0, "us", "", ""),
        ("rank", "5 columns", 30.0, "us", "", ""),
        ("rank", "0 columns, compilation", 4.0, "s", "", ""),
        ("rank", "5 columns, compilation", 5.0, "s", "", ""),
        ("rank", "a column more, later over earlier", 1.25, "x", "<=1.5", "yes"),
        ("start", "process start", 6.0, "s", "<=5", "NO"),
    ]
    return pd.DataFrame(rows, columns=["benchmark", "measure", "value", "unit", "target", "holds"])


@pytest.fixture
def models():
    rows = [
        ("boston", "vst-linear", 1, 10.0, -0.1, 0),
        ("boston", "vst-linear", 2, 5.0, -0.2, 0),
        ("boston", "vst-linear", 4, 2.5, -0.4, 0),
        ("boston", "sglb", 1, 40.0, -0.3, 0),
        ("boston", "bartz", 1, 750.0, None, 1),
    ]
    columns = ["dataset", "model", "part", "fit_seconds", "log_likelihood", "stopped"]
    frame = pd.DataFrame(rows, columns=columns)
    return frame.assign(peak_mb=100.0, predict_seconds=0.5, compile_seconds=0.0, tuned=1)


def test_targets_say_whether_they_hold(results):
    table = speed.targets_table(results).frame
    assert table["value"].tolist() == ["1.25 x", "6 s"]
    assert table["target"].tolist() == ["≤ 1.5", "≤ 5"]
    assert table["holds"].tolist() == ["yes", "no"]


def test_costs_are_told_from_compilation(results):
    found = speed.by_size(results, "rank")
    assert found["cost"].to_dict() == {0: 10.0, 5: 30.0}
    assert found["compilation"].to_dict() == {0: 4.0, 5: 5.0}
    assert len(speed.scaling(results).axes) == 1


def test_models_are_multiples_and_stopped_ones_bounds(models):
    [row] = speed.models_table(models, ["boston", "yacht"]).frame.to_dict("records")
    assert row["VST (linear)"] == "10 s"
    assert row["SGLB"] == "4 x"
    assert row[label("bartz")] == "> 75 x"


def test_the_best_peer_is_reached_by_the_shortest_training_that_is_as_good(models):
    [row] = speed.reaching_table(models, ["boston"]).frame.to_dict("records")
    assert row["best peer"] == "SGLB"
    assert row["VST (linear) gets there in"] == "5 s"
    better = models.assign(log_likelihood=models["log_likelihood"].where(models.model != "sglb", 1))
    [row] = speed.reaching_table(better, ["boston"]).frame.to_dict("records")
    assert row["VST (linear) gets there in"].startswith("not")


def test_what_was_committed_can_be_shown():
    assert len(speed.targets_table(speed.latest()).frame)
    assert len(speed.history_table().frame)


def test_a_page_can_be_made_before_anything_was_measured(tmp_path, monkeypatch):
    monkeypatch.setattr(speed, "directory", lambda: tmp_path)
    assert speed.latest("models.csv").empty
    (tmp_path / "models.csv").write_text("date,machine,dataset,model,part\n")
    nothing = speed.latest("models.csv")
    for table in (speed.models_table, speed.reaching_table):
        assert table(nothing, ["boston"]).frame.empty
    assert speed.memory_table(nothing).frame.empty
