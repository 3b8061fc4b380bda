"""The named families, one a file: a constructor, and the structure it knows."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from graphcb.graphs.families.apple_tasting import AppleTasting, apple_tasting
from graphcb.graphs.families.bandit import Bandit, bandit
from graphcb.graphs.families.cops_and_robbers import CopsAndRobbers, cops_and_robbers
from graphcb.graphs.families.disjoint_cliques import DisjointCliques, disjoint_cliques
from graphcb.graphs.families.full_information import FullInformation, full_information
from graphcb.graphs.families.inventory import Inventory, PostedPrice, inventory, posted_price
from graphcb.graphs.families.self_aware import random_self_aware, undirected_self_aware
from graphcb.graphs.graph import FeedbackGraph

# What a JSON file calls "family", and the constructor its arguments go to.
CONSTRUCTORS: Mapping[str, Callable[..., FeedbackGraph]] = MappingProxyType(
    {
        AppleTasting.family: apple_tasting,
        Bandit.family: bandit,
        CopsAndRobbers.family: cops_and_robbers,
        DisjointCliques.family: disjoint_cliques,
        FullInformation.family: full_information,
        Inventory.family: inventory,
        PostedPrice.family: posted_price,
    }
)

__all__ = [
    "CONSTRUCTORS",
    "AppleTasting",
    "Bandit",
    "CopsAndRobbers",
    "DisjointCliques",
    "FullInformation",
    "Inventory",
    "PostedPrice",
    "apple_tasting",
    "bandit",
    "cops_and_robbers",
    "disjoint_cliques",
    "full_information",
    "inventory",
    "posted_price",
    "random_self_aware",
    "undirected_self_aware",
]
