"""Counts and latencies of the service itself: for /v1/status, and in Prometheus' text format."""

import asyncio
import contextlib
import math
import time
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Any, NamedTuple

from graphcb.compilation.watch import is_compiling
from graphcb.decisions import LogError
from graphcb.estimates.stillness import Alarm
from graphcb.service.answers import StatusAnswer, of_alarms
from graphcb.service.aside import aside
from graphcb.service.desk import Desk
from graphcb.service.live_answers import ProcessShown, RequestsShown, ServiceShown
from graphcb.service.meters import METERS

WATCHED = ("/v1/decisions", "/v1/decisions/{id}/feedback", "/personalizer/v1.0/rank")  # by the page
# Upper ends of the buckets of latencies, in seconds.
LOOK_EVERY = 0.5  # seconds between two looks at the model
LOOK_SECONDS = 0.5  # for which whoever asks waits for one
BUCKETS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0)


class Latencies:
    """A histogram of seconds."""

    def __init__(self) -> None:
        self.counts = [0] * (len(BUCKETS) + 1)
        self.total = 0.0

    def add(self, seconds: float) -> None:
        """Count one more."""
        self.counts[bisect_left(BUCKETS, seconds)] += 1
        self.total += seconds

    def quantile(self, share: float) -> float:
        """The upper end of the bucket in which this share is reached; infinite for the last."""
        wanted, seen = share * sum(self.counts), 0
        for end, count in zip((*BUCKETS, float("inf")), self.counts, strict=True):
            seen += count
            if seen >= wanted:
                return end
        return float("inf")


class ModelSeen(NamedTuple):
    """The alarms of the model, how often a shadow plays as the baseline, and who decides."""

    alarms: list[Alarm]
    match_rate: float | None
    agent: str


class Metrics:
    """Answers since the start, by route, and what was last seen of the model."""

    def __init__(self) -> None:
        self.started: float = time.time()
        self.answers: Counter[tuple[str, int]] = Counter()
        self.latencies: defaultdict[str, Latencies] = defaultdict(Latencies)
        self.missing: Counter[str] = Counter()  # contexts, by a feature that they must have
        self.log_bytes: float | None = None
        self.measured = -math.inf  # when it was measured on a server
        self.model: ModelSeen = ModelSeen([], None, "")
        self._next_look = -math.inf
        self._looking: asyncio.Future[None] | None = None

    def note(self, route: str, status: int, seconds: float) -> None:
        """Count an answer."""
        self.answers[route, status] += 1
        self.latencies[route].add(seconds)

    async def look(self, desk: Desk) -> None:
        """Look at the model in a thread, and wait for that briefly.

        It may take long: it waits for transactions, and may have to connect to the log again.
        """
        if time.monotonic() < self._next_look:
            return
        if self._looking is None or self._looking.done():
            self._looking = asyncio.ensure_future(aside(lambda: self.look_now(desk)))
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(LOOK_SECONDS):
                await asyncio.shield(self._looking)

    def look_now(self, desk: Desk) -> None:
        """Look at the model, unless that was just done; without a log it stays as it was seen."""
        if time.monotonic() < self._next_look:
            return
        with contextlib.suppress(LogError, OSError):
            policy = desk.policy
            self.model = ModelSeen(policy.alarms, policy.match_rate, desk.played_by)
        self._next_look = time.monotonic() + LOOK_EVERY

    def to_text(self, desk: Desk) -> bytes:
        """The text that Prometheus reads."""
        from prometheus_client import generate_latest
        from prometheus_client.registry import CollectorRegistry

        registry = CollectorRegistry()
        registry.register(_Collector(self, desk))
        return generate_latest(registry)


def status_of(desk: Desk, metrics: Metrics) -> StatusAnswer:
    """Events, requests and latencies; quantiles beyond the last bucket are left out."""
    from graphcb import __version__  # the package imports this room's neighbours

    requests: dict[str, dict[str, int]] = {}
    for (route, status), count in metrics.answers.items():
        requests.setdefault(route, {})[str(status)] = count
    latency = {
        route: {
            name: end
            for name, share in (("p50", 0.5), ("p99", 0.99))
            if math.isfinite(end := latencies.quantile(share))
        }
        for route, latencies in metrics.latencies.items()
    }
    return StatusAnswer(
        version=__version__,
        uptime=time.time() - metrics.started,
        n_events=desk.position,
        n_decisions=desk.n_decisions,
        n_feedbacks=desk.model_version,
        model_version=desk.model_version,
        problem_version=len(desk.versions),
        waiting=desk.n_waiting,
        commits=desk.n_commits,
        jobs_per_commit=desk.n_jobs / desk.n_commits if desk.n_commits else 0.0,
        requests=requests,
        latency=latency,
        role=desk.role,
        staleness=desk.staleness,
        alarms=of_alarms(metrics.model.alarms),
        log_failures=desk.n_failures,
        defaults=desk.n_defaults,
        clock_jumps=desk.clock.n_jumps,
        last_clock_jump=desk.clock.last,
    )


def process_of(desk: Desk, metrics: Metrics) -> ProcessShown:
    """What the page shows of this process."""
    status = status_of(desk, metrics)
    service = ServiceShown(
        version=status.version,
        agent=metrics.model.agent,
        is_compiling=is_compiling(),
        uptime=status.uptime,
        waiting=status.waiting,
        jobs_per_commit=status.jobs_per_commit,
        requests=[
            RequestsShown(
                path=path,
                requests=sum(counts.values()),
                refused=sum(n for code, n in counts.items() if code.startswith("4")),
                failed=sum(n for code, n in counts.items() if code.startswith("5")),
                p50=status.latency[path].get("p50"),
                p99=status.latency[path].get("p99"),
            )
            for path in WATCHED
            if (counts := status.requests.get(path))
        ],
    )
    return ProcessShown(
        now=time.time(),
        n_events=status.n_events,
        model_version=status.model_version,
        match_rate=metrics.model.match_rate,
        alarms=status.alarms,
        service=service,
    )


class _Collector:
    def __init__(self, metrics: Metrics, desk: Desk) -> None:
        self._metrics, self._desk = metrics, desk

    def collect(self) -> Iterator[Any]:
        """The families of metrics."""
        from prometheus_client.core import (
            CounterMetricFamily,
            GaugeMetricFamily,
            HistogramMetricFamily,
        )

        desk, metrics = self._desk, self._metrics
        requests = CounterMetricFamily(
            "graphcb_requests", "Requests answered.", labels=["route", "status"]
        )
        for (route, status), count in sorted(metrics.answers.items()):
            requests.add_metric([route, str(status)], count)
        yield requests
        seconds = HistogramMetricFamily(
            "graphcb_request_seconds", "Seconds until the answer.", labels=["route"]
        )
        for route, latencies in sorted(metrics.latencies.items()):
            seen, buckets = 0, []
            for end, count in zip((*BUCKETS, "+Inf"), latencies.counts, strict=True):
                seen += count
                buckets.append((str(end), seen))
            seconds.add_metric([route], buckets, sum_value=latencies.total)
        yield seconds
        kinds = {"counter": CounterMetricFamily, "gauge": GaugeMetricFamily}
        for meter in METERS:
            family = kinds[meter.kind](meter.name, meter.text, labels=meter.labels)
            for labels, value in meter.read(desk, metrics):
                family.add_metric(labels, value)
            if family.samples or meter.labels:
                yield family
