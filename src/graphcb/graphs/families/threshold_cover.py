"""The closed form of threshold graphs where each level reveals all higher ones for certain.

As in `cover_prices`, each level j is to be seen with probability at least w_j = 1 / (c + gap_j),
or 1 if that is larger. What is not spent on that goes to the best level b, and a share of it to an
anchor a that shows more of what lies below. A part r_j of that rest sees level j anyway, so a mass
s_j at or below j is enough if s_j + (1 - s_j) r_j >= w_j. The steps of the running maximum of s are
played. Anchors show more than every level with a smaller gap. Of a few anchors, shares and
constants c, those with the smallest DEC are taken; each takes O(K).
"""

import numpy as np

from graphcb.compilation import compiled, inner
from graphcb.graphs.structure import Floats

ANCHORS = 8
SHARES = (0.9, 0.5, 0.2, 0.05, 0.0)  # 0 stands for 1 / (1 + gap of the anchor)
CONSTANTS = (1.0, -1.0)


@compiled
def cover_above(f: Floats, gamma: float, left: Floats) -> Floats:
    """Level i reveals all higher levels, and the lower ones with chance left[i], which falls."""
    gaps = gamma * (f - f.min())
    best = int(np.argmin(gaps))
    p, kept, least = np.empty(f.size), np.empty(f.size), np.inf
    anchor, tried = best, 0
    while anchor >= 0 and tried < ANCHORS:
        for share in SHARES:
            for constant in CONSTANTS:
                part = share if share > 0.0 else 1.0 / (1.0 + gaps[anchor])
                _cover_with(gaps, left, best, anchor, part, constant, p)
                value = _value(gaps, left, p)
                if least == np.inf or value < least:
                    least = value
                    kept[:] = p
            if anchor == best:
                break
        tried += 1
        anchor = _next_anchor(gaps, left, left[anchor] + (1.0 - left[anchor]) / ANCHORS)
    return kept


@inner
def _next_anchor(gaps: Floats, left: Floats, shown: float) -> int:
    """The level with the smallest gap among those that show at least this much, or -1."""
    found = -1
    for i in range(gaps.size):
        if left[i] >= shown and (found < 0 or gaps[i] < gaps[found]):
            found = i
    return found


@inner
def _cover_with(
    gaps: Floats, left: Floats, best: int, anchor: int, share: float, constant: float, p: Floats
) -> None:
    seen = 0.0
    for j in range(gaps.size):
        by_best = 1.0 if best <= j else left[best]
        by_anchor = 1.0 if anchor <= j else left[anchor]
        rest = by_best + share * (by_anchor - by_best)
        wanted = 1.0 / max(gaps[j] + constant, 1.0)
        needed = (wanted - rest) / (1.0 - rest) if rest < wanted else 0.0
        p[j] = max(needed - seen, 0.0)
        seen += p[j]
    p[best] += (1.0 - share) * (1.0 - seen)
    p[anchor] += share * (1.0 - seen)


@inner
def _value(gaps: Floats, left: Floats, p: Floats) -> float:
    """gamma * DEC."""
    from_above = 0.0
    for i in range(p.size):
        from_above += left[i] * p[i]
    from_below = play = 0.0
    worst = -np.inf
    for j in range(p.size):
        from_above -= left[j] * p[j]
        seen = max(from_below + p[j] + max(from_above, 0.0), 1e-300)
        play += p[j] * (gaps[j] + p[j] / seen)
        worst = max(worst, (1.0 - 2.0 * p[j]) / seen - gaps[j])
        from_below += p[j]
    return play + worst
