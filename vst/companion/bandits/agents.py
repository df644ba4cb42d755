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
from vst.companion.peers.deep_ensemble import DeepEnsemble
from vst.companion.peers.sglb import SGLB
from vst.companion.peers.xbart import XBART
from vst.errors import UserError


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

_TREE = replace(thompson.TREE, batch_size=64)
_XBART = XBART(n_learners=20, draws=10, cutpoints=30)
_SGLB = SGLB(n_learners=100, members=3)
#: The batch is no larger than the initial pulls, so that one compiled program serves the whole run.
_ENSEMBLE = DeepEnsemble(members=5, steps=500, learning_rate=5e-3, batch_size=INITIAL_PULLS)

AGENTS: dict[str, Agent] = {
    "random": RandomPolicy(),
    "vst": ThompsonVST(_TREE, initial_pulls=INITIAL_PULLS),
    "xbart": Refitted(_XBART, initial_pulls=INITIAL_PULLS),
    "sglb": Refitted(_SGLB, initial_pulls=INITIAL_PULLS),
    "lints": LinTS(initial_pulls=INITIAL_PULLS),
    "deep-ensemble": Refitted(_ENSEMBLE, initial_pulls=INITIAL_PULLS),
}

#: Settings that differ between bandits, chosen on runs with seeds 0 and 1, which are also published: a
#: bandit has no test set, and the paper does not give its settings.
BY_BANDIT: dict[tuple[str, str], dict[str, Any]] = {
    ("vst", "financial"): {
        "tree": replace(
            _TREE, depth=1, prior_scale=0.3, kl_weight=0.3, learning_rate=1e-3, steps=2000
        ),
    },
    ("vst", "jester"): {
        "tree": replace(_TREE, depth=1, prior_scale=0.1, learning_rate=2e-3),
    },
    ("vst", "exploration"): {
        "tree": replace(
            _TREE, depth=4, leaves="constant", rank=3, beta=50.0, kl_weight=0.1, learning_rate=4e-3
        ),
    },
    ("vst", "mushroom"): {
        "tree": replace(
            _TREE, depth=2, leaves="constant", beta=100.0, kl_weight=0.1, learning_rate=2e-3
        ),
        "update_every": 20,
    },
    ("xbart", "exploration"): {"peer": replace(_XBART, cutpoints=255)},
    # Many steps and slow fits, and agents learn slowly here.
    **{(name, "jester"): {"growth": 0.5} for name in ("xbart", "sglb", "deep-ensemble")},
}


def agent(name: str, bandit: str) -> Agent:
    """An agent with its settings for a bandit."""
    if name not in AGENTS:
        raise UserError(f"there is no agent {name}: choose from {', '.join(AGENTS)}")
    return replace(AGENTS[name], **BY_BANDIT.get((name, bandit), {}))


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
