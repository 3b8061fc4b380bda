"""graphcb: contextual bandits with feedback graphs (SquareCB.G)."""

from graphcb import graphs, oracles
from graphcb.agents import SquareCB, SquareCBG
from graphcb.exploration import Fixed, SquareRoot, dec
from graphcb.graphs import FeedbackGraph

__version__ = "0.1.0"

__all__ = [
    "FeedbackGraph",
    "Fixed",
    "SquareCB",
    "SquareCBG",
    "SquareRoot",
    "dec",
    "graphs",
    "oracles",
]
