"""Closed forms by number, for kernels that are told which one to use."""

from graphcb.agents import Agent, SquareCB, SquareCBG
from graphcb.compilation import compiled
from graphcb.exploration import closed_form_for
from graphcb.exploration.closed_forms import Floats, inverse_gap_weighting
from graphcb.graphs import FeedbackGraph
from graphcb.graphs.families.apple_tasting import taste_first, taste_second
from graphcb.graphs.families.bandit import exact_inverse_gap_weighting
from graphcb.graphs.families.cops_and_robbers import two_best
from graphcb.graphs.families.full_information import water_filling
from graphcb.graphs.families.inventory import cover_levels, cover_prices

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
)
IGNORE_GRAPH = 0


def rule_for(agent: Agent, graph: FeedbackGraph) -> int | None:
    """The number of the closed form that this agent uses on this graph; None if it has none."""
    if type(agent) is SquareCB:
        return IGNORE_GRAPH
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
    return taste_second(f, gamma)
