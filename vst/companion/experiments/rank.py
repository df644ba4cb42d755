"""Figure 3 of the paper: what the rank of the posterior's covariance is worth, and what it costs."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from vst.companion.experiments import datasets, models, regression
from vst.companion.experiments.cells import Cell, as_parameters, as_text
from vst.companion.experiments.profiles import Profile
from vst.companion.experiments.soft_trees import FittedTrees, SoftTrees
from vst.companion.peers import Fitted
from vst.errors import UserError
from vst.predictive import TreeDraws
from vst.tree import TreeShape

EXPERIMENT = "rank"

COLUMNS = (*regression.COLUMNS, "rank", "n_params", "elbo", "state_bytes")

#: The models of the ablation, by the type of leaf.
LEAVES = {"constant": "vst-const", "linear": "vst-linear"}

#: Ranks to fit, up to the number of parameters; full rank, that number itself, always ends them.
RANKS = (0, 1, 2, 5, 10, 20, 50, 100)

#: Trees are as deep as they can be with about this many parameters, so that full rank can be afforded.
MOST_PARAMETERS = 200

STEPS, FOLDS = 10_000, 3


@dataclass(frozen=True)
class RankStack(regression.Stack):
    """Folds of one data set, type of leaf and rank."""

    @property
    def label(self) -> str:
        """Data set, model and rank."""
        return f"{super().label} rank {as_parameters(self.cells[0].parameters)['rank']}"

    def more(self, model: Fitted) -> dict[str, Any]:
        """Rank, number of parameters, ELBO, and the memory of what is trained."""
        assert isinstance(model, FittedTrees)
        assert isinstance(model.draws, TreeDraws)
        rank, p = as_parameters(self.cells[0].parameters)["rank"], model.draws.shape.n_params
        return {
            "rank": rank,
            "n_params": p,
            "elbo": round(float(model.elbo), 5),
            "state_bytes": state_bytes(p, rank),
        }


def stacks(
    profile: Profile,
    on: Sequence[str],
    leaves: Sequence[str],
    tuned: dict[tuple[str, str], dict[str, Any]],
    *,
    ranks: Sequence[int] = (),
    folds: int | None = None,
    seed: int = 0,
) -> list[RankStack]:
    """All work of the ablation: the tuned models, with a depth that full rank can be afforded for."""
    unknown = [name for name in leaves if name not in LEAVES]
    if unknown:
        raise UserError(
            f"no leaves are called {', '.join(unknown)}; there are: {', '.join(LEAVES)}"
        )
    if any(rank < 0 for rank in ranks):
        raise UserError(f"a rank cannot be negative, got {min(ranks)}")
    jobs = []
    for dataset in on:
        for model in (LEAVES[name] for name in leaves):
            base = setting(dataset, model, tuned.get((datasets.file(dataset), model), {}))
            p = n_params(base, datasets.size(dataset).d)
            for rank in ranks_for(p, ranks or profile.ranks):
                chosen = profile.limited(replace(base, rank=rank))
                text = as_text(models.parameters(chosen))
                cells = tuple(
                    Cell(EXPERIMENT, dataset, model, fold, seed, text)
                    for fold in profile.first_folds(folds, FOLDS)
                )
                jobs.append(RankStack(cells))
    return jobs


def setting(dataset: str, model: str, tuned: dict[str, Any]) -> SoftTrees:
    """A model's tuned settings, with the depth and the steps of the ablation."""
    base = models.settings(model, tuned)
    assert isinstance(base, SoftTrees)
    d = datasets.size(dataset).d
    depths = [
        depth for depth in (3, 2) if n_params(replace(base, depth=depth), d) <= MOST_PARAMETERS
    ]
    return replace(base, depth=depths[0] if depths else 1, steps=STEPS)


def n_params(setting: SoftTrees, d: int) -> int:
    """Number of parameters of a tree, which is its full rank."""
    return TreeShape(d, setting.depth, setting.leaves).n_params


def ranks_for(p: int, wanted: Sequence[int] = ()) -> list[int]:
    """Ranks below ``p``, and ``p``.

    Examples
    --------
    >>> ranks_for(42), ranks_for(42, [3, 60])
    ([0, 1, 2, 5, 10, 20, 42], [3, 42])
    """
    return sorted({min(rank, p) for rank in (wanted or (*RANKS, p))})


def state_bytes(p: int, rank: int) -> int:
    """Bytes that training keeps: mean, scale and factors, and Adam's two moments of each.

    Examples
    --------
    >>> state_bytes(p=100, rank=5)
    8400
    """
    return 3 * 4 * p * (rank + 2)
