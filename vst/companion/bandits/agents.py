"""All agents by name, their settings for each bandit, and the function that runs them."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, is_dataclass, replace
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Int

from vst.companion import models
from vst.companion.bandits import linear, refitting, thompson
from vst.companion.bandits.linear import LinTS
from vst.companion.bandits.problem import Bandit
from vst.companion.bandits.refitting import Refitted
from vst.companion.bandits.thompson import ThompsonVST
from vst.companion.peers import Peer
from vst.companion.peers.deep_ensemble import DeepEnsemble
from vst.companion.peers.sglb import SGLB
from vst.companion.peers.xbart import XBART
from vst.soft_trees import SoftTrees


@dataclass(frozen=True)
class RandomPolicy:
    """Pull a random arm."""

    together: ClassVar[bool] = False


@dataclass(frozen=True)
class Oracle:
    """Pull the arm with the highest expected reward, which no agent can know."""

    together: ClassVar[bool] = False


Agent = RandomPolicy | Oracle | ThompsonVST | Refitted | LinTS

#: Pulls of each arm, in turn, before every agent's first decision.
INITIAL_PULLS = 20

#: A share of new decisions after which the peers are fitted again; more often would take long.
GROWTH = 0.25

_TREE = SoftTrees(depth=1, prior_scale=0.3, kl_weight=0.3, batch_size=64, steps=2000)
_SUM = replace(_TREE, n_trees=10, depth=3, rank=0, training="joint")
_SHARP: dict[str, Any] = {"leaves": "constant", "beta": 50.0}
_SMOOTH: dict[str, Any] = {"leaves": "constant", "beta": 1.5}
_XBART = XBART(n_learners=20, draws=10, cutpoints=30)
_SGLB = SGLB(n_learners=100, members=3)
#: The batch is no larger than the initial pulls, so that one compiled program serves the whole run.
_ENSEMBLE = DeepEnsemble(members=5, steps=500, learning_rate=5e-3, batch_size=INITIAL_PULLS)


def _trees(*trees: SoftTrees) -> tuple[ThompsonVST, ...]:
    return tuple(
        ThompsonVST(tree, initial_pulls=INITIAL_PULLS, growth=0.1, steps_per_update=200)
        for tree in trees
    )


def _peers(*peers: Peer) -> tuple[Refitted, ...]:
    return tuple(Refitted(peer, initial_pulls=INITIAL_PULLS, growth=GROWTH) for peer in peers)


#: The settings that are tried for each agent: as many for each, and the same on every bandit. The first
#: are its defaults.
TRIALS: dict[str, tuple[Agent, ...]] = {
    "random": (RandomPolicy(),),
    "vst": _trees(
        _TREE,
        replace(_TREE, **_SHARP, depth=4, prior_scale=1.0),
        replace(_TREE, **_SHARP, depth=2, prior_scale=1.0, kl_weight=0.1),
        replace(_TREE, **_SMOOTH, depth=4, kl_weight=0.1),
        replace(_TREE, depth=0, rank=2, kl_weight=1.0),
    ),
    "vsgbm": _trees(
        replace(_SUM, depth=1, n_trees=5),
        replace(_SUM, **_SHARP),
        replace(_SUM, **_SHARP, depth=2, kl_weight=0.1),
        replace(_SUM, **_SMOOTH, kl_weight=0.1),
        replace(_SUM, **_SHARP, depth=2, kl_weight=0.1, n_trees=20),
    ),
    "xbart": _peers(
        _XBART,
        replace(_XBART, cutpoints=255),
        replace(_XBART, n_learners=50),
        replace(_XBART, n_learners=10, draws=20),
        replace(_XBART, n_learners=50, cutpoints=255),
    ),
    "sglb": _peers(
        _SGLB,
        replace(_SGLB, n_learners=200, learning_rate=0.05),
        replace(_SGLB, members=6),
        replace(_SGLB, depth=5),
        replace(_SGLB, learning_rate=0.2),
    ),
    "lints": tuple(
        LinTS(scale, shape, shape, initial_pulls=INITIAL_PULLS)
        for scale, shape in ((2.0, 6.0), (0.5, 6.0), (10.0, 6.0), (2.0, 1.0), (0.5, 1.0))
    ),
    "deep-ensemble": _peers(
        _ENSEMBLE,
        replace(_ENSEMBLE, learning_rate=1e-3, steps=1000),
        replace(_ENSEMBLE, members=10),
        replace(_ENSEMBLE, hidden_dim=100),
        replace(_ENSEMBLE, learning_rate=2e-3),
    ),
}

#: Every agent with its defaults.
AGENTS: dict[str, Agent] = {name: trials[0] for name, trials in TRIALS.items()}


def parameters(setting: Agent) -> dict[str, Any]:
    """All settings of an agent, by name."""
    named = asdict(setting)
    return (
        named | {"tree": models.parameters(setting.tree)}
        if isinstance(setting, ThompsonVST)
        else named
    )


def from_parameters(name: str, values: dict[str, Any]) -> Agent:
    """The agent with these settings: the inverse of `parameters`."""
    usual = AGENTS[name]
    nested = {
        key: replace(getattr(usual, key), **value)
        for key, value in values.items()
        if is_dataclass(getattr(usual, key))
    }
    return replace(usual, **values | nested)


def simulate(
    setting: Agent, bandits: Sequence[Bandit], seeds: Sequence[int]
) -> Int[np.ndarray, "seeds steps"]:
    """Run an agent on one bandit per seed, and return the arms it pulled.

    Parameters
    ----------
    setting
        The agent.
    bandits
        Runs of one problem, all of the same length.
    seeds
        Seeds of the agent's own random numbers. The same seeds give the same arms, but a soft tree's
        may change when other seeds run in the same call, because rounding changes.
    """
    if isinstance(setting, ThompsonVST):
        return thompson.simulate(setting, bandits, seeds)
    pairs = zip(bandits, seeds, strict=True)
    return np.stack([_simulate(setting, bandit, seed) for bandit, seed in pairs])


def _simulate(setting: Agent, bandit: Bandit, seed: int) -> Int[np.ndarray, " steps"]:
    match setting:
        case Refitted():
            return refitting.simulate(setting, bandit, seed)
        case LinTS():
            return linear.simulate(setting, bandit, seed)
        case Oracle():
            return bandit.optimal
        case _:
            return np.random.default_rng([seed, 1]).integers(bandit.arms, size=bandit.steps)
