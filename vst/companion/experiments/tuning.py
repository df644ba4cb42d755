"""Tuning: Bayesian optimisation of every model's settings on validation rows of the training part.

Optuna's TPE proposes settings inside a model's ranges; the objective is the mean log-likelihood of
held-out folds of the training rows (negative RMSE for a model without a density). Test rows are never
looked at. Every trial is written to a file as it ends: those files are the tuner's memory, from which
it goes on after an interruption, and the tuned settings are their best rows.
"""

import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

import vst
from vst.companion.experiments import datasets, models
from vst.companion.experiments.cells import Cell, as_parameters, as_text
from vst.companion.experiments.regression import prepared, setting_for
from vst.companion.experiments.soft_trees import SoftTrees, fit_stack
from vst.companion.experiments.store import Store
from vst.companion.peers import Choices, Interval, NoDensityError, Peer, Range, Ranges
from vst.companion.peers.libraries import library
from vst.companion.protocol import Prepared
from vst.datasets.places import bundled_directory

COLUMNS = (
    "key", "dataset", "model", "trial", "objective", "seconds", "parameters", "validation_folds",
    "version",
)  # fmt: skip

#: Settings of soft trees evaluated together, in one compiled program.
ROUND = 8

#: Trials per data set, where they are not 16: more for more settings, fewer where one takes long. BART
#: keeps the defaults of its literature.
TRIALS = {
    "vst-quick": 48,
    "vst-plus": 32,
    "vsgbm-const": 8,
    "vsgbm-linear": 8,
    "vsgbm-plus": 8,
    "deep-ensemble": 8,
    "bartz": 0,
    "xgboost-1": 12,
    "sglb-1": 12,
}

#: A trial of a soft tree takes half of the steps, enough to tell good settings from bad ones.
SHORTER = 2

#: Most members of a mixture or an ensemble in a trial. More than one, since it averages over what its
#: members overfit and so wants, for example, a lower KL weight than each of them alone.
MEMBERS = 3

#: The model that is as quick as a trial: its trials have all of its steps and members.
QUICK = "vst-quick"

#: Data sets of fewer rows are small: their models vary more from fold to fold, and take less time.
SMALL = 2_000

#: On fewer rows than this the tree libraries are done in two seconds.
TINY = 500


class Longer(NamedTuple):
    """Training with more work, and what it has to gain on the validation rows in nats per row."""

    steps: int  #: times those of before
    members: int  #: times those of before
    gain: float


#: What the best settings of a soft tree are tried with after the last trial, by kind of model.
LONGER = {
    "paper": (Longer(4, 1, 0.05),),
    "quick": (Longer(2, 1, 0.03), Longer(1, 2, 0.03), Longer(2, 2, 0.06)),
    "mixture": (Longer(4, 1, 0.0),),
}

#: Settings that are not proposed, since one fit is scored with all their values: the numbers of trees
#: of a VSGBM up to the largest, and what a fitted peer can change without being fitted again.
ON_THE_WAY = ("n_trees", "smallest_scale")

#: What a round has in common (depth shapes the program, whitening the data), and its values in the
#: first rounds, before there is anything to learn from: those of them that the model's ranges hold.
SHARED: dict[str, tuple[int, ...]] = {"depth": (4, 5, 3), "whiten": (1, 0)}


@dataclass(frozen=True)
class Tuning:
    """The tuning of one model on one data set, as a job for the runner.

    It writes its own file, trial by trial, and leaves no rows to the runner.
    """

    dataset: str
    model: str
    trials: int
    directory: Path
    seed: int = 0

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
        """Run the trials that are still to be done."""
        store = Store(self.directory, COLUMNS)
        while (left := self.trials - (~are_longer(done := store.load([self.file]))).sum()) > 0:
            count = min(left, ROUND if is_soft(self.model) else 1)
            shorter = done[~are_longer(done)]
            self._try(store, propose(self.model, shorter, count, seed=self.seed), len(done))
        if trains_longer(self.model, self.dataset) and len(done):
            best = best_of(done[~are_longer(done)])
            tried = [_without_trees(as_parameters(text)) for text in done["parameters"]]
            for wanted in longer(self.model, self.dataset, best):
                if wanted not in tried:
                    self._try(store, [wanted], len(store.load([self.file])))
        return []

    def _try(self, store: Store, proposals: list[dict[str, Any]], number: int) -> None:
        """Evaluate settings and write them down, as the trials from ``number`` on."""
        start = time.process_time()
        outcomes = evaluate(self.model, self.dataset, proposals)
        seconds = round((time.process_time() - start) / len(outcomes), 3)
        store.append(
            self.file,
            [
                self._row(number + i, parameters, objective, seconds)
                for i, (parameters, objective) in enumerate(outcomes)
            ],
        )

    def _row(
        self, trial: int, parameters: dict[str, Any], objective: float, seconds: float
    ) -> dict[str, Any]:
        text = as_text(parameters)
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


def is_soft(model: str) -> bool:
    """Whether a model is a VST or VSGBM, whose trials share programs."""
    return isinstance(models.defaults(model), SoftTrees)


def is_mixture(model: str) -> bool:
    """Whether a model is a mixture of several posteriors."""
    setting = models.defaults(model)
    return isinstance(setting, SoftTrees) and setting.members > 1


def trains_longer(model: str, dataset: str) -> bool:
    """Whether a model's best settings are tried with more work.

    The paper's models are so on large data: on small data they would no longer be as quick as their
    peers, nor the quick one on tiny data. A mixture is so on small data, and a boosted one not at all:
    it would take too long.
    """
    setting = models.defaults(model)
    if not isinstance(setting, SoftTrees):
        return False
    n = datasets.size(dataset).n
    if model == QUICK:
        return n >= TINY
    small = n < SMALL
    return small and not setting.n_trees if is_mixture(model) else not small


def longer_training(model: str) -> tuple[Longer, ...]:
    """The trainings with more work that are tried of a model."""
    return LONGER["quick" if model == QUICK else "mixture" if is_mixture(model) else "paper"]


def longer(model: str, dataset: str, parameters: dict[str, Any]) -> list[dict[str, Any]]:
    """The same settings with more work, and any number of trees."""
    setting = setting_for(model, datasets.size(dataset), parameters)
    assert isinstance(setting, SoftTrees)
    return [
        _without_trees(parameters)
        | ({"steps": more.steps * setting.steps} if more.steps > 1 else {})
        | ({"members": more.members * setting.members} if more.members > 1 else {})
        for more in longer_training(model)
    ]


def _without_trees(parameters: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in parameters.items() if name != "n_trees"}


def are_longer(trials: pd.DataFrame) -> pd.Series:
    """Which trials are those with more work."""
    more = [not {"steps", "members"}.isdisjoint(as_parameters(t)) for t in trials["parameters"]]
    return trials["model"].map(is_soft).astype(bool) & np.array(more, bool)


def default_trials(model: str) -> int:
    """How many settings of a model to try."""
    return TRIALS.get(model, 16)


def validation_folds(n: int) -> range:
    """Folds of the training part that are held out in turn: more where one has few rows."""
    return range(3 if n < SMALL else 1)


def propose(model: str, done: pd.DataFrame, count: int, *, seed: int = 0) -> list[dict[str, Any]]:
    """Ask for the next settings, given the outcomes so far.

    Those of a soft tree agree in what shapes the program; its very first are the defaults.
    """
    with warnings.catch_warnings():
        return _propose(model, done, count, seed)


def _propose(model: str, done: pd.DataFrame, count: int, seed: int) -> list[dict[str, Any]]:
    optuna = library("optuna")
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    ranges = {
        name: choice for name, choice in models.ranges(model).items() if name not in ON_THE_WAY
    }
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
    asked = []
    if is_soft(model):
        common = _common_to_round(study, ranges, space, len(done) // ROUND)
        study.sampler = optuna.samplers.PartialFixedSampler(common, sampler)
        if not len(done):
            before = models.parameters(models.defaults(model)) | common
            asked.append({name: before[name] for name in space})
    asked += [study.ask(space).params for _ in range(count - len(asked))]
    return [{name: _rounded(value) for name, value in params.items()} for params in asked]


def _common_to_round(
    study: Any, ranges: Ranges, space: dict[str, Any], number: int
) -> dict[str, int]:
    shared = {
        name: [value for value in values if value in ranges[name]]
        for name, values in SHARED.items()
        if name in ranges
    }
    if all(number < len(values) for values in shared.values()):
        return {name: values[number] for name, values in shared.items()}
    free = study.ask(space).params
    return {name: free[name] for name in shared}


def evaluate(
    model: str, dataset: str, proposals: Sequence[dict[str, Any]]
) -> list[tuple[dict[str, Any], float]]:
    """Fit the proposals on validation folds; return each with its objective.

    The returned settings also hold the best values of those that are scored on the way.
    """
    size = datasets.size(dataset)
    settings = [setting_for(model, size, proposal) for proposal in proposals]
    data = prepared(dataset, bool(proposals[0].get("whiten", False)))
    folds = validation_folds(size.n)
    trees = [setting for setting in settings if isinstance(setting, SoftTrees)]
    if trees:
        if model != QUICK:
            trees = [
                replace(tree, members=min(tree.members, MEMBERS), steps=tree.steps // SHORTER)
                for tree in trees
            ]
        return _evaluate_together(proposals, trees, data, folds)
    peers = [setting for setting in settings if not isinstance(setting, SoftTrees)]
    after = {
        name: choice.values  # noqa: PD011
        for name, choice in models.ranges(model).items()
        if name in ON_THE_WAY and isinstance(choice, Choices)
    }
    return [
        (dict(proposal) | chosen, objective)
        for proposal, peer in zip(proposals, peers, strict=True)
        for chosen, objective in [_evaluate_peer(peer, data, folds, after)]
    ]


def tuned_settings(directory: Path | None = None) -> dict[tuple[str, str], dict[str, Any]]:
    """The best settings found so far, by data set (the name of its file of results) and model."""
    best = tuned_table(directory)
    places = zip(best["dataset"], best["model"], strict=True)
    return dict(zip(places, map(as_parameters, best["parameters"]), strict=True))


def tuned_table(directory: Path | None = None) -> pd.DataFrame:
    """One row per data set and model: the best settings, and the trials and seconds spent."""
    places = [directory] if directory else [published_trials(), own_trials()]
    found = [Store(place, COLUMNS).load() for place in places]
    trials = pd.concat([rows for rows in found if len(rows)] or found[:1], ignore_index=True)
    if not len(trials):
        return trials.assign(trials=[], total_seconds=[])
    groups = trials.groupby(["dataset", "model"])
    best = trials.loc[_worth(trials).groupby([trials["dataset"], trials["model"]]).idxmax()]
    best = best.set_index(["dataset", "model"])
    spent = groups.agg(trials=("trial", "size"), total_seconds=("seconds", "sum"))
    return best.join(spent).reset_index()


def best_of(trials: pd.DataFrame) -> dict[str, Any]:
    """The best settings among some trials."""
    return as_parameters(trials["parameters"].iloc[int(_worth(trials).argmax())])


def _worth(trials: pd.DataFrame) -> pd.Series:
    """The objective of each trial, less what longer training has to gain."""
    gains = [
        _gain(model, as_parameters(text)) if long else 0.0
        for model, text, long in zip(
            trials["model"], trials["parameters"], are_longer(trials), strict=True
        )
    ]
    return trials["objective"] - gains


def _gain(model: str, parameters: dict[str, Any]) -> float:
    """What a trial with more steps, more members or both has to gain."""
    more = "steps" in parameters, "members" in parameters
    return next(
        kind.gain for kind in longer_training(model) if (kind.steps > 1, kind.members > 1) == more
    )


def published_trials() -> Path:
    """Where the trials that the published results rest on are kept."""
    return bundled_directory() / "tuning" / "regression"


def own_trials() -> Path:
    """Where the trials on a user's files are kept."""
    return Path("_build") / "tuning" / "regression"


def trials_of(dataset: str) -> Path:
    """Where the trials on a data set are kept."""
    return own_trials() if datasets.as_file(dataset)[0] else published_trials()


def _evaluate_together(
    proposals: Sequence[dict[str, Any]],
    settings: Sequence[SoftTrees],
    data: Prepared,
    folds: Sequence[int],
) -> list[tuple[dict[str, Any], float]]:
    repeated = [setting for setting in settings for _ in folds]
    stack = fit_stack(repeated, data, list(folds) * len(settings), [0] * len(repeated))
    outcomes = []
    for i, proposal in enumerate(proposals):
        replicas = range(i * len(folds), (i + 1) * len(folds))
        if not settings[i].n_trees:
            scores = [_validate(stack.model(j), data, stack.folds[j]) for j in replicas]
            outcomes.append((dict(proposal), float(np.mean(scores))))
            continue
        rows = [data.folds.held_out.rows(stack.folds[j]) for j in replicas]
        by_trees = np.mean(
            [
                stack.log_likelihood_by_trees(j, data.x_train[held_out], data.y_train[held_out])
                for j, held_out in zip(replicas, rows, strict=True)
            ],
            axis=0,
        )
        best = int(np.argmax(np.nan_to_num(by_trees, nan=-np.inf)))
        outcomes.append((dict(proposal) | {"n_trees": best + 1}, float(by_trees[best])))
    return [(chosen, _finite(objective)) for chosen, objective in outcomes]


def _evaluate_peer(
    setting: Peer, data: Prepared, folds: Sequence[int], after: dict[str, tuple[Any, ...]]
) -> tuple[dict[str, Any], float]:
    """The objective of a peer, with the best values of what can be changed after fitting."""
    if hasattr(setting, "members"):
        setting = replace(setting, members=min(setting.members, MEMBERS))  # type: ignore[type-var]
    choices = [dict(zip(after, values, strict=True)) for values in product(*after.values())]
    scores = np.empty((len(folds), len(choices)))
    for i, fold in enumerate(folds):
        used = data.folds.train.rows(fold)
        fitted = setting.fit(data.x_train[used], data.y_train[used], seed=0)
        for j, chosen in enumerate(choices):
            changed = replace(fitted, **chosen) if chosen else fitted  # type: ignore[type-var]
            scores[i, j] = _validate(changed, data, fold)
    objectives = [_finite(float(objective)) for objective in scores.mean(axis=0)]
    best = int(np.argmax(objectives))
    return choices[best], objectives[best]


def _validate(model: Any, data: Prepared, fold: int) -> float:
    rows = data.folds.held_out.rows(fold)
    x, y = data.x_train[rows], data.y_train[rows]
    try:
        return float(np.mean(model.log_prob(x, y)))
    except NoDensityError:
        return -float(np.sqrt(np.mean((model.mean_draws(x).mean(axis=0) - y) ** 2)))


def _finite(objective: float) -> float:
    """A diverged fit is the worst there is, but still a trial."""
    return objective if np.isfinite(objective) else -1e6


def _rounded(value: Any) -> Any:
    """Four digits are enough for a setting, and can be read."""
    return float(f"{value:.4g}") if isinstance(value, float) else value


def _distribution(optuna: Any, choice: Range) -> Any:
    if isinstance(choice, Choices):
        return optuna.distributions.CategoricalDistribution(choice.values)
    if isinstance(choice, Interval):
        return optuna.distributions.FloatDistribution(choice.low, choice.high, log=choice.log)
    return optuna.distributions.IntDistribution(choice.low, choice.high, log=choice.log)
