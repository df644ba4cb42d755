from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from vst.cli import main
from vst.companion.experiments import datasets, runner
from vst.companion.experiments.experiment import obtain
from vst.companion.experiments.regression import REGRESSION
from vst.companion.models import MODELS, Size
from vst.errors import UserError


def table(seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"size": rng.uniform(50, 150, 60), "old": rng.integers(0, 2, 60)})
    return frame.assign(price=3 * frame["size"] - 20 * frame["old"] + rng.normal(0, 5, 60))


@pytest.fixture
def homes(tmp_path):
    path = tmp_path / "homes.csv"
    table().to_csv(path, index=False)
    return f"{path}:price"


def test_a_size_is_known_without_the_file():
    assert datasets.size("song_8k") == Size(8162, 90)
    assert datasets.size("boston") == Size(506, 13)


def test_a_users_file_is_a_data_set(homes):
    assert datasets.size(homes) == Size(60, 2)
    assert datasets.load(homes).y.name == "price"
    assert datasets.label(homes) == "homes"
    datasets.check([homes, "boston"])


@pytest.mark.parametrize(
    ("name", "message"),
    [("bostn", "choose from boston.*homes.csv:price"), ("absent.csv:y", "there is no file")],
)
def test_a_wrong_name_is_refused(name, message):
    with pytest.raises(UserError, match=message):
        datasets.check([name])


def test_the_papers_ten_are_asked_for_by_default():
    names = datasets.papers()
    assert len(names) == 10
    assert ("song" in names) != ("song_8k" in names)


def test_the_published_results_are_read_and_nothing_is_computed(monkeypatch):
    monkeypatch.setattr(runner, "run", None)  # calling it would raise
    obtained = obtain(REGRESSION)
    assert len(obtained.results) + obtained.missing == len(MODELS) * 10 * 10
    assert obtained.datasets == datasets.papers()
    assert obtained.models == [model.id for model in MODELS]


def computed(name, workers=0):
    return obtain(REGRESSION, "smoke", workers=workers, datasets=[name], models=["xgboost-1"])


def test_a_users_file_is_computed(homes, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    obtained = computed(homes)
    assert obtained.missing == 0
    assert obtained.results["dataset"].unique().tolist() == [homes]
    (file,) = (tmp_path / "_build" / "results" / "smoke" / "regression").iterdir()
    assert file.stem == datasets.file(homes)


@pytest.mark.parametrize("workers", [0, 1], ids=["this process", "other processes"])
def test_a_users_file_that_changed_is_computed_again(homes, workers, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    before = computed(homes, workers).results
    path = homes.rpartition(":")[0]
    changed = table().assign(price=lambda frame: frame["price"].to_numpy()[::-1])
    changed.to_csv(path, index=False)
    after = computed(homes, workers).results
    assert (after["rmse"] > before["rmse"].max()).all()
    assert set(before["data_sha256"]).isdisjoint(after["data_sha256"])


def test_results_go_to_a_file_of_their_own_by_content_and_target(homes):
    path = homes.rpartition(":")[0]
    assert datasets.file("boston") == "boston"
    assert datasets.file(homes).startswith("homes-")
    assert datasets.file(homes) == datasets.file(homes)
    assert datasets.file(homes) != datasets.file(f"{path}:size")


def test_categories_count_as_the_features_they_become(tmp_path):
    kinds = pd.DataFrame({"kind": list("abcd") * 20, "size": range(80), "price": range(80)})
    kinds.to_csv(tmp_path / "kinds.csv", index=False)
    assert datasets.size(f"{tmp_path / 'kinds.csv'}:price") == Size(80, 5)


def test_colons_belong_to_the_longest_path_that_exists(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert datasets.as_file("a:b.csv:y") == ("a:b.csv", "y")  # nothing exists: the last colon
    Path("a").touch()
    assert datasets.as_file("a:b.csv:y") == ("a", "b.csv:y")
    Path("a:b.csv").touch()
    assert datasets.as_file("a:b.csv:y") == ("a:b.csv", "y")
    assert datasets.as_file("a:b.csv:x:y") == ("a:b.csv", "x:y")
    assert datasets.as_file("boston") == ("", "")


def test_a_path_and_a_column_with_colons_are_a_data_set(tmp_path):
    (tmp_path / "12:30").mkdir()
    path = tmp_path / "12:30" / "homes:new.csv"
    table().rename(columns={"price": "price:eur"}).to_csv(path, index=False)
    name = f"{path}:price:eur"
    assert datasets.as_file(name) == (str(path), "price:eur")
    assert datasets.load(name).y.name == "price:eur"
    assert datasets.size(name) == Size(60, 2)


def test_a_table_and_its_target_reach_the_run(tmp_path, monkeypatch, capsys):
    """Neither the comma of the file nor the colon of the column divides them."""
    monkeypatch.chdir(tmp_path)
    table().rename(columns={"price": "x:y"}).to_csv("a,b.csv", index=False)
    options = ["--profile", "smoke", "--models", "xgboost-1", "--workers", "0"]
    assert main(["run", "regression", "--table", "a,b.csv", "--target", "x:y", *options]) == 0
    assert "2 cells, 2 to compute into" in capsys.readouterr().out
    stored = obtain(REGRESSION, "smoke", compute=False, datasets=["yacht"], models=["xgboost-1"])
    assert stored.results.empty, "the profile's own data set was not asked for"
    obtained = computed("a,b.csv:x:y")
    assert obtained.results["dataset"].tolist() == ["a,b.csv:x:y"] * 2
    assert set(obtained.results["data_sha256"]) == {datasets.load("a,b.csv:x:y").sha256}


@pytest.mark.parametrize("given", [["--table", "homes.csv"], ["--target", "price"]])
@pytest.mark.parametrize("command", [["run", "regression"], ["run", "rank"], ["tune"]])
def test_a_table_and_its_target_belong_together(command, given, capsys):
    assert main([*command, *given]) == 1
    assert "--table and --target belong together" in capsys.readouterr().err


@pytest.mark.parametrize("folds", [-1, 11])
def test_folds_that_do_not_exist_are_refused(folds):
    with pytest.raises(UserError, match="choose 1 to 10"):
        obtain(REGRESSION, "smoke", datasets=["yacht"], models=["xgboost-1"], folds=folds)


def test_a_users_file_is_in_no_published_results(homes):
    with pytest.raises(UserError, match="choose profile quick"):
        obtain(REGRESSION, "paper", datasets=[homes])


@pytest.mark.parametrize("arguments", [{"models": ["vts"]}, {"profile": "papr"}])
def test_a_wrong_model_or_profile_is_refused(arguments):
    with pytest.raises(UserError, match="choose from "):
        obtain(REGRESSION, **arguments)
