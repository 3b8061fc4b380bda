"""graphcb: contextual bandits with feedback graphs (SquareCB.G)."""

from graphcb import graphs, oracles
from graphcb.agents import EpsilonGreedy, Greedy, SquareCB, SquareCBG, Uniform
from graphcb.exploration import Fixed, SquareRoot, dec
from graphcb.graphs import FeedbackGraph
from graphcb.saving import load, save

__version__ = "0.1.0"

__all__ = [
    "EpsilonGreedy",
    "FeedbackGraph",
    "Fixed",
    "Greedy",
    "SquareCB",
    "SquareCBG",
    "SquareRoot",
    "Uniform",
    "dec",
    "graphs",
    "load",
    "oracles",
    "save",
]
