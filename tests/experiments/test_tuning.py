from dataclasses import asdict, replace

import numpy as np
import pandas as pd
import pytest

from vst.cli import main
from vst.companion.experiments import experiment, runner, trials, tuning
from vst.companion.experiments.cells import as_parameters, as_text
from vst.companion.experiments.fitting import (
    fit_stack,
    fitted,
    log_likelihood_by_trees,
    prepared,
    prepared_for,
)
from vst.companion.experiments.store import Store
from vst.companion.models import MODEL_BY_ID, Size
from vst.datasets import load_dataset
from vst.soft_trees import SoftTrees


@pytest.fixture
def short(monkeypatch):
    """Trials of a few steps."""
    monkeypatch.setattr("vst.companion.models.steps_for", lambda size: 40)


def tuned(tmp_path, model, count):
    tuning.Tuning("yacht", model, count, tmp_path).compute()
    return Store(tmp_path, trials.COLUMNS).load()


def test_trials_lie_inside_the_ranges_and_share_a_program_per_round(tmp_path, short):
    done = tuned(tmp_path, "vst-linear", 16)
    assert done["trial"].tolist() == list(range(16))
    chosen = [as_parameters(text) for text in done["parameters"]]
    for name, allowed in MODEL_BY_ID["vst-linear"].all_ranges().items():
        assert all(parameters[name] in allowed for parameters in chosen)
    assert [p["depth"] for p in chosen] == 8 * [4] + 8 * [5]
    assert len({p["beta"] for p in chosen}) == 16


def test_tuning_goes_on_where_it_stopped(tmp_path, short):
    first = tuned(tmp_path, "vst-linear", 8)
    both = tuned(tmp_path, "vst-linear", 12)
    assert both.iloc[:8].equals(first)
    assert len(both) == 12


def test_the_size_of_a_joint_ensemble_is_not_tuned():
    """All its trials share one program."""
    proposed = tuning.propose("vsgbm-joint", pd.DataFrame(columns=trials.COLUMNS), 4)
    assert {frozenset(p) for p in proposed} == {frozenset({"kl_weight", "prior_scale", "beta"})}
    sizes = {
        n: MODEL_BY_ID["vsgbm-joint"].setting_for(Size(n, 5), proposed[0]) for n in (500, 5000)
    }
    assert {n: (s.depth, s.n_trees) for n, s in sizes.items()} == {500: (3, 10), 5000: (4, 20)}


def test_a_joint_ensemble_respects_the_rounding_of_its_target():
    entry = MODEL_BY_ID["vsgbm-joint"]
    assert entry.setting_for(Size(500, 5, rounding=0.3), {}).smallest_scale == 0.3
    assert entry.setting_for(Size(500, 5), {}).smallest_scale == SoftTrees().smallest_scale


def test_a_joint_ensemble_is_scored_whole(monkeypatch):
    entry = MODEL_BY_ID["vsgbm-joint"]
    monkeypatch.setitem(
        MODEL_BY_ID, "vsgbm-joint", replace(entry, settings=replace(entry.settings, steps=40))
    )
    proposal = {"depth": 2, "n_trees": 3}
    [(chosen, objective)] = tuning.evaluate("vsgbm-joint", "yacht", [proposal])
    assert chosen == proposal
    assert tuning.WORST < objective < 5


def test_a_model_with_few_settings_has_each_of_them_tried_once(tmp_path, monkeypatch):
    entry = MODEL_BY_ID["gaussian-process"]
    monkeypatch.setattr(tuning, "_evaluate_peer", lambda *arguments: ({}, 0.0))
    done = tuned(tmp_path, "gaussian-process", entry.trials)
    kernels = [as_parameters(text)["kernel"] for text in done["parameters"]]
    assert kernels == list(entry.own_ranges["kernel"].values)


def test_the_best_trial_is_the_tuned_setting(tmp_path):
    done = tuned(tmp_path, "xgboost-1", 4)
    best = done.loc[done["objective"].idxmax()]
    assert trials.tuned_settings(tmp_path) == {
        ("yacht", "xgboost-1"): as_parameters(best["parameters"])
    }
    row = trials.tuned_table([tmp_path]).iloc[0]
    assert row["trials"] == 4
    assert row["total_seconds"] == pytest.approx(done["seconds"].sum())


def test_trials_on_other_targets_of_a_file_are_not_mixed(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(80, 3)), columns=["size", "price", "rent"])
    table.to_csv("yacht.csv", index=False)
    for target in ("price", "rent"):
        arguments = ["--datasets", f"yacht.csv:{target}", "--models", "xgboost-1"]
        assert main(["tune", *arguments, "--trials", "2", "--workers", "0"]) == 0
        assert capsys.readouterr().out.count("xgboost-1") == 1
    own = trials.tuned_table([trials.own_trials()])
    assert own["dataset"].str.startswith("yacht-").all()
    assert own["trials"].tolist() == [2, 2]
    assert len(list(trials.own_trials().iterdir())) == 2


def test_ones_own_trials_fill_the_gaps_of_the_published_ones(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    published = trials.tuned_settings(trials.published_trials())
    row = {"trial": 0, "objective": 9.0, "parameters": as_text({"max_depth": 1})}
    for dataset in ("yacht", "yacht-1"):
        named = row | {"key": dataset, "dataset": dataset, "model": "xgboost-1"}
        Store(trials.own_trials(), trials.COLUMNS).append(f"{dataset}-xgboost-1", [named])
    found = trials.tuned_settings()
    assert found == published | {("yacht-1", "xgboost-1"): {"max_depth": 1}}


def test_trials_are_one_s_own_unless_published(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(trials, "bundled_directory", lambda: tmp_path / "data")
    options = ["--datasets", "yacht", "--models", "xgboost-1", "--trials", "1", "--workers", "0"]
    assert main(["tune", *options]) == 0
    assert f"the trials are in {trials.own_trials()}" in capsys.readouterr().out
    assert not (tmp_path / "data").exists()
    assert main(["tune", "--publish", *options]) == 0
    assert f"the trials are in {trials.published_trials()}" in capsys.readouterr().out
    for place in (trials.own_trials(), trials.published_trials()):
        assert [path.name for path in place.iterdir()] == ["yacht-xgboost-1.csv"]


def test_trials_on_a_users_file_or_of_an_installed_package_are_not_published(
    tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(runner, "run", None)  # calling it would raise
    pd.DataFrame({"x": range(80), "y": range(80)}).to_csv("own.csv", index=False)
    assert main(["tune", "--publish", "--table", "own.csv", "--target", "y"]) == 1
    assert "your own files cannot be published: own.csv:y" in capsys.readouterr().err
    monkeypatch.setattr(experiment, "in_checkout", lambda: False)
    assert main(["tune", "--publish", "--datasets", "yacht"]) == 1
    assert "needs a checkout" in capsys.readouterr().err
    assert not (tmp_path / "_build").exists()


def test_boosting_tunes_the_number_of_trees_on_the_way(tmp_path, short, monkeypatch):
    entry = MODEL_BY_ID["vsgbm-const"]
    fewer = replace(entry, settings=replace(entry.settings, n_trees=3))
    monkeypatch.setitem(MODEL_BY_ID, "vsgbm-const", fewer)
    for text in tuned(tmp_path, "vsgbm-const", 2)["parameters"]:
        assert as_parameters(text)["n_trees"] in (1, 2, 3)


def test_a_fit_is_scored_with_every_value_of_what_needs_no_new_fit(monkeypatch):
    entry = MODEL_BY_ID["sglb"]
    few = replace(entry.settings, members=2, n_learners=30)
    monkeypatch.setitem(MODEL_BY_ID, "sglb", replace(entry, settings=few))
    [(parameters, objective)] = tuning.evaluate("sglb", "yacht", [{"depth": 3}])
    data, scores = prepared("yacht"), []
    for fold in tuning.validation_folds(load_dataset("yacht").n):
        used, held_out = data.folds.train.rows(fold), data.folds.held_out.rows(fold)
        peer = replace(few, depth=3, smallest_scale=parameters["smallest_scale"])
        model = peer.fit(data.x_train[used], data.y_train[used], seed=0)
        scores.append(model.log_prob(data.x_train[held_out], data.y_train[held_out]).mean())
    assert objective == pytest.approx(np.mean(scores))
    assert parameters["smallest_scale"] in entry.all_ranges()["smallest_scale"]


@pytest.mark.parametrize("split", [0, 20231])
@pytest.mark.parametrize("model", ["vst-linear", "xgboost-1"])
def test_nobody_tunes_on_test_data(model, split, short, monkeypatch, tmp_path):
    """Whatever the test rows hold, and even if they were lost, tuning comes out the same."""
    proposals = tuning.propose(model, Store(tmp_path, trials.COLUMNS).load(), 2)
    before = tuning.evaluate(model, "yacht", proposals, split)

    def blind(setting, dataset, split):
        data = prepared_for(setting, dataset, split)
        lost = {name: np.full_like(getattr(data, name), np.nan) for name in ("x_test", "y_test")}
        return replace(data, **lost)

    monkeypatch.setattr(tuning, "prepared_for", blind)
    assert tuning.evaluate(model, "yacht", proposals, split) == before


def test_tuning_ends_when_every_setting_was_tried(tmp_path, monkeypatch):
    monkeypatch.setattr(tuning, "evaluate", lambda *given: [(given[2][0], 1.0)])
    done = tuned(tmp_path, "gaussian-process", 8)
    assert len(done) == MODEL_BY_ID["gaussian-process"].trials < 8
    assert done["parameters"].is_unique


@pytest.mark.parametrize("model", ["vsgbm-linear", "ngboost"])
def test_the_first_trial_has_the_defaults(model, tmp_path):
    first, *_ = tuning.propose(model, Store(tmp_path, trials.COLUMNS).load(), 2, seed=3)
    before = asdict(MODEL_BY_ID[model].settings)
    assert first == {name: before[name] for name in first}


def test_validation_rows_are_held_out_training_rows():
    data = prepared("yacht")
    for fold in tuning.validation_folds(load_dataset("yacht").n):
        held_out, used = data.folds.held_out.rows(fold), data.folds.train.rows(fold)
        assert not set(held_out) & set(used)
        assert set(held_out) | set(used) == set(range(len(data.x_train)))


def test_a_diverged_trial_is_the_worst_of_all(tmp_path, short, monkeypatch):
    monkeypatch.setattr(tuning, "_validate", lambda *arguments: float("nan"))
    assert (tuned(tmp_path, "vst-const", 2)["objective"] == -1e6).all()


def test_prefixes_of_an_ensemble_score_as_ensembles_of_their_own():
    """The joint evaluation agrees with fits that stop after one, two, three trees."""
    data = prepared("yacht")
    long = SoftTrees(leaves="constant", depth=2, n_trees=3, steps=200)
    stack = fit_stack([long], data, [0], [0])
    together = log_likelihood_by_trees(stack, 0, data.x_test, data.y_test)
    for trees in (1, 2, 3):
        model = fitted(fit_stack([replace(long, n_trees=trees)], data, [0], [0]), 0)
        alone = model.log_prob(data.x_test, data.y_test).mean()
        assert together[trees - 1] == pytest.approx(alone, abs=0.1)  # both are over 100 draws
    assert np.ptp(together) > 0.1
