"""Where rounds come from, one problem a file."""

from graphcb.environments.inventory import GrowingGrid, SyntheticInventory
from graphcb.environments.protocol import Environment, Observation, Round

__all__ = ["Environment", "GrowingGrid", "Observation", "Round", "SyntheticInventory"]
