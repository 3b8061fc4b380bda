"""What is counted of estimates: how often there is an interval, whether it holds, how wide it is.

Names of counts are "TARGET | ESTIMATOR | INTERVAL | COUNT", so that they add up over logs.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from graphcb.evaluation import Estimate, Evaluation, Interval

INTERVALS = ("normal", "bernstein", "anytime", "shown")
ROUNDING = 1e-9


class Claim(NamedTuple):
    """An estimate of something whose true value is known."""

    target: str
    estimator: str
    estimate: Estimate | None
    truth: float

    def interval(self, name: str) -> Interval | None:
        """One of `INTERVALS`; "shown" is the one that is printed."""
        if self.estimate is None:
            return None
        found = getattr(self.estimate, "interval" if name == "shown" else name, None)
        return found if found is None or isinstance(found, Interval) else Interval(*found)


def claims(target: str, found: Evaluation, truth: float) -> list[Claim]:
    """All that an evaluation says of its target; "best" is the one that it chooses."""
    every = [Claim(target, name, one, truth) for name, one in found.estimates.items()]
    best = None if found.best is None else found.estimates[found.best]
    every.append(Claim(target, "best", best, truth))
    if not found.estimates and found.bounds is not None:
        bounds = Estimate(float("nan"), float("nan"), None, found.bounds)
        every.append(Claim(target, "bounds", bounds, truth))
    return every


def holds(interval: Interval, truth: float) -> bool:
    """Whether the truth is between the ends, but for rounding."""
    slack = ROUNDING * max(1.0, abs(truth))
    return bool(interval.lower - slack <= truth <= interval.upper + slack)


class Counts:
    """Counts that add up over logs."""

    def __init__(self, counts: Mapping[str, float] | None = None) -> None:
        self.counts: dict[str, float] = defaultdict(float, counts or {})

    def merge(self, counts: Mapping[str, float]) -> None:
        """Add those of other logs."""
        for name, number in counts.items():
            self.counts[name] += number

    def add(self, claimed: Iterable[Claim]) -> None:
        """What one log says at its end."""
        for one in claimed:
            for name in INTERVALS:
                interval = one.interval(name)
                self._count(one, name, "asked", 1.0)
                if interval is not None:
                    self._count(one, name, "given", 1.0)
                    self._count(one, name, "held", holds(interval, one.truth))
                    self._count(one, name, "width", interval.upper - interval.lower)

    def add_looks(self, looks: Sequence[Sequence[Claim]]) -> None:
        """What one log says each time somebody looks: by itself, and all looks together."""
        together: dict[tuple[str, str, str], list[bool]] = {}
        for claimed in looks:
            for one in claimed:
                for name in INTERVALS:
                    interval = one.interval(name)
                    if interval is None:
                        continue
                    held = holds(interval, one.truth)
                    self._count(one, name, "looks", 1.0)
                    self._count(one, name, "held at looks", held)
                    together.setdefault((one.target, one.estimator, name), []).append(held)
        for (target, estimator, name), held_at in together.items():
            self.counts[f"{target} | {estimator} | {name} | logs"] += 1.0
            self.counts[f"{target} | {estimator} | {name} | held at all looks"] += float(
                all(held_at)
            )

    def _count(self, one: Claim, interval: str, what: str, by: Any) -> None:
        self.counts[f"{one.target} | {one.estimator} | {interval} | {what}"] += float(by)


class Line(NamedTuple):
    """Over all logs of a setting, for one interval of one estimator; NaN where there is none."""

    target: str
    estimator: str
    interval: str
    given: float
    held: float
    width: float
    held_at_looks: float
    held_at_all_looks: float
    logs: float


def lines(counts: Mapping[str, float]) -> list[Line]:
    """The shares that the counts of a setting come to.

    >>> counts = Counts({"a | ips | normal | asked": 4, "a | ips | normal | given": 2})
    >>> counts.counts["a | ips | normal | held"] = 1
    >>> lines(counts.counts)[0][:5]
    ('a', 'ips', 'normal', 0.5, 0.5)
    """
    named = dict.fromkeys(name.rpartition(" | ")[0] for name in counts)
    found = []
    for name in named:

        def share(part: str, of: str, name: str = name) -> float:
            total = counts.get(f"{name} | {of}", 0.0)
            return counts.get(f"{name} | {part}", 0.0) / total if total else float("nan")

        target, estimator, interval = name.split(" | ")
        found.append(
            Line(
                target,
                estimator,
                interval,
                share("given", "asked"),
                share("held", "given"),
                share("width", "given"),
                share("held at looks", "looks"),
                share("held at all looks", "logs"),
                counts.get(f"{name} | asked", 0.0),
            )
        )
    return found
