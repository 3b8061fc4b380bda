"""The agent of a log as it was before each decision, by a replay; and what it would have played."""

import copy
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from graphcb.agents import Agent, Conservative, Shadow
from graphcb.decisions import DecisionLog, LoggedDecision
from graphcb.decisions.replaying import Step, steps
from graphcb.estimates.terms import Floats
from graphcb.graphs import FeedbackGraph
from graphcb.problems import Learner
from graphcb.rounds import would_play


def agents_before(
    log: DecisionLog, *, classes: Iterable[type] = ()
) -> Callable[[LoggedDecision], Any]:
    """The agent that made a decision, as it was then; it must not be changed.

    Rows must be those of `log`; they are fast in order. `classes` as in `replay`.
    """
    kinds = tuple(classes)
    replayed: Iterator[Step] = iter(())
    at = 0

    def agent(row: LoggedDecision) -> Any:
        nonlocal replayed, at
        if row.position <= log.start.position:
            raise ValueError(
                f"{log!r}: decision {row.decision_id} must be after event {log.start.position}, "
                "from which the log is replayed, as old decisions were removed; judge later ones "
                f"alone (--after {log.start.position})"
            )
        if at == 0 or row.position <= at:
            replayed = steps(log, classes=kinds)
        for step in replayed:
            at = step.position
            if at == row.position:
                if step.agent is None:
                    raise ValueError(
                        f"{log!r}: decision {row.decision_id} was made with a snapshot from before "
                        "the first event, which was removed"
                    )
                return step.agent
        at = 0
        raise ValueError(f"`row` must be a decision of {log!r}, got position {row.position}")

    return agent


def predicted_graphs(
    log: DecisionLog, *, classes: Iterable[type] = ()
) -> Callable[[LoggedDecision], FeedbackGraph]:
    """The graph that was predicted for each decision of a log, where nobody knew it.

    It is what the graph oracle had learned from the feedback before the decision. Rows must be
    those of `log`; they are fast in order. `classes` as in `replay`.

    >>> import pathlib, tempfile, graphcb
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "decisions.db"
    >>> problem = graphcb.Problem(["low", "high"], reveals="unknown")
    >>> with graphcb.Policy(file, problem=problem, seed=0) as policy:
    ...     for _ in range(9):
    ...         made = policy.decide({"hour": 20})
    ...         receipt = policy.feedback(made.decision_id, {"low": 0.2})
    >>> with graphcb.DecisionLog(file) as log:
    ...     predicted = [predicted_graphs(log)(row) for row in log]
    >>> predicted[0].matrix
    array([[0.5, 0.5],
           [0.5, 0.5]])
    """
    agent = agents_before(log, classes=classes)

    def graph(row: LoggedDecision) -> FeedbackGraph:
        predicted: FeedbackGraph = agent(row).predicted_graph(row.context, row.actions)
        return predicted

    return graph


def shadow(log: DecisionLog, *, classes: Iterable[type] = ()) -> Callable[[LoggedDecision], Floats]:
    """What the agent inside a `Shadow` or `Conservative` would have played in each round.

    It is made again bit for bit, from what the agent knew when the decision was made. Rows must
    be those of `log`; they are fast in order. `classes` as in `replay`.

    >>> import pathlib, tempfile, graphcb
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "decisions.db"
    >>> agent = graphcb.Shadow(graphcb.InformationDirected(), 0)
    >>> with graphcb.Policy(file, agent, seed=0) as policy:
    ...     for _ in range(100):
    ...         made = policy.decide([1.0], graphcb.graphs.full_information(2))
    ...         receipt = policy.feedback(made.decision_id, {0: 0.75, 1: 0.25})
    >>> with graphcb.DecisionLog(file) as log:
    ...     found = graphcb.evaluation.evaluate(log, shadow(log), against=graphcb.evaluation.logged)
    >>> round(found.difference.value, 1)
    -0.5
    """
    before = agents_before(log, classes=classes)

    def target(row: LoggedDecision) -> Floats:
        agent = without_baseline(before(row))
        return would_play(agent, row.context, row.graph, row.actions, seconds=row.made_at)

    return target


def without_baseline(agent: Agent) -> Agent:
    """The agent as it would decide by itself."""
    if isinstance(agent, Learner):
        twin = copy.copy(agent)
        twin.agent = without_baseline(agent.agent)
        return twin
    if isinstance(agent, Shadow | Conservative):
        inner: Agent = agent.agent
        return inner
    raise ValueError(
        "the log must be that of an agent behind a baseline, a Shadow or Conservative, got "
        f"{type(agent).__name__}"
    )
