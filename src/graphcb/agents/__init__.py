"""Agents: a context and a graph in, probabilities out."""

from graphcb.agents.certificate import Certificate
from graphcb.agents.greedy import EpsilonGreedy, Greedy, Uniform
from graphcb.agents.protocol import Agent, Played, act_on, gamma_of, hook, learn_from
from graphcb.agents.squarecb import SquareCB
from graphcb.agents.squarecbg import SquareCBG
from graphcb.agents.squarecbug import SquareCBUG

__all__ = [
    "Agent",
    "Certificate",
    "EpsilonGreedy",
    "Greedy",
    "Played",
    "SquareCB",
    "SquareCBG",
    "SquareCBUG",
    "Uniform",
    "act_on",
    "gamma_of",
    "hook",
    "learn_from",
]
