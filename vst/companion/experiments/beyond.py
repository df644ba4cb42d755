"""The effect of each option beyond the paper: whitening, a lighter KL term, a mixture of posteriors."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from vst.companion.experiments import regression
from vst.companion.experiments.cells import Cell, as_parameters
from vst.companion.experiments.experiment import Experiment, Job
from vst.companion.experiments.fitting import prepared
from vst.companion.experiments.profiles import Profile
from vst.companion.models import MODEL_BY_ID
from vst.companion.peers import Fitted

NAME = "beyond"

#: The paper's VST with linear leaves, each option alone, and all of them together.
VARIANTS: dict[str, dict[str, Any]] = {
    "paper": {},
    "whiten": {"whiten": 1},
    "kl_weight": {"kl_weight": 0.1},
    "members": {"members": 10},
    "all": {"whiten": 1, "kl_weight": 0.1, "members": 10},
}

MODEL, STEPS, FOLDS = "vst-linear", 10_000, 3


def jobs(
    profile: Profile,
    *,
    compute: bool = True,
    datasets: Sequence[str] = (),
    folds: int = 0,
    seed: int = 0,
) -> list[Job]:
    """All jobs: every variant on every data set, with untuned settings."""
    base = MODEL_BY_ID[MODEL].settings
    work = []
    for dataset in regression.chosen_datasets(profile, datasets, compute):
        for variant, options in VARIANTS.items():
            setting = profile.limited(replace(base, steps=STEPS, **options))  # type: ignore[type-var]
            used = profile.first_folds(folds, FOLDS)
            cells = regression.cells_of(NAME, dataset, MODEL, setting, used, seed)
            work.append(Job(cells, compute_cells, note=variant, needs=dataset))
    return work


def compute_cells(cells: Sequence[Cell]) -> list[dict[str, Any]]:
    """Scores, with the variant as a column."""
    return regression.compute_cells(cells, _more)


def _more(cell: Cell, model: Fitted) -> dict[str, Any]:
    return {"variant": variant_of(as_parameters(cell.parameters))}


def variant_of(parameters: dict[str, Any]) -> str:
    """The name of the variant with these settings.

    Examples
    --------
    >>> variant_of({"whiten": 0, "kl_weight": 0.1, "members": 1})
    'kl_weight'
    """
    plain = MODEL_BY_ID[MODEL].settings
    changed = [name for name in VARIANTS["all"] if parameters[name] != getattr(plain, name)]
    return {0: "paper", 1: changed[0] if changed else "", 3: "all"}[len(changed)]


def condition_number(dataset: str) -> float:
    """The ratio of the features' longest axis to their shortest.

    Constant columns and exact copies of other columns do not count.
    """
    singular = np.linalg.svd(prepared(dataset).x_train, compute_uv=False)
    return float(singular[0] / singular[singular > 1e-6 * singular[0]][-1])


BEYOND = Experiment(
    NAME,
    "the effect of whitening, a lighter KL term and a mixture of posteriors",
    (regression.DATASETS, regression.FOLDS, regression.SEED),
    jobs,
    (*regression.FOLD_SCORES, "variant"),
    by=("dataset", "variant"),
    summarised=("log_likelihood", "rmse", "auroc"),
)
