"""The dashboard and the alert rules in the documentation name what /metrics exports."""

import json
import re
from pathlib import Path

import pytest

pytest.importorskip("msgspec", reason="needs the extra `serve`")
pytest.importorskip("uvicorn", reason="needs the extra `serve`")
pytest.importorskip("prometheus_client", reason="needs the extra `serve`")
pytest.importorskip("yaml", reason="needs pyyaml, in the extra `dev`")

import yaml
from prometheus_client.parser import text_string_to_metric_families

from graphcb.service.meters import METERS

FOLDER = Path(__file__).parents[2] / "docs" / "monitoring"
OF_PROMETHEUS = {"job", "instance", "le"}
NAME = re.compile(r"graphcb_[a-z_]+")
SELECTED = re.compile(r"(graphcb_[a-z_]+)\{([^}]*)\}")


def dashboard():
    return json.loads((FOLDER / "grafana.json").read_text())


def alerts():
    (group,) = yaml.safe_load((FOLDER / "alerts.yml").read_text())["groups"]
    return group["rules"]


def expressions():
    panels = [one["expr"] for panel in dashboard()["panels"] for one in panel["targets"]]
    variables = [one["query"] for one in dashboard()["templating"]["list"]]
    of_metrics = [text for text in variables if "(" in text]  # not the choice of a data source
    return [*panels, *of_metrics, *(rule["expr"] for rule in alerts())]


@pytest.fixture
def exported(start):
    """The labels of every sample that /metrics may have."""
    service = start()
    service.call("POST", "/v1/decisions", {"context": {}})
    text = service.ask("GET", "/metrics")[2].decode()
    found = {meter.name + "_total" * (meter.kind == "counter"): {*meter.labels} for meter in METERS}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            found.setdefault(sample.name, set()).update(sample.labels)
    return found


def test_every_metric_and_label_is_exported(exported):
    for text in expressions():
        names = NAME.findall(text)
        assert names, text
        assert set(names) <= exported.keys(), text
        for name, selected in SELECTED.findall(text):
            labels = set(re.findall(r"(\w+)\s*[=!]~?", selected))
            assert labels <= exported[name] | OF_PROMETHEUS, text
        grouped = {one.strip() for by in re.findall(r"by \(([^)]*)\)", text)
                   for one in by.split(",")}  # fmt: skip
        known = set().union(*(exported[name] for name in names))
        assert grouped <= known | OF_PROMETHEUS, text


def test_every_metric_is_on_the_dashboard(exported):
    shown = " ".join(one["expr"] for panel in dashboard()["panels"] for one in panel["targets"])
    of_histograms = ("_sum", "_count", "_created")
    left_out = {name for name in exported if name not in shown and not name.endswith(of_histograms)}
    assert left_out == set()


def test_the_dashboard_can_be_imported():
    board = dashboard()
    panels = board["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    places = {(panel["gridPos"]["x"], panel["gridPos"]["y"]) for panel in panels}
    assert len(places) == len(panels)
    variables = {one["name"] for one in board["templating"]["list"]}
    assert set(re.findall(r"\$\{?(\w+)", json.dumps(board))) - {"__rate_interval"} <= variables


def test_every_alert_says_what_to_do():
    for rule in alerts():
        assert re.fullmatch(r"Graphcb[A-Za-z]+", rule["alert"])
        assert rule["labels"]["severity"] in ("page", "ticket")
        assert {*rule["annotations"]} == {"summary", "remedy"}
        for text in (rule["expr"], *rule["annotations"].values()):
            assert text.count("(") == text.count(")")
            assert text.count("{") == text.count("}")
