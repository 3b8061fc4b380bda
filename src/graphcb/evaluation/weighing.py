"""How likely an outcome was to be revealed, where nobody knew it beforehand."""

from collections.abc import Callable, Iterable
from typing import Literal

from graphcb.decisions import DecisionLog, LoggedDecision
from graphcb.evaluation.knowing import knowing, revealing_only
from graphcb.evaluation.replayed import predicted_graphs
from graphcb.graphs import FeedbackGraph

Graphs = Callable[[LoggedDecision], FeedbackGraph]
Weights = Literal["known", "learned", "certain"]


def weighing_graphs(log: DecisionLog, *, classes: Iterable[type] = ()) -> Graphs:
    """The graph by which each decision of a log is weighed, where nobody knew it beforehand.

    It is the graph that was learned before the decision, by a replay of the log: right as far as
    the learned probabilities are, and as outcomes are not revealed for what they are.

    What a hidden price reveals by chance is revealed for what it is: a bid shows the lower ones
    only if all of them lose. So for bids, prices and stock it is the graph of what is revealed
    wherever the price is. Its weights are true, and nothing has to be learned for them.

    Rows must be those of `log`; they are fast in order. `classes` as in `replay`.
    """
    versions = log.versions
    predicted = predicted_graphs(log, classes=classes)

    def graph(row: LoggedDecision) -> FeedbackGraph:
        problem = versions.numbered(row.version).problem
        if problem is None or not isinstance(problem.reveals.unknown, str):
            return predicted(row)
        certain = problem.certain_graph_for(problem.names_of(row.actions))
        return row.graph if certain is None else certain

    return graph


def weighed(row: LoggedDecision, graphs: Graphs | None) -> LoggedDecision:
    """A decision as it is weighed: with a graph of probabilities, and what this graph reveals.

    It is informed if the graph is certain, so that its weights are true. What its problem knows
    without feedback counts as revealed.
    """
    if row.informed:
        return knowing(row)
    if graphs is None:
        raise ValueError(
            "`graphs` must be given, as nobody knew beforehand what these decisions would reveal: "
            "graphs=evaluation.weighing_graphs(log), or pass the whole log as `rows`"
        )
    graph, seen = graphs(row), row.feedback
    if seen is not None:
        kept = graph.row(row.action_index)[seen.action_indices] > 0.0
        seen = revealing_only(row, seen, seen.action_indices[kept], seen.losses[kept])
    return row._replace(graph=graph, feedback=seen, informed=graph.is_deterministic)


def weights_of(own: LoggedDecision, used: LoggedDecision) -> Weights:
    """Where the weights of a decision come from, before and after it was weighed."""
    if own.informed:
        return "known"
    return "certain" if used.informed else "learned"
