"""The named families: each file has all that is known of one, and says how it is built."""

from graphcb.graphs.families.apple_tasting import FAMILY as APPLE_TASTING
from graphcb.graphs.families.apple_tasting import apple_tasting
from graphcb.graphs.families.bandit import FAMILY as BANDIT
from graphcb.graphs.families.bandit import bandit
from graphcb.graphs.families.cops_and_robbers import FAMILY as COPS_AND_ROBBERS
from graphcb.graphs.families.cops_and_robbers import cops_and_robbers
from graphcb.graphs.families.disjoint_cliques import FAMILY as DISJOINT_CLIQUES
from graphcb.graphs.families.disjoint_cliques import disjoint_cliques
from graphcb.graphs.families.full_information import FAMILY as FULL_INFORMATION
from graphcb.graphs.families.full_information import full_information
from graphcb.graphs.families.inventory import INVENTORY, POSTED_PRICE, inventory, posted_price
from graphcb.graphs.families.self_aware import RANDOM, random_self_aware, undirected_self_aware
from graphcb.graphs.families.threshold import THRESHOLD, threshold
from graphcb.graphs.registry import register

# The last registered is asked first: an identity matrix is a bandit, though also cliques of one.
for family in (
    RANDOM,
    THRESHOLD,
    DISJOINT_CLIQUES,
    APPLE_TASTING,
    POSTED_PRICE,
    INVENTORY,
    COPS_AND_ROBBERS,
    FULL_INFORMATION,
    BANDIT,
):
    register(family)

__all__ = [
    "apple_tasting",
    "bandit",
    "cops_and_robbers",
    "disjoint_cliques",
    "full_information",
    "inventory",
    "posted_price",
    "random_self_aware",
    "threshold",
    "undirected_self_aware",
]
