"""How much to compute: seconds for a test, minutes for a look, hours for the paper's protocol."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

from vst.errors import UserError
from vst.soft_trees import SoftTrees

#: The training part of every data set is divided into so many folds.
FOLDS = 10

#: Above every number of parameters: full rank.
FULL_RANK = 10**6


@dataclass(frozen=True)
class Profile:
    """Limits on an experiment.

    Attributes
    ----------
    folds
        Folds per data set.
    datasets, bandits
        Those to compute where none are named; all that are present if empty.
    ranks
        Ranks of the ablation; the experiment's own if empty.
    seeds, decisions
        Runs of each bandit's agent, and most decisions in one; 0 for no limit.
    repeats, sizes, starts
        Data sets of each picture, larger numbers of rows of the wavelet, and fits of which the best
        counts.
    limits
        Upper limits of the settings that cost time, by their names.
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
    limits: Mapping[str, int] = field(default_factory=dict)

    @property
    def computes(self) -> bool:
        """Whether a chapter computes what is not stored; the full protocol's results are published."""
        return bool(self.limits)

    def limited(self, setting: Any) -> Any:
        """The same model or agent with no more of everything than this profile allows."""
        changes: dict[str, Any] = {}
        for name in (entry.name for entry in fields(setting)):
            value = getattr(setting, name)
            if name in self.limits:
                changes[name] = min(value, self.limits[name])
            elif isinstance(value, SoftTrees):
                changes[name] = self.limited(value)
        return replace(setting, **changes)

    def first_folds(self, wanted: int = 0, most: int = FOLDS) -> range:
        """The first folds of each data set: as many as wanted, or this profile's up to some number."""
        if not 0 <= wanted <= FOLDS:
            raise UserError(
                f"there are {FOLDS} folds of every data set: choose 1 to {FOLDS}, got {wanted}"
            )
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
        limits={
            "steps": 300,
            "members": 2,
            "n_trees": 2,
            "n_learners": 20,
            "burn_in": 20,
            "draws": 20,
            "initial_pulls": 20,
            "steps_per_update": 20,
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
        limits={
            "steps": 3000,
            "members": 3,
            "n_trees": 3,
            "n_learners": 100,
            "burn_in": 30,
            "draws": 30,
            "initial_pulls": 20,
        },
    ),
    "paper": Profile("paper"),
}


def profile(name: str) -> Profile:
    """A profile by its name."""
    if name not in PROFILES:
        raise UserError(f"no profile is called {name}; there are: {', '.join(PROFILES)}")
    return PROFILES[name]
