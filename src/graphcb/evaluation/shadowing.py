"""The agent behind a baseline as a target: what it would have played, by a replay of its log."""

import copy
from collections.abc import Callable, Iterable, Iterator

from graphcb.agents import Agent, Conservative, Shadow
from graphcb.decisions import DecisionLog, LoggedDecision
from graphcb.decisions.replaying import Step, steps
from graphcb.decisions.transition import answer
from graphcb.estimates.terms import Floats
from graphcb.problems import Learner


def shadow(log: DecisionLog, *, classes: Iterable[type] = ()) -> Callable[[LoggedDecision], Floats]:
    """What the agent inside a `Shadow` or `Conservative` would have played in each round.

    It is made again bit for bit, from what the agent knew when the decision was made. Rows must
    be those of `log`; they are fast in order. `classes` as in `replay`.

    >>> import pathlib, tempfile, graphcb
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "decisions.db"
    >>> agent = graphcb.Shadow(graphcb.SquareCBG(), 0)
    >>> with graphcb.Policy(file, agent, seed=0) as policy:
    ...     for _ in range(100):
    ...         made = policy.decide([1.0], graphcb.graphs.full_information(2))
    ...         receipt = policy.feedback(made.decision_id, {0: 0.75, 1: 0.25})
    >>> with graphcb.DecisionLog(file) as log:
    ...     found = graphcb.evaluation.evaluate(log, shadow(log), against=graphcb.evaluation.logged)
    >>> round(found.difference.value, 3)
    -0.495
    """
    kinds = tuple(classes)
    replayed: Iterator[Step] = iter(())
    at = 0

    def target(row: LoggedDecision) -> Floats:
        nonlocal replayed, at
        if at == 0 or row.position <= at:
            replayed = steps(log, classes=kinds)
        for step in replayed:
            at = step.position
            if at == row.position:
                agent = without_baseline(step.before.agent)
                given = row.context, row.graph, row.actions
                return answer(agent, *given, seconds=row.made_at)[0]
        at = 0
        raise ValueError(f"`row` must be a decision of {log!r}, got position {row.position}")

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
