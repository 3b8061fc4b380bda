"""Exploration where nobody knows beforehand what an action will reveal."""

import copy
from typing import Any, Literal, Self

import numpy as np

from graphcb.agents.prediction import Obeys, Predicts
from graphcb.agents.revealing import check_shown, chosen_of, columns_of, places_of
from graphcb.agents.rules import Rules
from graphcb.checks import as_one_of
from graphcb.describing import describe
from graphcb.graph_oracles import EdgeCounts, GraphOracle, LogisticEdges, as_graph_oracle
from graphcb.graph_oracles.sides import certain_edges
from graphcb.graphs import FeedbackGraph, as_graph
from graphcb.graphs.structure import Floats
from graphcb.oracles import Oracle
from graphcb.oracles.rows import dense_width
from graphcb.rounds import gamma_of


class OnPredictedGraph(Obeys):
    """Predict the graph of each round, let an agent explore it as if it were true, learn both.

    For decisions whose feedback graph is shown only afterwards, in full or just the part that
    was seen: what a lost auction reveals depends on a price that nobody knows before the bid.
    `act` takes no graph. `learn` takes what was played and what it revealed; all other actions
    of the round count as not revealed by it. If the graph was shown in full afterwards, pass it
    too: every row then teaches the graph oracle.

    `explorer` is the agent that explores the predicted graph and learns the losses, with its
    limits and budgets. `SquareCBUG`, the paper's SquareCB.UG, is the case of a `SquareCBG`. A
    `Problem` with a graph that is learned has an `InformationDirected`. `graph_oracle` is one of
    `graphcb.graph_oracles`; if it is left out, the first round decides: `LogisticEdges` for dense
    contexts, `EdgeCounts` for sparse ones. Actions that are whole numbers are columns of the
    graph oracle. Any others, such as stock levels, stand for all its actions in their order.

    With `learns_from="certain"`, only edges that the graph oracle knows to be certain are explored,
    and losses are learned from these alone. That is for feedback that depends on the losses, which
    the theory excludes: a bid shows the lower ones only when all of them lose, so that all
    that was revealed of a low bid is no fair sample of it.

    >>> from graphcb import InformationDirected, graph_oracles
    >>> agent = OnPredictedGraph(InformationDirected(), graph_oracles.EdgeCounts(3))
    >>> for _ in range(20):
    ...     p = agent.act([1.0])
    ...     agent.learn([1.0], 0, [0, 1, 2], [0.5, 0.2, 0.9])
    >>> int(agent.act([1.0]).argmax())
    1
    >>> agent.predicted_graph([1.0]).row(0).round(2)
    array([0.98, 0.98, 0.98])
    """

    informed = False  # `act` takes no graph: callers go through `act_on` and `learn_from`

    def __init__(
        self,
        explorer: Predicts,
        graph_oracle: GraphOracle | None = None,
        *,
        learns_from: Literal["revealed", "certain"] = "revealed",
    ) -> None:
        self.learns_from = as_one_of("learns_from", learns_from, ("revealed", "certain"))
        self.explorer = explorer
        self._check_explorer()
        self.graph_oracle = None if graph_oracle is None else as_graph_oracle(graph_oracle)

    @property
    def n_rounds(self) -> int:
        """How many rounds were played."""
        return self.explorer.n_rounds

    @property
    def gamma(self) -> float | None:
        """The gamma of the last round, if the agent has one."""
        return gamma_of(self.explorer)

    @property
    def rules(self) -> Rules | None:
        """The limits and budgets, which the explorer keeps."""
        return self.explorer.rules

    @rules.setter
    def rules(self, rules: Rules | None) -> None:
        self.explorer.rules = rules

    @property
    def explore(self) -> float:
        """The share of the probability that shows what is seldom seen, on the predicted graph."""
        return self.explorer.explore

    @explore.setter
    def explore(self, share: float) -> None:
        self.explorer.explore = share

    @property
    def loss_oracle(self) -> Oracle | None:
        """What predicts the losses; None before the first round if none was given."""
        return self.explorer.oracle

    def act(
        self, context: Any, actions: Any = None, *, names: Any = None, costs: Any = None
    ) -> Floats:
        """Probabilities of this round, on the graph that is predicted for it.

        `names` and `costs` are for limits and budgets, as in `SquareCBG.act`.
        """
        oracle = self._graph_oracle_for(context, actions)
        graph = self._explored(oracle.predict(context, columns_of(actions)))
        probabilities = self.explorer.act(context, graph, actions, names=names, costs=costs)
        self.graph_oracle = oracle
        return probabilities

    def learn(
        self,
        context: Any,
        played: Any,
        revealed: Any,
        losses: Any,
        *,
        actions: Any = None,
        graph: FeedbackGraph | None = None,
    ) -> None:
        """Learn the losses of the revealed actions, and that `played` revealed just these.

        `played` and `revealed` are identifiers as in `actions`, or indices without them. `graph`
        is the graph of the round, if it was shown in full.
        """
        oracle = self._graph_oracle_for(context, actions)
        index, seen = places_of(played, revealed, actions)
        columns = columns_of(actions)
        if graph is None:
            oracle.check_update(context, index, seen, columns)
        else:
            oracle.check_update_full(context, graph, columns)
            check_shown(as_graph(graph), index, seen)
        if self.learns_from == "certain":
            row = certain_edges(oracle.predict(context, columns)).row(index)
            kept = np.flatnonzero(row[np.asarray(seen, dtype=np.int64)])
            revealed, losses = chosen_of(kept, revealed, losses)
        self.explorer.learn(context, revealed, losses)  # refuses, or learns
        if graph is None:
            oracle.update(context, index, seen, columns)
        else:
            oracle.update_full(context, graph, columns)
        self.graph_oracle = oracle

    def predicted_graph(self, context: Any, actions: Any = None) -> FeedbackGraph:
        """The edge probabilities that this round would be explored with."""
        return self._graph_oracle_for(context, actions).predict(context, columns_of(actions))

    def explain(self, context: Any, actions: Any = None) -> str:
        """How a round with this context is explored and why, and what its graph is thought to be.

        >>> from graphcb import SquareCBG, graph_oracles
        >>> OnPredictedGraph(SquareCBG(), graph_oracles.EdgeCounts(3)).explain([1.0])
        'SquareCB.G by convex program: no closed form is proven for this graph; predicted by EdgeCounts(3): an action reveals 1.5 of 3 on average'
        """  # noqa: E501 - the answer is one line
        oracle = self._graph_oracle_for(context, actions)
        graph = oracle.predict(context, columns_of(actions))
        explain = getattr(self.explorer, "explain", None)
        how = repr(self.explorer) if explain is None else explain(self._explored(graph))
        n = graph.n_actions
        revealed = float(graph.structure.sums_revealed(np.ones(n)).mean())
        about = getattr(oracle, "explain", None)
        more = "" if about is None else f"; {about(context, columns_of(actions))}"
        return (
            f"{how}; predicted by {oracle!r}: an action reveals "
            f"{revealed:.3g} of {n} on average{more}"
        )

    def check_loaded(self) -> None:
        as_one_of("learns_from", self.learns_from, ("revealed", "certain"))
        self._check_explorer()
        if self.graph_oracle is not None:
            as_graph_oracle(self.graph_oracle)

    def __copy__(self) -> Self:
        twin = object.__new__(type(self))
        vars(twin).update(vars(self), explorer=copy.copy(self.explorer))
        return twin

    __repr__ = describe

    def _check_explorer(self) -> None:
        if not isinstance(self.explorer, Predicts):
            raise TypeError(
                "`explorer` must be an agent with an oracle, such as InformationDirected(), "
                f"got {self.explorer!r}"
            )

    def _explored(self, predicted: FeedbackGraph) -> FeedbackGraph:
        """The part of the predicted graph that losses are learned from."""
        return certain_edges(predicted) if self.learns_from == "certain" else predicted

    def _graph_oracle_for(self, context: Any, actions: Any) -> GraphOracle:
        """The graph oracle, or a new one with room for the actions of this round."""
        if self.graph_oracle is not None:
            return self.graph_oracle
        columns = columns_of(actions)
        if columns is not None:
            n_actions = max((int(column) for column in columns), default=-1) + 1
        elif actions is not None:
            n_actions = len(actions)
        else:
            n_actions = getattr(self.explorer.oracle, "n_actions", 0)
        if n_actions < 1:
            raise ValueError(
                "`graph_oracle` must be given, or `actions`, to know how many actions there are; "
                "for example graph_oracles.LogisticEdges(n_actions, n_features)"
            )
        width = dense_width(context)
        return EdgeCounts(n_actions) if width is None else LogisticEdges(n_actions, width)
