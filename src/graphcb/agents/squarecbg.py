"""SquareCB.G: exploration that knows what each action reveals."""

import copy
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphcb.agents.budgets import Budget
from graphcb.agents.certificate import Certificate
from graphcb.agents.obeying import Obeys
from graphcb.agents.prediction import predicted_losses, with_room
from graphcb.agents.rules import Rules, learnable_dec
from graphcb.checks import as_gamma, as_one_of
from graphcb.describing import describe
from graphcb.exploration import (
    Automatic,
    BoxAndRows,
    ClosedForm,
    FromGraphs,
    Limits,
    Method,
    Schedule,
    as_schedule,
    dec,
    solve_dec,
)
from graphcb.exploration.choice import choose_form, explain
from graphcb.exploration.information_directed import information_directed
from graphcb.exploration.schedules import as_setting
from graphcb.graphs import FeedbackGraph, as_graph, require_observable
from graphcb.loaded import check_counts, check_kind, check_numbers
from graphcb.oracles import DefaultOracle, ForecastingOracle, Oracle, as_oracle

Floats = NDArray[np.float64]


class SquareCBG(Obeys):
    """Predict, explore no more than the graph requires, learn what is seen.

    `SquareCBG()` needs no settings. Its oracle is then a `DefaultOracle`, for losses between 0
    and 1, and it explores where being wrong is plausible and costs
    (`exploration.information_directed`). So does any oracle that says how sure it is, if
    `gamma` is left out.

    With `gamma` it is the paper's algorithm: a number or a schedule such as
    `SquareRoot(c, alpha)` with the graph's independence number. An oracle that does not say how
    sure it is has the schedule `Automatic()`. The agent keeps a copy of the schedule; its `gamma`
    is that of the last round. `method` is "auto" (the closed form of the graph if it is within a
    known factor of the optimum, else the convex program), "closed-form" or "solver"; with a
    schedule that needs the optimal value of each round, "auto" always solves, and "closed-form"
    is refused.

    With a gamma, `certify=True` adds up the DEC of each round in `certificate`, which bounds the
    regret so far.

    With `limits`, all probabilities obey them: the same program, or the same ratio, is minimised
    over what they allow. They call an action what the round calls it: by the `names` that `act`
    is given, else by `actions`, else by its index. Closed forms know no limits, so
    method="closed-form" is refused with them. Regret is then against the best action, also
    where the limits keep it from being played; and if nothing that they allow reveals an
    action, the DEC and the certificate are inf.

    With `budgets`, what actions cost is added to their predicted losses, at prices that are
    learned and keep to the budgets (`agents.pacing`); regret and certificate are then of losses
    with these prices. What was played is paid for in `settle`, which whoever draws calls.

    The graph may differ from round to round. `explain(graph)` says how it is explored and why,
    what the limits cost, and the prices and balances of budgets.

    >>> from graphcb import graphs, oracles
    >>> SquareCBG().act([0.3, 12.0], graphs.bandit(2))
    array([1., 0.])
    >>> agent = SquareCBG(oracles.NewsvendorOGD(1, learning_rate=0.5), gamma=10.0)
    >>> agent.act(np.array([0.3]), graphs.inventory(3), np.array([0.0, 0.5, 1.0]))
    array([0., 0., 1.])
    >>> agent.explain(graphs.inventory(3))
    'closed form cover_levels: each level reveals all lower ones'
    """

    gamma: float | None = None
    certificate: Certificate | None = None  # set where it is asked for
    makes_oracle = False  # set where it is True: files of 0.1.0 do not hold it

    def __init__(
        self,
        oracle: Oracle | None = None,
        *,
        gamma: float | Schedule | None = None,
        method: Method = "auto",
        certify: bool = False,
        limits: Limits | None = None,
        budgets: Sequence[Budget] = (),
    ) -> None:
        as_one_of("method", method, ("auto", "closed-form", "solver"))
        rules = Rules.of(limits, budgets)
        if method == "closed-form" and rules is not None:
            raise ValueError(
                '`method` must be "auto" or "solver" with `limits` or `budgets`, got '
                '"closed-form": closed forms know no limits'
            )
        self.oracle = None if oracle is None else as_oracle(oracle)
        self.schedule: Schedule | None = Automatic()
        if gamma is not None:
            self.schedule = copy.deepcopy(as_schedule(gamma))
        elif method == "auto" and (oracle is None or isinstance(oracle, ForecastingOracle)):
            self.schedule = None
        if method == "closed-form" and self._needs_optimum():
            raise ValueError(
                f"`gamma` must not be a {type(self.schedule).__name__} with method="
                '"closed-form": it adds up the optimal DECs, and a closed form is not the optimum; '
                'use method="auto" or "solver"'
            )
        if certify and self.schedule is None:
            raise ValueError(
                "`certify` must come with `gamma`: regret is bounded for rounds that are explored "
                "with one, got gamma=None"
            )
        self.method = method
        self.n_rounds = 0
        self.epoch = 0 if self.schedule is None else self.schedule.epoch
        self.fresh_oracle = copy.deepcopy(oracle) if self._needs_optimum() else None
        if oracle is None:
            self.makes_oracle = True
        if certify:
            self.certificate = Certificate()
        if rules is not None:
            self.rules = rules

    @property
    def certify(self) -> bool:
        """Whether the DEC of each round is added to `certificate`."""
        return self.certificate is not None

    def act(
        self,
        context: Any,
        graph: FeedbackGraph,
        actions: Any = None,
        *,
        names: Any = None,
        costs: Any = None,
    ) -> Floats:
        """Probabilities of this round; the graph must be observable.

        `names` is what limits and budgets call the actions of this round. `costs` are what they
        cost where that comes with each round: {budget: [one number per action]}.
        """
        schedule, n_actions = self.schedule, as_graph(graph).n_actions
        offered = context, actions, names, costs
        restarts = schedule is not None and schedule.epoch != self.epoch
        oracle = copy.deepcopy(self.fresh_oracle) if restarts else self.oracle
        if self.makes_oracle or oracle is None:
            oracle, actions = with_room(oracle, n_actions, actions)
        if schedule is None:
            forecast = oracle.forecast(context, actions)  # type: ignore[attr-defined]
            losses, box, rules = self._ruled(forecast[0], *offered)
            require_observable(graph, "to learn from it")
            probabilities = information_directed(
                losses, *forecast[1:], graph=graph, round_number=self.n_rounds + 1, box=box
            )
            self._after(oracle, rules)
            return probabilities
        predicted = predicted_losses(oracle, context, graph, actions)
        predicted, box, rules = self._ruled(predicted, *offered)
        require_observable(graph, "to learn from it")
        if schedule.needs != "nothing":  # a round that is refused leaves the schedule as it is
            schedule = copy.copy(schedule)
        if isinstance(schedule, FromGraphs):
            gamma = as_gamma(schedule.gamma_on(graph))
        else:
            gamma = as_gamma(schedule.gamma(self.n_rounds + 1, n_actions))
        probabilities, value = self._explore(predicted, graph, gamma, schedule, box)
        if restarts:
            self.epoch = schedule.epoch
        if self.certificate is not None:
            self.certificate = self.certificate.after(value, gamma, restarts=restarts)
        if isinstance(schedule, FromGraphs):
            schedule.meet(graph)
        elif schedule.needs != "nothing":
            if box is not None and value == math.inf:  # limits keep something from being seen
                value = learnable_dec(probabilities, predicted, graph, gamma)
            schedule.observe(value)
        self.schedule, self.gamma = schedule, gamma
        self._after(oracle, rules)
        return probabilities

    def learn(self, context: Any, actions: Any, losses: Any) -> None:
        """Pass what was revealed to the oracle."""
        oracle = with_room(None, 1, actions)[0] if self.oracle is None else self.oracle
        oracle.update(context, actions, losses)
        self.oracle = oracle

    def explain(self, graph: FeedbackGraph, *, names: Any = None) -> str:
        """How this graph is explored, and why; with limits, what they cost.

        The cost is given in gamma * DEC at equal predictions, which the bound on regret grows with.
        `names` is what the limits call the actions.
        """
        if self.schedule is None:
            require_observable(as_graph(graph), "to learn from it")
            how = "information-directed: the oracle says how sure it is, and no gamma was given"
        else:
            who = type(self.schedule).__name__ if self._needs_optimum() else ""
            how = explain(graph, self.method, optimum_for=who)
        if self.rules is None or how.startswith("refused"):
            return how
        if self.schedule is not None:
            how = "convex program: closed forms know no limits"
        return f"{how}; {self.rules.cost(graph, names)}"

    def closed_form(self, graph: FeedbackGraph) -> ClosedForm | None:
        """The closed form that is played on this graph; None with limits or without gamma."""
        if self.schedule is None or self.rules is not None:
            return None
        return choose_form(graph, self.method, needs_optimum=self._needs_optimum())

    def check_loaded(self) -> None:
        """Raise an error unless the attributes fit together, as those of a file may not."""
        as_one_of("method", self.method, ("auto", "closed-form", "solver"))
        check_kind(self, "makes_oracle", bool)
        check_kind(self, "schedule", Schedule, type(None))
        check_kind(self, "certificate", Certificate, type(None))
        check_kind(self, "rules", Rules, type(None))
        check_counts(self, n_rounds=0, epoch=0)
        if self.gamma is not None:
            check_numbers(self, "gamma", least=0.0, most=math.inf)
        if self.oracle is not None or not self.makes_oracle:
            as_oracle(self.oracle)
        if self.fresh_oracle is not None:
            as_oracle(self.fresh_oracle, name="fresh_oracle")
        if self.makes_oracle and not isinstance(self.oracle, DefaultOracle | None):
            raise ValueError(f"`oracle` must be a DefaultOracle, got {self.oracle!r}")
        if self.schedule is None and not (
            self.makes_oracle or isinstance(self.oracle, ForecastingOracle)
        ):
            raise ValueError("`oracle` must say how sure it is, as there is no schedule")
        needs_fresh = self._needs_optimum() and not self.makes_oracle
        if needs_fresh and self.fresh_oracle is None:
            raise ValueError("`fresh_oracle` must be there for a schedule that starts again")

    def __copy__(self) -> "SquareCBG":
        twin = object.__new__(type(self))
        vars(twin).update(vars(self), schedule=copy.copy(self.schedule))
        return twin

    def __repr__(self) -> str:
        gamma = None if self.schedule is None else as_setting(self.schedule)
        return describe(self, oracle=None if self.makes_oracle else self.oracle, gamma=gamma)

    def _needs_optimum(self) -> bool:
        return self.schedule is not None and self.schedule.needs == "optimum"

    def _after(self, oracle: Oracle, rules: Rules | None) -> None:
        self.oracle = oracle
        if rules is not None:
            self.rules = rules
        self.n_rounds += 1

    def _explore(
        self,
        predicted: Floats,
        graph: FeedbackGraph,
        gamma: float,
        schedule: Schedule,
        box: BoxAndRows | None,
    ) -> tuple[Floats, float]:
        """Probabilities, and the DEC of the round if the schedule or the certificate needs it."""
        if box is not None:
            limited = solve_dec(predicted, graph, gamma, limits=box)
            return limited.probabilities, limited.value
        form = self.closed_form(graph)
        if form is None:
            solution = solve_dec(predicted, graph, gamma)
            return solution.probabilities, solution.value
        probabilities = form.formula(predicted, gamma)
        if schedule.needs in ("nothing", "graph") and self.certificate is None:
            return probabilities, float("nan")
        return probabilities, dec(probabilities, predicted, graph, gamma)
