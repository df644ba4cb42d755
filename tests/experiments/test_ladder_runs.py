from dataclasses import asdict

import pytest

from vst.companion.experiments import EXPERIMENTS, ladder
from vst.companion.experiments.cells import as_parameters
from vst.companion.experiments.experiment import obtain
from vst.companion.experiments.profiles import PROFILES
from vst.companion.models import MODEL_BY_ID
from vst.companion.stacked import StackedTrees
from vst.selection import ENSEMBLE
from vst.soft_trees import SoftTrees
from vst.tree import SMALLEST_SCALE

SOFT = [name for name, setting in ladder.RUNGS.items() if isinstance(setting, SoftTrees)]


def changed(one, other):
    """The settings in which two models differ."""
    before = asdict(other)
    return {name: value for name, value in asdict(one).items() if value != before[name]}


def test_every_rung_changes_one_thing():
    found = [
        changed(ladder.RUNGS[rung], ladder.RUNGS[below])
        for rung, below in zip(SOFT[1:], SOFT, strict=False)
    ]
    assert found == [{"training": "joint"}, {"noise": "tree"}, {"members": 4}]
    assert list(ladder.RUNGS) == [*SOFT, "stacking"]


def test_a_side_step_changes_one_thing_of_its_rung():
    [(name, setting)] = ladder.ASIDE.items()
    assert changed(setting, ladder.RUNGS[ladder.BESIDE[name]]) == {"rank": 5}


def test_the_settings_are_those_that_stacking_chooses_from():
    kept = set(changed(ladder.RUNGS["noise tree"], ENSEMBLE))
    assert kept <= {"steps", "members"}
    assert ladder.RUNGS["stacking"] == StackedTrees(effort=ladder.STEPS / ENSEMBLE.steps)


@pytest.mark.parametrize("profile", ["smoke", "quick", "paper"])
def test_a_rung_is_known_by_its_settings_in_every_profile(profile):
    for name, setting in {**ladder.RUNGS, **ladder.ASIDE}.items():
        assert ladder.rung_of(PROFILES[profile].limited(setting)) == name


def test_all_rungs_are_fitted_to_the_same_folds():
    jobs = ladder.jobs(PROFILES["paper"], datasets=["yacht"])
    assert [job.note for job in jobs] == [*ladder.RUNGS, *ladder.ASIDE]
    assert {tuple(cell.fold for cell in job.cells) for job in jobs} == {tuple(range(ladder.FOLDS))}


def test_a_cell_gives_back_its_settings():
    """The registry's row of a model has other values; none of them may come through."""
    for job in ladder.jobs(PROFILES["paper"], datasets=["yacht"]):
        assert ladder.setting_of(job.cells[0]) == ladder.settings_for("yacht")[job.note]


def test_every_rung_has_the_fingerprint_of_a_model_with_its_code():
    for job in ladder.jobs(PROFILES["paper"], datasets=["yacht"]):
        [model] = {cell.model for cell in job.cells}
        settings = MODEL_BY_ID[model].settings
        assert type(settings) is type(ladder.setting_of(job.cells[0]))
        if isinstance(settings, SoftTrees):
            assert settings.training == ladder.setting_of(job.cells[0]).training


def test_only_rounded_targets_have_a_floor_on_the_noise():
    floors = {
        name: ladder.settings_for(name)["mixture"].smallest_scale for name in ("wine", "yacht")
    }
    assert floors["wine"] > 0.1
    assert floors["yacht"] == SMALLEST_SCALE


def test_few_steps_keep_everything_else():
    for setting in {**ladder.RUNGS, **ladder.ASIDE}.values():
        short = ladder.shortened(setting)
        assert set(changed(short, setting)) <= {"steps", "effort"}
        assert ladder.shortened(short) == short


def test_rows_carry_the_rung_and_its_coverage(tiny, tmp_path, monkeypatch):
    kept = {name: ladder.RUNGS[name] for name in ("Algorithm 1", "joint training")}
    monkeypatch.setattr(ladder, "RUNGS", kept)
    monkeypatch.setattr(ladder, "ASIDE", {})
    obtained = obtain(ladder.LADDER, "tiny", out=tmp_path, workers=0, datasets=["yacht"], folds=1)
    assert obtained.missing == 0
    assert obtained.results["rung"].tolist() == list(kept)
    assert obtained.results["coverage"].between(0, 1).all()
    assert as_parameters(obtained.results["parameters"][1])["training"] == "joint"


def test_the_ladder_can_be_run_by_name():
    assert EXPERIMENTS["ladder"] is ladder.LADDER
