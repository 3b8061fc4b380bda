"""The agent of a problem whose graph is not known beforehand, and the graph oracle it needs."""

import copy
from typing import Any

import numpy as np

from graphcb.agents import InformationDirected, OnPredictedGraph
from graphcb.contexts import Encoder
from graphcb.graph_oracles import Answers, EdgeCounts, GraphOracle, LogisticEdges, Thresholds
from graphcb.graph_oracles.sides import as_kind
from graphcb.graphs import FeedbackGraph
from graphcb.problems.guarded import default_oracle
from graphcb.problems.problem import Problem


def check_features(features: Any) -> None:
    """Refuse actions by features, which graph oracles do not know."""
    if features is not None:
        raise TypeError(
            "`features` must be left out where the graph is not known beforehand: what is revealed "
            "is learned for each action by its name"
        )


def uninformed(agent: Any, problem: Problem, encoder: Encoder) -> OnPredictedGraph:
    """The agent with both oracles for the problem; itself if it has them."""
    if agent is None:
        hidden_price = isinstance(problem.reveals.unknown, str)
        learns_from: Any = "certain" if hidden_price else "revealed"
        agent = OnPredictedGraph(InformationDirected(), learns_from=learns_from)
    if not isinstance(agent, OnPredictedGraph):
        raise TypeError(
            "`agent` must be an OnPredictedGraph, such as SquareCBUG, or left out, as the graph "
            f"of this problem is not known beforehand, got {type(agent).__name__}"
        )
    expected = graph_oracle_of(problem, encoder)
    if agent.graph_oracle is not None:
        _check_fits(agent.graph_oracle, expected, problem)
    if agent.graph_oracle is not None and agent.loss_oracle is not None:
        return agent
    twin: OnPredictedGraph = copy.copy(agent)
    if twin.graph_oracle is None:
        twin.graph_oracle = expected
    if twin.explorer.oracle is None:
        twin.explorer.oracle = default_oracle(twin.explorer, problem)
    return twin


def graph_oracle_of(problem: Problem, encoder: Encoder) -> GraphOracle:
    """What learns the graph of a problem; it reads contexts if these are dense rows."""
    n_actions = len(problem.actions)
    width = (encoder.n_features or 0) if encoder.is_dense else 0
    unknown = problem.reveals.unknown
    if problem.reveals.answers is not None:
        return Answers(problem.graph, n_features=width)
    if isinstance(unknown, str):
        return Thresholds(np.arange(float(n_actions)), kind=as_kind(unknown), n_features=width)
    return LogisticEdges(n_actions, width) if width else EdgeCounts(n_actions)


def predicted_graph(agent: Any, context: Any, actions: Any) -> FeedbackGraph:
    """The graph that an agent without one would explore."""
    if not isinstance(agent, OnPredictedGraph):
        raise TypeError(f"{type(agent).__name__} does not predict what actions reveal")
    return agent.predicted_graph(context, actions)


def _check_fits(given: Any, expected: Any, problem: Problem) -> None:
    """Refuse a graph oracle of an agent that contradicts the problem."""
    n_actions = getattr(given, "n_actions", len(problem.actions))
    if n_actions != len(problem.actions):
        raise ValueError(
            f"`agent` must have a graph oracle with the {len(problem.actions)} actions of the "
            f"problem, got one with {n_actions}"
        )
    if isinstance(expected, Thresholds):
        same = isinstance(given, Thresholds) and given.kind == expected.kind
    elif isinstance(expected, Answers):
        same = isinstance(given, Answers) and given.graph == expected.graph
    else:
        same = True
    if not same:
        raise ValueError(
            f"`agent` must have a graph oracle as the problem says, such as {expected!r}, or none, "
            f"got {given!r}"
        )
