"""graphcb: contextual bandits with feedback graphs (SquareCB.G)."""

from graphcb import graphs, oracles
from graphcb.agents import SquareCB, SquareCBG
from graphcb.exploration import (
    Fixed,
    Solution,
    SolutionBatch,
    SquareRoot,
    Status,
    dec,
    solve_dec,
    solve_dec_batch,
)
from graphcb.graphs import FeedbackGraph

__version__ = "0.1.0"

__all__ = [
    "FeedbackGraph",
    "Fixed",
    "Solution",
    "SolutionBatch",
    "SquareCB",
    "SquareCBG",
    "SquareRoot",
    "Status",
    "dec",
    "graphs",
    "oracles",
    "solve_dec",
    "solve_dec_batch",
]
