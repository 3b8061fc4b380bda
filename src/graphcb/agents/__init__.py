"""Agents: a context and a graph in, probabilities out."""

from graphcb.agents.budgets import Budget
from graphcb.agents.certificate import Certificate
from graphcb.agents.conservative import Conservative
from graphcb.agents.greedy import EpsilonGreedy, Greedy, Uniform
from graphcb.agents.information_directed import InformationDirected
from graphcb.agents.pacing import Account
from graphcb.agents.predicted_graph import OnPredictedGraph
from graphcb.agents.rules import Rules
from graphcb.agents.shadow import Shadow
from graphcb.agents.spending import Spending
from graphcb.agents.squarecb import SquareCB
from graphcb.agents.squarecbg import SquareCBG
from graphcb.agents.squarecbug import SquareCBUG
from graphcb.rounds import (
    Agent,
    Played,
    UninformedAgent,
    act_on,
    gamma_of,
    hook,
    learn_from,
)

__all__ = [
    "Account",
    "Agent",
    "Budget",
    "Certificate",
    "Conservative",
    "EpsilonGreedy",
    "Greedy",
    "InformationDirected",
    "OnPredictedGraph",
    "Played",
    "Rules",
    "Shadow",
    "Spending",
    "SquareCB",
    "SquareCBG",
    "SquareCBUG",
    "Uniform",
    "UninformedAgent",
    "act_on",
    "gamma_of",
    "hook",
    "learn_from",
]
