import numpy as np
import pandas as pd
import pytest
from vst.companion.experiments.obtain import paper_datasets, regression_results

from vst.companion.experiments import datasets
from vst.companion.experiments.profiles import profile
from vst.companion.models import MODELS
from vst.errors import UserError


@pytest.fixture
def homes(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"size": rng.uniform(50, 150, 60), "old": rng.integers(0, 2, 60)})
    frame["price"] = 3 * frame["size"] - 20 * frame["old"] + rng.normal(0, 5, 60)
    path = tmp_path / "homes.csv"
    frame.to_csv(path, index=False)
    return f"{path}:price"


def test_a_size_is_known_without_the_file():
    assert datasets.size("song_8k") == (8162, 90)
    assert datasets.size("boston") == (506, 13)


def test_a_users_file_is_a_data_set(homes):
    assert datasets.size(homes) == (60, 2)
    assert datasets.load(homes).y.name == "price"
    assert datasets.label(homes) == "homes"
    datasets.check([homes, "boston"])


@pytest.mark.parametrize(
    ("name", "message"),
    [("bostn", "there are: boston.*homes.csv:price"), ("absent.csv:y", "there is no file")],
)
def test_a_wrong_name_is_refused(name, message):
    with pytest.raises(UserError, match=message):
        datasets.check([name])


def test_the_papers_ten_are_asked_for_by_default():
    names = paper_datasets()
    assert len(names) == 10
    assert ("song" in names) != ("song_8k" in names)


def test_the_published_results_are_read_and_nothing_is_computed(monkeypatch):
    monkeypatch.setattr("vst.companion.experiments.runner.run", None)  # calling it would raise
    obtained = regression_results()
    assert len(obtained.results) + obtained.missing == len(MODELS) * 10 * 10


def test_a_users_file_is_computed(homes, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    obtained = regression_results("smoke", [homes], ["xgboost-1"])
    assert obtained.missing == 0
    assert obtained.results["dataset"].unique().tolist() == [homes]
    (file,) = (tmp_path / "_build" / "results" / "smoke" / "regression").iterdir()
    assert file.stem == datasets.file(homes)


def test_a_users_file_that_changed_is_computed_again(homes, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    before = regression_results("smoke", [homes], ["xgboost-1"]).results
    path = homes.rpartition(":")[0]
    pd.read_csv(path).assign(price=lambda table: table["price"].to_numpy()[::-1]).to_csv(
        path, index=False
    )
    after = regression_results("smoke", [homes], ["xgboost-1"]).results
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
    assert datasets.size(f"{tmp_path / 'kinds.csv'}:price") == (80, 5)


def test_the_full_protocol_on_a_users_file_is_not_published(homes):
    published = profile("paper").results("regression", ["boston"])
    assert published != profile("paper").results("regression", ["boston", homes])


@pytest.mark.parametrize("folds", [-1, 11])
def test_folds_that_do_not_exist_are_refused(folds):
    with pytest.raises(UserError, match="choose 1 to 10"):
        regression_results("smoke", ["yacht"], ["xgboost-1"], folds=folds)


def test_a_users_file_is_in_no_published_results(homes):
    with pytest.raises(UserError, match="choose profile quick"):
        regression_results("paper", [homes])


@pytest.mark.parametrize("arguments", [{"names": ["vts"]}, {"profile": "papr"}])
def test_a_wrong_model_or_profile_is_refused(arguments):
    with pytest.raises(UserError, match="there are: "):
        regression_results(**arguments)
