"""What each option beyond the paper changes: whitening, a lighter KL term, a mixture of posteriors."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from vst.companion.experiments import models, regression
from vst.companion.experiments.cells import Cell, as_parameters, as_text
from vst.companion.experiments.profiles import Profile
from vst.companion.experiments.soft_trees import SoftTrees
from vst.companion.peers import Fitted

EXPERIMENT = "beyond"

COLUMNS = (*regression.COLUMNS, "variant")

#: The paper's VST with linear leaves, each option alone, and all of them together.
VARIANTS: dict[str, dict[str, Any]] = {
    "paper": {},
    "whiten": {"whiten": 1},
    "kl_weight": {"kl_weight": 0.1},
    "members": {"members": 10},
    "all": {"whiten": 1, "kl_weight": 0.1, "members": 10},
}

MODEL, STEPS, FOLDS = "vst-linear", 10_000, 3


@dataclass(frozen=True)
class BeyondStack(regression.Stack):
    """Folds of one data set and variant."""

    @property
    def variant(self) -> str:
        """The variant's name."""
        return variant_of(as_parameters(self.cells[0].parameters))

    @property
    def label(self) -> str:
        """Data set and variant."""
        return f"{self.cells[0].dataset} {self.variant}"

    def more(self, model: Fitted) -> dict[str, Any]:
        """The variant, as a column."""
        return {"variant": self.variant}


def stacks(
    profile: Profile, on: Sequence[str], *, folds: int | None = None, seed: int = 0
) -> list[BeyondStack]:
    """All work: every variant on every data set, with settings that nothing was tuned for."""
    base = models.defaults(MODEL)
    assert isinstance(base, SoftTrees)
    jobs = []
    for dataset in on:
        for options in VARIANTS.values():
            chosen = profile.limited(replace(base, steps=STEPS, **options))
            text = as_text(models.parameters(chosen))
            cells = tuple(
                Cell(EXPERIMENT, dataset, MODEL, fold, seed, text)
                for fold in profile.first_folds(folds, FOLDS)
            )
            jobs.append(BeyondStack(cells))
    return jobs


def variant_of(parameters: dict[str, Any]) -> str:
    """The name of the variant that has these settings.

    Examples
    --------
    >>> variant_of({"whiten": 0, "kl_weight": 0.1, "members": 1})
    'kl_weight'
    """
    plain = models.parameters(models.defaults(MODEL))
    changed = [name for name in VARIANTS["all"] if parameters[name] != plain[name]]
    return {0: "paper", 1: changed[0] if changed else "", 3: "all"}[len(changed)]


def condition_number(dataset: str) -> float:
    """How much longer the features' longest axis is than their shortest.

    Columns that never change have no axis, and exact copies of others none of their own.
    """
    singular = np.linalg.svd(regression.prepared(dataset).x_train, compute_uv=False)
    return float(singular[0] / singular[singular > 1e-6 * singular[0]][-1])
