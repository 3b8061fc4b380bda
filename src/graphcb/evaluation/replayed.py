"""The agent of a log as it was before each decision, by a replay."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from graphcb.decisions import DecisionLog, LoggedDecision
from graphcb.decisions.replaying import Step, steps
from graphcb.graphs import FeedbackGraph


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
