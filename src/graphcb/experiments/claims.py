"""Claims about a panel: each kind is a function that measures it and says whether it holds.

With several seeds each also says what it would have noticed: how far the truth has to be from the
claim for 80 % of experiments with as many seeds to find that it does not hold.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import fdtri, ndtri, stdtrit

from graphcb.checks import as_one_of
from graphcb.experiments.curves import Summary

LIKELY = 0.8  # of the experiments notice what a claim says that it would have noticed


class Verdict(NamedTuple):
    """A claim, what was measured, and whether it holds."""

    text: str
    measured: str
    holds: bool


@dataclass(frozen=True)
class Claim:
    """A claim about some lines, named "agent, line"; each kind uses some of the numbers."""

    text: str
    kind: str
    lines: Sequence[str]
    within: float = 0.0
    more_than: float = 0.0
    rounds: int = 0
    allowed: Sequence[float] = ()

    def __post_init__(self) -> None:
        as_one_of("claims.kind", self.kind, KINDS)

    def check(self, summaries: Sequence[Summary]) -> Verdict:
        """Compare the claim with what was measured."""
        by_label = {f"{s.agent}, {s.line}": s for s in summaries}
        return KINDS[self.kind](self, [by_label[label] for label in self.lines])


Kind = Callable[[Claim, Sequence[Summary]], Verdict]


def _flat(claim: Claim, lines: Sequence[Summary]) -> Verdict:
    """The final losses differ by no more than `within`."""
    means = [s.mean for s in lines]
    spread = max(means) - min(means)
    least, most = (lines[int(place)] for place in (np.argmin(means), np.argmax(means)))
    more = claim.within + difference(most.finals - least.finals).beyond
    return Verdict(
        claim.text, f"spread {spread:.4f}{_noticed(f'{more:.4f}', more)}", spread <= claim.within
    )


def _increasing(claim: Claim, lines: Sequence[Summary]) -> Verdict:
    """Each line ends above the one before."""
    found = [difference(after.finals - before.finals) for before, after in pairwise(lines)]
    steps = [after.mean - before.mean for before, after in pairwise(lines)]
    shown = ", ".join(f"{step:+.4f}" for step in steps)
    down = max(one.beyond for one in found)
    measured = f"steps {shown}{_noticed(f'{-down:.4f}', down)}"
    return Verdict(claim.text, measured, all(step > 0.0 for step in steps))


class Difference(NamedTuple):
    """A mean over seeds, as of how far the first of two lines ends above the second.

    `lower` and `upper` are a 95 % interval by Student's t. In 80 % of experiments with as many
    seeds, a true difference of `noticed` would be outside of it, and one that is `beyond` above a
    bound would be measured above that.
    """

    mean: float
    lower: float
    upper: float
    noticed: float
    beyond: float


def _difference(lines: Sequence[Summary]) -> tuple[str, Difference]:
    """Both final losses in words, and the difference of those with the same seed."""
    first, second = lines
    each = first.finals - second.finals
    found = difference(each)
    if each.size == 1:
        return f"{first.mean:.4f} against {second.mean:.4f}, one seed", found
    measured = (
        f"{first.mean:.4f} against {second.mean:.4f}: {found.mean:+.4f} "
        f"({found.lower:+.4f} to {found.upper:+.4f}), {each.size} seeds"
    )
    return measured + _noticed(f"{found.noticed:.4f}", found.noticed), found


def difference(each: NDArray[np.float64]) -> Difference:
    """The mean of one number for each seed, with its interval; a single seed tells nothing."""
    mean = float(each.mean())
    if each.size == 1:
        return Difference(mean, -np.inf, np.inf, np.inf, np.inf)
    error = float(each.std(ddof=1)) / each.size**0.5
    sure, likely = (float(stdtrit(each.size - 1, share)) for share in (0.975, LIKELY))
    wide, beyond = sure * error, likely * error
    return Difference(mean, mean - wide, mean + wide, wide + beyond, beyond)


def _noticed(text: str, number: float) -> str:
    """That this would be noticed; nothing where the number is infinite, as with one seed."""
    return f"; {text} would be noticed in 80 %" if np.isfinite(number) else ""


def _by_difference(holds: Callable[[Difference], bool]) -> Kind:
    """A kind of claim about how far the first line ends above the second."""

    def judge(claim: Claim, lines: Sequence[Summary]) -> Verdict:
        measured, found = _difference(lines)
        return Verdict(claim.text, measured, holds(found))

    return judge


def _consistently_below(claim: Claim, lines: Sequence[Summary]) -> Verdict:
    """The first line is lower at every recorded round, and at the end with every seed.

    What would be noticed is for the seeds alone, as if their differences were normal.
    """
    first, second = lines
    rounds, seeds = first.mean_curve < second.mean_curve, first.finals < second.finals
    n, lead = seeds.size, np.inf
    if n > 1:
        # As many seeds are all below with probability 0.2.
        each = (1.0 - LIKELY) ** (1.0 / n)
        lead = float((second.finals - first.finals).std(ddof=1) * ndtri(each))
    measured = f"at {rounds.sum()} of {rounds.size} rounds, with {seeds.sum()} of {n} seeds"
    measured += _noticed(f"below by {lead:.4f} or less", lead)
    return Verdict(claim.text, measured, bool(rounds.all() and seeds.all()))


def _gap_removed(claim: Claim, lines: Sequence[Summary]) -> Verdict:
    """The second line closes more than a share of the gap between the third and the first."""
    best, middle, worst = lines
    gap = worst.mean - best.mean
    share = (worst.mean - middle.mean) / gap
    each = worst.finals - middle.finals - claim.more_than * (worst.finals - best.finals)
    less = claim.more_than - difference(each).beyond / gap
    measured = f"{share:.0%} of the gap{_noticed(f'{less:.0%} or less', less)}"
    return Verdict(claim.text, measured, share > claim.more_than)


def _lower_early(claim: Claim, lines: Sequence[Summary]) -> Verdict:
    """The first line has the lower mean loss over the first `rounds`."""
    first, second = (float(s.mean_curve[_last(s, claim.rounds)]) for s in lines)
    one, other = (s.runs[:, _last(s, claim.rounds)] for s in lines)
    above = difference(one - other).beyond
    measured = f"{first:.4f} against {second:.4f}{_noticed(f'{above:.4f} above', above)}"
    return Verdict(claim.text, measured, first < second)


def _steadier_early(claim: Claim, lines: Sequence[Summary]) -> Verdict:
    """The mean loss over the first `rounds` varies less between seeds for the first line.

    What would be noticed is as if losses were normal, and independent between the lines.
    """
    first, second = (float(s.deviation_curve[_last(s, claim.rounds)]) for s in lines)
    one, other = (s.n_seeds - 1 for s in lines)
    times = float(fdtri(one, other, 1.0 - LIKELY)) ** -0.5 if one and other else np.inf
    measured = f"deviation {first:.4f} against {second:.4f}"
    measured += _noticed(f"{times:.1f} times the other", times)
    return Verdict(claim.text, measured, first < second)


def _slopes(claim: Claim, lines: Sequence[Summary]) -> Verdict:
    """Regret grows with a power of the rounds that is above `more_than` and at most `within`.

    It does not hold if a 95 % interval lies outside; what is not known does not refute it.
    """
    found = [difference(s.slopes) for s in lines]
    shown = [
        f"{s.slope:.2f} ({one.lower:.2f} to {one.upper:.2f})"
        for s, one in zip(lines, found, strict=True)
    ]
    holds = all(one.upper > claim.more_than and one.lower <= claim.within for one in found)
    return Verdict(claim.text, f"slopes {', '.join(shown)}{_power(found)}", holds)


def _steeper(claim: Claim, lines: Sequence[Summary]) -> Verdict:
    """Of each pair of lines, the regret of the second grows faster.

    It does not hold if the 95 % interval of a difference, with the same seeds, says that it does
    not; what is not known does not refute it.
    """
    pairs = list(zip(lines[::2], lines[1::2], strict=True))
    found = [difference(b.slopes - a.slopes) for a, b in pairs]
    shown = [
        f"{a.slope:.2f} and {b.slope:.2f} ({one.lower:+.2f} to {one.upper:+.2f})"
        for (a, b), one in zip(pairs, found, strict=True)
    ]
    holds = all(one.upper > 0.0 for one in found)
    return Verdict(claim.text, f"slopes {', '.join(shown)}{_power(found)}", holds)


def _power(found: Sequence[Difference]) -> str:
    """How far off the least certain of these slopes would have to be to be noticed, in words."""
    most = max(one.noticed for one in found)
    return _noticed(f"{most:.2f} too much", most)


def _allowed(claim: Claim, lines: Sequence[Summary]) -> Verdict:
    """Each line ends above the first by no more than what is `allowed` for it."""
    first, *others = lines
    excess = [other.mean - first.mean for other in others]
    pairs = list(zip(excess, claim.allowed, strict=True))
    shown = ", ".join(f"{more:.4f} of {allowed:g}" for more, allowed in pairs)
    most = max(difference(other.finals - first.finals).beyond for other in others)
    shown += _noticed(f"{most:.4f} more than that", most)
    return Verdict(claim.text, shown, all(more <= allowed for more, allowed in pairs))


def _last(summary: Summary, rounds: int) -> int:
    """Position of the last recorded round that is not after `rounds`."""
    return int(np.searchsorted(summary.rounds, rounds, side="right")) - 1


KINDS: Mapping[str, Kind] = MappingProxyType(
    {
        "flat": _flat,
        "increasing": _increasing,
        # The final losses do not differ by more than chance; the first is not higher; it is lower.
        "level": _by_difference(lambda found: found.lower <= 0.0 <= found.upper),
        "no worse": _by_difference(lambda found: found.lower <= 0.0),
        "consistently below": _consistently_below,
        "apart": _by_difference(lambda found: found.upper < 0.0),
        "gap removed": _gap_removed,
        "lower early": _lower_early,
        "steadier early": _steadier_early,
        "slopes": _slopes,
        "steeper": _steeper,
        "allowed": _allowed,
    }
)
