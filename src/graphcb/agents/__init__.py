"""Agents: a context and a graph in, probabilities out."""

from graphcb.agents.budgets import Budget
from graphcb.agents.certificate import Certificate
from graphcb.agents.conservative import Conservative
from graphcb.agents.greedy import EpsilonGreedy, Greedy, Uniform
from graphcb.agents.pacing import Account
from graphcb.agents.protocol import Agent, Played, gamma_of, hook
from graphcb.agents.rules import Rules
from graphcb.agents.shadow import Shadow
from graphcb.agents.spending import Spending
from graphcb.agents.squarecb import SquareCB
from graphcb.agents.squarecbg import SquareCBG

__all__ = [
    "Account",
    "Agent",
    "Budget",
    "Certificate",
    "Conservative",
    "EpsilonGreedy",
    "Greedy",
    "Played",
    "Rules",
    "Shadow",
    "Spending",
    "SquareCB",
    "SquareCBG",
    "Uniform",
    "gamma_of",
    "hook",
]
