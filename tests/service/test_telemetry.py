"""Traces and metrics by OpenTelemetry's own packages."""

import pytest

pytest.importorskip("msgspec", reason="needs the extra `serve`")
pytest.importorskip("uvicorn", reason="needs the extra `serve`")
pytest.importorskip("prometheus_client", reason="needs the extra `serve`")
pytest.importorskip("opentelemetry.sdk", reason="needs opentelemetry-sdk, in the extra `otel`")

from opentelemetry import metrics as meters
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode

from graphcb import Policy
from graphcb.decisions import LogError
from graphcb.service.telemetry import Telemetry, telemetry_of

TRACE, SPAN = 0x4BF92F3577B34DA6A3CE929D0E0E4736, 0x00F067AA0BA902B7


@pytest.fixture
def exported():
    exporter, reader = InMemorySpanExporter(), InMemoryMetricReader()
    tracer = TracerProvider()
    tracer.add_span_processor(SimpleSpanProcessor(exporter))
    meter = MeterProvider([reader])
    yield exporter, reader, tracer, meter
    tracer.shutdown()
    meter.shutdown()


@pytest.fixture
def service(start, exported):
    running = start()
    inside = running.service
    inside.telemetry = Telemetry(inside.desk, inside.metrics, *exported[2:])
    return running


def points(reader):
    """The points of each metric."""
    data = reader.get_metrics_data()
    return {
        metric.name: list(metric.data.data_points)
        for resource in data.resource_metrics
        for scope in resource.scope_metrics
        for metric in scope.metrics
    }


def test_each_request_is_a_span_of_its_trace(service, exported):
    parent = {"traceparent": f"00-{TRACE:032x}-{SPAN:016x}-01"}
    made = service.call("POST", "/v1/decisions", {"context": {"amount": 1.0}}, parent)[1]
    service.call("GET", f"/v1/decisions/{made['decision_id']}")
    service.call("GET", "/nothing")
    first, second, third = exported[0].get_finished_spans()
    assert first.name == "POST /v1/decisions"
    assert (first.context.trace_id, first.parent.span_id) == (TRACE, SPAN)
    assert dict(first.attributes) == {
        "http.request.method": "POST",
        "http.route": "/v1/decisions",
        "http.response.status_code": 200,
    }
    assert 0 < first.end_time - first.start_time < 120e9
    assert first.status.status_code is StatusCode.UNSET
    assert second.name == "GET /v1/decisions/{id}"  # without what clients sent
    assert second.parent is None
    assert (third.name, third.attributes["http.response.status_code"]) == ("GET other", 404)


def test_a_failure_is_an_error(service, exported, monkeypatch):
    def fails():
        raise LogError("the disk is full")

    monkeypatch.setattr(service.service.desk.policy, "together", fails)
    service.call("POST", "/v1/decisions", {"context": {"amount": 1.0}})
    (span,) = exported[0].get_finished_spans()
    assert span.status.status_code is StatusCode.ERROR


def test_metrics_are_those_of_prometheus(service, exported):
    service.call("POST", "/v1/decisions", {"context": {}})
    text = service.ask("GET", "/metrics")[2].decode()
    found = points(exported[1])
    (point,) = found["graphcb_decisions"]
    assert point.value == 1
    (point,) = found["graphcb_missing_features"]
    assert (dict(point.attributes), point.value) == ({"feature": "amount"}, 1)
    by_route = {point.attributes["http.route"]: point.count for point in
                found["http.server.request.duration"]}  # fmt: skip
    assert by_route == {"/v1/decisions": 1, "/metrics": 1}
    for name in found.keys() - {"http.server.request.duration"}:
        assert f"# TYPE {name}" in text


def test_the_model_is_looked_at_though_nobody_asks_the_service(service, exported, monkeypatch):
    monkeypatch.setattr(Policy, "match_rate", 0.75)
    (point,) = points(exported[1])["graphcb_match_rate"]
    assert point.value == 0.75


def test_without_a_provider_nothing_is_sent(start):
    service = start().service
    assert telemetry_of(service.desk, service.metrics) is None
    assert service.telemetry is None


def test_with_a_provider_a_service_sends(start, exported, monkeypatch):
    monkeypatch.setattr(meters, "get_meter_provider", lambda: exported[3])
    assert start().service.telemetry is not None
