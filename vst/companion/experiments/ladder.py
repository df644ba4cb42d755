"""What each step beyond Algorithm 1 buys, and what it costs: one change at a time, untuned.

Every rung keeps what the rung before has and changes one thing. All have the same folds, and settings
that were fixed before: those of the ensembles that ``VSTRegressorCV`` chooses from.
"""

from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any

import numpy as np

from vst.companion.experiments import regression
from vst.companion.experiments.cells import Cell, as_parameters, as_text
from vst.companion.experiments.experiment import Experiment, Job
from vst.companion.experiments.fitting import fit_folds, prepared_for, score, table_size
from vst.companion.experiments.optimum import LEVEL
from vst.companion.experiments.profiles import Profile
from vst.companion.models import MODEL_BY_ID
from vst.companion.peers import Fitted
from vst.companion.stacked import FittedDraws, StackedTrees
from vst.predictive import PredictiveDistribution
from vst.selection import ENSEMBLE
from vst.soft_trees import SoftTrees
from vst.tree import SMALLEST_SCALE

NAME = "ladder"

Setting = SoftTrees | StackedTrees

FOLDS = 2

#: Gradient steps: of each tree of Algorithm 1 in turn, and of all trees at once afterwards. So each tree
#: takes as many steps on every rung. Half of what ``VSTRegressorCV`` takes, to save time.
STEPS = ENSEMBLE.steps // 2

#: Most steps of the fit that compiles a rung's programs before its time is taken.
FEW_STEPS = 250

_JOINT = replace(ENSEMBLE, steps=STEPS, noise="constant", members=1)
_NOISE_TREE = replace(_JOINT, noise="tree")

#: Settings by rung, from the bottom up.
RUNGS: dict[str, Setting] = {
    "Algorithm 1": replace(_JOINT, training="boosting"),
    "joint training": _JOINT,
    "noise tree": _NOISE_TREE,
    "mixture": replace(_NOISE_TREE, members=4),
    "stacking": StackedTrees(effort=STEPS / ENSEMBLE.steps),
}

#: Side steps: settings compared with a rung, and that rung.
ASIDE: dict[str, SoftTrees] = {"rank 5": replace(_NOISE_TREE, rank=5)}
BESIDE = {"rank 5": "noise tree"}

#: The model of the registry whose code fits a rung.
FITTED_BY = {"Algorithm 1": "vsgbm-linear", "stacking": "vst-cv"}


def jobs(
    profile: Profile,
    *,
    compute: bool = True,
    datasets: Sequence[str] = (),
    folds: int = 0,
    seed: int = 0,
) -> list[Job]:
    """All jobs: every rung, and every side step, on every data set."""
    used = profile.first_folds(folds, FOLDS)
    work = []
    for dataset in regression.chosen_datasets(profile, datasets, compute):
        for rung, setting in settings_for(dataset).items():
            # In full: the model's row in the registry need not have the rung's values.
            text = as_text(asdict(profile.limited(setting)))
            model = FITTED_BY.get(rung, "vsgbm-joint")
            cells = tuple(Cell(NAME, dataset, model, fold, seed, text) for fold in used)
            work.append(Job(cells, compute_cells, note=rung, needs=dataset))
    return work


def settings_for(dataset: str) -> dict[str, Setting]:
    """Settings of all rungs and side steps; no scale is below the rounding error of the target.

    ``VSTRegressorCV`` does the same, so that stacking adds nothing else to the mixture.
    """
    smallest = table_size(dataset).rounding or SMALLEST_SCALE
    return {
        name: replace(each, smallest_scale=smallest) if isinstance(each, SoftTrees) else each
        for name, each in {**RUNGS, **ASIDE}.items()
    }


def compute_cells(cells: Sequence[Cell]) -> list[dict[str, Any]]:
    """Scores of one rung, with its name and the coverage of its intervals.

    Programs are compiled before the clock starts: on a small table that takes longer than training.
    """
    first, setting = cells[0], setting_of(cells[0])
    data = prepared_for(setting, first.dataset)
    seeds = [cell.seed for cell in cells]
    for model in fit_folds(shortened(setting), data, [cell.fold for cell in cells], seeds):
        score(model, data.x_test, data.y_test)
    return regression.compute_cells(cells, _more)


def setting_of(cell: Cell) -> Setting:
    """The settings of a cell."""
    return MODEL_BY_ID[cell.model].setting(as_parameters(cell.parameters))


def shortened(setting: Setting) -> Setting:
    """The same programs with few steps."""
    if isinstance(setting, StackedTrees):
        return replace(setting, effort=min(setting.effort, FEW_STEPS / ENSEMBLE.steps))
    return replace(setting, steps=min(setting.steps, FEW_STEPS))


def rung_of(setting: Setting) -> str:
    """The name of the rung or side step with these settings, also if a profile has cut them.

    Examples
    --------
    >>> rung_of(replace(RUNGS["mixture"], steps=300, members=2))
    'mixture'
    """
    every = {**RUNGS, **ASIDE}
    return next(name for name, each in every.items() if _kind(each) == _kind(setting))


def _kind(setting: Setting) -> tuple[Any, ...]:
    if isinstance(setting, StackedTrees):
        return ("stack",)
    return setting.training, setting.noise, setting.members > 1, setting.rank


def _more(cell: Cell, model: Fitted) -> dict[str, Any]:
    assert isinstance(model, FittedDraws)
    setting = setting_of(cell)
    data = prepared_for(setting, cell.dataset)
    lower, upper = PredictiveDistribution(model.draws, data.x_test).interval(LEVEL)
    inside = (lower <= data.y_test) & (data.y_test <= upper)
    return {"rung": rung_of(setting), "coverage": round(float(np.mean(inside)), 5)}


LADDER = Experiment(
    NAME,
    "Algorithm 1, joint training, noise tree, mixture and stacking: one change at a time",
    (regression.DATASETS, regression.FOLDS, regression.SEED),
    jobs,
    (*regression.FOLD_SCORES, "rung", "coverage"),
    by=("dataset", "rung"),
    summarised=("log_likelihood", "rmse", "auroc", "coverage"),
)
