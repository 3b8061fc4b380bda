"""Closed forms by number, for kernels that are told which one to use."""

from collections.abc import Mapping
from types import MappingProxyType

from graphcb.agents import Agent, SquareCB, SquareCBG
from graphcb.compilation import compiled
from graphcb.exploration import closed_form_for
from graphcb.exploration.closed_forms import (
    Floats,
    cover_levels,
    exact_inverse_gap_weighting,
    inverse_gap_weighting,
    taste,
    two_best,
    water_filling,
)
from graphcb.graphs import FeedbackGraph

IGNORE_GRAPH, EXACT_BANDIT, WATER, TWO_BEST, LEVELS, TASTE_FIRST, TASTE_SECOND = range(7)

_BY_NAME: Mapping[str, int] = MappingProxyType(
    {
        "exact_inverse_gap_weighting": EXACT_BANDIT,
        "water_filling": WATER,
        "two_best": TWO_BEST,
        "cover_levels": LEVELS,
    }
)


def rule_for(agent: Agent, graph: FeedbackGraph) -> int | None:
    """The number of the closed form that this agent uses on this graph; None if it has none."""
    if type(agent) is SquareCB:
        return IGNORE_GRAPH
    if type(agent) is not SquareCBG or agent.method == "solver":
        return None
    form = closed_form_for(graph)
    if form is None:
        return None
    if form.name == "taste":
        return TASTE_FIRST if graph.matrix[0].all() else TASTE_SECOND
    return _BY_NAME.get(form.name)


@compiled
def explore(rule: int, f: Floats, gamma: float) -> Floats:
    """Probabilities from predicted losses by the closed form of that number."""
    if rule == IGNORE_GRAPH:
        return inverse_gap_weighting(f, gamma)
    if rule == EXACT_BANDIT:
        return exact_inverse_gap_weighting(f, gamma)
    if rule == WATER:
        return water_filling(f, gamma)
    if rule == TWO_BEST:
        return two_best(f, gamma)
    if rule == LEVELS:
        return cover_levels(f, gamma)
    return taste(f, gamma, rule - TASTE_FIRST)
