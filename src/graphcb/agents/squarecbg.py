"""SquareCB.G, the paper's algorithm: exploration that knows what each action reveals."""

import copy
import math
from collections.abc import Sequence
from typing import Any, cast

from graphcb.agents.budgets import Budget
from graphcb.agents.certificate import Certificate
from graphcb.agents.prediction import OpenRound
from graphcb.agents.rules import learnable_dec
from graphcb.agents.scheduled import Scheduled
from graphcb.checks import as_gamma, as_one_of
from graphcb.exploration import (
    Automatic,
    ClosedForm,
    FromGraphs,
    Limits,
    Method,
    Schedule,
    dec,
    solve_dec,
)
from graphcb.exploration.allowed import allowed_dec
from graphcb.exploration.choice import choose_form, explain
from graphcb.graphs import FeedbackGraph, require_observable
from graphcb.graphs.structure import Floats
from graphcb.loaded import check_counts, check_kind
from graphcb.oracles import Oracle, as_oracle

METHODS = ("auto", "closed-form", "solver")


class SquareCBG(Scheduled):
    """Predict, explore no more than the graph requires, learn what is seen: the paper's SquareCB.G.

    In each round the oracle predicts the loss of every action. With the graph of the round and
    gamma, these give the probabilities whose decision-estimation coefficient (DEC) is smallest,
    by a closed form or by a convex program. What the drawn action reveals trains the oracle.

    `gamma` is a number or a schedule such as `SquareRoot(c, alpha)` with the graph's independence
    number; it is `Automatic()` if left out. The agent keeps a copy of the schedule; its `gamma` is
    that of the last round. The oracle is a `DefaultOracle`, for losses between 0 and 1, if left
    out. `method` is "auto" (the closed form of the graph if it is within a known factor of the
    optimum, else the convex program), "closed-form" or "solver"; with a schedule that needs the
    optimal value of each round, "auto" always solves, and "closed-form" is refused.

    `certify=True` adds up the DEC of each round in `certificate`, which bounds the regret so far.

    With `limits`, all probabilities obey them: the same program is minimised over what they
    allow. They call an action what the round calls it: by the `names` that `act` is given, else
    by `actions`, else by its index. Closed forms know no limits, so method="closed-form" is
    refused with them. The certificate is then of regret against the best policy that obeys them,
    and inf once something that they allow is never revealed.

    With `budgets`, what actions cost is added to their predicted losses, at prices that are
    learned and keep to the budgets (`agents.pacing`); regret and certificate are then of losses
    with these prices. What was played is paid for in `on_draw`, which whoever draws calls.

    With `explore`, such as 0.01, up to this share of the probability goes to actions that show
    what is seldom seen, so that other policies can be judged on the log; within limits, and none
    where everything is seen often enough (`exploration.seldom_seen`).

    The graph may differ from round to round. `explain(graph)` says how it is explored and why,
    what the limits cost, and the prices and balances of budgets.

    >>> from graphcb import graphs, oracles
    >>> agent = SquareCBG(oracles.NewsvendorOGD(1, learning_rate=0.5), gamma=10.0)
    >>> agent.act([0.3], graphs.inventory(3), [0.0, 0.5, 1.0])
    array([0., 0., 1.])
    >>> agent.explain(graphs.inventory(3))
    'SquareCB.G by closed form cover_levels: each level reveals all lower ones'
    >>> SquareCBG().act([0.3, 12.0], graphs.bandit(2)).round(3)
    array([0.5, 0.5])
    """

    def __init__(
        self,
        oracle: Oracle | None = None,
        *,
        gamma: float | Schedule | None = None,
        method: Method = "auto",
        certify: bool = False,
        limits: Limits | None = None,
        budgets: Sequence[Budget] = (),
        explore: float = 0.0,
    ) -> None:
        super().__init__(oracle, Automatic() if gamma is None else gamma, limits, budgets, explore)
        self.method: Method = cast(Method, as_one_of("method", method, METHODS))
        if method == "closed-form" and self.rules is not None:
            raise ValueError(
                '`method` must be "auto" or "solver" with `limits` or `budgets`, got '
                '"closed-form": closed forms know no limits'
            )
        if method == "closed-form" and self._needs_optimum:
            raise ValueError(
                f"`gamma` must not be a {type(self.schedule).__name__} with method="
                '"closed-form": it adds up the optimal DECs, and a closed form is not the optimum; '
                'use method="auto" or "solver"'
            )
        self.certificate = Certificate() if certify else None
        self.epoch = self.schedule.epoch
        self.fresh_oracle = copy.deepcopy(oracle) if self._needs_optimum else None

    @property
    def certify(self) -> bool:
        """Whether the DEC of each round is added to `certificate`."""
        return self.certificate is not None

    def use_oracle(self, oracle: Oracle) -> None:
        """Take this oracle instead of making one; a schedule that starts again, a copy of it."""
        super().use_oracle(oracle)
        self.fresh_oracle = copy.deepcopy(oracle) if self._needs_optimum else None

    def explain(self, graph: FeedbackGraph, *, names: Any = None) -> str:
        """How this graph is explored, and why; with limits, what they cost.

        The cost is given in gamma * DEC at equal predictions, which the bound on regret grows with.
        `names` is what the limits call the actions.
        """
        schedule = type(self.schedule).__name__ if self._needs_optimum else ""
        how = explain(graph, self.method, optimum_for=schedule)
        if how.startswith("refused"):
            return how
        if self.rules is None:
            return f"SquareCB.G by {how}{self._cost_of_exploring(graph)}"
        cost = f"{self.rules.cost(graph, names)}{self._cost_of_exploring(graph)}"
        return f"SquareCB.G by convex program: closed forms know no limits; {cost}"

    def closed_form(self, graph: FeedbackGraph) -> ClosedForm | None:
        """The closed form that is played on this graph; None with limits or budgets."""
        if self.rules is not None:
            return None
        return choose_form(graph, self.method, needs_optimum=self._needs_optimum)

    def check_loaded(self) -> None:
        super().check_loaded()
        as_one_of("method", self.method, METHODS)
        check_kind(self, "certificate", Certificate, type(None))
        check_counts(self, epoch=0)
        if self._restarts and not self._needs_optimum:
            raise ValueError("`epoch` must be that of the schedule, which never starts again")
        if self.fresh_oracle is not None:
            as_oracle(self.fresh_oracle, name="fresh_oracle")
        elif self._needs_optimum and not self.makes_oracle:
            raise ValueError("`fresh_oracle` must be there for a schedule that starts again")

    @property
    def _needs_optimum(self) -> bool:
        return self.schedule.needs == "optimum"

    @property
    def _restarts(self) -> bool:
        """Whether the next round begins a new epoch of the schedule."""
        return self.schedule.epoch != self.epoch

    def _current_oracle(self) -> Oracle | None:
        return copy.deepcopy(self.fresh_oracle) if self._restarts else self.oracle

    def _choose(self, opened: OpenRound) -> Floats:
        """The probabilities with the smallest DEC at the gamma of the round, or near to it."""
        graph = opened.graph
        require_observable(graph, "to learn from it")
        schedule = self.schedule
        if schedule.needs != "nothing":  # a round that is refused leaves it as it is
            schedule = copy.copy(schedule)
        gamma = as_gamma(_gamma_of(schedule, self.n_rounds + 1, graph))
        probabilities, value = self._explore(opened, gamma)
        if self.certificate is not None:
            worst = self._worst(probabilities, value, opened, gamma)
            self.certificate = self.certificate.after(worst, gamma, restarts=self._restarts)
        self.epoch = schedule.epoch
        if opened.box is not None and value == math.inf:  # limits keep something from being seen
            value = learnable_dec(probabilities, opened.losses, graph, gamma)
        _note(schedule, graph, value)
        self.schedule, self.gamma = schedule, gamma
        return probabilities

    def _worst(self, chosen: Floats, value: float, opened: OpenRound, gamma: float) -> float:
        """The DEC of what is played, against every action or what the limits allow."""
        if not self.explore and opened.box is None:
            return value
        played = self._seeing_more(chosen, opened) if self.explore else chosen
        if opened.box is None:
            return dec(played, opened.losses, opened.graph, gamma)
        return allowed_dec(played, opened.losses, opened.graph, gamma, opened.box)

    def _explore(self, opened: OpenRound, gamma: float) -> tuple[Floats, float]:
        """Probabilities, and their DEC if the schedule or the certificate needs it."""
        graph, losses = opened.graph, opened.losses
        form = self.closed_form(graph)
        if form is None:
            solution = solve_dec(losses, graph, gamma, limits=opened.box)
            return solution.probabilities, solution.value
        probabilities = form.formula(losses, gamma)
        if self.certificate is None and self.schedule.needs in ("nothing", "graph"):
            return probabilities, math.nan
        return probabilities, dec(probabilities, losses, graph, gamma)


def _gamma_of(schedule: Schedule, round_number: int, graph: FeedbackGraph) -> float:
    if isinstance(schedule, FromGraphs):
        return schedule.gamma_on(graph)
    return schedule.gamma(round_number, graph.n_actions)


def _note(schedule: Schedule, graph: FeedbackGraph, value: float) -> None:
    """Tell the schedule what it needs to know of the round."""
    if isinstance(schedule, FromGraphs):
        schedule.meet(graph)
    elif schedule.needs != "nothing":
        schedule.observe(value)
