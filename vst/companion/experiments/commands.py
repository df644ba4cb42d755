"""``vst run`` and ``vst tune``: compute an experiment's results, and tune its models."""

import argparse
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

# Imported where they are used: the rest of the command line should not wait for them.
if TYPE_CHECKING:
    import pandas as pd

    from vst.companion.experiments.regression import Stack
    from vst.companion.experiments.store import Store


def add_parser(commands: argparse._SubParsersAction) -> None:
    """Add ``vst run`` and ``vst tune`` to the command line."""
    run = commands.add_parser("run", help="compute an experiment's results")
    experiments = run.add_subparsers(title="experiments", required=True, metavar="EXPERIMENT")
    _add_regression(experiments, "regression", "log-likelihood and error of every model")
    _add_regression(experiments, "ood", "detection of out-of-distribution rows, by the same fits")
    _add_rank(experiments)
    _add_beyond(experiments)
    _add_pictures(experiments)
    _add_bandits(experiments)
    tune = commands.add_parser(
        "tune", help="tune models on validation rows, resuming earlier trials"
    )
    tune.add_argument(
        "--trials",
        type=_positive,
        help="trials per model and data set (default: by the model's cost)",
    )
    _choose_models(tune)
    _common(
        tune, "directory of the trials (default: the published ones; _build for a file of your own)"
    )
    tune.set_defaults(run=_tune)


def _add_regression(
    experiments: argparse._SubParsersAction, experiment: str, description: str
) -> None:
    parser = experiments.add_parser(experiment, help=description, description=description)
    parser.add_argument("--untuned", action="store_true", help="use every model's default settings")
    _choose_models(parser)
    _choose_amount(parser)
    parser.set_defaults(run=_run_regression, experiment=experiment)


def _add_rank(experiments: argparse._SubParsersAction) -> None:
    description = "scores of soft trees against the rank of their posterior"
    parser = experiments.add_parser("rank", help=description, description=description)
    parser.add_argument(
        "--leaves", type=_names, help="constant, linear or both (default), comma-separated"
    )
    parser.add_argument("--ranks", type=_numbers, help="comma-separated (default: 0 up to full)")
    _choose_amount(parser)
    parser.set_defaults(run=_run_rank)


def _add_beyond(experiments: argparse._SubParsersAction) -> None:
    description = "what whitening, a lighter KL term and a mixture of posteriors each change"
    parser = experiments.add_parser("beyond", help=description, description=description)
    _choose_amount(parser)
    parser.set_defaults(run=_run_beyond)


def _add_pictures(experiments: argparse._SubParsersAction) -> None:
    description = "what the paper says of its pictures of uncertainty, decided by rules"
    parser = experiments.add_parser("pictures", help=description, description=description)
    parser.add_argument(
        "--profile", default="quick", help="how much to compute: smoke, quick (default) or paper"
    )
    parser.add_argument(
        "--workers", type=_count, help="processes (default: one per core; 0: none but this one)"
    )
    parser.set_defaults(run=_run_pictures)


def _add_bandits(experiments: argparse._SubParsersAction) -> None:
    description = "regret of every agent on every bandit"
    parser = experiments.add_parser("bandits", help=description, description=description)
    parser.add_argument("--bandits", type=_names, help="comma-separated (default: the profile's)")
    parser.add_argument("--agents", type=_names, help="comma-separated (default: all)")
    parser.add_argument(
        "--seeds", type=_positive, help="runs of each agent (default: the profile's)"
    )
    _choose_profile(parser)
    _choose_scheduler(parser)
    _choose_place(parser, "directory of the results (default: the profile's own)")
    parser.set_defaults(run=_run_bandits)


def _choose_models(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--models", type=_names, help="comma-separated (default: all)")


def _choose_profile(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--profile", default="quick", help="how much to compute: smoke, quick (default) or paper"
    )


def _choose_amount(parser: argparse.ArgumentParser) -> None:
    _choose_profile(parser)
    _choose_scheduler(parser)
    parser.add_argument(
        "--folds", type=_positive, help="the first folds of each data set (default: the profile's)"
    )
    parser.add_argument("--seed", type=int, default=0, help="of the fits (default 0)")
    _common(parser, "directory of the results (default: the profile's own)")


def _common(parser: argparse.ArgumentParser, out_help: str) -> None:
    parser.add_argument(
        "--datasets",
        type=_names,
        help="comma-separated; a file of your own as file.csv:target (default: all that are here)",
    )
    _choose_place(parser, out_help)


def _choose_place(parser: argparse.ArgumentParser, out_help: str) -> None:
    parser.add_argument(
        "--workers", type=_count, help="processes (default: one per core; 0: none but this one)"
    )
    parser.add_argument("--out", type=Path, help=out_help)


def _choose_scheduler(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--scheduler",
        default="",
        metavar="ADDRESS",
        help="compute on the workers of a Dask scheduler, such as tcp://10.0.0.1:8786",
    )


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def _count(text: str, least: int = 0) -> int:
    if not text.isdecimal() or int(text) < least:
        raise argparse.ArgumentTypeError(f"{text} is no whole number of at least {least}")
    return int(text)


def _positive(text: str) -> int:
    return _count(text, 1)


def _numbers(text: str) -> list[int]:
    names = _names(text)
    if not all(name.isdecimal() for name in names):
        raise argparse.ArgumentTypeError(f"{text} is no list of whole numbers, such as 0,1,5")
    return [int(name) for name in names]


def _run_regression(options: argparse.Namespace) -> int:
    from vst.companion.experiments import regression, tuning
    from vst.companion.experiments.profiles import profile
    from vst.companion.experiments.store import Store

    chosen = profile(options.profile)
    names, on = _chosen_models(options), _chosen_datasets(options, chosen.datasets)
    tuned = {} if options.untuned else tuning.tuned_settings()
    # One fit is scored in every way: both experiments are columns of the same results.
    store = Store(options.out or chosen.results(regression.EXPERIMENT, on), regression.COLUMNS)
    jobs = regression.stacks(chosen, on, names, tuned, folds=options.folds, seed=options.seed)
    results = _compute(jobs, store, options)
    scores = {"regression": ["log_likelihood", "rmse"], "ood": ["auroc", "auroc_node"]}
    print(regression.summary(results, scores[options.experiment]).to_string(index=False))
    print("\nWhere the time went, in seconds:")
    print(results.groupby("model")["seconds"].sum().sort_values(ascending=False).to_string())
    return 0


def _run_rank(options: argparse.Namespace) -> int:
    from vst.companion.experiments import rank, regression, tuning
    from vst.companion.experiments.profiles import profile
    from vst.companion.experiments.store import Store

    chosen = profile(options.profile)
    on = _chosen_datasets(options, chosen.datasets)
    store = Store(options.out or chosen.results(rank.EXPERIMENT, on), rank.COLUMNS)
    jobs = rank.stacks(
        chosen,
        on,
        options.leaves or list(rank.LEAVES),
        tuning.tuned_settings(),
        ranks=options.ranks or (),
        folds=options.folds,
        seed=options.seed,
    )
    results = _compute(jobs, store, options)
    scores = ["auroc", "log_likelihood", "elbo"]
    print(
        regression.summary(results, scores, by=["model", "dataset", "rank"]).to_string(index=False)
    )
    return 0


def _run_bandits(options: argparse.Namespace) -> int:
    from vst.companion.experiments import bandits

    loaded = bandits.results(
        options.profile,
        options.bandits or (),
        options.agents or (),
        seeds=options.seeds,
        directory=options.out,
        workers=options.workers,
        scheduler=options.scheduler,
        compute=True,
        announce=print,
    )
    print(bandits.summary(loaded.runs).round(3).to_string(index=False))
    return 0


def _run_beyond(options: argparse.Namespace) -> int:
    from vst.companion.experiments import beyond, regression
    from vst.companion.experiments.profiles import profile
    from vst.companion.experiments.store import Store

    chosen = profile(options.profile)
    on = _chosen_datasets(options, chosen.datasets)
    store = Store(options.out or chosen.results(beyond.EXPERIMENT, on), beyond.COLUMNS)
    jobs = beyond.stacks(chosen, on, folds=options.folds, seed=options.seed)
    results = _compute(jobs, store, options)
    scores = ["log_likelihood", "rmse", "auroc"]
    print(regression.summary(results, scores, by=["dataset", "variant"]).to_string(index=False))
    return 0


def _run_pictures(options: argparse.Namespace) -> int:
    from vst.companion.experiments import picture_runs
    from vst.companion.experiments.profiles import profile

    found = picture_runs.obtain(profile(options.profile), compute=True, workers=options.workers)
    print(found[["picture", "verdict", "says", "measured"]].to_string(index=False))
    return 0


def _compute(
    jobs: "Sequence[Stack]", store: "Store", options: argparse.Namespace
) -> "pd.DataFrame":
    """Compute what the store does not have of some jobs, and return all their rows."""
    from vst.companion.experiments import regression, runner

    left = regression.missing(jobs, store)
    total, todo = (sum(job.size for job in some) for some in (jobs, left))
    print(f"{total} cells, {total - todo} in {store.directory}, {todo} to compute")
    runner.run(left, store, workers=options.workers, scheduler=options.scheduler)
    return regression.results_of(jobs, store)


def _tune(options: argparse.Namespace) -> int:
    from vst.companion.experiments import datasets, runner, tuning
    from vst.companion.experiments.store import Store

    names, on = _chosen_models(options), _chosen_datasets(options)

    def trials(name: str) -> int:
        return tuning.default_trials(name) if options.trials is None else options.trials

    jobs = [
        tuning.Tuning(dataset, name, trials(name), options.out or tuning.trials_of(dataset))
        for dataset in on
        for name in names
    ]
    start = time.perf_counter()
    # The trials write themselves down, and leave no rows to keep.
    runner.run(jobs, Store(jobs[0].directory, tuning.COLUMNS), workers=options.workers)
    best = tuning.tuned_table(options.out)
    shown = best[best["dataset"].isin(map(datasets.file, on)) & best["model"].isin(names)]
    columns = ["dataset", "model", "objective", "trials", "total_seconds", "parameters"]
    print(shown[columns].to_string(index=False))
    print(f"{time.perf_counter() - start:.0f} s")
    return 0


def _chosen_models(options: argparse.Namespace) -> list[str]:
    """Models to work on; wrong names are refused before anything is computed."""
    from vst.companion.experiments import models

    names = options.models or list(models.NAMES)
    models.check_names("model", names, models.NAMES)
    return names


def _chosen_datasets(options: argparse.Namespace, default: tuple[str, ...] = ()) -> list[str]:
    """Data sets to work on; wrong names are refused before anything is computed."""
    from vst.companion.experiments import datasets

    chosen = options.datasets or list(default) or datasets.here()
    datasets.check(chosen)
    return chosen
