"""Where rounds come from, one file for each problem."""

from graphcb.environments.costly_looks import CostlyLooks
from graphcb.environments.inventory import SyntheticInventory
from graphcb.environments.known_losses import KnownLosses, RandomSelfAware
from graphcb.environments.linear import LinearLosses
from graphcb.environments.off_linear import OffLinear
from graphcb.environments.protocol import Environment, Observation, Round, Truth
from graphcb.environments.recorded import RecordedDemand
from graphcb.environments.stock import GrowingGrid

__all__ = [
    "CostlyLooks",
    "Environment",
    "GrowingGrid",
    "KnownLosses",
    "LinearLosses",
    "Observation",
    "OffLinear",
    "RandomSelfAware",
    "RecordedDemand",
    "Round",
    "SyntheticInventory",
    "Truth",
]
