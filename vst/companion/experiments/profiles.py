"""How much to compute: seconds for a test, minutes for a preview, hours for the paper's protocol."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

from vst.errors import UserError
from vst.soft_trees import SoftTrees

#: Number of folds of every data set's training part.
FOLDS = 10

#: Larger than any number of parameters, so it means full rank.
FULL_RANK = 10**6


@dataclass(frozen=True)
class Profile:
    """Limits on an experiment.

    Attributes
    ----------
    folds
        Folds per data set.
    datasets, bandits
        Computed by default; if empty, all that are on this machine.
    ranks
        Ranks of the ablation; if empty, the experiment's own.
    seeds, decisions
        Runs of each agent, and the maximum number of decisions in a run; 0 for no limit.
    repeats, sizes, starts
        Data sets per picture, larger numbers of rows of the wavelet, and fits to choose the best from.
    blind_splits, blind_trials
        Random splits of the blind replication, and tuning trials inside each.
    literature_splits
        Random splits of the comparison with the literature.
    limits
        Upper limits of the settings that cost time, by name.
    """

    name: str
    folds: int = FOLDS
    datasets: tuple[str, ...] = ()
    bandits: tuple[str, ...] = ()
    ranks: tuple[int, ...] = ()
    seeds: int = 5
    decisions: int = 0
    repeats: int = 3
    sizes: tuple[int, ...] = (2000, 16000)
    starts: int = 4
    blind_splits: int = 5
    blind_trials: int = 8
    literature_splits: int = 20
    limits: Mapping[str, float] = field(default_factory=dict)

    @property
    def computes(self) -> bool:
        """Whether a chapter computes what is not stored; the full protocol is published instead."""
        return bool(self.limits)

    def limited(self, setting: Any) -> Any:
        """The same model or agent, with its settings cut to this profile's limits."""
        changes: dict[str, Any] = {}
        for name in (entry.name for entry in fields(setting)):
            value = getattr(setting, name)
            if name in self.limits:
                changes[name] = min(value, self.limits[name])
            elif isinstance(value, SoftTrees):
                changes[name] = self.limited(value)
        return replace(setting, **changes)

    def first_folds(self, wanted: int = 0, most: int = FOLDS) -> range:
        """The first folds of each data set: as many as wanted, else this profile's number."""
        if not 0 <= wanted <= FOLDS:
            raise UserError(f"every data set has {FOLDS} folds: choose 1 to {FOLDS}, got {wanted}")
        return range(wanted or min(self.folds, most))


PROFILES = {
    "smoke": Profile(
        "smoke",
        folds=2,
        datasets=("yacht",),
        bandits=("exploration", "mushroom"),
        ranks=(0, 5, FULL_RANK),
        seeds=2,
        decisions=600,
        repeats=1,
        sizes=(1000,),
        starts=1,
        blind_splits=1,
        blind_trials=2,
        literature_splits=2,
        limits={
            "steps": 300,
            "members": 2,
            "n_trees": 2,
            "n_learners": 20,
            "burn_in": 20,
            "draws": 20,
            "initial_pulls": 20,
            "steps_per_update": 20,
            "effort": 0.02,
        },
    ),
    "quick": Profile(
        "quick",
        folds=3,
        ranks=(0, 1, 5, 20, FULL_RANK),
        seeds=2,
        decisions=3000,
        repeats=1,
        sizes=(1000,),
        starts=1,
        blind_splits=1,
        blind_trials=2,
        literature_splits=2,
        limits={
            "steps": 3000,
            "members": 3,
            "n_trees": 3,
            "n_learners": 100,
            "burn_in": 30,
            "draws": 30,
            "initial_pulls": 20,
            "effort": 0.1,
            "search_rows": 500,
            "most_rows": 1000,
        },
    ),
    "paper": Profile("paper"),
}


def profile(name: str) -> Profile:
    """A profile by its name."""
    if name not in PROFILES:
        raise UserError(f"there is no profile {name}: choose from {', '.join(PROFILES)}")
    return PROFILES[name]
