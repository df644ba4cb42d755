"""The unit of an experiment, and the provenance of its result."""

import hashlib
import json
import subprocess
from dataclasses import asdict, dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import jax

import vst


@dataclass(frozen=True)
class Cell:
    """A result's full description: the same description gives the same result.

    Attributes
    ----------
    experiment, dataset, model
        Names. A bandit or a picture counts as a data set, an agent as a model.
    fold
        The fold of the training part that is left out.
    seed
        Seed of everything random in the fit; the split and the folds do not depend on it.
    parameters
        The model's hyperparameters as JSON with sorted keys, so that equal ones have equal text.
    """

    experiment: str
    dataset: str
    model: str
    fold: int
    seed: int
    parameters: str

    @cached_property
    def key(self) -> str:
        """Twelve hexadecimal digits, a hash of the description."""
        text = json.dumps(asdict(self), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:12]

    def described(self) -> dict[str, Any]:
        """The columns that identify the cell's row."""
        described = {"key": self.key, **asdict(self)}
        del described["experiment"]
        return described


def as_text(parameters: dict[str, Any]) -> str:
    """Hyperparameters as a cell's text.

    Examples
    --------
    >>> as_text({"rank": 5, "beta": 2.0})
    '{"beta": 2.0, "rank": 5}'
    """
    return json.dumps(parameters, sort_keys=True)


def as_parameters(text: str) -> dict[str, Any]:
    """A cell's hyperparameters."""
    return json.loads(text)


#: Columns for the provenance of a result.
PROVENANCE = ("version", "commit", "fingerprint", "jax", "device")


def provenance() -> dict[str, str]:
    """Versions, commit and device; the model's fingerprint is added later."""
    device = jax.devices()[0]
    return {
        "version": vst.__version__,
        "commit": commit(),
        "jax": jax.__version__,
        "device": f"{device.platform}:{device.device_kind}",
    }


@cache
def commit() -> str:
    """The commit of the code, with a plus if it has changed since; empty outside a checkout."""
    root = Path(vst.__file__).resolve().parents[1]
    if not (root / ".git").exists():
        return ""

    def git(*arguments: str) -> str:
        return subprocess.run(
            ["git", "-C", str(root), *arguments], capture_output=True, text=True, check=True
        ).stdout.strip()

    try:
        changed = git("status", "--porcelain", "--", "vst")
        return git("rev-parse", "--short=12", "HEAD") + ("+" if changed else "")
    except (OSError, subprocess.CalledProcessError):
        return ""
