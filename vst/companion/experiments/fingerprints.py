"""Fingerprints: the score of a tiny fixed fit of each model, which ties results to code.

A model's fingerprint changes exactly when a change of code changes the model's numbers. Every stored
row carries its model's fingerprint, which identifies rows of older code.
"""

import hashlib
import json
import os
import warnings
from dataclasses import replace
from functools import cache
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pandas as pd
from jaxtyping import Float
from sklearn.exceptions import ConvergenceWarning

import vst
from vst.companion.bandits import AGENTS, environment, simulate
from vst.companion.classifiers import CLASSIFIERS
from vst.companion.experiments.fitting import axes_of, fit_rows, score
from vst.companion.experiments.profiles import Profile
from vst.companion.models import LIBRARIES, MODEL_BY_ID
from vst.preprocessing import Standardiser
from vst.runtime import user_cache

#: Small enough to take a second, large enough to use every part of a model.
TINY = Profile(
    "fingerprint",
    limits={
        "steps": 100, "members": 2, "n_trees": 2, "n_learners": 10, "burn_in": 10, "draws": 10,
        "depth": 3, "initial_pulls": 4, "steps_per_update": 10, "effort": 0.01,
    },
)  # fmt: skip

#: A learning rate large enough that a soft tree learns something in a hundred steps.
LARGE_LEARNING_RATE = 0.03

#: Decisions in an agent's tiny run: the initial pulls of twenty arms, and a few more.
DECISIONS = 160

#: Relative difference up to which fingerprints are equal: rounding differs between machines.
TOLERANCE = 1e-3

#: Packages whose versions may change a fingerprint.
PACKAGES = ("jax", "numpy", *LIBRARIES)

#: Prefixes that distinguish the name of an agent or a classifier from a model's.
AGENT, CLASSIFIER = "agent ", "classifier "


def of(name: str) -> str:
    """The fingerprint of a model or agent, computed once per version of the code."""
    return _known()(name)


def names() -> list[str]:
    """Everything that has a fingerprint."""
    agents, classifiers = (AGENT + name for name in AGENTS), (CLASSIFIER + c for c in CLASSIFIERS)
    return [*MODEL_BY_ID, *agents, *classifiers]


def fingerprint(name: str) -> str:
    """Compute a fingerprint now.

    Examples
    --------
    >>> fingerprint("agent random")
    '147.001'
    """
    for prefix, compute in ((AGENT, _of_agent), (CLASSIFIER, _of_classifier), ("", _of_model)):
        if name.startswith(prefix):
            return f"{compute(name.removeprefix(prefix)):.6g}"
    raise AssertionError("every name starts with the empty prefix")


def equal(stored: str, now: str) -> bool:
    """Whether two fingerprints agree up to rounding.

    Examples
    --------
    >>> equal("-0.51234", "-0.51236"), equal("-0.51", "-0.52")
    (True, False)
    """
    a, b = float(stored), float(now)
    return bool(abs(a - b) <= TOLERANCE * max(1.0, abs(b)))


def _of_model(name: str) -> float:
    x, y = _rows()
    setting = TINY.limited(MODEL_BY_ID[name].settings)
    if (axes := axes_of(setting)) != "features":
        x = Standardiser.fit(x[:60], axes)(x)
    if MODEL_BY_ID[name].is_soft:
        setting = replace(setting, learning_rate=LARGE_LEARNING_RATE)
    fitted = fit_rows(setting, x[:60], y[:60], seed=0)
    found = score(fitted, x[60:], y[60:])
    return float(found["rmse"] if found["log_likelihood"] is None else found["log_likelihood"])


def _of_agent(name: str) -> float:
    bandit = environment("exploration").sample(seed=0, steps=DECISIONS)
    [actions] = simulate(TINY.limited(AGENTS[name]), [bandit], seeds=[0])
    return float(bandit.regret(actions).sum())


def _of_classifier(name: str) -> float:
    """The mean log probability of the right class, of three."""
    x, y = _rows()
    table, classes = pd.DataFrame(x), np.digitize(y, [-0.5, 0.5])
    row = CLASSIFIERS[name]
    cut = {k: min(v, TINY.limits[k]) if k in TINY.limits else v for k, v in row.parameters.items()}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # so few steps are not enough
        model = row.build(table, 0, **cut).fit(table[:60], classes[:60])
    proba = np.maximum(model.predict_proba(table[60:]), 1e-6)
    return float(np.mean(np.log(proba[np.arange(20), classes[60:]])))


def _rows() -> tuple[Float[np.ndarray, "80 3"], Float[np.ndarray, " 80"]]:
    """Made-up rows in standardised units: a bend, a slope, and noise."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(80, 3)).astype(np.float32)
    y = np.abs(x[:, 0]) + x[:, 1] + 0.3 * rng.normal(size=80)
    return x, ((y - y.mean()) / y.std()).astype(np.float32)


@cache
def _known() -> "Known":
    return Known(user_cache() / "fingerprints" / f"{_digest()}.json")


class Known:
    """Fingerprints of the current code, in a file of the user's cache."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __call__(self, name: str) -> str:
        """The fingerprint of a name, computed if it is not in the file."""
        known = self._read()
        if name not in known:
            known = self._read() | {name: fingerprint(name)}
            self._write(known)
        return known[name]

    def _read(self) -> dict[str, str]:
        try:
            return json.loads(self.path.read_text())
        except (OSError, ValueError):
            return {}

    def _write(self, known: dict[str, str]) -> None:
        temporary = self.path.with_suffix(f".{os.getpid()}")
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            temporary.write_text(json.dumps(known))
            os.replace(temporary, self.path)
        except OSError:
            pass  # it is only a cache


def _digest() -> str:
    """A hash of the package's code and of the versions of the packages it computes with."""
    root = Path(vst.__file__).parent
    digest = hashlib.sha256(json.dumps([_version(name) for name in PACKAGES]).encode())
    for path in sorted(root.rglob("*.py")):
        digest.update(path.relative_to(root).as_posix().encode() + path.read_bytes())
    return digest.hexdigest()[:16]


def _version(package: str) -> str:
    try:
        return version(package)
    except ModuleNotFoundError:
        return ""
