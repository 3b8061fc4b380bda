"""Closed forms by number, for kernels that are told which one to use."""

from typing import TypeGuard

import numpy as np
from numpy.typing import NDArray

from graphcb.agents import Agent, EpsilonGreedy, Greedy, SquareCB, SquareCBG
from graphcb.compilation import compiled
from graphcb.exploration import closed_form_for
from graphcb.exploration.closed_forms import Floats, follow_the_best, inverse_gap_weighting
from graphcb.exploration.schedules import gammas
from graphcb.graphs import FeedbackGraph
from graphcb.graphs.families.apple_tasting import taste_first, taste_second
from graphcb.graphs.families.bandit import exact_inverse_gap_weighting
from graphcb.graphs.families.cops_and_robbers import two_best
from graphcb.graphs.families.full_information import water_filling
from graphcb.graphs.families.inventory import cover_levels, cover_prices

Compiled = SquareCB | SquareCBG | Greedy | EpsilonGreedy


@compiled
def mostly_the_best(f: Floats, epsilon: float) -> Floats:
    """What `EpsilonGreedy` plays."""
    p = np.full(f.size, epsilon / f.size)
    p[np.argmin(f)] += 1.0 - epsilon
    return p


# A rule is a position here; `explore` has the same order.
FORMULAS = (
    inverse_gap_weighting,
    exact_inverse_gap_weighting,
    water_filling,
    two_best,
    cover_levels,
    cover_prices,
    taste_first,
    taste_second,
    follow_the_best,
    mostly_the_best,
)
BLIND = {  # agents that never look at the graph
    SquareCB: FORMULAS.index(inverse_gap_weighting),
    Greedy: FORMULAS.index(follow_the_best),
    EpsilonGreedy: FORMULAS.index(mostly_the_best),
}


def has_kernel(agent: Agent) -> TypeGuard[Compiled]:
    """Whether the agent is of a class with compiled loops, and its gammas are known in advance.

    A derived class may do something else, and kernels know no limits and no `explore`.
    """
    if getattr(agent, "rules", None) is not None or getattr(agent, "explore", 0.0) != 0.0:
        return False
    if type(agent) in (Greedy, EpsilonGreedy):
        return True
    if not isinstance(agent, SquareCB | SquareCBG) or type(agent) not in (SquareCB, SquareCBG):
        return False
    return agent.schedule.needs == "nothing"


def numbers_for(agent: Compiled, sizes: NDArray[np.int64]) -> Floats:
    """What the formula takes besides the losses, in each round: gamma or epsilon."""
    if isinstance(agent, SquareCB | SquareCBG):
        return gammas(agent.schedule, agent.n_rounds, sizes)
    return np.full(sizes.size, agent.epsilon if isinstance(agent, EpsilonGreedy) else 1.0)


def note_rounds(agent: Compiled, numbers: Floats, n_played: int) -> None:
    """Leave the agent as these rounds would."""
    agent.n_rounds += n_played
    if isinstance(agent, SquareCB | SquareCBG) and n_played:
        agent.gamma = float(numbers[n_played - 1])


def rule_for(agent: Agent, graph: FeedbackGraph) -> int | None:
    """The number of the closed form that this agent uses on this graph; None if it has none."""
    if type(agent) in BLIND:
        return BLIND[type(agent)]
    if type(agent) is not SquareCBG or closed_form_for(graph) is None:
        return None
    form = agent.closed_form(graph)
    numbers = [i for i, formula in enumerate(FORMULAS) if form and form.formula is formula]
    return numbers[0] if numbers else None


@compiled
def explore(rule: int, f: Floats, gamma: float) -> Floats:
    """Probabilities from predicted losses by the closed form of that number."""
    if rule == 0:
        return inverse_gap_weighting(f, gamma)
    if rule == 1:
        return exact_inverse_gap_weighting(f, gamma)
    if rule == 2:
        return water_filling(f, gamma)
    if rule == 3:
        return two_best(f, gamma)
    if rule == 4:
        return cover_levels(f, gamma)
    if rule == 5:
        return cover_prices(f, gamma)
    if rule == 6:
        return taste_first(f, gamma)
    if rule == 7:
        return taste_second(f, gamma)
    if rule == 8:
        return follow_the_best(f, gamma)
    return mostly_the_best(f, gamma)
