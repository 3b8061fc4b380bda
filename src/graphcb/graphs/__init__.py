"""Feedback graphs: which actions' losses each action reveals (row = played, column = revealed)."""

from graphcb.graphs.facts import as_graph, require_observable
from graphcb.graphs.families import (
    apple_tasting,
    bandit,
    cops_and_robbers,
    disjoint_cliques,
    full_information,
    inventory,
    posted_price,
    random_self_aware,
    threshold,
    undirected_self_aware,
)
from graphcb.graphs.graph import FeedbackGraph
from graphcb.graphs.numbers import Bounds
from graphcb.graphs.registry import Family, register
from graphcb.graphs.structure import Numbers, Structure

__all__ = [
    "Bounds",
    "Family",
    "FeedbackGraph",
    "Numbers",
    "Structure",
    "apple_tasting",
    "as_graph",
    "bandit",
    "cops_and_robbers",
    "disjoint_cliques",
    "full_information",
    "inventory",
    "posted_price",
    "random_self_aware",
    "register",
    "require_observable",
    "threshold",
    "undirected_self_aware",
]
