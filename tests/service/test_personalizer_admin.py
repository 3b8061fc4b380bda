"""The client by which Personalizer is administered, unmodified, against a running service."""

import asyncio
import io
import time
from datetime import UTC, datetime, timedelta

import pytest

pytest.importorskip("msgspec", reason="needs the extra `serve`")
pytest.importorskip("uvicorn", reason="needs the extra `serve`")
pytest.importorskip("prometheus_client", reason="needs the extra `serve`")

from graphcb import Problem
from graphcb.service import personalizer_admin as admin
from graphcb.service import personalizer_evaluations as evaluations

from .conftest import ITEMS
from .test_personalizer import as_json

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")
BOUNDED = Problem("each round", feedback="rewards", range=(0.0, 1.0), explore=0.05)


@pytest.fixture
def service(serve):
    return serve(BOUNDED)


@pytest.fixture
def client(service):
    package = pytest.importorskip(
        "azure.ai.personalizer", reason="needs azure-ai-personalizer, in the extra `dev`"
    )
    from azure.core.credentials import AzureKeyCredential

    with package.PersonalizerAdministrationClient(
        service.address, AzureKeyCredential("a key")
    ) as client:
        yield client


def play(service, n, value=1.0):
    for _ in range(n):
        event = service.call("POST", "/personalizer/v1.0/rank", as_json())[1]["eventId"]
        path = f"/personalizer/v1.0/events/{event}/reward"
        assert service.call("POST", path, {"value": value})[0] == 204


def test_the_configuration_is_the_problem_in_their_words(service, client):
    now = client.get_service_configuration()
    assert now["explorationPercentage"] == 0.05
    assert (now["learningMode"], now["rewardAggregation"]) == ("Online", "earliest")
    assert (now["rewardWaitTime"], now["logRetentionDays"]) == ("PT0S", -1)
    wanted = {
        **now,
        "explorationPercentage": 0.02,
        "rewardWaitTime": "PT10M",
        "defaultReward": 0.25,
        "rewardAggregation": "sum",
        "logRetentionDays": 90,
        "learningMode": "Apprentice",
    }
    found = client.update_service_configuration(wanted)
    assert found["lastConfigurationEditDate"] > now["lastConfigurationEditDate"]
    assert found == {
        **wanted,
        "rewardWaitTime": "PT600S",
        "lastConfigurationEditDate": found["lastConfigurationEditDate"],
    }
    assert client.get_service_configuration() == found
    problem = Problem.from_toml(service.call("GET", "/v1/problem")[1]["toml"])
    assert problem.explore == 0.02
    assert (problem.defaults.waiting, problem.defaults.value) == (600.0, 0.25)
    assert (problem.defaults.keep_days, problem.defaults.adds_up) == (90.0, True)
    assert problem.baseline.is_first
    assert problem.baseline.is_shadow
    n_versions = len(service.call("GET", "/v1/versions")[1]["versions"])
    client.update_service_configuration(found)  # nothing new
    assert len(service.call("GET", "/v1/versions")[1]["versions"]) == n_versions
    client.update_service_configuration(now)
    back = Problem.from_toml(service.call("GET", "/v1/problem")[1]["toml"])
    assert back == BOUNDED


@pytest.mark.parametrize(
    ("wrong", "text"),
    [
        ({"modelExportFrequency": "PT5M"}, '`modelExportFrequency` must be "PT0S" here'),
        ({"isAutoOptimizationEnabled": True}, "`isAutoOptimizationEnabled` must be false here"),
        ({"learningMode": "LoggingOnly"}, "`learningMode` must be Online or Apprentice"),
        ({"rewardWaitTime": "10 minutes"}, "`rewardWaitTime` must be a duration as in ISO 8601"),
        ({"rewardAggregation": "mean"}, "`defaults.reward_aggregation`"),
        ({"rewardAggregation": "sum"}, "must stand beside waiting and reward"),
        ({"explorationPercentage": 2.0}, "`explore`"),
    ],
)
def test_configurations_that_are_refused(start, wrong, text):
    service = start(BOUNDED)
    status, answer = service.call("PUT", "/personalizer/configurations/service", wrong)
    assert (status, answer["error"]["code"]) == (400, "BadRequest")
    assert text in answer["error"]["message"]
    assert len(service.call("GET", "/v1/versions")[1]["versions"]) == 1


def test_learning_settings_are_the_problem_file(service, client):
    from azure.core.exceptions import HttpResponseError

    now = client.get_policy()
    assert now["name"] == "InformationDirected"
    assert Problem.from_toml(now["arguments"]) == BOUNDED
    wider = Problem("each round", feedback="rewards", range=(0.0, 2.0))
    found = client.update_policy({"name": "wider", "arguments": wider.to_toml()})
    assert Problem.from_toml(found["arguments"]) == wider
    with pytest.raises(HttpResponseError, match="/v1/rollback") as refused:
        client.reset_policy()
    assert refused.value.status_code == 400
    with pytest.raises(HttpResponseError, match="change the problem instead"):
        client.apply_from_evaluation({"evaluationId": "x", "policyName": "y"})


def test_the_model_goes_out_in_and_away(service, client):
    from azure.core.exceptions import HttpResponseError

    play(service, 30)
    model = b"".join(client.export_model())
    asked = as_json(excludedActions=[])
    before = service.call("POST", "/personalizer/rank", asked)[1]["ranking"]
    assert client.get_model_properties()["creationTime"].endswith("Z")
    client.reset_model()
    fresh = service.call("POST", "/personalizer/rank", asked)[1]["ranking"]
    client.import_model(io.BytesIO(model))
    after = service.call("POST", "/personalizer/rank", asked)[1]["ranking"]
    as_shares = [{one["id"]: one["probability"] for one in r} for r in (before, fresh, after)]
    assert as_shares[0] == as_shares[2] != as_shares[1]
    versions = service.call("GET", "/v1/versions")[1]["versions"]
    assert [one["note"] for one in versions[1:]] == ["by a client of Personalizer"] * 2
    with pytest.raises(HttpResponseError, match="the model"):
        client.import_model(io.BytesIO(b"not a model"))
    client.update_service_configuration({"explorationPercentage": 0.0})
    with pytest.raises(HttpResponseError, match="must be one of the same problem"):
        client.import_model(io.BytesIO(model))


def test_the_log_has_dates_and_can_be_emptied(service, client):
    assert client.get_log_properties() == {"dateRange": {"from": None, "to": None}}
    service.call("POST", "/personalizer/rank", as_json(eventId="kept"))
    play(service, 3)
    span = client.get_log_properties()["dateRange"]
    assert span["from"] < span["to"]
    client.delete_logs()
    assert client.get_log_properties() == {"dateRange": {"from": None, "to": None}}
    status, answer = service.call("POST", "/personalizer/events/kept/reward", {"value": 1.0})
    assert (status, answer["error"]["code"]) == (404, "ResourceNotFound")
    play(service, 1)  # it goes on


def test_a_refusal_of_what_an_admin_asks_for_is_told(start, monkeypatch):
    """As a decider's: it is no failure of the service, though the request has no body."""

    async def refuses(desk, before):
        raise ValueError("ask the trainer")

    monkeypatch.setattr(admin, "prune", refuses)
    service = start(BOUNDED)
    play(service, 1)
    status, answer = service.call("DELETE", "/personalizer/logs")
    assert (status, answer["error"]["code"]) == (400, "BadRequest")
    assert answer["error"]["message"] == "ask the trainer"


def test_what_is_decided_while_the_log_is_emptied_stays(start, monkeypatch):
    """Its event too, which clients are about to reward."""
    service, prune = start(BOUNDED), admin.prune

    async def late(desk, before):
        await asyncio.to_thread(play_late)
        await prune(desk, before)

    def play_late():
        assert service.call("POST", "/personalizer/rank", as_json(eventId="late"))[0] == 201

    monkeypatch.setattr(admin, "prune", late)
    assert service.call("DELETE", "/personalizer/logs")[0] == 204  # nothing to do
    play(service, 3)
    assert service.call("DELETE", "/personalizer/logs")[0] == 204
    span = service.call("GET", "/personalizer/logs/properties")[1]["dateRange"]
    assert span["from"] == span["to"] is not None
    status, _ = service.call("POST", "/personalizer/events/late/reward", {"value": 1.0})
    assert status == 204


@pytest.mark.slow
def test_evaluations_are_our_estimates(service, client):
    from azure.core.exceptions import HttpResponseError, ResourceNotFoundError

    play(service, 40, value=0.75)
    now = datetime.now(UTC)
    first, last = now - timedelta(days=1), now + timedelta(days=1)
    times = {"startTime": first.isoformat(), "endTime": last.isoformat()}
    cold = Problem("each round", feedback="rewards", range=(0.0, 1.0), explore=0.5)
    policies = [{"name": "bold", "arguments": cold.to_toml()}]
    client.create_evaluation("one", {"name": "first", **times, "policies": policies})
    end = time.monotonic() + 120.0
    while (found := client.get_evaluation("one", start_time=first, end_time=last))[
        "status"
    ] == "Running":
        assert time.monotonic() < end
        time.sleep(0.2)
    assert found["status"] == "Succeeded"
    while evaluations._RUNNING:
        time.sleep(0.01)
    with pytest.raises(HttpResponseError, match="exists already"):
        client.create_evaluation("one", {"name": "first", **times})
    by_name = {one["name"]: one for one in found["content"]["value"]}
    assert set(by_name) == {"Online", "Baseline", "Random", "bold"}
    for one in by_name.values():
        mean, ends = one["summary"]["expectedReward"], one["summary"]["confidenceInterval"]
        assert mean is None or mean == pytest.approx(0.75)
        assert len(ends) in (0, 2)
    assert by_name["Online"]["summary"]["expectedReward"] == pytest.approx(0.75)
    listed = list(client.list_evaluations())
    assert [(one["id"], one["status"]) for one in listed] == [("one", "Succeeded")]
    client.delete_evaluation("one")
    with pytest.raises(ResourceNotFoundError, match="there is no evaluation 'one'"):
        client.get_evaluation("one", start_time=first, end_time=last)
    assert list(client.list_evaluations()) == []


@pytest.mark.parametrize(
    ("wrong", "text"),
    [
        ({"endTime": "2020-01-01T00:00:00Z"}, "`endTime` must be after `startTime`"),
        ({"id": "x" * 257}, "an evaluation's id must have at most 256 characters"),
        ({"id": "%00"}, "none of them NUL"),
        ({"enablePolicyOptimization": True}, "`enablePolicyOptimization` must be false"),
        ({"policies": [{"name": "x", "arguments": "--cb_explore_adf"}]}, "TOML"),
    ],
)
def test_evaluations_that_are_refused(start, wrong, text):
    service = start(BOUNDED)
    asked = {"name": "x", "startTime": "2024-01-01T00:00:00Z", "endTime": "2025-01-01T00:00:00Z"}
    path = f"/personalizer/evaluations/{wrong.get('id', 'one')}"
    status, answer = service.call("PUT", path, {**asked, **wrong})
    assert (status, answer["error"]["code"]) == (400, "BadRequest")
    assert text in answer["error"]["message"]
    assert service.call("GET", "/personalizer/evaluations")[1] == {"value": []}


TIMES = {"name": "x", "startTime": "2024-01-01T00:00:00Z", "endTime": "2025-01-01T00:00:00Z"}


def test_an_evaluation_ends_with_the_service(start, tmp_path, monkeypatch):
    """It would hold up the stop, and look as if it ran for ever after."""
    monkeypatch.setattr(evaluations, "_COMMAND", "import time; time.sleep(100)")
    service = start(BOUNDED)
    assert service.call("PUT", "/personalizer/evaluations/one", TIMES)[0] == 200
    assert service.call("GET", "/personalizer/evaluations/one")[1]["status"] == "Running"
    began = time.monotonic()
    service.stop()
    assert time.monotonic() - began < 30.0
    again = start(BOUNDED)
    assert again.call("GET", "/personalizer/evaluations/one")[1]["status"] == "Failed"


SLEEPS = "import time; time.sleep(100)"
PRINTS = 'print(\'{"status": "Succeeded"}\')'


def create(service, name="one", **more):
    return service.call("PUT", f"/personalizer/evaluations/{name}", {**TIMES, **more})


def status_of(service, name="one"):
    """Of an evaluation that has ended."""
    path, end = f"/personalizer/evaluations/{name}", time.monotonic() + 60.0
    while (found := service.call("GET", path)[1])["status"] == "Running" or evaluations._RUNNING:
        assert time.monotonic() < end
        time.sleep(0.01)
    return found["status"]


def test_an_evaluation_that_was_deleted_ends_and_does_not_come_back(start, monkeypatch, caplog):
    monkeypatch.setattr(evaluations, "_COMMAND", SLEEPS)
    service = start(BOUNDED)
    assert create(service)[0] == 200
    (running,) = evaluations._RUNNING
    assert service.call("DELETE", "/personalizer/evaluations/one")[0] == 204
    monkeypatch.setattr(evaluations, "_COMMAND", PRINTS)
    assert create(service, "two")[0] == 200
    assert status_of(service, "two") == "Succeeded"
    end = time.monotonic() + 60.0
    while running.process.poll() is None:
        assert time.monotonic() < end
        time.sleep(0.01)
    listed = service.call("GET", "/personalizer/evaluations")[1]["value"]
    assert [one["id"] for one in listed] == ["two"]
    assert "an evaluation failed" not in caplog.text


def test_there_is_one_evaluation_at_a_time(start, monkeypatch):
    """Each reads the whole log; many at once would take the machine from those who decide."""
    monkeypatch.setattr(evaluations, "_COMMAND", SLEEPS)
    service, other = start(BOUNDED), start(BOUNDED, log="other.db")
    assert create(service)[0] == 200
    for one in (service, other):
        status, headers, body = one.ask("PUT", "/personalizer/evaluations/two", TIMES)
        assert (status, headers["retry-after"]) == (503, "1")
        assert b"another evaluation is running; try again once it has ended" in body
    assert other.call("DELETE", "/personalizer/evaluations/one")[0] == 404
    assert service.call("DELETE", "/personalizer/evaluations/one")[0] == 204
    monkeypatch.setattr(evaluations, "_COMMAND", PRINTS)
    for name in ("two", "three"):
        assert create(other, name)[0] == 200
        assert status_of(other, name) == "Succeeded"
    status, answer = create(other, "three")
    assert "evaluation 'three' exists already" in answer["error"]["message"]
    assert evaluations._RUNNING == []


def test_an_evaluation_is_short_and_few_are_kept(start, monkeypatch):
    monkeypatch.setattr(evaluations, "_COMMAND", SLEEPS)
    service = start(BOUNDED)
    policies = [{"name": str(k), "arguments": BOUNDED.to_toml()} for k in range(11)]
    status, answer = create(service, policies=policies)
    text = "the policies must be at most 10, got 11"
    assert (status, answer["error"]["message"]) == (413, text)
    monkeypatch.setattr(evaluations, "MOST_SECONDS", 0.05)
    assert create(service)[0] == 200
    assert status_of(service) == "Failed"
    found = service.call("GET", "/personalizer/evaluations/one")[1]
    assert found["error"] == "it took longer than 0.05 seconds; choose a shorter time"
    monkeypatch.setattr(evaluations, "MOST_KEPT", 3)
    monkeypatch.setattr(evaluations, "MOST_SECONDS", 60.0)
    monkeypatch.setattr(evaluations, "_COMMAND", PRINTS)
    for name in ("b", "a", "c"):
        assert create(service, name)[0] == 200
        assert status_of(service, name) == "Succeeded"
    listed = service.call("GET", "/personalizer/evaluations")[1]["value"]
    assert [one["id"] for one in listed] == ["a", "b", "c"]


def test_an_evaluation_whose_service_was_killed_has_failed(start, monkeypatch):
    monkeypatch.setattr(evaluations, "_COMMAND", SLEEPS)
    service = start(BOUNDED)
    assert create(service)[0] == 200
    later = time.time() + evaluations.MOST_SECONDS
    monkeypatch.setattr(evaluations.time, "time", lambda: later)
    assert service.call("GET", "/personalizer/evaluations/one")[1]["status"] == "Running"
    later += 61.0
    assert service.call("GET", "/personalizer/evaluations/one")[1]["status"] == "Failed"


def test_an_evaluation_that_fails_quotes_nobody(start, monkeypatch, caplog):
    fails = "e.results = lambda **job: {}['secret']"
    command = f"from graphcb.service import personalizer_evaluations as e; {fails}; e.main()"
    monkeypatch.setattr(evaluations, "_COMMAND", command)
    service = start(BOUNDED)
    assert create(service)[0] == 200
    assert status_of(service) == "Failed"
    found = service.call("GET", "/personalizer/evaluations/one")[1]
    assert found["error"] == "the service failed on this request; its own log says why"
    assert "an evaluation failed: a request failed: KeyError" in caplog.text
    assert "secret" not in caplog.text


@pytest.mark.slow
def test_an_evaluation_says_why_there_are_no_results(start):
    service = start(BOUNDED)
    assert create(service)[0] == 200
    assert status_of(service) == "Failed"
    found = service.call("GET", "/personalizer/evaluations/one")[1]
    assert found["error"].startswith("the log must have decisions with complete feedback, got 0")


def test_what_makes_no_sense_here_says_so(service, client):
    from azure.core.exceptions import HttpResponseError

    for ask in (
        lambda: list(client.list_feature_importances()),
        lambda: client.get_feature_importance("x"),
        lambda: client.delete_feature_importance("x"),
    ):
        with pytest.raises(HttpResponseError, match=r"graphcb\.evaluation\.importances") as refused:
            ask()
        assert refused.value.error.code == "BadRequest"


def test_a_model_is_not_json(start):
    service = start(ITEMS)
    status, answer = service.call("PUT", "/personalizer/model", {"x": 1})
    assert status == 415
    assert answer["error"]["message"] == "the content type must be application/octet-stream"


def test_durations():
    assert admin.read_duration("x", "P2D") == 172800.0
    assert admin.read_duration("x", admin.as_duration(12.5)) == 12.5
    for wrong in ("P", "PT", "10", "PT5X", ""):
        with pytest.raises(ValueError, match="must be a duration as in ISO 8601"):
            admin.read_duration("x", wrong)
