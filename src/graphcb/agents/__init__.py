"""Agents: a context and a graph in, probabilities out."""

from graphcb.agents.certificate import Certificate
from graphcb.agents.greedy import EpsilonGreedy, Greedy, Uniform
from graphcb.agents.protocol import Agent, Played, gamma_of, hook
from graphcb.agents.squarecb import SquareCB
from graphcb.agents.squarecbg import SquareCBG

__all__ = [
    "Agent",
    "Certificate",
    "EpsilonGreedy",
    "Greedy",
    "Played",
    "SquareCB",
    "SquareCBG",
    "Uniform",
    "gamma_of",
    "hook",
]
