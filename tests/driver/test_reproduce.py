"""``vst reproduce``: the order, what is left, and resuming."""

import argparse
from dataclasses import replace

import pytest

from vst.cli import main
from vst.companion.driver import reproduce
from vst.companion.experiments import BLIND, EXPERIMENTS, GAP_RUNS, REGRESSION
from vst.companion.experiments.experiment import Results, published
from vst.companion.experiments.profiles import PROFILES


@pytest.fixture
def two_experiments(monkeypatch, tmp_path):
    """Two experiments that fit one quick model each, in an empty directory."""

    def few(experiment):
        def jobs(profile, compute=True):
            return experiment.jobs(
                profile, compute=compute, datasets=["yacht"], models=["xgboost-1"], folds=1
            )

        return replace(experiment, jobs=jobs)

    chosen = {"first": replace(few(REGRESSION), name="first"), "second": few(REGRESSION)}
    monkeypatch.setattr(reproduce, "EXPERIMENTS", chosen)
    monkeypatch.setattr(reproduce, "_claims", lambda name: f"claims of {name}")
    monkeypatch.chdir(tmp_path)


def test_every_step_is_computed_once_and_resumed(two_experiments, capsys):
    command = ["reproduce", "--profile", "smoke", "--workers", "0"]
    assert main(command) == 0
    said = capsys.readouterr().out
    assert "step 1 of 2, first: 1 to compute" in said
    assert said.rstrip().endswith("claims of smoke")
    assert main(command) == 0
    assert capsys.readouterr().out.count("nothing to compute") == 2


def test_a_plan_computes_nothing(two_experiments, monkeypatch, capsys):
    monkeypatch.setattr(reproduce, "_compute", lambda *_: pytest.fail("it computes"))
    assert main(["reproduce", "--profile", "smoke", "--plan"]) == 0
    said = capsys.readouterr().out
    assert "step 2 of 2, regression: 1 to compute" in said
    assert "claims of" not in said


def test_every_experiment_is_a_step_and_tuning_comes_first(capsys):
    assert main(["reproduce", "--profile", "paper", "--publish", "--plan"]) == 0
    steps = [line.split(", ")[1].split(":")[0] for line in capsys.readouterr().out.splitlines()]
    assert steps == [reproduce.TUNING, *EXPERIMENTS]


def test_times_are_those_of_published_results():
    jobs = REGRESSION.jobs(PROFILES["paper"], compute=False, datasets=["yacht"], models=["xbart"])
    stored = Results(REGRESSION, published("regression")).load(["yacht"])
    seconds = stored[stored["model"] == "xbart"]["seconds"].mean()
    assert reproduce.expected_seconds(REGRESSION, jobs) == pytest.approx(10 * seconds)


def test_tuning_counts_and_unknown_data_sets_take_what_they_take_elsewhere(monkeypatch):
    """A model that takes twice as long as in the tables on one data set does so on the others."""
    usual = Results(REGRESSION, published("regression")).load(["yacht", "protein"])
    usual = usual[usual["model"] == "ngboost"]
    known = usual[usual["dataset"] == "yacht"]
    blind = known.assign(tuning_seconds=known["seconds"])
    tables = {"regression": usual, "blind": blind}
    monkeypatch.setattr(Results, "load", lambda self: tables[self.directory.name])
    jobs = BLIND.jobs(
        PROFILES["paper"], compute=False, datasets=["protein"], models=["ngboost"], splits=1
    )
    expected = 2 * usual[usual["dataset"] == "protein"]["seconds"].mean()
    assert reproduce.expected_seconds(BLIND, jobs) == pytest.approx(expected)


def test_a_result_that_only_this_machine_has_is_still_to_be_published(monkeypatch, tmp_path):
    """Otherwise ``--publish`` would skip what its own step would publish."""
    monkeypatch.setattr(reproduce, "published", lambda name: tmp_path / "published" / name)
    options = argparse.Namespace(profile="paper", publish=True)
    cells, _ = reproduce._left(GAP_RUNS, options)
    assert cells == sum(job.size for job in GAP_RUNS.jobs(PROFILES["paper"], compute=False))
    assert reproduce._left(GAP_RUNS, argparse.Namespace(profile="paper", publish=False))[0] == 0


def test_what_is_left_is_counted_when_a_step_begins(monkeypatch, capsys):
    """Tuning can find other settings, whose results are not there."""
    tuned = []
    first = reproduce.Step(lambda _: (1 - len(tuned), None), lambda _: tuned.append(True))
    computed = []
    second = reproduce.Step(lambda _: (len(tuned), 60.0), lambda _: computed.append(True))
    steps = {"tuning": first, "regression": second}
    monkeypatch.setattr(reproduce, "EXPERIMENTS", {})
    monkeypatch.setattr(reproduce, "all_steps", lambda limits: steps)
    monkeypatch.setattr(reproduce, "_claims", lambda name: "")
    assert main(["reproduce", "--profile", "quick"]) == 0
    assert computed
    assert "step 2 of 2, regression: 1 to compute" in capsys.readouterr().out


def test_only_the_full_protocol_is_published(capsys):
    assert main(["reproduce", "--profile", "quick", "--publish"]) == 1
    assert "--publish needs --profile paper" in capsys.readouterr().err
