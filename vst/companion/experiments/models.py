"""Every model of the tables under its name: what it starts from, and where a tuner looks."""

from dataclasses import asdict, replace
from typing import Any

from vst.companion.experiments.soft_trees import SOFT_TREES, SoftEntry, SoftTrees
from vst.companion.paper import MODELS
from vst.companion.peers import PEERS, Peer, PeerEntry, Ranges
from vst.errors import UserError

#: All names, in the order of the tables.
NAMES: tuple[str, ...] = tuple(model.id for model in MODELS)


def entry(name: str) -> SoftEntry | PeerEntry:
    """A model's settings before tuning, and where a tuner looks."""
    return SOFT_TREES[name] if name in SOFT_TREES else PEERS[name]


def defaults(name: str) -> SoftTrees | Peer:
    """A model's settings before tuning."""
    return entry(name).defaults


def ranges(name: str) -> Ranges:
    """Where a tuner looks for a model's settings: the paper's ranges, and our own for the rest."""
    return {**entry(name).ranges, **entry(name).own_ranges}


def settings(name: str, parameters: dict[str, Any]) -> SoftTrees | Peer:
    """A model with these parameters, and the defaults of the others."""
    return replace(defaults(name), **parameters)  # type: ignore[type-var]


def parameters(setting: SoftTrees | Peer) -> dict[str, Any]:
    """All hyperparameters of a model, by name."""
    return asdict(setting)  # type: ignore[arg-type]


def check_names(kind: str, given: list[str], valid: tuple[str, ...]) -> None:
    """Refuse names that do not exist, listing those that do."""
    unknown = [name for name in given if name not in valid]
    if unknown:
        raise UserError(f"no {kind} is called {', '.join(unknown)}; there are: {', '.join(valid)}")
