"""How much to compute: seconds for a test, minutes for a look, hours for the paper's protocol."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from vst.companion.experiments.datasets import as_file
from vst.companion.experiments.soft_trees import SoftTrees
from vst.companion.peers import Peer
from vst.datasets.places import bundled_directory
from vst.errors import UserError

#: The training part of every data set is divided into so many folds.
FOLDS = 10


@dataclass(frozen=True)
class Profile:
    """Limits on an experiment.

    Attributes
    ----------
    folds
        Folds per data set.
    datasets
        Data sets where none are named; all that are present if empty.
    steps, members, n_trees, n_learners, burn_in, draws
        Upper limits of the settings that cost time; 0 for no limit.
    ranks
        Ranks of the ablation; the experiment's own if empty.
    """

    name: str
    folds: int
    datasets: tuple[str, ...] = ()
    steps: int = 0
    members: int = 0
    n_trees: int = 0
    n_learners: int = 0
    burn_in: int = 0
    draws: int = 0
    ranks: tuple[int, ...] = ()

    def limited(self, setting: SoftTrees | Peer) -> SoftTrees | Peer:
        """The same model with no more of everything than this profile allows."""
        limits = {}
        for name in ("steps", "members", "n_trees", "n_learners", "burn_in", "draws"):
            limit = getattr(self, name)
            if limit and hasattr(setting, name):
                limits[name] = min(getattr(setting, name), limit)
        return replace(setting, **limits)  # type: ignore[type-var]

    def first_folds(self, wanted: int | None = None, most: int = FOLDS) -> range:
        """The first folds of each data set: as many as wanted, or this profile's up to some number."""
        if wanted is not None and not 1 <= wanted <= FOLDS:
            raise UserError(
                f"there are {FOLDS} folds of every data set: choose 1 to {FOLDS}, got {wanted}"
            )
        return range(wanted or min(self.folds, most))

    def results(self, experiment: str, on: Sequence[str] = ()) -> Path:
        """Where this profile keeps an experiment's results.

        Published ones for the full protocol, unless a file of the user's is among the data sets.
        """
        if self.name == "paper" and not any(as_file(name)[0] for name in on):
            return bundled_directory() / "results" / experiment
        return Path("_build") / "results" / self.name / experiment


#: Above every number of parameters: full rank.
FULL_RANK = 10**6

PROFILES = {
    "smoke": Profile(
        "smoke",
        folds=2,
        datasets=("yacht",),
        steps=300,
        members=2,
        n_trees=2,
        n_learners=20,
        burn_in=20,
        draws=20,
        ranks=(0, 5, FULL_RANK),
    ),
    "quick": Profile(
        "quick",
        folds=3,
        steps=3000,
        members=3,
        n_trees=3,
        n_learners=100,
        burn_in=30,
        draws=30,
        ranks=(0, 1, 5, 20, FULL_RANK),
    ),
    "paper": Profile("paper", FOLDS),
}


def profile(name: str) -> Profile:
    """A profile by its name."""
    if name not in PROFILES:
        raise UserError(f"no profile is called {name}; there are: {', '.join(PROFILES)}")
    return PROFILES[name]
