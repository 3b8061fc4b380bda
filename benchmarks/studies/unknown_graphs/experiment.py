"""Panels with problems whose graph is hidden, and the agents that do without it."""

from collections.abc import Callable
from dataclasses import fields
from functools import partial
from typing import Any, cast

from graphcb.agents import Agent, InformationDirected, OnPredictedGraph, SquareCBG, SquareCBUG
from graphcb.experiments import experiment, lines, problems
from graphcb.experiments.lines import Kind, Line
from graphcb.experiments.problems import ExperimentProblem
from graphcb.exploration import Method
from graphcb.graph_oracles import GraphOracle
from graphcb.oracles import Oracle
from studies.results import SETTINGS
from studies.unknown_graphs.uninformed import Guess, Uninformed, auctions, hidden_graphs

NAMES = ("unknown-graphs", "auctions")


class UnknownGraphs(experiment.Experiment):
    """A panel of this study.

    Its class is here, so that a worker that is sent a run imports this file, and with it the
    problems and agents below.
    """


def read(name: str) -> UnknownGraphs:
    """One of the panels.

    >>> read("auctions").problem["kind"]
    'auctions'
    """
    file = SETTINGS / f"{name}.toml"
    found = experiment.parse(name, file.read_text(encoding="utf-8"), file.name)
    return UnknownGraphs(**{field.name: getattr(found, field.name) for field in fields(found)})


def _hidden_graphs(*, n_rounds: int | None, **options: Any) -> ExperimentProblem:
    environment, uninformed = hidden_graphs(n_rounds, **options)
    problem = problems.ridge(environment, environment.n_actions, environment.n_features)
    return problem._replace(own=uninformed)


def _auctions(source: str, *, n_rounds: int | None, **options: Any) -> ExperimentProblem:
    environment, uninformed = auctions(source, n_rounds, **options)
    problem = problems.ridge(environment, environment.n_bids, environment.n_features)
    fingerprint = problems.fingerprint(environment.values, environment.prices)
    return problem._replace(fingerprint=fingerprint, own=uninformed)


def _told(line: Line, problem: ExperimentProblem, oracle: Oracle, c: float) -> Agent:
    """SquareCB.G, which knows the graph of each round."""
    gamma = _uninformed(line, problem).schedule(c, cast(float, line.alpha))
    return SquareCBG(oracle, gamma=gamma, method=cast(Method, line.method))


def _learned(choose: Callable[[Uninformed], GraphOracle]) -> Callable[..., Agent]:
    """SquareCB.UG with one of the graph oracles of the problem."""

    def build(line: Line, problem: ExperimentProblem, oracle: Oracle, c: float) -> Agent:
        uninformed = _uninformed(line, problem)
        gamma = uninformed.schedule(c, cast(float, line.alpha))
        agent = SquareCBUG(
            oracle, choose(uninformed), gamma=gamma, method=cast(Method, line.method)
        )
        return cast(Agent, agent)

    return build


def _default(line: Line, problem: ExperimentProblem, oracle: Oracle, c: float) -> Agent:
    """No gamma, and the default oracle of losses."""
    graph_oracle = _uninformed(line, problem).graph_oracle("log")
    return cast(Agent, OnPredictedGraph(InformationDirected(), graph_oracle))


def _uninformed(line: Line, problem: ExperimentProblem) -> Uninformed:
    if not isinstance(problem.own, Uninformed):
        raise ValueError(f"{line.agent!r} needs a problem whose graph is not known beforehand")
    return problem.own


problems.KINDS.update(
    {
        "hidden-graphs": _hidden_graphs,
        "auctions": partial(_auctions, "recorded"),
        "generated-auctions": partial(_auctions, "generated"),
    }
)
lines.KINDS.update(
    {
        "SquareCB.G, told": Kind(_told, "c", 1.0),
        "SquareCB.UG, log loss": Kind(_learned(lambda it: it.graph_oracle("log")), "c", 1.0),
        "SquareCB.UG, squared loss": Kind(
            _learned(lambda it: it.graph_oracle("squared")), "c", 1.0
        ),
        "SquareCB.UG, a guess": Kind(_learned(lambda it: Guess(it.guess)), "c", 1.0),
        "information-directed, log loss": Kind(_default, "none", has_oracle=False),
    }
)
