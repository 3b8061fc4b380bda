"""SquareCB.UG: SquareCB.G on a graph that is predicted."""

from collections.abc import Sequence
from typing import Literal

from graphcb.agents.budgets import Budget
from graphcb.agents.predicted_graph import OnPredictedGraph
from graphcb.agents.squarecbg import SquareCBG
from graphcb.describing import describe
from graphcb.exploration import Limits, Method, Schedule
from graphcb.exploration.schedules import as_setting
from graphcb.graph_oracles import GraphOracle
from graphcb.loaded import check_kind
from graphcb.oracles import Oracle, as_oracle


class SquareCBUG(OnPredictedGraph):
    """SquareCB.UG (Zhang, Zhang, Luo and Mineiro, 2024): SquareCB.G on a predicted graph.

    `loss_oracle`, `gamma`, `method`, `limits`, `budgets` and `explore` are those of the `SquareCBG`
    that explores the predicted graph, in `explorer`; without `gamma` its schedule is
    `Automatic()`. All else is as in `OnPredictedGraph`.

    The paper's bounds hold for graph oracles that minimise log loss, as all of ours do unless
    they are told otherwise.

    >>> from graphcb import graph_oracles
    >>> agent = SquareCBUG(graph_oracle=graph_oracles.EdgeCounts(3), gamma=50.0)
    >>> for _ in range(20):
    ...     p = agent.act([1.0])
    ...     agent.learn([1.0], 0, [0, 1, 2], [0.5, 0.2, 0.9])
    >>> agent.act([1.0]).round(2)
    array([0., 1., 0.])
    """

    explorer: SquareCBG

    def __init__(
        self,
        loss_oracle: Oracle | None = None,
        graph_oracle: GraphOracle | None = None,
        *,
        gamma: float | Schedule | None = None,
        method: Method = "auto",
        limits: Limits | None = None,
        budgets: Sequence[Budget] = (),
        explore: float = 0.0,
        learns_from: Literal["revealed", "certain"] = "revealed",
    ) -> None:
        if loss_oracle is not None:
            as_oracle(loss_oracle, name="loss_oracle")
        if hasattr(loss_oracle, "update_full"):
            raise TypeError(
                f"`loss_oracle` must predict losses, got the graph oracle {loss_oracle!r}; "
                "pass it as graph_oracle=..."
            )
        explorer = SquareCBG(
            loss_oracle,
            gamma=gamma,
            method=method,
            limits=limits,
            budgets=budgets,
            explore=explore,
        )
        super().__init__(explorer, graph_oracle, learns_from=learns_from)

    def check_loaded(self) -> None:
        super().check_loaded()
        check_kind(self, "explorer", SquareCBG)

    def __repr__(self) -> str:  # type: ignore[override]
        inner = self.explorer
        return describe(
            self,
            loss_oracle=None if inner.makes_oracle else inner.oracle,
            gamma=as_setting(inner.schedule),
            method=inner.method,
        )
