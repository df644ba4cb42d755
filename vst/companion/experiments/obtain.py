"""Results for a chapter: the published ones, or computed on the spot for other parameters."""

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from vst.companion.experiments import beyond, datasets, models, rank, regression, runner, tuning
from vst.companion.experiments.profiles import Profile
from vst.companion.experiments.profiles import profile as find_profile
from vst.companion.experiments.store import Store
from vst.companion.paper import DATASETS
from vst.errors import UserError


@dataclass(frozen=True, eq=False)
class Obtained:
    """Rows of the cells that a chapter asked for.

    Attributes
    ----------
    results
        One row per cell.
    datasets, models
        What was asked for, in the order of the tables.
    missing
        How many of the cells are not there.
    """

    results: pd.DataFrame
    datasets: list[str]
    models: list[str]
    missing: int


def regression_results(
    profile: str = "paper",
    on: Sequence[str] = (),
    names: Sequence[str] = (),
    *,
    folds: int = 0,
    seed: int = 0,
    compute: bool | None = None,
) -> Obtained:
    """Scores of every model on every data set.

    Parameters
    ----------
    profile
        How much to compute: ``smoke``, ``quick`` or ``paper``.
    on, names
        Data sets and models; the paper's ten and all of the table where none are named.
    folds
        Folds per data set; 0 for the profile's.
    seed
        Of the fits.
    compute
        Whether to compute the cells that the store lacks. By default all profiles do but ``paper``,
        whose results are published, and would take hours.
    """
    chosen = find_profile(profile)
    compute = chosen.name != "paper" if compute is None else compute
    names, on = list(names or models.NAMES), _datasets(on, chosen, compute)
    models.check_names("model", names, models.NAMES)
    if compute:
        datasets.check(on)
    elif any(datasets.as_file(name)[0] for name in on):
        raise UserError("results of a file of your own are not published: choose profile quick")
    store = Store(chosen.results(regression.EXPERIMENT, on), regression.COLUMNS)
    jobs = regression.stacks(
        chosen, on, names, tuning.tuned_settings(), folds=folds or None, seed=seed
    )
    return _obtained(jobs, store, on, names, compute)


def rank_results(
    profile: str = "paper",
    on: Sequence[str] = (),
    leaves: Sequence[str] = (),
    *,
    ranks: Sequence[int] = (),
    folds: int = 0,
    seed: int = 0,
    compute: bool | None = None,
) -> Obtained:
    """Scores of soft trees against the rank of their posterior; parameters as above.

    Parameters
    ----------
    leaves
        ``constant`` or ``linear``; both where none are named.
    ranks
        Ranks up to full; the profile's where none are named.
    """
    chosen = find_profile(profile)
    compute = chosen.name != "paper" if compute is None else compute
    on = _datasets(on, chosen, compute)
    if compute:
        datasets.check(on)
    store = Store(chosen.results(rank.EXPERIMENT, on), rank.COLUMNS)
    jobs = rank.stacks(
        chosen,
        on,
        leaves or list(rank.LEAVES),
        tuning.tuned_settings(),
        ranks=ranks,
        folds=folds or None,
        seed=seed,
    )
    return _obtained(
        jobs, store, on, [rank.LEAVES[name] for name in leaves or rank.LEAVES], compute
    )


def beyond_results(
    profile: str = "paper",
    on: Sequence[str] = (),
    *,
    folds: int = 0,
    seed: int = 0,
    compute: bool | None = None,
) -> Obtained:
    """Scores of soft trees with each option beyond the paper; parameters as above."""
    chosen = find_profile(profile)
    compute = chosen.name != "paper" if compute is None else compute
    on = _datasets(on, chosen, compute)
    if compute:
        datasets.check(on)
    store = Store(chosen.results(beyond.EXPERIMENT, on), beyond.COLUMNS)
    jobs = beyond.stacks(chosen, on, folds=folds or None, seed=seed)
    return _obtained(jobs, store, on, [beyond.MODEL], compute)


def _obtained(
    jobs: Sequence[regression.Stack], store: Store, on: list[str], names: list[str], compute: bool
) -> Obtained:
    if compute:
        left = regression.missing(jobs, store)
        if left:
            runner.run(left, store)
    results = regression.results_of(jobs, store)
    return Obtained(results, on, names, sum(job.size for job in jobs) - len(results))


def _datasets(on: Sequence[str], chosen: Profile, compute: bool) -> list[str]:
    """The data sets named, or the profile's, or the paper's; to compute, those that are here."""
    if on or chosen.datasets:
        return list(on or chosen.datasets)
    return [name for name in paper_datasets() if not compute or name in datasets.here()]


def paper_datasets() -> list[str]:
    """The paper's data sets. Where there are no results of *song*, its part under its own name."""
    published = find_profile("paper").results(regression.EXPERIMENT)
    whole = (published / "song.csv").exists()
    return ["song_8k" if name == "song" and not whole else name for name in DATASETS]
