"""What the service measures of itself, each in one line, for Prometheus and OpenTelemetry."""

import asyncio
import contextlib
import glob
import os
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

from graphcb.decisions.writer import Took
from graphcb.service.desk import Desk
from graphcb.service.refused_connections import REFUSED

if TYPE_CHECKING:
    from graphcb.service.metrics import Metrics

Values = Iterable[tuple[tuple[str, ...], float]]  # by the values of the labels
MEASURE_EVERY = 60.0  # seconds between two looks at the size of a log on a server
MEASURE_SECONDS = 1.0
_SIZE = (
    "SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0) FROM pg_class c "
    "WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p') "
    "AND starts_with(c.relname, 'graphcb')"
)


class Meter(NamedTuple):
    """A number with a name, or several that differ by labels; a counter only grows."""

    name: str
    kind: Literal["counter", "gauge"]
    text: str
    read: Callable[[Desk, "Metrics"], Values]
    labels: tuple[str, ...] = ()


def _counter(name: str, text: str, read: Callable[[Desk], int]) -> Meter:
    return Meter(name, "counter", text, lambda desk, metrics: _one(read(desk)))


def _gauge(name: str, text: str, read: Callable[[Desk, "Metrics"], float | None]) -> Meter:
    return Meter(name, "gauge", text, lambda desk, metrics: _one(read(desk, metrics)))


def _one(value: float | None) -> Values:
    return [] if value is None else [((), value)]


def _took(what: str, read: Callable[[Desk], Took | None]) -> tuple[Meter, Meter]:
    def part(place: int) -> Callable[[Desk, "Metrics"], float | None]:
        return lambda desk, metrics: None if (took := read(desk)) is None else took[place]

    return (
        _gauge(f"graphcb_{what}_seconds", f"How long the last {what} took.", part(1)),
        _gauge(f"graphcb_{what}_time_seconds", f"When the last {what} was.", part(0)),
    )


def _alarms(desk: Desk, metrics: "Metrics") -> Values:
    return [((one.kind, one.name), one.since if one.is_on else 0) for one in metrics.model.alarms]


def _missing(desk: Desk, metrics: "Metrics") -> Values:
    return [((feature,), count) for feature, count in sorted(metrics.missing.items())]


METERS = (
    Meter(
        "graphcb_missing_features", "counter", "Contexts without this feature.", _missing,
        ("feature",),
    ),
    Meter(
        "graphcb_refused_connections", "counter", "Connections refused or closed.",
        lambda desk, metrics: [((reason,), count) for reason, count in REFUSED.items()],
        ("reason",),
    ),
    _counter("graphcb_decisions", "Decisions in the log.", lambda desk: desk.n_decisions),
    _counter("graphcb_feedbacks", "Feedback in the log.", lambda desk: desk.model_version),
    _counter("graphcb_commits", "Transactions.", lambda desk: desk.n_commits),
    _counter(
        "graphcb_log_failures", "Transactions that the log refused.", lambda desk: desk.n_failures
    ),
    _counter("graphcb_defaults", "Defaults given after waiting.", lambda desk: desk.n_defaults),
    _counter(
        "graphcb_withheld_defaults", "Defaults withheld in outages.", lambda desk: desk.n_withheld
    ),
    _counter(
        "graphcb_clock_jumps", "Jumps of the clock by over 5 s.", lambda desk: desk.clock.n_jumps
    ),
    Meter(
        "graphcb_alarm", "gauge", "Since which decision it looks different.", _alarms,
        ("kind", "name"),
    ),
    _gauge(
        "graphcb_problem_version", "Version of the problem.",
        lambda desk, metrics: len(desk.versions),
    ),
    _gauge(
        "graphcb_staleness_seconds", "How far the model may be behind.",
        lambda desk, metrics: desk.staleness,
    ),
    _gauge(
        "graphcb_waiting", "Requests without an answer yet.", lambda desk, metrics: desk.n_waiting
    ),
    _gauge(
        "graphcb_start_time_seconds", "When the service started.",
        lambda desk, metrics: metrics.started,
    ),
    _gauge(
        "graphcb_match_rate", "How often a shadow plays as the baseline.",
        lambda desk, metrics: metrics.model.match_rate,
    ),
    _gauge(
        "graphcb_clock_jump_seconds", "The last jump of the clock.",
        lambda desk, metrics: desk.clock.last,
    ),
    _gauge(
        "graphcb_log_bytes", "Size of the log on disk.", lambda desk, metrics: metrics.log_bytes
    ),
    _gauge("graphcb_memory_bytes", "Memory of this process.", lambda desk, metrics: memory()),
    *_took("prune", lambda desk: desk.last_prune),
    *_took("checkpoint", lambda desk: desk.last_checkpoint),
)  # fmt: skip


async def measure_log(desk: Desk, metrics: "Metrics") -> None:
    """Note the size of the log, at most every minute on a server; unknown if it does not answer."""
    location = desk.policy.location
    if "://" not in location:
        log = Path(location)
        files = [log, *log.parent.glob(glob.escape(log.name) + "-*")]
        metrics.log_bytes = float(sum(map(_file_size, files)))
    elif time.monotonic() - metrics.measured > MEASURE_EVERY:
        metrics.measured, metrics.log_bytes = time.monotonic(), None
        with contextlib.suppress(Exception):  # who asks for metrics does not wait for the log
            async with asyncio.timeout(MEASURE_SECONDS):
                rows = await desk.ask(lambda together: together.storage.execute(_SIZE))
            metrics.log_bytes = float(rows[0][0])


def _file_size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:  # it was removed just now
        return 0


def memory() -> float | None:
    """The bytes of memory that this process has, where the system says so."""
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    except (OSError, ValueError):
        return None
    return float(pages * os.sysconf("SC_PAGE_SIZE"))
