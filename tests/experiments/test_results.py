"""Which code results belong to, and what may be written among the published ones."""

import hashlib
from pathlib import Path

import jax
import numpy as np
import pandas as pd
import pytest

from vst.cli import main
from vst.companion.experiments import EXPERIMENTS, experiment, fingerprints, results, runner
from vst.companion.experiments.bandits import BANDITS
from vst.companion.experiments.experiment import Results, published
from vst.companion.experiments.profiles import PROFILES
from vst.companion.experiments.regression import REGRESSION
from vst.datasets.places import bundled_directory

MODELS = ("xgboost-1", "deep-ensemble", "ngboost")

#: One run that is not published: the sixth of the cheapest agent.
SIXTH_SEED = [
    "--profile", "paper", "--bandits", "exploration", "--agents", "random", "--seeds", "6",
    "--workers", "0",
]  # fmt: skip


@pytest.fixture
def elsewhere(tmp_path, monkeypatch):
    """An empty directory in place of the published results."""
    monkeypatch.setattr(experiment, "bundled_directory", lambda: tmp_path / "data")
    monkeypatch.chdir(tmp_path)
    return tmp_path / "data" / "results"


def content(directory):
    """Everything below a directory."""
    return {
        path.relative_to(directory): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in directory.rglob("*")
        if path.is_file()
    }


def rows_of(model, fingerprint, dataset="yacht", count=2):
    return [
        {
            "key": f"{dataset} {model} {fold}",
            "dataset": dataset,
            "model": model,
            "seed": 0,
            "fold": fold,
            "fingerprint": fingerprint,
        }
        for fold in range(count)
    ]


def states(found):
    return dict(zip(found["model"], found["state"], strict=True))


def test_a_changed_constant_makes_the_rows_of_its_model_stale_and_no_others(
    elsewhere, monkeypatch, capsys
):
    store = Results(REGRESSION, published("regression"))
    for model in MODELS:
        store.append("yacht", rows_of(model, fingerprints.fingerprint(model)))
    store.append("boston", rows_of("vst-const", "before", "boston", count=3))
    others = dict.fromkeys(MODELS, "current") | {"vst-const": "from before fingerprints"}
    assert states(results.status()) == others
    assert main(["results", "status"]) == 0
    text = capsys.readouterr().out
    assert text == "rows: 6 current, 0 stale, 3 from before fingerprints\n"

    try:
        with monkeypatch.context() as patch:
            patch.setattr("vst.companion.peers.deep_ensemble.SMALLEST_SCALE", 0.5)
            jax.clear_caches()  # compiled programs have the constant of before
            found = results.status()
            assert states(found) == others | {"deep-ensemble": "stale"}
            assert found.set_index("model").loc["deep-ensemble", "rows"] == 2
            keys = {row["key"] for row in rows_of("deep-ensemble", "")}
            older = {row["key"] for row in rows_of("vst-const", "", "boston", count=3)}
            assert set(results.stale_keys("regression", "paper")) == keys | older
            assert main(["results", "status"]) == 1
    finally:
        jax.clear_caches()
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 3  # a header, the stale rows, and the sums
    assert lines[1].split()[:4] == ["regression", "deep-ensemble", "2", "stale"]
    assert lines[2] == "rows: 4 current, 2 stale, 3 from before fingerprints"


def test_all_rows_can_be_listed(elsewhere, capsys):
    Results(REGRESSION, published("regression")).append("yacht", rows_of("sglb", "before"))
    assert main(["results", "status", "--all"]) == 0
    assert "regression  sglb     2 from before fingerprints" in capsys.readouterr().out


def test_without_published_results_nothing_is_stale(elsewhere, capsys):
    assert main(["results", "status"]) == 0
    assert capsys.readouterr().out.startswith("rows: 0 current, 0 stale")


def test_published_rows_with_a_fingerprint_are_those_of_todays_code():
    """The repository's guard: whoever changes a model's numbers computes its results again."""
    found = results.status()
    stale = found[found["state"] == "stale"]
    assert stale.empty, f"`vst run EXPERIMENT --profile paper --stale --publish`:\n{stale}"
    assert "current" in set(found["state"])


def test_the_rows_of_a_fingerprint_are_turned_for_soft_trees_only(monkeypatch):
    """A peer's fingerprint does not change with what is done to the inputs of soft trees."""
    seen, (rows, _) = [], fingerprints._rows()
    monkeypatch.setattr(fingerprints, "fit_rows", lambda setting, x, y, seed: seen.append(x))
    monkeypatch.setattr(fingerprints, "score", lambda model, x, y: {"log_likelihood": 0.0})
    for name in ("deep-ensemble", "sglb", "vst-linear"):
        fingerprints.fingerprint(name)
    *plain, turned = seen
    for x in plain:
        np.testing.assert_array_equal(x, rows[:60])
    products = turned.T @ turned / len(turned)
    np.testing.assert_allclose(products, np.diag(np.diag(products)), atol=1e-5)
    assert np.trace(products) == pytest.approx(3, rel=1e-5)


def test_a_fingerprint_is_the_same_at_every_call():
    for name in ("vst-linear", "agent lints"):
        assert fingerprints.equal(fingerprints.fingerprint(name), fingerprints.fingerprint(name))


def test_stale_rows_are_computed_again_and_others_are_not(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    options = ["--profile", "smoke", "--models", "xgboost-1", "--workers", "0"]
    assert main(["run", "regression", *options]) == 0
    place = Path("_build/results/smoke/regression")
    rows = Results(REGRESSION, place).load().astype({"fingerprint": str})
    rows.loc[0, "fingerprint"] = "123.0"
    rows.to_csv(place / "yacht.csv", index=False)
    capsys.readouterr()
    assert main(["run", "regression", *options, "--stale"]) == 0
    assert "2 cells, 1 to compute" in capsys.readouterr().out
    assert main(["run", "regression", *options, "--stale"]) == 0
    assert "2 cells, 0 to compute" in capsys.readouterr().out
    again = Results(REGRESSION, place).load()
    pd.testing.assert_series_equal(
        again.set_index("fold")["rmse"].sort_index(), rows.set_index("fold")["rmse"]
    )


def test_published_results_can_be_computed_again_and_compared(elsewhere, capsys):
    # Six runs, of which the published five are those of the paper's profile.
    assert main(["run", "bandits", *SIXTH_SEED, "--publish"]) == 0
    capsys.readouterr()
    verify = ["results", "verify", "--experiment", "bandits", "--cells", "3"]
    assert main(verify) == 0
    assert "exploration random" in capsys.readouterr().out
    path = elsewhere / "bandits" / "exploration.csv"
    store = Results(BANDITS, path.parent)
    rows = store.load()
    rows.assign(regret=rows["regret"] + 1000).to_csv(path, index=False)
    assert main(verify) == 1
    assert main(["results", "verify", "--experiment", "poker"]) == 1
    assert "choose from regression, optimisers" in capsys.readouterr().err


def test_a_published_row_without_others_of_its_kind_is_compared_too(elsewhere, capsys):
    one_seed = [*SIXTH_SEED[:-4], "--seeds", "1", "--workers", "0"]
    assert main(["run", "bandits", *one_seed, "--publish"]) == 0
    assert main(["results", "verify", "--experiment", "bandits"]) == 0


def test_where_nothing_is_published_there_is_nothing_to_verify(elsewhere, capsys):
    assert main(["results", "verify"]) == 1
    assert "no published results" in capsys.readouterr().err


def test_a_sample_has_rows_of_every_experiment_and_none_that_take_long():
    drawn = results.sample(20, seed=1, most_seconds=40)
    assert len({(each.experiment, each.row["key"]) for each in drawn}) == 20
    assert len({each.experiment for each in drawn}) > 8
    assert max(each.seconds for each in drawn) <= 40
    again = results.sample(20, seed=1, most_seconds=40)
    assert [each.row["key"] for each in again] == [each.row["key"] for each in drawn]
    other = results.sample(20, seed=2, most_seconds=40)
    assert [each.row["key"] for each in other] != [each.row["key"] for each in drawn]


def test_a_sample_is_computed_again_and_compared(elsewhere, capsys):
    assert main(["run", "bandits", *SIXTH_SEED, "--publish"]) == 0
    assert main(["results", "verify", "--cells", "2"]) == 0
    assert capsys.readouterr().out.count("True") == 2


@pytest.mark.parametrize(
    ("score", "same"), [(1.0, True), (1.29, True), (1.31, False), (0.69, False)]
)
def test_a_score_comes_out_again_if_seeds_differ_as_much(score, same):
    cell = REGRESSION.jobs(PROFILES["paper"], datasets=["yacht"], models=["sglb"], folds=1)[
        0
    ].cells[0]
    job = experiment.Job((cell,), lambda cells: [{"log_likelihood": score} for _ in cells])
    row = {"dataset": "yacht", "model": "sglb", "seed": 0, "log_likelihood": 1.0, "seconds": 1}
    assert results.Checked("regression", row, job, cell, spread=0.1).again()["same"] is same


def test_stale_rows_of_a_chosen_directory_are_computed_again(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    options = ["--profile", "smoke", "--models", "xgboost-1", "--workers", "0", "--out", "chosen"]
    assert main(["run", "regression", *options]) == 0
    rows = Results(REGRESSION, Path("chosen")).load()
    rows.assign(fingerprint="before").to_csv("chosen/yacht.csv", index=False)
    capsys.readouterr()
    assert main(["run", "regression", *options, "--stale"]) == 0
    assert "2 cells, 2 to compute into chosen" in capsys.readouterr().out


def test_stale_published_rows_are_computed_again_only_to_be_published(elsewhere, capsys):
    assert main(["run", "bandits", *SIXTH_SEED, "--stale"]) == 1
    assert "--stale with --profile paper needs --publish" in capsys.readouterr().err


# What nothing asks for


def test_rows_that_nothing_asks_for_are_removed_with_their_parts(elsewhere, capsys):
    assert main(["run", "bandits", *SIXTH_SEED, "--publish"]) == 0
    found = Results(BANDITS, elsewhere / "bandits")
    assert found.load()["seed"].tolist() == [0, 1, 2, 3, 4, 5]
    capsys.readouterr()
    assert main(["results", "prune"]) == 0
    assert "bandits: 1 removed" in capsys.readouterr().out
    assert found.load()["seed"].tolist() == [0, 1, 2, 3, 4]  # the full protocol has five seeds
    assert set(found.parts["histories"].load()["key"]) == set(found.load()["key"])
    assert main(["results", "prune"]) == 0
    assert "bandits: 0 removed" in capsys.readouterr().out


def test_other_seeds_of_a_fold_stay_since_they_tell_the_spread(elsewhere):
    [job] = REGRESSION.jobs(PROFILES["paper"], datasets=["yacht"], models=["sglb"], folds=1)
    row = job.cells[0].described() | {"fingerprint": "1.0"}
    found = Results(REGRESSION, published("regression"))
    found.append(
        "yacht", [row, row | {"key": "other", "seed": 7}, row | {"key": "old", "parameters": "{}"}]
    )
    assert results.prune(REGRESSION) == 1
    assert found.load()["seed"].tolist() == [0, 7]


def test_the_published_results_have_no_row_that_nothing_asks_for():
    for name, each in EXPERIMENTS.items():
        rows = Results(each, published(name)).load()
        unwanted = rows[~rows["key"].isin(results.asked_for(each))]
        assert unwanted.empty, f"{name}: vst results prune removes {len(unwanted)} rows"


# --publish


@pytest.mark.parametrize("profile", ["smoke", "quick"])
def test_only_the_full_protocol_is_published(profile, elsewhere, monkeypatch, capsys):
    monkeypatch.setattr(runner, "run", None)  # calling it would raise
    for name in ("regression", "rank", "beyond", "pictures", "bandits"):
        assert main(["run", name, "--profile", profile, "--publish"]) == 1
        assert "--publish needs --profile paper" in capsys.readouterr().err
    assert not elsewhere.exists()


def test_results_of_a_users_file_are_not_published(elsewhere, monkeypatch, capsys):
    monkeypatch.setattr(runner, "run", None)
    pd.DataFrame({"x": range(80), "y": range(80)}).to_csv("own.csv", index=False)
    arguments = ["--profile", "paper", "--publish", "--table", "own.csv", "--target", "y"]
    assert main(["run", "regression", *arguments]) == 1
    assert "your own files cannot be published: own.csv:y" in capsys.readouterr().err
    assert not elsewhere.exists()


def test_an_installed_package_publishes_nothing(elsewhere, monkeypatch, capsys):
    monkeypatch.setattr(runner, "run", None)
    monkeypatch.setattr(experiment, "in_checkout", lambda: False)
    assert main(["run", "bandits", *SIXTH_SEED, "--publish"]) == 1
    assert "--publish needs a checkout" in capsys.readouterr().err
    assert not elsewhere.exists()


def test_without_publish_nothing_published_changes(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    directory = bundled_directory() / "results"
    before = content(directory)
    assert main(["run", "bandits", *SIXTH_SEED]) == 0
    own = Path("_build/results/paper/bandits")
    assert f"6 cells, 1 to compute into {own}" in capsys.readouterr().out
    assert Results(BANDITS, own).load()["seed"].tolist() == [5]
    assert content(directory) == before


def test_with_publish_rows_and_their_parts_are_published(elsewhere, tmp_path, capsys):
    assert main(["run", "bandits", *SIXTH_SEED, "--publish"]) == 0
    assert f"6 cells, 6 to compute into {elsewhere / 'bandits'}" in capsys.readouterr().out
    assert set(map(str, content(elsewhere / "bandits"))) == {
        "exploration.csv", "histories/exploration.csv", "choices/exploration.csv"
    }  # fmt: skip
    assert not (tmp_path / "_build").exists()


def test_what_was_computed_before_can_be_published(elsewhere, capsys):
    assert main(["run", "bandits", *SIXTH_SEED]) == 0
    assert main(["run", "bandits", *SIXTH_SEED, "--publish"]) == 0
    assert len(Results(BANDITS, elsewhere / "bandits").load()) == 6


# Places that cannot be written to


@pytest.mark.parametrize("name", ["regression", "rank", "beyond", "pictures", "bandits"])
def test_a_place_that_cannot_be_written_to_is_found_before_anything_is_computed(
    name, tmp_path, monkeypatch, capsys
):
    monkeypatch.setattr(runner, "run", None)
    (tmp_path / "file").touch()
    assert main(["run", name, "--profile", "smoke", "--out", str(tmp_path / "file")]) == 1
    assert "cannot be written to" in capsys.readouterr().err


def test_so_is_a_place_where_the_parts_cannot_be_written_to(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(runner, "run", None)
    (tmp_path / "histories").touch()
    arguments = ["--profile", "smoke", "--agents", "random", "--bandits", "exploration"]
    assert main(["run", "bandits", *arguments, "--out", str(tmp_path)]) == 1
    assert "cannot be written to" in capsys.readouterr().err


def test_trials_are_not_begun_where_they_cannot_be_written(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(runner, "run", None)
    (tmp_path / "file").touch()
    assert main(["tune", "--datasets", "yacht", "--out", str(tmp_path / "file")]) == 1
    assert "cannot be written to" in capsys.readouterr().err
