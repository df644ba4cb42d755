"""``vst reproduce``: compute everything that the book rests on, in order."""

import argparse
from collections import Counter
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd

from vst.companion.experiments import EXPERIMENTS, REGRESSION, Experiment, datasets, obtain, runner
from vst.companion.experiments.commands import add_workers
from vst.companion.experiments.experiment import Job, Results, published, require_publishable
from vst.companion.experiments.profiles import PROFILES, profile
from vst.companion.experiments.store import Store
from vst.companion.experiments.trials import COLUMNS, own_trials, published_trials
from vst.companion.experiments.tuning import Tuning
from vst.companion.models import MODELS
from vst.companion.paper.claims import verdicts
from vst.companion.paper.evidence import gather
from vst.runtime import available_cores

TUNING = "tuning"

#: Columns of results that say how long a cell took.
COSTS = ("seconds", "tuning_seconds")


def add_parser(commands: argparse._SubParsersAction) -> None:
    """Add ``vst reproduce`` to the command line."""
    parser = commands.add_parser(
        "reproduce",
        help="compute everything that the book rests on",
        description="Tune the models, run every experiment and decide the claims. Results that are "
        "stored are not computed again, so after an interruption the same command goes on.",
    )
    parser.add_argument(
        "--profile",
        default="quick",
        help=f"how much to compute: {', '.join(PROFILES)} (default quick). Only paper tunes.",
    )
    parser.add_argument(
        "--publish", action="store_true", help="write into the published results, data/results"
    )
    parser.add_argument("--plan", action="store_true", help="only say what there is to compute")
    add_workers(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Run all steps, and print what is left before each."""
    limits = profile(options.profile)
    if options.publish:
        require_publishable(options.profile, [])
    steps: dict[str, Callable[[], None]] = {}
    left: dict[str, tuple[int, float | None]] = {}
    if not limits.computes:
        trials = [
            Tuning(name, model.id, model.trials, _trials(publish=options.publish))
            for name in datasets.papers()
            if datasets.is_here(name)
            for model in MODELS
        ]
        unfinished = [each for each in trials if len(each.done()) < each.trials]
        left[TUNING] = (len(unfinished), None)
        store = Store(_trials(publish=options.publish), COLUMNS)
        steps[TUNING] = partial(runner.run, unfinished, store, workers=options.workers)
    for experiment in EXPERIMENTS.values():
        left[experiment.name] = _left(experiment, options.profile)
        steps[experiment.name] = partial(_compute, experiment, options)
    cores = options.workers or available_cores()
    for number, (name, step) in enumerate(steps.items(), 1):
        later = list(left)[number:]
        print(_announcement(number, name, left, later, cores), flush=True)
        if left[name][0] and not options.plan:
            step()
    if not options.plan:
        print(_claims(options.profile))
    return 0


def _compute(experiment: Experiment, options: argparse.Namespace) -> None:
    obtain(
        experiment,
        options.profile,
        compute=True,
        publish=options.publish,
        workers=options.workers,
    )


def _trials(*, publish: bool) -> Path:
    return published_trials() if publish else own_trials()


def _left(experiment: Experiment, name: str) -> tuple[int, float | None]:
    """Number of cells to compute, and seconds if published results tell."""
    stored = obtain(experiment, name, compute=False)
    there = set(stored.results["key"])
    jobs = experiment.jobs(profile(name), compute=False)
    todo = [job for job in (job.without(there) for job in jobs) if job is not None]
    todo = [job for job in todo if datasets.is_here(job.needs)]
    cells = sum(job.size for job in todo)
    return cells, None if profile(name).computes else expected_seconds(experiment, todo)


def expected_seconds(experiment: Experiment, jobs: Iterable[Job]) -> float | None:
    """What published results of the same models on the same data sets took; None if there are none.

    Where this experiment has none yet, those of the regression tables tell how much longer a model takes
    on one data set than on others.
    """
    rows = Results(experiment, published(experiment.name)).load()
    if rows.empty:
        return None
    here, there = _times(rows), _times(Results(REGRESSION, published(REGRESSION.name)).load())
    ratio = float((here / there).median()) if len(here.index.intersection(there.index)) else np.nan
    by_place = here.combine_first(there * ratio).dropna().to_dict()
    by_model = here.groupby("model").mean().to_dict()
    usual = float(here.mean())
    return sum(
        float(by_place.get((cell.model, cell.dataset), by_model.get(cell.model, usual)))
        for job in jobs
        for cell in job.cells
    )


def _times(rows: pd.DataFrame) -> "pd.Series[float]":
    """Mean seconds of a cell by model and data set, with those of tuning it where they are known."""
    seconds = rows[[name for name in COSTS if name in rows]].apply(pd.to_numeric).sum(axis=1)
    return seconds.groupby([rows["model"], rows["dataset"]]).mean()


def _announcement(
    number: int,
    name: str,
    left: dict[str, tuple[int, float | None]],
    later: list[str],
    cores: int,
) -> str:
    cells, seconds = left[name]
    here = f"step {number} of {len(left)}, {name}: "
    if not cells:
        return here + "nothing to compute"
    times = [left[other][1] for other in later]
    known = sum(time for time in times if time is not None)
    after = f", then about {duration(known / cores)} for the other steps" if known else ""
    takes = "" if seconds is None else f", about {duration(seconds / cores)}"
    return f"{here}{cells} to compute{takes}{after}"


def duration(seconds: float) -> str:
    """A time in words.

    Examples
    --------
    >>> duration(40), duration(400), duration(7500)
    ('1 min', '7 min', '2 h 5 min')
    """
    minutes = max(1, round(seconds / 60))
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min"


def _claims(name: str) -> str:
    counts = Counter(verdict.word for verdict in verdicts(gather(name)))
    return "claims: " + ", ".join(f"{count} {word}" for word, count in counts.items())
