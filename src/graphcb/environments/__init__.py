"""Where rounds come from, one problem a file."""

from graphcb.environments.inventory import GrowingGrid, SyntheticInventory
from graphcb.environments.known_losses import KnownLosses
from graphcb.environments.linear import LinearLosses
from graphcb.environments.protocol import Environment, Observation, Round

__all__ = [
    "Environment",
    "GrowingGrid",
    "KnownLosses",
    "LinearLosses",
    "Observation",
    "Round",
    "SyntheticInventory",
]
