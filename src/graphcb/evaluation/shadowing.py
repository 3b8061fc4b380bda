"""The agent behind a baseline as a target: what it would have played, by a replay of its log."""

import copy
from collections.abc import Callable, Iterable

from graphcb.agents import Agent, Conservative, Shadow
from graphcb.decisions import DecisionLog, LoggedDecision
from graphcb.estimates.terms import Floats
from graphcb.evaluation.replayed import agents_before
from graphcb.problems import Learner
from graphcb.rounds import would_play


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
