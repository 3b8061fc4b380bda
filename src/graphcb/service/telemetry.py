"""Traces and metrics by OpenTelemetry, if its packages are installed and have been set up.

`opentelemetry-instrument graphcb serve problem.toml` sets them up by its environment variables,
`opentelemetry.trace.set_tracer_provider` in a program. Without either, nothing is sent.
"""

import time
from collections.abc import Iterable, Iterator
from importlib.util import find_spec
from typing import Any

from graphcb.service.desk import Desk
from graphcb.service.meters import METERS, Meter
from graphcb.service.metrics import Metrics


def telemetry_of(desk: Desk, metrics: Metrics) -> "Telemetry | None":
    """What sends traces and metrics, None if OpenTelemetry is not installed or not set up."""
    if find_spec("opentelemetry") is None:
        return None
    from opentelemetry import metrics as meters
    from opentelemetry import trace

    is_set_up = any(
        not type(one).__name__.startswith(("Proxy", "_Proxy", "NoOp"))
        for one in (trace.get_tracer_provider(), meters.get_meter_provider())
    )
    return Telemetry(desk, metrics) if is_set_up else None


class Telemetry:
    """A span for each request, after its answer, and the numbers of /metrics.

    A span continues the trace of the request's header `traceparent`. Providers are the global
    ones unless they are given.
    """

    def __init__(
        self, desk: Desk, metrics: Metrics, tracer_provider: Any = None, meter_provider: Any = None
    ) -> None:
        from opentelemetry import metrics as meters
        from opentelemetry import trace
        from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

        self._tracer = trace.get_tracer("graphcb", tracer_provider=tracer_provider)
        self._context = TraceContextTextMapPropagator()
        self._server, self._trace = trace.SpanKind.SERVER, trace
        meter = meters.get_meter("graphcb", meter_provider=meter_provider)
        self._seconds = meter.create_histogram(
            "http.server.request.duration", unit="s", description="Seconds until the answer."
        )
        for one in METERS:
            make = {
                "counter": meter.create_observable_counter,
                "gauge": meter.create_observable_gauge,
            }[one.kind]
            make(one.name, callbacks=[_callback(one, desk, metrics)], description=one.text)

    def note(
        self,
        method: str,
        route: str,
        status: int,
        seconds: float,
        headers: Iterable[tuple[bytes, bytes]],
    ) -> None:
        """Send a request that was answered just now."""
        attributes: dict[str, str | int] = {
            "http.request.method": method,
            "http.route": route,
            "http.response.status_code": status,
        }
        self._seconds.record(seconds, attributes)
        wanted = (b"traceparent", b"tracestate")
        carrier = {
            name.decode(): text.decode("latin-1") for name, text in headers if name in wanted
        }
        end = time.time_ns()
        span = self._tracer.start_span(
            f"{method} {route}",
            context=self._context.extract(carrier),
            kind=self._server,
            attributes=attributes,
            start_time=end - int(1e9 * seconds),
        )
        if status >= 500:
            span.set_status(self._trace.Status(self._trace.StatusCode.ERROR))
        span.end(end)


def _callback(meter: Meter, desk: Desk, metrics: Metrics) -> Any:
    from opentelemetry.metrics import Observation

    def observe(options: Any) -> Iterator[Any]:  # in a thread of OpenTelemetry's
        metrics.look_now(desk)
        for values, number in meter.read(desk, metrics):
            yield Observation(number, dict(zip(meter.labels, values, strict=True)))

    return observe
