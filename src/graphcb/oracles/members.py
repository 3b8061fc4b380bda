"""Which members of the default oracle carry the weight now, and which were left out, in words."""

import numpy as np

from graphcb.oracles.blend_rows import PRODUCTS_UP_TO
from graphcb.oracles.blend_weights import KEEPS
from graphcb.oracles.blends import FULL_ENTRIES, FULL_UP_TO, WAVE_ENTRIES, Blend
from graphcb.oracles.rows import Floats

KINDS = ("straight", "paired", "waved")
LEAST = 0.005  # of a weight that is named


def member_weights(blend: Blend) -> Floats:
    """The weight of each kind (straight, paired, waved) at each rate of forgetting, sum 1."""
    present = np.zeros((len(KINDS), len(KEEPS)))
    for kind, members in enumerate((blend.straight, blend.paired, blend.waved)):
        present[kind, : len(members)] = 1.0
    if blend.straight and not _has_products(blend):
        present[1] = 0.0
    heard = np.where(present > 0.0, blend.log_weights, -np.inf)
    weights = np.exp(heard - heard.max())
    found: Floats = weights / weights.sum()
    return found


def name_members(blend: Blend, least: float = LEAST) -> str:
    """The members with at least this weight, the heaviest first."""
    weights = member_weights(blend)
    named = [
        (weights[kind, rate], f"{name} ({_rate(keep)})")
        for kind, name in enumerate(KINDS)
        for rate, keep in enumerate(KEEPS)
        if weights[kind, rate] >= least
    ]
    return ", ".join(f"{100 * weight:.0f} % {name}" for weight, name in sorted(named, reverse=True))


def explain_members(blend: Blend) -> str:
    """The members by weight, and those that were left out, with the reason."""
    left_out = _left_out(blend)
    ending = f"; left out: {', '.join(left_out)}" if left_out else ""
    return f"predicted by {name_members(blend)}{ending}"


def _rate(keep: float) -> str:
    return "keeps all" if keep == 1.0 else f"keeps {keep:g} per loss"


def _has_products(blend: Blend) -> bool:
    return blend.n_numbers > 0


def _left_out(blend: Blend) -> list[str]:
    found = []
    if not blend.straight:
        found.append(
            f"straight (more than {FULL_UP_TO} features or {FULL_ENTRIES:,} covariances of all "
            "actions)"
        )
    if not _has_products(blend):
        found.append(f"products (no numbers, or more than {PRODUCTS_UP_TO})")
    if len(blend.paired) < len(KEEPS):
        found.append(f"forgetting (more than {FULL_ENTRIES:,} variances)")
    if not blend.waved and blend.features.n_places > 1:
        found.append(f"waves (more than {WAVE_ENTRIES:,} covariances of all actions)")
    return found
