"""graphcb: contextual bandits with feedback graphs (SquareCB.G)."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from graphcb import contexts, decisions, exploration, graph_oracles, graphs, oracles, problems
from graphcb.agents import (
    Budget,
    Conservative,
    EpsilonGreedy,
    Greedy,
    InformationDirected,
    OnPredictedGraph,
    Shadow,
    SquareCB,
    SquareCBG,
    SquareCBUG,
    Uniform,
)
from graphcb.contexts import Encoder
from graphcb.decisions import Decision, DecisionLog, Inbox, Policy
from graphcb.exploration import (
    Automatic,
    Doubling,
    Fixed,
    FromGraphs,
    FromTheory,
    Limits,
    Solution,
    SolutionBatch,
    SquareRoot,
    Status,
    TwoThirds,
    dec,
    solve_dec,
    solve_dec_batch,
)
from graphcb.files import FileError
from graphcb.graphs import FeedbackGraph
from graphcb.problems import Learner, Problem
from graphcb.rounds import draw
from graphcb.saving import load, save

if TYPE_CHECKING:
    from graphcb import (
        datasets,
        environments,
        evaluation,
        experiments,
        figures,
        integrations,
        streams,
        tables,
    )
    from graphcb.tables import evaluate_table

__version__ = "0.5.0"

__all__ = [
    "Automatic",
    "Budget",
    "Conservative",
    "Decision",
    "DecisionLog",
    "Doubling",
    "Encoder",
    "EpsilonGreedy",
    "FeedbackGraph",
    "FileError",
    "Fixed",
    "FromGraphs",
    "FromTheory",
    "Greedy",
    "Inbox",
    "InformationDirected",
    "Learner",
    "Limits",
    "OnPredictedGraph",
    "Policy",
    "Problem",
    "Shadow",
    "Solution",
    "SolutionBatch",
    "SquareCB",
    "SquareCBG",
    "SquareCBUG",
    "SquareRoot",
    "Status",
    "TwoThirds",
    "Uniform",
    "contexts",
    "datasets",
    "dec",
    "decisions",
    "draw",
    "environments",
    "evaluate_table",
    "evaluation",
    "experiments",
    "exploration",
    "figures",
    "graph_oracles",
    "graphs",
    "integrations",
    "load",
    "oracles",
    "problems",
    "save",
    "solve_dec",
    "solve_dec_batch",
    "streams",
    "tables",
]


def __getattr__(name: str) -> Any:
    """Import a room on its first use, so that `import graphcb` stays light."""
    if name == "evaluate_table":
        return import_module("graphcb.tables").evaluate_table
    if name in __all__:
        return import_module(f"graphcb.{name}")
    raise AttributeError(f"module 'graphcb' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
