"""A candidate for the next version as a target: what it would have played, learning on the way."""

from typing import Any

import numpy as np

from graphcb.agents import Agent
from graphcb.decisions import LoggedDecision
from graphcb.decisions.transition import uniform_at
from graphcb.estimates.terms import Floats
from graphcb.evaluation.replayed import without_baseline
from graphcb.evaluation.targets import Target
from graphcb.problems import Learner, Problem
from graphcb.problems.guarded import explorer_of
from graphcb.rounds import play_round


def candidate(problem: Problem, agent: Agent | None = None) -> Target:
    """What a new learner for a problem would have played in each round of a log.

    It starts untrained, decides on a round before it learns what the log has of it, and plays
    those of the round's actions that it has: others cannot be judged. Limits and budgets are
    kept; a baseline is left aside, as it would be judged by what it played itself. Rows must come
    in order, each once.

    >>> import tempfile, pathlib, graphcb
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "decisions.db"
    >>> first = Problem(["a", "b"], reveals="full_information")
    >>> with graphcb.Policy(file, graphcb.Uniform(), problem=first, seed=0) as policy:
    ...     for _ in range(100):
    ...         made = policy.decide({"age": 30.0})
    ...         receipt = policy.feedback(made.decision_id, {"a": 0.25, "b": 0.75})
    >>> floors = Problem(["a", "b"], reveals="full_information", limits={"floors": {"b": 0.1}})
    >>> with graphcb.DecisionLog(file) as log:
    ...     round(graphcb.evaluation.evaluate(log, candidate(floors)).graph.value, 2)
    0.3
    """
    learner: Any = Learner(problem, agent)
    if problem.baseline is not None:
        learner = without_baseline(learner)

    def target(row: LoggedDecision) -> Floats:
        names = [str(name) for name in (problem.actions if row.actions is None else row.actions)]
        places = [i for i, name in enumerate(names) if _has(problem, name)]
        if not places:
            raise ValueError(
                f"`problem` must have an action of decision {row.decision_id}, which chose among "
                f"{', '.join(map(repr, names))}"
            )
        actions = _chosen(row.actions, [names[i] for i in places], problem)
        own = row.graph.subgraph(places) if problem.reveals.each_round else None
        graph = problem.graph_for([names[i] for i in places], own)
        uniform = uniform_at(0, row.position)
        played = play_round(learner, row.context, graph, actions, uniform, seconds=row.made_at)
        _learn(learner, row, names)
        explorer_of(learner.agent).waiting = None  # what the log has of a round has come
        probabilities = np.zeros(len(names))
        probabilities[places] = played.probabilities
        return probabilities

    return target


def _learn(learner: Any, row: LoggedDecision, names: list[str]) -> None:
    seen = row.feedback
    if seen is None:
        return
    believed = learner.problem.known or {}  # its own, not the log's
    inside = learner.problem.accepts(seen.losses, learner.needs_range)
    known = [
        (names[index], value)
        for index, value in zip(
            seen.action_indices[inside].tolist(), seen.losses[inside].tolist(), strict=True
        )
        if _has(learner.problem, names[index]) and names[index] not in believed
    ]
    actions = _chosen(row.actions, [name for name, _ in known], learner.problem)
    learner.learn(row.context, actions, [value for _, value in known])


def _has(problem: Problem, name: str) -> bool:
    return not isinstance(problem.actions, tuple) or name in problem.actions


def _chosen(actions: Any, names: list[str], problem: Problem) -> Any:
    """Some actions of a round, with their features where the problem takes them."""
    if isinstance(actions, dict) and not problem.has_fixed_actions:
        return {name: actions[name] for name in names}
    return names
