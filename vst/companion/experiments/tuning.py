"""Tuning: Bayesian optimisation of every model's settings on validation rows of the training part.

Optuna's TPE proposes settings within a model's ranges; the objective is the mean log-likelihood of
held-out folds of the training rows (negative RMSE for a model without a density). Test rows are never
used. Every trial is written to a file when it ends. The tuner continues from these files after an
interruption, and the tuned settings are their best rows.
"""

import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import vst
from vst.companion.experiments import datasets
from vst.companion.experiments.cells import Cell, as_parameters, as_text
from vst.companion.experiments.fitting import (
    SPLIT,
    fit_folds,
    fit_stack,
    fitted,
    log_likelihood_by_trees,
    prepared_for,
    table_size,
)
from vst.companion.experiments.profiles import PROFILES, Profile
from vst.companion.experiments.store import Store
from vst.companion.experiments.trials import COLUMNS
from vst.companion.models import MODEL_BY_ID, SMALL, Model, parameters
from vst.companion.peers import Choices, Interval, NoDensityError, Range, Ranges
from vst.companion.peers.libraries import library
from vst.companion.protocol import Prepared
from vst.soft_trees import SoftTrees

#: Number of soft-tree settings evaluated together, in one compiled program.
ROUND = 8

#: Settings that are not proposed, since one fit can be scored with all their values: the number of
#: boosted trees, and what a fitted peer can change without a new fit.
SCORED_WITHOUT_REFIT = ("n_trees", "smallest_scale")

#: Settings that all trials of a round share, since they determine the program, and their values in the
#: first rounds, if the model's ranges contain them; its default comes first.
SHARED: dict[str, tuple[int, ...]] = {"depth": (4, 5, 3), "n_trees": (10, 20, 5)}

#: The objective of a fit that diverged: worse than any other, but still a trial.
WORST = -1e6


@dataclass(frozen=True)
class Tuning:
    """The tuning of one model on one data set, as a job for the runner.

    It writes its own file, trial by trial, and returns no rows to the runner.
    """

    dataset: str
    model: str
    trials: int
    directory: Path
    seed: int = 0
    split: int = SPLIT
    profile: Profile = PROFILES["paper"]

    @property
    def file(self) -> str:
        """The file that the trials go to."""
        return f"{datasets.file(self.dataset)}-{self.model}"

    @property
    def label(self) -> str:
        """Data set and model."""
        return f"{self.dataset} {self.model}"

    @property
    def size(self) -> int:
        """One unit of the progress bar."""
        return 1

    def compute(self) -> list[dict[str, Any]]:
        """Run the remaining trials."""
        store = Store(self.directory, COLUMNS)
        while (left := self.trials - len(done := self.done())) > 0:
            count = min(left, ROUND if MODEL_BY_ID[self.model].is_soft else 1)
            proposals = propose(self.model, done, count, seed=self.seed)
            if not proposals:  # it has no more settings
                break
            self._try(store, proposals, len(done))
        return []

    def done(self) -> pd.DataFrame:
        """The stored trials."""
        return Store(self.directory, COLUMNS).load([self.file])

    def _try(self, store: Store, proposals: list[dict[str, Any]], number: int) -> None:
        """Evaluate settings and store them as the trials from ``number`` on."""
        start = time.process_time()
        outcomes = evaluate(self.model, self.dataset, proposals, self.split, self.profile)
        seconds = round((time.process_time() - start) / len(outcomes), 3)
        store.append(
            self.file,
            [
                self._row(number + i, chosen, objective, seconds)
                for i, (chosen, objective) in enumerate(outcomes)
            ],
        )

    def _row(
        self, trial: int, chosen: dict[str, Any], objective: float, seconds: float
    ) -> dict[str, Any]:
        text = as_text(chosen)
        return {
            "key": Cell("tuning", self.dataset, self.model, trial, self.seed, text).key,
            "dataset": datasets.file(self.dataset),
            "model": self.model,
            "trial": trial,
            "objective": round(objective, 5),
            "seconds": seconds,
            "parameters": text,
            "validation_folds": len(validation_folds(datasets.size(self.dataset).n)),
            "version": vst.__version__,
        }


def validation_folds(n: int) -> range:
    """Folds of the training part that are held out in turn: more if a fold has few rows."""
    return range(3 if n < SMALL else 1)


def propose(model: str, done: pd.DataFrame, count: int, *, seed: int = 0) -> list[dict[str, Any]]:
    """Propose the next settings, given the results so far.

    The very first are the defaults. A soft tree's proposals share what determines the program. If a
    model has no more settings than trials, each is tried once.
    """
    with warnings.catch_warnings():
        return _propose(model, done, count, seed)


def _propose(model: str, done: pd.DataFrame, count: int, seed: int) -> list[dict[str, Any]]:
    optuna = library("optuna")
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    entry = MODEL_BY_ID[model]
    ranges = {
        name: choice
        for name, choice in entry.all_ranges().items()
        if name not in scored_without_refit(entry)
    }
    if (every := _all_settings(ranges)) and len(every) <= entry.trials:
        return every[len(done) :][:count]
    space = {name: _distribution(optuna, choice) for name, choice in ranges.items()}
    warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
    sampler = optuna.samplers.TPESampler(
        seed=seed + len(done), multivariate=True, constant_liar=True, n_startup_trials=ROUND
    )
    study = optuna.create_study(direction="maximize", sampler=sampler)
    for text, objective in zip(done["parameters"], done["objective"], strict=True):
        chosen = as_parameters(text)
        study.add_trial(
            optuna.trial.create_trial(
                params={name: chosen[name] for name in space},
                distributions=space,
                value=objective,
            )
        )
    common: dict[str, int] = {}
    if entry.is_soft:
        common = _common_to_round(entry, study, ranges, space, len(done) // ROUND)
        study.sampler = optuna.samplers.PartialFixedSampler(common, sampler)
    asked = []
    if not len(done):
        before = parameters(entry.settings) | common
        asked.append({name: before[name] for name in space})
    asked += [study.ask(space).params for _ in range(count - len(asked))]
    return [{name: _rounded(value) for name, value in params.items()} for params in asked]


def _all_settings(ranges: Ranges) -> list[dict[str, Any]]:
    """Every combination of choices; none if a range has more values than can be listed."""
    choices = [range_.values for range_ in ranges.values() if isinstance(range_, Choices)]  # noqa: PD011
    if len(choices) < len(ranges):
        return []
    return [dict(zip(ranges, values, strict=True)) for values in product(*choices)]


def scored_without_refit(entry: Model) -> tuple[str, ...]:
    """The settings of a model that need no fit of their own."""
    setting = entry.settings
    joint = isinstance(setting, SoftTrees) and setting.has_one_vector
    # The trees of a joint ensemble have no fit without the others.
    return tuple(name for name in SCORED_WITHOUT_REFIT if not (joint and name == "n_trees"))


def _common_to_round(
    entry: Model, study: Any, ranges: Ranges, space: dict[str, Any], number: int
) -> dict[str, int]:
    first = parameters(entry.settings)
    shared = {
        name: [first[name], *(value for value in values if value != first[name])]
        for name, values in SHARED.items()
        if name in ranges
    }
    shared = {
        name: [value for value in values if value in ranges[name]]
        for name, values in shared.items()
    }
    if all(number < len(values) for values in shared.values()):
        return {name: values[number] for name, values in shared.items()}
    free = study.ask(space).params
    return {name: free[name] for name in shared}


def evaluate(
    model: str,
    dataset: str,
    proposals: Sequence[dict[str, Any]],
    split: int = SPLIT,
    profile: Profile = PROFILES["paper"],
) -> list[tuple[dict[str, Any], float]]:
    """Fit the proposals on validation folds; return each with its objective.

    The returned settings also hold the best values of the settings scored without a new fit.
    """
    size, entry = table_size(dataset, split), MODEL_BY_ID[model]
    settings = [
        entry.in_trials(profile.limited(entry.setting_for(size, proposal)))
        for proposal in proposals
    ]
    data = prepared_for(settings[0], dataset, split)
    folds = validation_folds(size.n)
    if entry.is_soft:
        outcomes = _evaluate_together(settings, data, folds)
    else:
        after = {
            name: choice.values  # noqa: PD011
            for name, choice in entry.all_ranges().items()
            if name in scored_without_refit(entry) and isinstance(choice, Choices)
        }
        outcomes = [_evaluate_peer(setting, data, folds, after) for setting in settings]
    return [
        (dict(proposal) | chosen, objective if np.isfinite(objective) else WORST)
        for proposal, (chosen, objective) in zip(proposals, outcomes, strict=True)
    ]


def _evaluate_together(
    settings: Sequence[SoftTrees], data: Prepared, folds: Sequence[int]
) -> list[tuple[dict[str, Any], float]]:
    """Objectives of soft trees, all settings and folds in one program, and the best numbers of trees."""
    repeated = [setting for setting in settings for _ in folds]
    held_out = list(folds) * len(settings)
    stack = fit_stack(repeated, data, held_out, [0] * len(repeated))
    outcomes: list[tuple[dict[str, Any], float]] = []
    for i, setting in enumerate(settings):
        replicas = range(i * len(folds), (i + 1) * len(folds))
        if not setting.n_trees or setting.has_one_vector:
            scores = [_validate(fitted(stack, j), data, held_out[j]) for j in replicas]
            outcomes.append(({}, float(np.mean(scores))))
            continue
        rows = [data.folds.held_out.rows(held_out[j]) for j in replicas]
        by_trees = np.mean(
            [
                log_likelihood_by_trees(stack, j, data.x_train[used], data.y_train[used])
                for j, used in zip(replicas, rows, strict=True)
            ],
            axis=0,
        )
        best = int(np.argmax(np.nan_to_num(by_trees, nan=-np.inf)))
        outcomes.append(({"n_trees": best + 1}, float(by_trees[best])))
    return outcomes


def _evaluate_peer(
    setting: Any, data: Prepared, folds: Sequence[int], after: dict[str, tuple[Any, ...]]
) -> tuple[dict[str, Any], float]:
    """The objective of a peer, with the best values of settings that can change after fitting."""
    choices = [dict(zip(after, values, strict=True)) for values in product(*after.values())]
    scores = np.empty((len(folds), len(choices)))
    for i, model in enumerate(fit_folds(setting, data, folds, [0] * len(folds))):
        for j, chosen in enumerate(choices):
            changed = replace(model, **chosen) if chosen else model  # type: ignore[type-var]
            scores[i, j] = _validate(changed, data, folds[i])
    objectives = np.nan_to_num(scores.mean(axis=0), nan=WORST, posinf=WORST, neginf=WORST)
    best = int(np.argmax(objectives))
    return choices[best], float(objectives[best])


def _validate(model: Any, data: Prepared, fold: int) -> float:
    rows = data.folds.held_out.rows(fold)
    x, y = data.x_train[rows], data.y_train[rows]
    try:
        return float(np.mean(model.log_prob(x, y)))
    except NoDensityError:
        return -float(np.sqrt(np.mean((model.mean_draws(x).mean(axis=0) - y) ** 2)))


def _rounded(value: Any) -> Any:
    """Round settings to four digits, which are enough and readable."""
    return float(f"{value:.4g}") if isinstance(value, float) else value


def _distribution(optuna: Any, choice: Range) -> Any:
    if isinstance(choice, Choices):
        return optuna.distributions.CategoricalDistribution(choice.values)
    if isinstance(choice, Interval):
        return optuna.distributions.FloatDistribution(choice.low, choice.high, log=choice.log)
    return optuna.distributions.IntDistribution(choice.low, choice.high, log=choice.log)
