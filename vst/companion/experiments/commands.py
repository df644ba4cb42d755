"""``vst run``, ``vst tune`` and ``vst results``: compute, tune, and check which code made results."""

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
from tqdm import tqdm

from vst.companion.experiments import EXPERIMENTS, Experiment, datasets, obtain, runner
from vst.companion.experiments import results as stored
from vst.companion.experiments.experiment import Option, require_publishable, summary
from vst.companion.experiments.profiles import PROFILES
from vst.companion.experiments.regression import chosen_models
from vst.companion.experiments.store import Store
from vst.companion.experiments.trials import COLUMNS, own_trials, published_trials, tuned_table
from vst.companion.experiments.tuning import Tuning
from vst.companion.models import MODEL_BY_ID
from vst.datasets.places import in_checkout
from vst.errors import UserError


def add_parser(commands: argparse._SubParsersAction) -> None:
    """Add the three commands to the command line."""
    run = commands.add_parser("run", help="compute an experiment's results")
    experiments = run.add_subparsers(title="experiments", required=True, metavar="EXPERIMENT")
    for experiment in EXPERIMENTS.values():
        _add_experiment(experiments, experiment)
    _add_tune(commands)
    _add_results(commands)


def _add_experiment(experiments: argparse._SubParsersAction, experiment: Experiment) -> None:
    parser = experiments.add_parser(
        experiment.name, help=experiment.description, description=experiment.description
    )
    for option in experiment.options:
        _add_option(parser, option)
    if any(option.name == "datasets" for option in experiment.options):
        _add_table(parser)
    parser.add_argument(
        "--profile",
        default="quick",
        help=f"how much to compute: {', '.join(PROFILES)} (default quick)",
    )
    parser.add_argument("--stale", action="store_true", help="also recompute results of older code")
    parser.add_argument(
        "--publish", action="store_true", help="write into the published results, data/results"
    )
    parser.add_argument("--out", type=Path, help="directory of the results (default: in _build)")
    add_workers(parser)
    parser.add_argument(
        "--scheduler",
        default="",
        metavar="ADDRESS",
        help="compute on the workers of a Dask scheduler, such as tcp://10.0.0.1:8786",
    )
    parser.set_defaults(run=_run, experiment=experiment)


def _add_option(parser: argparse.ArgumentParser, option: Option) -> None:
    flag = f"--{option.name.replace('_', '-')}"
    if option.kind == "flag":
        parser.add_argument(flag, action="store_true", help=option.help)
        return
    listed = {"names": "; comma-separated", "numbers": "; comma-separated"}.get(option.kind, "")
    parser.add_argument(flag, type=KINDS[option.kind], help=option.help + listed)


def _add_table(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--table", default="", help="your own CSV or Parquet file")
    parser.add_argument("--target", default="", help="the column of that file to predict")


def add_workers(parser: argparse.ArgumentParser) -> None:
    """The option ``--workers``."""
    parser.add_argument(
        "--workers", type=_count, help="processes (default: one per core); 0 runs in this process"
    )


def _add_tune(commands: argparse._SubParsersAction) -> None:
    tune = commands.add_parser(
        "tune", help="tune models on validation rows, resuming earlier trials"
    )
    _add_option(tune, Option("datasets", "names", "data sets (default: all on this machine)"))
    _add_table(tune)
    _add_option(tune, Option("models", "names", "models (default: all)"))
    tune.add_argument(
        "--trials",
        type=_positive,
        help="trials per model and data set (default: depends on the model's cost)",
    )
    tune.add_argument(
        "--publish", action="store_true", help="continue the published trials in data/tuning"
    )
    tune.add_argument("--out", type=Path, help="directory of the trials (default: in _build)")
    add_workers(tune)
    tune.set_defaults(run=_tune)


def _add_results(commands: argparse._SubParsersAction) -> None:
    results = commands.add_parser("results", help="check which code made the published results")
    actions = results.add_subparsers(title="actions", required=True, metavar="ACTION")
    status = actions.add_parser(
        "status",
        help="list results that older code made",
        description="Compute every model's fingerprint and list the published results that carry a "
        "different one. The exit code is 1 if there are any.",
    )
    status.add_argument("--all", action="store_true", help="also list current results")
    status.set_defaults(run=_status)
    verify = actions.add_parser(
        "verify",
        help="recompute a few published results and compare",
        description="Recompute published results and compare the scores: the quickest of one "
        "experiment, or some of all experiments drawn at random. The exit code is 1 if one differs by "
        "more than three standard deviations over folds and seeds.",
    )
    verify.add_argument("--experiment", default="", help="default: all, at random")
    verify.add_argument("--cells", type=_positive, default=5, help="how many results (default 5)")
    verify.add_argument("--seed", type=_count, default=0, help="which are drawn (default 0)")
    verify.add_argument(
        "--seconds",
        type=_positive_real,
        default=40.0,
        help="leave out results that took longer when they were published (default 40)",
    )
    verify.set_defaults(run=_verify)
    prune = actions.add_parser(
        "prune",
        help="remove published results that nothing asks for any more",
        description="Remove the published rows that no cell of the full protocol asks for: those of "
        "earlier settings, and earlier rows of the same cell. Git keeps them.",
    )
    prune.set_defaults(run=_prune)


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def _count(text: str, least: int = 0) -> int:
    if not text.isdecimal() or int(text) < least:
        raise argparse.ArgumentTypeError(f"{text} must be an integer >= {least}")
    return int(text)


def _positive(text: str) -> int:
    return _count(text, 1)


def _numbers(text: str) -> list[int]:
    names = _names(text)
    if not all(name.isdecimal() for name in names):
        raise argparse.ArgumentTypeError(f"{text} must be a list of integers, such as 0,1,5")
    return [int(name) for name in names]


def _positive_real(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if not value > 0:
        raise argparse.ArgumentTypeError(f"{text} must be a positive number")
    return value


#: Parsers of the kinds of options.
KINDS: dict[str, Callable[[str], Any]] = {
    "names": _names,
    "numbers": _numbers,
    "count": _positive,
    "number": _count,
    "real": _positive_real,
}


def _chosen(options: argparse.Namespace, experiment: Experiment) -> dict[str, Any]:
    """The experiment's options that the user gave."""
    given = {option.name: getattr(options, option.name) for option in experiment.options}
    chosen = {name: value for name, value in given.items() if value}
    own = _own_table(options) if hasattr(options, "table") else []
    return chosen | ({"datasets": [*chosen.get("datasets", []), *own]} if own else {})


def _own_table(options: argparse.Namespace) -> list[str]:
    if bool(options.table) != bool(options.target):
        raise UserError("--table and --target belong together: give the file and its column")
    return [f"{options.table}:{options.target}"] if options.table else []


def _run(options: argparse.Namespace) -> int:
    experiment, chosen = options.experiment, _chosen(options, options.experiment)
    if options.stale and options.profile == "paper" and not (options.publish or options.out):
        raise UserError(
            "--stale with --profile paper needs --publish, since published rows take precedence"
        )
    obtained = obtain(
        experiment,
        options.profile,
        compute=True,
        again=stored.stale_keys(experiment.name, options.profile, options.out)
        if options.stale
        else (),
        publish=options.publish,
        out=options.out,
        workers=options.workers,
        scheduler=options.scheduler,
        announce=print,
        **chosen,
    )
    results = obtained.results
    print(summary(experiment, results).round(4).to_string(index=False))
    print("\nWhere the time went, in seconds:")
    print(results.groupby("model")["seconds"].sum().sort_values(ascending=False).to_string())
    for name in obtained.absent:
        print(f"{name} is not on this machine: its results are left out")
    return 0


def _tune(options: argparse.Namespace) -> int:
    names = chosen_models(options.models or [])
    on = [*(options.datasets or []), *_own_table(options)]
    on = on or [name for name in datasets.REGRESSION if datasets.is_here(name)]
    datasets.check(on)
    if options.publish:
        require_publishable("paper", on)
    place = options.out or (published_trials() if options.publish else own_trials())
    Store(place, COLUMNS).require_writable()

    def trials(name: str) -> int:
        return MODEL_BY_ID[name].trials if options.trials is None else options.trials

    jobs = [Tuning(dataset, name, trials(name), place) for dataset in on for name in names]
    start = time.perf_counter()
    # The jobs write their own trials and return no rows.
    runner.run(jobs, Store(place, COLUMNS), workers=options.workers)
    best = tuned_table([place])
    shown = best[best["dataset"].isin(map(datasets.file, on)) & best["model"].isin(names)]
    columns = ["dataset", "model", "objective", "trials", "total_seconds", "parameters"]
    print(shown[columns].to_string(index=False))
    print(f"{time.perf_counter() - start:.0f} s; the trials are in {place}")
    return 0


def _status(options: argparse.Namespace) -> int:
    found = stored.status()
    stale = found[found["state"] == "stale"]
    shown = found if options.all else stale
    if len(shown):
        print(shown.to_string(index=False))
    counts = found.groupby("state")["rows"].sum()
    print("rows: " + ", ".join(f"{counts.get(state, 0)} {state}" for state in stored.STATES))
    return 1 if len(stale) else 0


def _verify(options: argparse.Namespace) -> int:
    if not options.experiment:
        drawn = stored.sample(options.cells, options.seed, options.seconds)
        bar = tqdm(drawn, unit="result")
        found = pd.DataFrame([each.again() for each in bar])
    elif options.experiment in EXPERIMENTS:
        found = stored.verify(EXPERIMENTS[options.experiment], options.cells)
    else:
        raise UserError(
            f"there is no experiment {options.experiment}: choose from {', '.join(EXPERIMENTS)}"
        )
    if found.empty:
        what = options.experiment or "this checkout"
        raise UserError(f"{what} has no published results: run it with --publish")
    print(found.to_string(index=False))
    return 0 if found["same"].all() else 1


def _prune(options: argparse.Namespace) -> int:
    if not in_checkout():
        raise UserError("prune needs a checkout of the repository: this package is installed")
    for experiment in EXPERIMENTS.values():
        print(f"{experiment.name}: {stored.prune(experiment)} removed")
    return 0
