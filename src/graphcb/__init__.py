"""graphcb: contextual bandits with feedback graphs (SquareCB.G)."""

from graphcb import graphs, oracles
from graphcb.agents import EpsilonGreedy, Greedy, SquareCB, SquareCBG, Uniform
from graphcb.decisions import Decision, DecisionLog, Policy
from graphcb.exploration import (
    Automatic,
    Doubling,
    Fixed,
    FromTheory,
    Solution,
    SolutionBatch,
    SquareRoot,
    Status,
    dec,
    solve_dec,
    solve_dec_batch,
)
from graphcb.graphs import FeedbackGraph
from graphcb.saving import load, save

__version__ = "0.1.0"

__all__ = [
    "Automatic",
    "Decision",
    "DecisionLog",
    "Doubling",
    "EpsilonGreedy",
    "FeedbackGraph",
    "Fixed",
    "FromTheory",
    "Greedy",
    "Policy",
    "Solution",
    "SolutionBatch",
    "SquareCB",
    "SquareCBG",
    "SquareRoot",
    "Status",
    "Uniform",
    "dec",
    "graphs",
    "load",
    "oracles",
    "save",
    "solve_dec",
    "solve_dec_batch",
]
