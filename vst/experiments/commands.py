"""``vst run`` and ``vst tune``: compute an experiment's results, and tune its models."""

import argparse
import time
from collections.abc import Callable
from pathlib import Path

from vst.data import CATALOGUE
from vst.data.places import find
from vst.errors import UserError


def add_parser(commands: argparse._SubParsersAction) -> None:
    """Add ``vst run`` and ``vst tune`` to the command line."""
    run = commands.add_parser("run", help="compute an experiment's results")
    run.add_argument("experiment", choices=list(EXPERIMENTS), help="which experiment")
    run.add_argument(
        "--profile", default="quick", help="how much to compute: smoke, quick (default) or paper"
    )
    run.add_argument("--folds", type=int, help="folds per data set (default: the profile's)")
    run.add_argument("--seed", type=int, default=0, help="of the fits (default 0)")
    run.add_argument("--seeds", type=int, help="runs per bandit (default: the profile's)")
    run.add_argument("--untuned", action="store_true", help="use every model's default settings")
    _common(run, "directory of the results (default: the profile's own)")
    run.set_defaults(run=_run)

    tune = commands.add_parser(
        "tune", help="tune models on validation rows, resuming earlier trials"
    )
    tune.add_argument(
        "--trials", type=int, help="trials per model and data set (default: by the model's cost)"
    )
    _common(tune, "directory of the trials (default: the published ones)")
    tune.set_defaults(run=_tune)


def _common(parser: argparse.ArgumentParser, out_help: str) -> None:
    parser.add_argument(
        "--datasets", type=_names, help="comma-separated (default: all that are here)"
    )
    parser.add_argument("--models", type=_names, help="comma-separated (default: all)")
    parser.add_argument("--workers", type=int, help="processes (default: one per core)")
    parser.add_argument("--out", type=Path, help=out_help)


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def _run(options: argparse.Namespace) -> int:
    return EXPERIMENTS[options.experiment](options)


def _run_regression(options: argparse.Namespace) -> int:
    from vst.experiments import regression, runner, tuning
    from vst.experiments.profiles import profile
    from vst.experiments.store import Store

    chosen = profile(options.profile)
    names, datasets = _chosen(options, chosen.datasets)
    tuned = {} if options.untuned else tuning.tuned_settings()
    store = Store(options.out or chosen.results(options.experiment), regression.COLUMNS)
    jobs = regression.stacks(chosen, datasets, names, tuned, folds=options.folds, seed=options.seed)
    left = regression.missing(jobs, store)
    total, todo = (sum(job.size for job in some) for some in (jobs, left))
    print(f"{total} cells, {total - todo} in {store.directory}, {todo} to compute")
    runner.run(left, store, workers=options.workers)
    wanted = {cell.key for job in jobs for cell in job.cells}
    results = store.load(datasets)
    print(regression.summary(results[results["key"].isin(wanted)]).to_string(index=False))
    return 0


def _run_bandits(options: argparse.Namespace) -> int:
    from vst.bandits import AGENTS
    from vst.experiments import bandits, runner
    from vst.experiments.profiles import profile

    problems = options.datasets or bandits.present()
    names = options.models or list(AGENTS)
    directory = options.out or profile(options.profile).results(options.experiment)
    bandits.check(problems, names)
    store = bandits.BanditStore(directory)
    jobs = bandits.runs(
        options.profile, problems, names, seeds=options.seeds, first_seed=options.seed
    )
    left = bandits.missing(jobs, store)
    total, todo = (sum(job.size for job in some) for some in (jobs, left))
    print(f"{total} runs, {total - todo} in {store.directory}, {todo} to compute")
    runner.run(left, store, workers=options.workers)
    wanted = {cell.key for job in jobs for cell in job.cells}
    results = store.load(problems)
    shown = bandits.summary(results[results["key"].isin(wanted)])
    print(shown.round(3).to_string(index=False))
    return 0


#: What ``vst run`` can compute.
EXPERIMENTS: dict[str, Callable[[argparse.Namespace], int]] = {
    "regression": _run_regression,
    "bandits": _run_bandits,
}


def _tune(options: argparse.Namespace) -> int:
    from vst.experiments import runner, tuning
    from vst.experiments.store import Store

    names, datasets = _chosen(options, ())
    directory = options.out or tuning.published_trials()

    def trials(name: str) -> int:
        return tuning.default_trials(name) if options.trials is None else options.trials

    jobs = [
        tuning.Tuning(dataset, name, trials(name), directory)
        for dataset in datasets
        for name in names
    ]
    start = time.perf_counter()
    runner.run(jobs, Store(directory, tuning.COLUMNS), workers=options.workers)
    best = tuning.tuned_table(directory)
    shown = best[best["dataset"].isin(datasets) & best["model"].isin(names)]
    columns = ["dataset", "model", "objective", "trials", "total_seconds", "parameters"]
    print(shown[columns].to_string(index=False))
    print(f"{time.perf_counter() - start:.0f} s")
    return 0


def _chosen(
    options: argparse.Namespace, default_datasets: tuple[str, ...]
) -> tuple[list[str], list[str]]:
    """Models and data sets to work on; wrong names are refused before anything is computed."""
    from vst.experiments import models

    regression_sets = [info.name for info in CATALOGUE.values() if info.task == "regression"]
    names = options.models or list(models.NAMES)
    models.check_names("model", names, models.NAMES)
    datasets = options.datasets or list(default_datasets)
    if not datasets:
        datasets = [name for name in regression_sets if find(CATALOGUE[name]) is not None]
    models.check_names("data set", datasets, tuple(regression_sets))
    absent = [name for name in datasets if find(CATALOGUE[name]) is None]
    if absent:
        raise UserError(
            f"not on this machine: {', '.join(absent)}; `vst data fetch` downloads data sets"
        )
    return names, datasets
