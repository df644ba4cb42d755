"""``vst reproduce``: compute everything that the book rests on, in order."""

import argparse
from collections import Counter
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from vst.companion.experiments import EXPERIMENTS, REGRESSION, Experiment, datasets, obtain, runner
from vst.companion.experiments.commands import add_workers
from vst.companion.experiments.experiment import Job, Results, published, require_publishable
from vst.companion.experiments.profiles import PROFILES, Profile, profile
from vst.companion.experiments.store import Store
from vst.companion.experiments.trials import COLUMNS, own_trials, published_trials
from vst.companion.experiments.tuning import Tuning
from vst.companion.models import MODELS
from vst.companion.paper.claims import verdicts
from vst.companion.paper.evidence import gather
from vst.runtime import available_cores

TUNING = "tuning"


class Step(NamedTuple):
    """A part of the whole computation."""

    left: Callable[[argparse.Namespace], tuple[int, float | None]]  #: cells, and seconds if known
    compute: Callable[[argparse.Namespace], None]


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
    steps = all_steps(limits)
    cores = options.workers or available_cores()
    for number, (name, step) in enumerate(steps.items(), 1):
        # Counted now, because steps change what later ones have to do: tuning finds other settings.
        cells, seconds = step.left(options)
        text = f"step {number} of {len(steps)}, {name}: "
        if not cells:
            print(text + "nothing to compute", flush=True)
            continue
        later = [each.left(options)[1] for each in list(steps.values())[number:]]
        print(text + _work(cells, seconds, later, cores), flush=True)
        if not options.plan:
            step.compute(options)
    if not options.plan:
        print(_claims(options.profile))
    return 0


def all_steps(limits: Profile) -> dict[str, Step]:
    """The steps in their order: tuning, if the profile does that, and all experiments."""
    steps = {} if limits.computes else {TUNING: Step(_untuned, _tune)}
    return steps | {
        experiment.name: Step(partial(_left, experiment), partial(_compute, experiment))
        for experiment in EXPERIMENTS.values()
    }


def _untuned(options: argparse.Namespace) -> tuple[int, float | None]:
    return len(_tunings(options)), None


def _tunings(options: argparse.Namespace) -> list[Tuning]:
    """The models and data sets whose trials are not all there."""
    every = (
        Tuning(name, model.id, model.trials, _trials(publish=options.publish))
        for name in datasets.papers()
        if datasets.is_here(name)
        for model in MODELS
    )
    return [each for each in every if len(each.done()) < each.trials]


def _tune(options: argparse.Namespace) -> None:
    store = Store(_trials(publish=options.publish), COLUMNS)
    runner.run(_tunings(options), store, workers=options.workers)


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


def _left(experiment: Experiment, options: argparse.Namespace) -> tuple[int, float | None]:
    """Number of cells to compute, and seconds if published results tell."""
    limits = profile(options.profile)
    if options.publish:  # a result that only this machine has is still to be published
        there = set(Results(experiment, published(experiment.name)).load()["key"])
    else:
        there = set(obtain(experiment, options.profile, compute=False).results["key"])
    jobs = experiment.jobs(limits, compute=False)
    todo = [job for job in (job.without(there) for job in jobs) if job is not None]
    todo = [job for job in todo if datasets.is_here(job.needs)]
    cells = sum(job.size for job in todo)
    return cells, None if limits.computes else expected_seconds(experiment, todo)


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


def _work(cells: int, seconds: float | None, later: Iterable[float | None], cores: int) -> str:
    """What a step has to do, and how long that and the other steps take."""
    known = sum(time for time in later if time is not None)
    after = f", then about {duration(known / cores)} for the other steps" if known else ""
    takes = "" if seconds is None else f", about {duration(seconds / cores)}"
    return f"{cells} to compute{takes}{after}"


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
