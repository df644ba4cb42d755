"""``vst fit`` and ``vst predict``, as a user calls them."""

import signal
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pytest

import vst
from vst import VSTRegressor, load_model
from vst.cli import main
from vst.file_commands import predictions


def homes(rng, n=120):
    """A table with gaps and text; the price depends on size and town."""
    size, town = rng.uniform(30, 200, n).round(1), rng.choice(["Ulm", "Bonn"], n)
    price = 3 * size + 100 * (town == "Ulm") + rng.normal(size=n)
    X = pd.DataFrame({"id": np.arange(n), "size": size, "town": town, "price": price.round(2)})
    X.loc[::9, "size"] = np.nan
    X.loc[::11, "town"] = None
    return X


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    """A folder with a saved regression and a saved classification."""
    folder = tmp_path_factory.mktemp("homes")
    table = homes(np.random.default_rng(0))
    table.to_csv(folder / "homes.csv", index=False)
    assert main(fit(folder, "price", "price.vst", "--effort", "0.05")) == 0
    assert main(fit(folder, "town", "town.vst", "--effort", "0.05")) == 0
    return folder


def fit(folder, target, model, *more):
    return [
        "fit",
        str(folder / "homes.csv"),
        "--target",
        target,
        "--save",
        str(folder / model),
        *more,
    ]


def predict(folder, model, table, out, *more):
    files = str(folder / model), str(folder / table)
    return ["predict", *files, "--out", str(folder / out), *more]


def test_predictions_of_numbers_are_those_of_the_model_row_by_row(fitted, rng):
    new = homes(rng, 40).drop(columns="price")
    new.to_csv(fitted / "new.csv", index=False)
    assert main(predict(fitted, "price.vst", "new.csv", "out.csv", "--keep", "id,town")) == 0
    out = pd.read_csv(fitted / "out.csv")
    columns = ["id", "town", "mean", "std", "lower", "upper", "epistemic_std", "unusual"]
    assert list(out) == columns
    assert out["id"].tolist() == new["id"].tolist()
    distribution = load_model(fitted / "price.vst").predict_dist(new)
    np.testing.assert_allclose(out["mean"], distribution.mean, rtol=1e-4)
    np.testing.assert_allclose(out["upper"], distribution.interval(0.9)[1], rtol=1e-4)
    assert out["unusual"].dtype == bool


def test_predictions_of_classes_sum_to_one(fitted, capsys):
    assert main(predict(fitted, "town.vst", "homes.csv", "towns.csv")) == 0
    out = pd.read_csv(fitted / "towns.csv")
    np.testing.assert_allclose(out["P(Bonn)"] + out["P(Ulm)"], 1, atol=1e-5)
    assert set(out["class"]) == {"Bonn", "Ulm"}
    assert (out["mutual_information"] <= out["entropy"] + 1e-6).all()
    assert len(out) == 120
    assert "120 rows predicted" in capsys.readouterr().out


def test_rows_without_a_target_are_set_aside_with_a_sentence(fitted, tmp_path, capsys):
    homes_ = pd.read_csv(fitted / "homes.csv")
    homes_.loc[:4, "price"] = np.nan
    homes_.to_csv(tmp_path / "homes.csv", index=False)
    assert main(fit(tmp_path, "price", "a.vst", "--effort", "0.01")) == 0
    said = capsys.readouterr().out
    assert "5 rows have no price and cannot be learned from" in said
    assert "115 rows" in said


def test_an_unseen_category_and_new_gaps_are_notes_and_lose_no_row(fitted, tmp_path, capsys, rng):
    new = homes(rng, 30)
    new.loc[3, "town"] = "Atlantis"
    new.loc[5, "id"] = np.nan
    new.to_csv(tmp_path / "new.csv", index=False)
    arguments = ["predict", str(fitted / "price.vst"), str(tmp_path / "new.csv")]
    assert main([*arguments, "--out", str(tmp_path / "out.csv")]) == 0
    said = capsys.readouterr().err
    assert "note: " in said
    assert "Atlantis" in said
    assert "Traceback" not in said
    assert len(pd.read_csv(tmp_path / "out.csv")) == 30


def test_far_away_rows_are_unusual(fitted):
    table = pd.read_csv(fitted / "homes.csv").drop(columns="price")
    far = table.assign(size=table["size"] * 50)
    model = load_model(fitted / "price.vst")
    assert predictions(model, table)["unusual"].mean() < 0.05
    assert predictions(model, far)["unusual"].mean() > 0.8


def test_a_model_of_another_origin_has_no_opinion_on_what_is_unusual(rng):
    X = homes(rng)[["size", "town"]]
    model = VSTRegressor(depth=1, steps=100, tol=0).fit(X, np.arange(len(X)))
    assert "unusual" not in predictions(model, X)


def test_a_new_fit_forgets_what_was_usual(rng):
    X = homes(rng)[["size"]]
    model = VSTRegressor(depth=0, steps=50, tol=0).fit(X, np.arange(len(X)))
    model.usual_uncertainty_ = 1.0
    assert not hasattr(model.fit(X, np.arange(len(X))), "usual_uncertainty_")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (["--out", "out.xlsx"], "unsupported file type"),
        (["--out", "nowhere/out.csv"], "is not a directory"),
        (["--level", "90"], "must lie between 0 and 1"),
        (["--keep", "street"], "no column street"),
    ],
)
def test_bad_options_are_refused_in_a_sentence(
    fitted, tmp_path, capsys, monkeypatch, change, message
):
    monkeypatch.chdir(tmp_path)
    arguments = predict(fitted, "price.vst", "homes.csv", "refused.csv")
    assert main([*arguments, *change]) == 1
    said = capsys.readouterr().err
    assert message in said
    assert "Traceback" not in said
    assert not (fitted / "refused.csv").exists()


def test_a_table_that_lacks_a_column_is_refused(fitted, tmp_path, capsys):
    pd.DataFrame({"size": [1.0]}).to_csv(tmp_path / "new.csv", index=False)
    arguments = ["predict", str(fitted / "price.vst"), str(tmp_path / "new.csv")]
    assert main([*arguments, "--out", str(tmp_path / "out.csv")]) == 1
    assert "has no column id, town" in capsys.readouterr().err


def test_a_file_that_is_no_model_is_refused(fitted, capsys):
    assert main(predict(fitted, "homes.csv", "homes.csv", "out2.csv")) == 1
    assert "is not a model saved by vst" in capsys.readouterr().err


def test_a_killed_run_leaves_the_older_file_and_the_next_one_is_whole(fitted, tmp_path):
    """A real process, killed while it predicts."""
    many = pd.concat([pd.read_csv(fitted / "homes.csv")] * 400, ignore_index=True)
    many["id"] = np.arange(len(many))
    many.to_csv(tmp_path / "many.csv", index=False)
    out = tmp_path / "out.csv"
    out.write_text("older\n")
    arguments = ["predict", str(fitted / "price.vst"), str(tmp_path / "many.csv")]
    command = [sys.executable, "-m", "vst.cli", *arguments, "--out", str(out), "--keep", "id"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    seen, start = "", time.monotonic()
    while "%" not in seen and time.monotonic() - start < 120:
        seen += process.stderr.read(1)
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stderr.close()
    assert out.read_text() == "older\n"
    assert main([*arguments, "--out", str(out), "--keep", "id"]) == 0
    assert pd.read_csv(out)["id"].tolist() == many["id"].tolist()


def test_predictions_far_from_zero_keep_their_digits(rng, tmp_path, capsys):
    """Julian dates have seven digits before the point."""
    size = rng.uniform(30, 200, 80).round(1)
    table = pd.DataFrame({"size": size, "date": 2_459_000 + size / 10})
    table.to_csv(tmp_path / "dates.csv", index=False)
    arguments = ["--target", "date", "--save", str(tmp_path / "a.vst"), "--effort", "0.05"]
    assert main(["fit", str(tmp_path / "dates.csv"), *arguments]) == 0
    assert main(predict(tmp_path, "a.vst", "dates.csv", "out.csv")) == 0
    out = pd.read_csv(tmp_path / "out.csv")
    assert (out["lower"] < out["mean"]).all()
    assert (out["mean"] < out["upper"]).all()
    assert out["mean"].nunique() > 40


@pytest.mark.parametrize("command", ["fit", "predict"])
def test_a_directory_as_a_place_is_refused_before_any_work(command, fitted, capsys, monkeypatch):
    (fitted / "folder.csv").mkdir(exist_ok=True)
    monkeypatch.setattr(vst.file_commands, "_use_all_cores", lambda: pytest.fail("it has begun"))
    arguments = {
        "fit": fit(fitted, "price", "folder.csv"),
        "predict": predict(fitted, "price.vst", "homes.csv", "folder.csv"),
    }
    assert main(arguments[command]) == 1
    assert "folder.csv is a directory: name a file" in capsys.readouterr().err


def test_a_kept_column_may_not_have_the_name_of_a_prediction(fitted, tmp_path, capsys):
    table = pd.read_csv(fitted / "homes.csv").assign(mean=1.0)
    table.to_csv(tmp_path / "named.csv", index=False)
    arguments = ["predict", str(fitted / "price.vst"), str(tmp_path / "named.csv")]
    assert main([*arguments, "--out", str(tmp_path / "out.csv"), "--keep", "id,mean"]) == 1
    assert "--keep mean: the predictions have a column of this name" in capsys.readouterr().err
    assert not (tmp_path / "out.csv").exists()


def test_a_constant_target_and_a_missing_model_are_sentences(fitted, tmp_path, capsys):
    table = pd.read_csv(fitted / "homes.csv").assign(price=7)
    table.to_csv(tmp_path / "homes.csv", index=False)
    assert main(fit(tmp_path, "price", "a.vst")) == 1
    assert "is 7 in every row, so there is nothing to predict" in capsys.readouterr().err
    assert main(predict(fitted, "nowhere.vst", "homes.csv", "out.csv")) == 1
    assert "there is no file" in capsys.readouterr().err
