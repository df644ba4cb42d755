"""Contextual bandits: the paper's four, agents that play them with Thompson sampling, and their regret.

from vst.companion.bandits import AGENTS, environment, simulate

bandit = environment("exploration").sample(seed=0, steps=2000)
actions = simulate(AGENTS["vst"], [bandit], seeds=[0])[0]
bandit.regret(actions).sum()
"""

from vst.companion.bandits.agents import AGENTS, TRIALS, Agent, Oracle, RandomPolicy, simulate
from vst.companion.bandits.environments import ENVIRONMENTS, Environment, environment
from vst.companion.bandits.linear import LinTS
from vst.companion.bandits.problem import Bandit
from vst.companion.bandits.refitting import Refitted
from vst.companion.bandits.thompson import ThompsonVST

__all__ = [
    "AGENTS",
    "ENVIRONMENTS",
    "TRIALS",
    "Agent",
    "Bandit",
    "Environment",
    "LinTS",
    "Oracle",
    "RandomPolicy",
    "Refitted",
    "ThompsonVST",
    "environment",
    "simulate",
]
