"""Requests counted and timed as they are answered, and shown in Prometheus' text format."""

import time
from bisect import bisect_left
from collections.abc import Iterator
from typing import Any

from graphcb.service.desk import Desk

# Upper ends of the buckets of latencies, in seconds.
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
        """The upper end of the bucket in which this share is reached; the last is open."""
        wanted, seen = share * sum(self.counts), 0
        for end, count in zip((*BUCKETS, float("inf")), self.counts, strict=True):
            seen += count
            if seen >= wanted:
                return end
        return float("inf")


class Metrics:
    """What was asked and answered since the start, by route."""

    def __init__(self) -> None:
        self.started = time.time()
        self.answers: dict[tuple[str, int], int] = {}
        self.latencies: dict[str, Latencies] = {}

    def note(self, route: str, status: int, seconds: float) -> None:
        """Count an answer."""
        key = route, status
        self.answers[key] = self.answers.get(key, 0) + 1
        latencies = self.latencies.get(route)
        if latencies is None:
            latencies = self.latencies[route] = Latencies()
        latencies.add(seconds)

    def to_text(self, desk: Desk) -> bytes:
        """All of it for Prometheus."""
        from prometheus_client import generate_latest
        from prometheus_client.registry import CollectorRegistry

        registry = CollectorRegistry()
        registry.register(_Collector(self, desk))
        return generate_latest(registry)


class _Collector:
    def __init__(self, metrics: Metrics, desk: Desk) -> None:
        self._metrics, self._desk = metrics, desk

    def collect(self) -> Iterator[Any]:
        """One family of metrics after the other."""
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
        yield CounterMetricFamily(
            "graphcb_decisions", "Decisions in the log.", value=desk.n_decisions
        )
        yield CounterMetricFamily(
            "graphcb_feedbacks", "Feedbacks in the log.", value=desk.model_version
        )
        yield CounterMetricFamily("graphcb_commits", "Transactions.", value=desk.n_commits)
        yield GaugeMetricFamily(
            "graphcb_problem_version", "Version of the problem.", value=len(desk.versions)
        )
        if desk.staleness is not None:
            yield GaugeMetricFamily(
                "graphcb_staleness_seconds", "What the model may have missed.", value=desk.staleness
            )
        yield GaugeMetricFamily("graphcb_waiting", "Requests that wait.", value=desk.n_waiting)
        yield GaugeMetricFamily(
            "graphcb_start_time_seconds", "When the service started.", value=metrics.started
        )
