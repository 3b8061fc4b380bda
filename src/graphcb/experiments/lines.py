"""A line of a panel: an agent with its own grid of settings, on a variant of the problem."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, cast

from graphcb.agents import (
    Agent,
    EpsilonGreedy,
    Greedy,
    InformationDirected,
    SquareCB,
    SquareCBG,
    Uniform,
)
from graphcb.checks import as_one_of
from graphcb.experiments.problems import ExperimentProblem
from graphcb.exploration import Method, SquareRoot, TwoThirds
from graphcb.graphs import FeedbackGraph
from graphcb.oracles import Oracle

CONSTANT = "best constant action"
NONE = (0.0,)  # in place of the values of a setting that an agent does not have


@dataclass(frozen=True)
class Line:
    """One curve of the figure: an agent, and how its problem differs from the panel's.

    `alpha` is the graph number in gamma: a number, "n_actions" or "independence_number" for a
    `SquareRoot`, a number or "weak_domination_number" for a `TwoThirds`. `c` replaces the
    values of the grid.
    """

    agent: str
    name: str
    alpha: float | str | None = None
    method: str = "auto"
    c: Sequence[float] | None = None
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def label(self) -> str:
        """By this name claims refer to the line."""
        return f"{self.agent}, {self.name}"

    def __post_init__(self) -> None:
        kind = KINDS[as_one_of("lines.agent", self.agent, KINDS)]
        if self.alpha is None:
            object.__setattr__(self, "alpha", kind.alpha)
        if kind.grid == "c" and self.alpha is None:
            raise ValueError(f"`lines.alpha` must be given for {self.agent}, in {self.name!r}")

    def values(self, grid: "Grid") -> tuple[Sequence[float], Sequence[float]]:
        """The learning rates to try, and the values of `c` or `epsilon`."""
        kind = KINDS[self.agent]
        rates = grid.learning_rates if kind.has_oracle else NONE
        cs = grid.cs if self.c is None else self.c
        return rates, {"c": cs, "epsilon": grid.epsilons, "none": NONE}[kind.grid]

    def build(self, problem: ExperimentProblem, learning_rate: float, c: float) -> Agent:
        """The agent with these settings."""
        return KINDS[self.agent].build(self, problem, problem.oracle(learning_rate), c)


class Grid(NamedTuple):
    """What is tried: learning rates of the oracle, `c` of gamma, `epsilon` of epsilon-greedy."""

    learning_rates: tuple[float, ...]
    cs: tuple[float, ...]
    epsilons: tuple[float, ...] = ()


class Kind(NamedTuple):
    """An agent of a settings file: how it is made, which grid is its own, its usual `alpha`."""

    build: Callable[[Line, ExperimentProblem, Oracle, float], Agent]
    grid: Literal["c", "epsilon", "none"]
    alpha: float | str | None = None
    has_oracle: bool = True


def exploration_of(agent: str) -> str:
    """The name of an agent's own setting beside the learning rate; "" if it has none."""
    grid = KINDS[agent].grid if agent in KINDS else "c"
    return "" if grid == "none" else grid


def _squarecbg(line: Line, problem: ExperimentProblem, oracle: Oracle, c: float) -> Agent:
    return SquareCBG(oracle, gamma=_root(line, problem, c), method=cast(Method, line.method))


def _two_thirds(line: Line, problem: ExperimentProblem, oracle: Oracle, c: float) -> Agent:
    gamma = TwoThirds(c, _number(line.alpha, problem))
    return SquareCBG(oracle, gamma=gamma, method=cast(Method, line.method))


def _no_agent(line: Line, problem: ExperimentProblem, oracle: Oracle, c: float) -> Agent:
    raise ValueError(f"{line.agent!r} is found in hindsight and plays no rounds")


# Whoever has an agent of their own adds it here under its name.
KINDS: dict[str, Kind] = {
    "SquareCB.G": Kind(_squarecbg, "c"),
    "SquareCB": Kind(
        lambda line, problem, oracle, c: SquareCB(oracle, gamma=_root(line, problem, c)),
        "c",
        "n_actions",
    ),
    "SquareCB.G, TwoThirds": Kind(_two_thirds, "c", "weak_domination_number"),
    "SquareCB.G, SquareRoot": Kind(_squarecbg, "c", "independence_number"),
    "information-directed": Kind(lambda *_: InformationDirected(), "none", has_oracle=False),
    "greedy": Kind(lambda line, problem, oracle, c: Greedy(oracle), "none"),
    "epsilon-greedy": Kind(
        lambda line, problem, oracle, c: EpsilonGreedy(oracle, epsilon=c), "epsilon"
    ),
    "uniform": Kind(lambda *_: Uniform(), "none", has_oracle=False),
    CONSTANT: Kind(_no_agent, "none", has_oracle=False),
}


def _root(line: Line, problem: ExperimentProblem, c: float) -> SquareRoot:
    number: Any = "n_actions" if line.alpha == "n_actions" else _number(line.alpha, problem)
    return SquareRoot(c, number)


def _number(alpha: Any, problem: ExperimentProblem) -> Any:
    """A number unchanged; the graph's own for the name of a graph number."""
    if alpha not in ("independence_number", "weak_domination_number"):
        return alpha
    graph = getattr(problem.environment, "graph", None)
    if not isinstance(graph, FeedbackGraph):
        raise ValueError('`alpha` must be a number or "n_actions" where the graph changes')
    return float(getattr(graph, alpha)())
