"""What a table says about policies: their estimates, and what these rest on."""

from dataclasses import dataclass, fields, is_dataclass
from typing import Any

from graphcb.estimates.estimate import Estimate, TargetEstimates
from graphcb.estimates.intervals import Interval, interval_text
from graphcb.html import paragraphs, table
from graphcb.tables.models import Calibration


@dataclass(frozen=True)
class JudgedPolicy:
    """What a table says about one policy.

    `estimates` are by the name of the estimator, `best` is the one to show. Both are empty where
    `unseen_share` of what the policy plays could not have been seen: then only `bounds` hold.
    `difference` is by how much its mean is larger than that of the first policy.
    """

    policy: str
    estimates: dict[str, Estimate]
    best: str | None
    effective_size: float
    largest_weight: float
    top_share: float
    unseen_share: float
    bounds: Interval | None
    difference: Estimate | None
    warnings: tuple[str, ...]

    @property
    def estimate(self) -> Estimate | None:
        """The best one."""
        return None if self.best is None else self.estimates[self.best]


@dataclass(frozen=True)
class TableEvaluation:
    """What `evaluate_table` found.

    `policies` are in the order in which they were given, over all rows; `slots` has the same for
    each slot. `rests_on` says, in sentences, what the estimates take for granted. In a notebook
    it prints as a table; `to_dict` has all numbers.
    """

    unit: str
    n_rows: int
    n_missing: int
    value_range: tuple[float, float]
    confidence: float
    policies: tuple[JudgedPolicy, ...]
    slots: dict[str, tuple[JudgedPolicy, ...]]
    actions: dict[str, int]
    rests_on: tuple[str, ...]
    calibration: Calibration | None = None

    def __getitem__(self, policy: str) -> JudgedPolicy:
        for judged in self.policies:
            if judged.policy == policy:
                return judged
        known = ", ".join(one.policy for one in self.policies)
        raise KeyError(f"{policy!r} was not judged; there are {known}")

    @property
    def estimate(self) -> Estimate | None:
        """The best estimate of the first policy."""
        return self.policies[0].estimate

    def to_dict(self) -> dict[str, Any]:
        """All of it, for JSON."""
        plain: dict[str, Any] = _plain(self)
        return plain

    def lines(self) -> list[tuple[str, ...]]:
        """Cells of a table with a header: the best estimate of each policy."""
        sure = f"{100 * self.confidence:g} %"
        has_slots, several = bool(self.slots), len(self.policies) > 1
        head = ["policy", "estimate", f"mean {self.unit}", "std. error", f"normal {sure}",
                f"anytime-valid {sure}"]  # fmt: skip
        if has_slots:
            head.insert(0, "slot")
        if several:
            head.append(f"against {self.policies[0].policy}")
        found = [tuple(head)]
        for slot, some in {"all": self.policies, **self.slots}.items():
            for judged in some:
                row = [*([slot] if has_slots else []), *_cells(judged)]
                found.append((*row, _gain(judged.difference)) if several else tuple(row))
        return found

    def notes(self) -> list[str]:
        """What must be said beside the table."""
        missing = f", {self.n_missing:,} of them without a {self.unit}" if self.n_missing else ""
        low, high = self.value_range
        units = plural(self.unit)
        found = [f"{self.n_rows:,} rows{missing}; {units} between {low:g} and {high:g}"]
        found += self.rests_on
        for judged in self.policies:
            if judged.unseen_share > 0.0:
                found.append(
                    f"{judged.policy}: not known: {judged.unseen_share:.1%} of what it plays could "
                    "not have been seen"
                )
                if judged.bounds is not None:
                    found[-1] += f"; whatever that is, its mean is {interval_text(judged.bounds)}"
            found += [f"{judged.policy}: {text}" for text in judged.warnings]
        return found

    def __str__(self) -> str:
        cells = self.lines()
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        rows = ["  ".join(map(str.ljust, row, widths)).rstrip() for row in cells]
        return "\n".join([*rows, *self.notes()])

    def _repr_html_(self) -> str:
        head, *rows = self.lines()
        return table(f"{self.n_rows:,} rows", rows, head) + paragraphs(self.notes())


def plural(unit: str) -> str:
    """Losses or rewards."""
    return "losses" if unit == "loss" else f"{unit}s"


def judged_of(
    policy: str,
    found: TargetEstimates,
    unseen_share: float,
    difference: Estimate | None,
    value_range: tuple[float, float],
    are_known: bool,
) -> JudgedPolicy:
    """From what the sums say; estimates are withheld where something could not be seen."""
    weights, bounds = found.weights, None
    estimates, best, warnings = found.estimates, found.best, found.warnings
    if unseen_share > 0.0:
        # Its terms count what was not seen at both ends of the range.
        if are_known:
            bounds = Interval(*value_range)
        if are_known and estimates:
            of_all = next(iter(estimates.values()))
            bounds = of_all.bernstein or of_all.anytime
        estimates, best, warnings = {}, None, ()
    return JudgedPolicy(policy, estimates, best, weights.effective_size, weights.largest,
                  weights.top_share, unseen_share, bounds, difference, warnings)  # fmt: skip


def _cells(judged: JudgedPolicy) -> tuple[str, ...]:
    one = judged.estimate
    if judged.best is None or one is None:
        return judged.policy, "not known", "-", "-", "-", "-"
    numbers = f"{one.value:.4f}", f"{one.standard_error:.4f}"
    return (
        judged.policy,
        judged.best,
        *numbers,
        interval_text(one.normal),
        interval_text(one.anytime),
    )


def _gain(difference: Estimate | None) -> str:
    if difference is None:
        return "-"
    interval = difference.interval
    return f"{difference.value:+.4f}" + (
        "" if interval is None else f" ({interval_text(interval)})"
    )


def _plain(value: Any) -> Any:
    """Values of JSON: objects by the names of their fields, intervals and tuples as lists."""
    if is_dataclass(value):
        return {one.name: _plain(getattr(value, one.name)) for one in fields(value)}
    if isinstance(value, Estimate | Calibration):
        return {name: _plain(part) for name, part in value._asdict().items()}
    if isinstance(value, dict):
        return {name: _plain(part) for name, part in value.items()}
    return [_plain(part) for part in value] if isinstance(value, tuple) else value
