"""Contextual bandits: the paper's four, agents that play them by Thompson sampling, and their regret.

from vst.bandits import agent, environment, simulate

bandit = environment("exploration").sample(seed=0, steps=2000)
actions = simulate(agent("vst", "exploration"), [bandit], seeds=[0])[0]
bandit.regret(actions).sum()
"""

from vst.bandits.agents import AGENTS, Agent, Oracle, RandomPolicy, agent, simulate
from vst.bandits.environments import ENVIRONMENTS, Environment, environment
from vst.bandits.linear import LinTS
from vst.bandits.problem import Bandit
from vst.bandits.refitting import Refitted
from vst.bandits.thompson import ThompsonVST

__all__ = [
    "AGENTS",
    "ENVIRONMENTS",
    "Agent",
    "Bandit",
    "Environment",
    "LinTS",
    "Oracle",
    "RandomPolicy",
    "Refitted",
    "ThompsonVST",
    "agent",
    "environment",
    "simulate",
]
