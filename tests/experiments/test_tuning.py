from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from vst.cli import main
from vst.companion.experiments import datasets, models, tuning
from vst.companion.experiments.cells import as_parameters, as_text
from vst.companion.experiments.regression import prepared, setting_for
from vst.companion.experiments.soft_trees import SoftTrees, fit_stack
from vst.companion.experiments.store import Store
from vst.datasets import load_dataset


@pytest.fixture
def short(monkeypatch):
    """Trials of a few steps."""
    monkeypatch.setattr("vst.companion.experiments.regression.steps_for", lambda n, d: 40)


def tuned(tmp_path, model, trials):
    tuning.Tuning("yacht", model, trials, tmp_path).compute()
    return Store(tmp_path, tuning.COLUMNS).load()


def test_trials_lie_inside_the_ranges_and_share_a_program_per_round(tmp_path, short):
    trials = tuned(tmp_path, "vst-plus", 16)
    assert trials["trial"].tolist() == list(range(17))  # the last one is longer
    chosen = [as_parameters(text) for text in trials["parameters"][:16]]
    for name, allowed in models.ranges("vst-plus").items():
        assert all(parameters[name] in allowed for parameters in chosen)
    for start in (0, 8):
        common = {(p["depth"], p["whiten"]) for p in chosen[start : start + 8]}
        assert len(common) == 1
    assert len({p["beta"] for p in chosen}) == 16


def test_tuning_goes_on_where_it_stopped(tmp_path, short):
    first = tuned(tmp_path, "vst-plus", 8)
    both = tuned(tmp_path, "vst-plus", 12)
    assert both.iloc[:9].equals(first)
    assert tuning.are_longer(both).tolist() == 8 * [False] + [True] + 4 * [False]


def test_the_last_trial_is_the_best_one_with_more_steps(tmp_path, short):
    trials = tuned(tmp_path, "vst-plus", 2)
    last = as_parameters(trials["parameters"][2])
    assert last == tuning.best_of(trials[:2]) | {"steps": 160}


@pytest.mark.parametrize(
    ("model", "gain", "chosen"),
    [
        ("vst-plus", 0.01, 1),
        ("vst-plus", -0.01, 0),
        ("vst-linear", 0.01, 0),
        ("vst-linear", 0.2, 1),
    ],
)
def test_longer_training_has_to_pay_where_a_model_should_stay_quick(model, gain, chosen):
    parameters = [{"depth": 4}, {"depth": 4, "steps": 160}]
    trials = pd.DataFrame(
        {"model": model, "objective": [1.0, 1.0 + gain], "parameters": map(as_text, parameters)}
    )
    assert tuning.best_of(trials) == parameters[chosen]


@pytest.mark.parametrize(
    ("gains", "chosen"),
    [
        ((0.02, 0.02, 0.05), {}),
        ((0.04, 0.02, 0.05), {"steps": 160}),
        ((0.04, 0.05, 0.07), {"members": 8}),
        ((0.04, 0.05, 0.09), {"steps": 160, "members": 8}),
    ],
)
def test_every_doubling_of_the_quick_models_work_has_to_pay(gains, chosen):
    more = [{}, {"steps": 160}, {"members": 8}, {"steps": 160, "members": 8}]
    trials = pd.DataFrame(
        {
            "model": "vst-quick",
            "objective": 1 + np.array([0, *gains]),
            "parameters": [as_text({"depth": 4} | extra) for extra in more],
        }
    )
    assert tuning.best_of(trials) == {"depth": 4} | chosen


def test_which_models_are_tried_with_more_work_depends_on_the_rows():
    longer = [
        (model, dataset)
        for model in ("vst-linear", "vst-quick", "vst-plus", "vsgbm-plus", "sglb")
        for dataset in ("yacht", "boston", "power")
        if tuning.trains_longer(model, dataset)
    ]
    quick = [("vst-quick", "boston"), ("vst-quick", "power")]
    mixtures = [("vst-plus", "yacht"), ("vst-plus", "boston")]
    assert longer == [("vst-linear", "power"), *quick, *mixtures]


def test_the_quick_model_takes_twice_the_steps_with_half_the_leaves():
    size = datasets.size("yacht")
    deep, shallow = (setting_for("vst-quick", size, {"depth": depth}) for depth in (4, 3))
    assert shallow.steps == pytest.approx(2 * deep.steps, abs=1)
    assert deep.members * deep.steps < setting_for("vst-linear", size, {}).steps
    more_steps, more_members, both = tuning.longer("vst-quick", "yacht", {"depth": 3})
    assert more_steps == {"depth": 3, "steps": 2 * shallow.steps}
    assert more_members == {"depth": 3, "members": 2 * shallow.members}
    assert both == more_steps | more_members


def test_trials_of_the_quick_model_are_whole_fits(short, monkeypatch):
    fitted = []
    original = tuning.fit_stack
    monkeypatch.setattr(
        tuning, "fit_stack", lambda settings, *a: fitted.extend(settings) or original(settings, *a)
    )
    proposals = [{"depth": 3}, {"depth": 3, "members": 8}]
    for proposal in proposals:
        tuning.evaluate("vst-quick", "yacht", [proposal])
    tuning.evaluate("vst-plus", "yacht", [{"depth": 3}])
    assert [(fit.members, fit.steps) for fit in fitted[::3]] == [(4, 13), (8, 13), (3, 20)]


def test_the_best_trial_is_the_tuned_setting(tmp_path):
    trials = tuned(tmp_path, "xgboost-1", 4)
    best = trials.loc[trials["objective"].idxmax()]
    assert tuning.tuned_settings(tmp_path) == {
        ("yacht", "xgboost-1"): as_parameters(best["parameters"])
    }
    row = tuning.tuned_table(tmp_path).iloc[0]
    assert row["trials"] == 4
    assert row["total_seconds"] == pytest.approx(trials["seconds"].sum())


def test_trials_on_other_targets_of_a_file_are_not_mixed(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(80, 3)), columns=["size", "price", "rent"])
    table.to_csv("yacht.csv", index=False)
    for target in ("price", "rent"):
        arguments = ["--datasets", f"yacht.csv:{target}", "--models", "xgboost-1"]
        assert main(["tune", *arguments, "--trials", "2", "--workers", "0"]) == 0
        assert capsys.readouterr().out.count("xgboost-1") == 1
    found = tuning.tuned_table()
    own = found[found["dataset"].str.startswith("yacht-")]
    assert own["trials"].tolist() == [2, 2]
    assert len(list(tuning.own_trials().iterdir())) == 2


def test_boosting_tunes_the_number_of_trees_on_the_way(tmp_path, short, monkeypatch):
    entry = models.SOFT_TREES["vsgbm-const"]
    fewer = entry._replace(defaults=replace(entry.defaults, n_trees=3))
    monkeypatch.setitem(models.SOFT_TREES, "vsgbm-const", fewer)
    for text in tuned(tmp_path, "vsgbm-const", 2)["parameters"]:
        assert as_parameters(text)["n_trees"] in (1, 2, 3)


def test_a_fit_is_scored_with_every_value_of_what_needs_no_new_fit(monkeypatch):
    few = replace(models.PEERS["sglb"].defaults, members=2, n_learners=30)
    monkeypatch.setitem(models.PEERS, "sglb", replace(models.PEERS["sglb"], defaults=few))
    [(parameters, objective)] = tuning.evaluate("sglb", "yacht", [{"depth": 3}])
    data, scores = prepared("yacht"), []
    for fold in tuning.validation_folds(load_dataset("yacht").n):
        used, held_out = data.folds.train.rows(fold), data.folds.held_out.rows(fold)
        peer = replace(few, depth=3, smallest_scale=parameters["smallest_scale"])
        fitted = peer.fit(data.x_train[used], data.y_train[used], seed=0)
        scores.append(fitted.log_prob(data.x_train[held_out], data.y_train[held_out]).mean())
    assert objective == pytest.approx(np.mean(scores))
    assert parameters["smallest_scale"] in models.ranges("sglb")["smallest_scale"]


@pytest.mark.parametrize("model", ["vst-linear", "xgboost-1"])
def test_nobody_tunes_on_test_data(model, short, monkeypatch, tmp_path):
    """Whatever the test rows hold, and even if they were lost, tuning comes out the same."""
    proposals = tuning.propose(model, Store(tmp_path, tuning.COLUMNS).load(), 2)
    before = tuning.evaluate(model, "yacht", proposals)
    data = prepared("yacht")
    blind = replace(
        data, x_test=np.full_like(data.x_test, np.nan), y_test=np.full_like(data.y_test, np.nan)
    )
    monkeypatch.setattr(tuning, "prepared", lambda *arguments: blind)
    assert tuning.evaluate(model, "yacht", proposals) == before


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
    together = fit_stack([long], data, [0], [0]).log_likelihood_by_trees(
        0, data.x_test, data.y_test
    )
    for trees in (1, 2, 3):
        model = fit_stack([replace(long, n_trees=trees)], data, [0], [0]).model(0)
        alone = model.log_prob(data.x_test, data.y_test).mean()
        assert together[trees - 1] == pytest.approx(alone, abs=0.1)  # both are over 100 draws
    assert np.ptp(together) > 0.1
