"""Figure 3 of the paper: the benefit and cost of the posterior covariance's rank."""

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

import pandas as pd

from vst.companion.experiments import datasets as data
from vst.companion.experiments import regression
from vst.companion.experiments.cells import Cell, as_parameters
from vst.companion.experiments.experiment import Experiment, Job, Option
from vst.companion.experiments.fitting import FittedTrees, prepared_for
from vst.companion.experiments.profiles import Profile
from vst.companion.models import MODEL_BY_ID, check_names
from vst.companion.peers import Fitted
from vst.companion.protocol import Prepared
from vst.errors import UserError
from vst.soft_trees import SoftTrees

NAME = "rank"

#: The models of the ablation, by the type of leaf.
LEAVES = {"constant": "vst-const", "linear": "vst-linear"}

#: Ranks to fit below the number of parameters; full rank, that number itself, is always added.
RANKS = (0, 1, 5, 20)

#: Trees are as deep as about this many parameters allow, so that full rank is affordable.
MOST_PARAMETERS = 200

#: A fall of the bound from one rank to a higher one that counts as none, in nats per row.
LARGEST_FALL = 0.03

#: Steps at most, folds, and starts of each fold: starts differ more than ranks do.
STEPS, FOLDS, STARTS = 20_000, 3, 3


def jobs(
    profile: Profile,
    *,
    compute: bool = True,
    datasets: Sequence[str] = (),
    leaves: Sequence[str] = (),
    ranks: Sequence[int] = (),
    folds: int = 0,
    starts: int = 0,
) -> list[Job]:
    """All jobs: untuned models, with a depth at which full rank is affordable."""
    check_names("type of leaves", list(leaves), tuple(LEAVES))
    if any(rank < 0 for rank in ranks):
        raise UserError(f"ranks must not be negative, got {min(ranks)}")
    seeds = range(starts or min(profile.starts, STARTS))
    work = []
    for dataset in regression.chosen_datasets(profile, datasets, compute):
        d = data.size(dataset).d
        for model in (LEAVES[name] for name in leaves or LEAVES):
            base = setting(d, model)
            for rank in ranks_for(base.shape(d).n_params, ranks or profile.ranks):
                chosen = profile.limited(replace(base, rank=rank))
                used = profile.first_folds(folds, FOLDS)
                cells = [
                    cell
                    for seed in seeds
                    for cell in regression.cells_of(NAME, dataset, model, chosen, used, seed)
                ]
                work.append(Job(tuple(cells), compute_cells, note=f"rank {rank}", needs=dataset))
    return work


def compute_cells(cells: Sequence[Cell]) -> list[dict[str, Any]]:
    """Scores, with the rank, the number of parameters, the bound and the memory of training."""
    return regression.compute_cells(cells, _more)


def _more(cell: Cell, model: Fitted) -> dict[str, Any]:
    assert isinstance(model, FittedTrees)
    used = SoftTrees(**as_parameters(cell.parameters))
    p = used.shape(data.size(cell.dataset).d).n_params
    return {
        "rank": used.rank,
        "n_params": p,
        "elbo": training_bound(cell, model, prepared_for(used, cell.dataset)),
        "converged": model.converged,
        "steps": model.steps,
        "state_bytes": state_bytes(p, used.rank),
    }


def training_bound(cell: Cell, model: FittedTrees, data: Prepared) -> float:
    """The bound of a fold's training rows, in nats per row."""
    rows = data.folds.train.rows(cell.fold)
    return round(model.bound(data.x_train[rows], data.y_train[rows]), 5)


def setting(d: int, model: str) -> SoftTrees:
    """A model's settings before tuning, with the depth and the steps of the ablation."""
    base = MODEL_BY_ID[model].setting({})
    depths = [
        depth for depth in (3, 2) if replace(base, depth=depth).shape(d).n_params <= MOST_PARAMETERS
    ]
    return replace(base, depth=depths[0] if depths else 1, steps=STEPS)


def nested(results: pd.DataFrame, ranks: Sequence[int] = (0, 1, 5, 20)) -> pd.DataFrame:
    """Whether the bound falls with the rank, which it cannot if every fit reaches its optimum.

    A family of higher rank contains those of lower rank. Fits of the same fold and start are compared,
    each of these ranks and full rank with every lower one.

    Returns
    -------
    pandas.DataFrame
        One row per model and data set: model, dataset, the mean bounds at rank 0 and full rank, the
        clearest fall between two ranks and two standard errors of it, whether it holds (no fall is
        clear), whether that can be told (no fall within its error is large), and the share of fits
        that converged.
    """
    rows = []
    for (model, dataset), group in results.groupby(["model", "dataset"], sort=False):
        wide = group.pivot_table(index=["fold", "seed"], columns="rank", values="elbo")
        full = wide.columns.max()
        wide = wide[[rank for rank in wide.columns if rank in ranks or rank == full]].dropna()
        pairs = [wide[low] - wide[high] for low, high in combinations(wide.columns, 2)]
        if not pairs or len(wide) < 2:
            continue
        falls = [(pair.mean(), pair.std() / math.sqrt(len(pair))) for pair in pairs]
        fall, error = max(falls, key=lambda each: each[0] - max(LARGEST_FALL, 2 * each[1]))
        rows.append(
            {
                "model": model, "dataset": dataset,
                "rank 0": wide.iloc[:, 0].mean(), "full": wide.iloc[:, -1].mean(),
                "fall": fall, "error": 2 * error, "holds": fall <= max(LARGEST_FALL, 2 * error),
                "told": max(each for each, _ in falls) <= LARGEST_FALL,
                "converged": group["converged"].astype(bool).mean(),
            }
        )  # fmt: skip
    columns = ["model", "dataset", "rank 0", "full", "fall", "error", "holds", "told", "converged"]
    return pd.DataFrame(rows, columns=columns)


def ranks_for(p: int, wanted: Sequence[int] = ()) -> list[int]:
    """Ranks below ``p``, and ``p``.

    Examples
    --------
    >>> ranks_for(42), ranks_for(42, [3, 60])
    ([0, 1, 5, 20, 42], [3, 42])
    """
    return sorted({min(rank, p) for rank in (wanted or (*RANKS, p))})


def state_bytes(p: int, rank: int) -> int:
    """Bytes that training keeps: mean, scale and factors, and two Adam moments of each.

    Examples
    --------
    >>> state_bytes(p=100, rank=5)
    8400
    """
    return 3 * 4 * p * (rank + 2)


RANK = Experiment(
    NAME,
    "scores of soft trees against the rank of their posterior",
    (
        regression.DATASETS,
        Option("leaves", "names", "constant, linear (default: both)"),
        Option("ranks", "numbers", "ranks, such as 0,1,5 (default: 0 up to full)"),
        regression.FOLDS,
        Option("starts", "count", "starts of each fold (default: the profile's)"),
    ),
    jobs,
    (*regression.FOLD_SCORES, "rank", "n_params", "elbo", "converged", "steps", "state_bytes"),
    by=("model", "dataset", "rank"),
    summarised=("auroc", "log_likelihood", "elbo"),
)
