"""Azure Personalizer's two published Python clients, unmodified, against a running service."""

import pytest

pytest.importorskip("msgspec", reason="needs the extra `serve`")
pytest.importorskip("uvicorn", reason="needs the extra `serve`")
pytest.importorskip("prometheus_client", reason="needs the extra `serve`")

from graphcb import DecisionLog, Problem
from graphcb.decisions import verify
from graphcb.service.keys import Keys

from .conftest import FRAUD, ITEMS

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")

CONTEXT = [{"timeOfDay": "morning"}, {"user": {"age": 31, "device": "phone"}}]
MEALS = {"pasta": [{"taste": "salty", "price": 9}], "cake": [{"taste": "sweet"}, {"price": 4}]}


@pytest.fixture
def service(serve):
    return serve(ITEMS)


@pytest.fixture
def old_client(service):
    package = pytest.importorskip(
        "azure.cognitiveservices.personalizer",
        reason="needs azure-cognitiveservices-personalizer, in the extra `dev`",
    )
    from msrest.authentication import CognitiveServicesCredentials

    return package.PersonalizerClient(service.address, CognitiveServicesCredentials("a key"))


@pytest.fixture
def new_client(service):
    package = pytest.importorskip(
        "azure.ai.personalizer", reason="needs azure-ai-personalizer, in the extra `dev`"
    )
    from azure.core.credentials import AzureKeyCredential

    with package.PersonalizerClient(service.address, AzureKeyCredential("a key")) as client:
        yield client


def rank_request(**more):
    from azure.cognitiveservices.personalizer.models import RankableAction, RankRequest

    actions = [RankableAction(id=name, features=features) for name, features in MEALS.items()]
    return RankRequest(actions=actions, context_features=CONTEXT, **more)


def as_json(**more):
    actions = [{"id": name, "features": features} for name, features in MEALS.items()]
    return {"actions": actions, "contextFeatures": CONTEXT, **more}


def rewards(service):
    """The feedback of each decision in the log."""
    service.stop()
    assert verify(service.service.desk.policy.location) == []
    with DecisionLog(service.service.desk.policy.location) as log:
        return [None if row.feedback is None else row.feedback.losses.tolist() for row in log]


def test_the_old_client_ranks_and_rewards(service, old_client):
    answer = old_client.rank(rank_request(event_id="first"))
    assert answer.event_id == "first"
    assert answer.reward_action_id == answer.ranking[0].id
    assert {ranked.id for ranked in answer.ranking} == set(MEALS)
    assert sum(ranked.probability for ranked in answer.ranking) == pytest.approx(1.0)
    old_client.events.reward("first", 0.75)
    old_client.events.activate("first")
    unnamed = old_client.rank(rank_request())
    old_client.events.reward(unnamed.event_id, 1.0)
    assert rewards(service) == [[0.75], [1.0]]


def test_a_context_is_merged_from_its_objects(service, old_client):
    name = old_client.rank(rank_request()).event_id
    logged = service.call("GET", f"/v1/decisions/{name}")[1]
    assert logged["context"] == {"timeOfDay": "morning", "user.age": 31, "user.device": "phone"}


def test_excluded_actions_are_last_and_never_chosen(old_client):
    for _ in range(5):
        answer = old_client.rank(rank_request(excluded_actions=["pasta"]))
        assert answer.reward_action_id == "cake"
        assert [(one.id, one.probability) for one in answer.ranking] == [
            ("cake", 1.0),
            ("pasta", 0),
        ]


def test_an_event_that_is_ranked_again_is_the_same_decision(service, old_client):
    first = old_client.rank(rank_request(event_id="once"))
    for _ in range(5):
        again = old_client.rank(rank_request(event_id="once"))
        assert again.reward_action_id == first.reward_action_id
        assert [one.probability for one in again.ranking] == [
            one.probability for one in first.ranking
        ]
    assert service.call("GET", "/v1/status")[1]["n_decisions"] == 1


def test_the_first_reward_counts(service, old_client):
    old_client.rank(rank_request(event_id="first"))
    old_client.events.reward("first", 0.5)
    old_client.events.reward("first", 0.5)
    old_client.events.reward("first", 1.0)
    assert rewards(service) == [[0.5]]


def test_a_deferred_event_learns_once_it_is_active(service, old_client):
    old_client.rank(rank_request(event_id="later", defer_activation=True))
    old_client.rank(rank_request(event_id="never", defer_activation=True))
    old_client.events.reward("later", 0.25)
    old_client.events.reward("never", 0.25)
    assert service.call("GET", "/v1/status")[1]["n_feedbacks"] == 0
    old_client.events.activate("later")
    old_client.events.activate("later")
    old_client.events.reward("later", 1.0)
    assert rewards(service) == [[0.25], None]


def test_errors_of_the_old_client(old_client):
    from azure.cognitiveservices.personalizer.models import ErrorResponseException, RankRequest
    from msrest.exceptions import HttpOperationError

    with pytest.raises(
        ErrorResponseException, match="at least one that is not excluded"
    ) as refused:
        old_client.rank(RankRequest(actions=[]))
    assert refused.value.error.error.code == "bad_request"
    with pytest.raises(HttpOperationError, match="Not Found"):
        old_client.events.reward("nobody", 1.0)
    with pytest.raises(HttpOperationError, match="Not Found"):
        old_client.events.activate("nobody")
    old_client.rank(rank_request(event_id="first"))
    with pytest.raises(HttpOperationError, match="Bad Request"):
        old_client.events.reward("first", 2.0)


def test_the_new_client_ranks_rewards_and_activates(service, new_client):
    answer = new_client.rank(as_json(eventId="first"))
    assert answer["eventId"] == "first"
    assert answer["rewardActionId"] == answer["ranking"][0]["id"]
    new_client.reward("first", {"value": 0.5})
    new_client.activate("first")
    unnamed = new_client.rank(as_json(deferActivation=True))
    new_client.reward(unnamed["eventId"], {"value": 1.0})
    new_client.activate(unnamed["eventId"])
    assert rewards(service) == [[0.5], [1.0]]


SLOTS = [
    {"id": "top", "baselineAction": "pasta", "features": [{"size": "large"}]},
    {"id": "side", "baselineAction": "cake", "excludedActions": ["soup"]},
]


def test_slots_are_decisions_of_their_own(service, new_client):
    asked = as_json(slots=SLOTS, eventId="page")
    asked["actions"].append({"id": "soup", "features": [{"taste": "salty"}]})
    answer = new_client.rank_multi_slot(asked)
    assert answer["eventId"] == "page"
    assert [slot["id"] for slot in answer["slots"]] == ["top", "side"]
    chosen = [slot["rewardActionId"] for slot in answer["slots"]]
    assert len(set(chosen)) == 2
    assert chosen[1] != "soup"
    assert new_client.rank_multi_slot(asked) == answer
    new_client.reward_multi_slot("page", {"reward": [{"slotId": "side", "value": 1.0}]})
    new_client.reward_multi_slot("page", {"reward": [{"slotId": "top", "value": 0.0}]})
    new_client.activate_multi_slot("page")
    assert rewards(service) == [[0.0], [1.0]]


def test_errors_of_the_new_client(service, new_client):
    from azure.core.exceptions import HttpResponseError, ResourceNotFoundError

    with pytest.raises(ResourceNotFoundError, match="`decision_id` must be one that"):
        new_client.reward("nobody", {"value": 1.0})
    with pytest.raises(HttpResponseError, match="`slots` must be at least one, with distinct ids"):
        new_client.rank_multi_slot(as_json(slots=[*SLOTS, *SLOTS]))
    three = [*SLOTS, {"id": "bottom", "baselineAction": "x"}]
    with pytest.raises(HttpResponseError, match="at least one that is not excluded"):
        new_client.rank_multi_slot(as_json(slots=three))
    assert service.call("GET", "/v1/status")[1]["n_events"] == 0
    new_client.rank_multi_slot(as_json(slots=SLOTS, eventId="page"))
    with pytest.raises(ResourceNotFoundError, match="event 'page' has no slot 'bottom'"):
        new_client.reward_multi_slot("page", {"reward": [{"slotId": "bottom", "value": 1.0}]})


def test_fixed_actions_are_known_by_name(start):
    service = start(FRAUD)
    asked = {"actions": [{"id": "approve", "features": [{"x": 1}]}, {"id": "review"}]}
    asked["contextFeatures"] = [{"amount": 3.0}]
    status, answer = service.call("POST", "/personalizer/v1.0/rank", asked)
    assert status == 201
    path = f"/personalizer/v1.0/events/{answer['eventId']}/reward"
    assert service.call("POST", path, {"value": -20.0})[0] == 204
    asked["actions"][0]["id"] = "aprove"
    status, answer = service.call("POST", "/personalizer/v1.0/rank", asked)
    assert status == 400
    assert "did you mean 'approve'?" in answer["error"]["message"]


def test_rewards_need_a_problem_with_rewards(start):
    service = start(Problem("each round"))
    answer = service.call("POST", "/personalizer/rank", as_json())[1]
    path = f"/personalizer/events/{answer['eventId']}/reward"
    status, error = service.call("POST", path, {"value": 1.0})
    assert status == 400
    assert error["error"]["message"] == (
        "the problem must have feedback = \"rewards\" for Personalizer's clients, got 'losses'"
    )


def test_a_subscription_key_is_a_key(start, tmp_path):
    keys = Keys(tmp_path / "keys.json")
    secret = keys.add("shop", ["decide"])
    service = start(ITEMS, keys=keys)
    header = {"Ocp-Apim-Subscription-Key": secret}
    assert service.call("POST", "/personalizer/v1.0/rank", as_json(), header)[0] == 201
    assert service.call("POST", "/personalizer/v1.0/rank", as_json())[0] == 401
