"""Azure Personalizer's two published Python clients, unmodified, against a running service."""

import asyncio
import dataclasses
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

pytest.importorskip("msgspec", reason="needs the extra `serve`")
pytest.importorskip("uvicorn", reason="needs the extra `serve`")
pytest.importorskip("prometheus_client", reason="needs the extra `serve`")

from graphcb import DecisionLog, Problem
from graphcb.decisions import verify
from graphcb.service import tending
from graphcb.service.keys import Keys

from .conftest import FRAUD, ITEMS, InProcess

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
    assert refused.value.error.error.code == "BadRequest"
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

    with pytest.raises(ResourceNotFoundError, match="event 'nobody' is not known, or was removed"):
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


def rank(service, headers=None, **more):
    return service.call("POST", "/personalizer/v1.0/rank", as_json(**more), headers)


def reward(service, event, value, headers=None):
    path = f"/personalizer/v1.0/events/{event}/reward"
    return service.call("POST", path, {"value": value}, headers)


def test_an_event_belongs_to_the_key_that_ranked_it(start, tmp_path):
    keys = Keys(tmp_path / "keys.json")
    shop, worker, other = (
        {"Ocp-Apim-Subscription-Key": keys.add(name, ["decide", "feedback", "read"])}
        for name in ("shop/web", "shop/worker", "other")
    )
    service = start(ITEMS, keys=keys)
    assert rank(service, shop, eventId="cart")[1]["eventId"] == "cart"
    status, answer = reward(service, "cart", 1.0, other)
    assert (status, answer["error"]["code"]) == (404, "ResourceNotFound")
    assert answer["error"]["message"] == "event 'cart' is not known, or was removed"
    assert rank(service, other, eventId="cart")[0] == 201  # another one of the same name
    assert service.call("GET", "/v1/status", headers=shop)[1]["n_decisions"] == 2
    assert reward(service, "cart", 0.5, worker)[0] == 204
    assert reward(service, "cart", 0.25, other)[0] == 204
    assert rewards(service) == [[0.5], [0.25]]


def test_an_event_is_ranked_again_with_actions_that_have_its_own(start):
    service = start(ITEMS)
    chosen = rank(service, eventId="once")[1]["rewardActionId"]
    assert rank(service, eventId="once")[1]["rewardActionId"] == chosen
    for more in (
        {"actions": [{"id": "tea", "features": [{"price": 1}]}]},
        {"excludedActions": [chosen]},
    ):
        status, answer = service.call(
            "POST", "/personalizer/rank", {**as_json(eventId="once"), **more}
        )
        assert (status, answer["error"]["code"]) == (400, "BadRequest")
        assert answer["error"]["message"] == (
            f"event 'once' was ranked before and got {chosen!r}, which is not among the actions of "
            "this request; use another eventId"
        )
    status, answer = service.call(
        "POST", "/personalizer/multislot/rank", as_json(slots=SLOTS, eventId="once")
    )
    assert (status, answer["error"]["message"]) == (
        400, "event 'once' was ranked without slot 'top'; use another eventId",
    )  # fmt: skip


def test_codes_and_words_are_those_of_personalizer(start):
    service = start(FRAUD)
    asked = {"actions": [{"id": "approve"}, {"id": "review"}], "eventId": "x"}
    assert service.call("POST", "/personalizer/rank", asked)[0] == 201
    status, answer = reward(service, "x", 1e3)
    assert (status, answer["error"]["code"]) == (400, "BadRequest")
    assert answer["error"]["message"] == "`value` must be between -50 and 20, got 1000"
    for method, path, status, code in (
        ("POST", "/personalizer/v1.0/events/nobody/activate", 404, "ResourceNotFound"),
        ("GET", "/personalizer/v1.0/nothing", 404, "ResourceNotFound"),
        ("GET", "/personalizer/v1.0/rank", 405, "BadRequest"),
        ("POST", "/v1/decisions/nobody/feedback", 415, "unsupported_media_type"),
    ):
        found = service.call(method, path)
        assert (found[0], found[1]["error"]["code"]) == (status, code)
        assert "decision_id" not in found[1]["error"]["message"]


ADDING = {"waiting": 0.5, "reward": 0.0, "reward_aggregation": "sum"}


def until(condition):
    end = time.monotonic() + 60.0
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


def n_feedbacks(service):
    return service.call("GET", "/v1/status")[1]["n_feedbacks"]


def test_rewards_add_up_while_an_event_waits(start):
    slow = Problem("each round", feedback="rewards", range=(0.0, 1.0),
                   defaults={**ADDING, "waiting": 1000.0})  # fmt: skip
    service = start(slow, tend_every=0.02)
    named = rank(service, eventId="named")[1]["eventId"]
    unnamed = rank(service)[1]["eventId"]
    for event, value in ((named, 0.25), (unnamed, 0.5), (named, 0.5)):
        assert reward(service, event, value)[0] == 204
    status, answer = reward(service, named, 0.5)
    assert (status, answer["error"]["message"]) == (
        400, "the rewards of event 'named' must add up to a number between 0 and 1, got 1.25",
    )  # fmt: skip
    assert n_feedbacks(service) == 0
    fast = dataclasses.replace(slow, defaults={**ADDING, "waiting": 0.01})
    assert service.call("POST", "/v1/problem", {"toml": fast.to_toml()})[0] == 200
    until(lambda: n_feedbacks(service) == 2)
    assert reward(service, named, 0.1)[0] == 204  # too late: accepted and ignored
    assert rewards(service) == [[0.75], [0.5]]


def test_sums_are_learned_once_rewards_no_longer_add_up(start):
    """They were accepted: a change of the setting must not leave them behind."""
    problem = Problem("each round", feedback="rewards", range=(0.0, 1.0),
                      defaults={**ADDING, "waiting": 1000.0})  # fmt: skip
    service = start(problem, tend_every=0.02)
    rank(service, eventId="before")
    for value in (0.25, 0.5):
        assert reward(service, "before", value)[0] == 204
    path = "/personalizer/v1.0/configurations/service"
    assert service.call("PUT", path, {"rewardAggregation": "earliest"})[0] == 200
    until(lambda: n_feedbacks(service) == 1)
    assert rewards(service) == [[0.75]]


def test_a_sum_waits_for_the_activation_too(start):
    problem = Problem("each round", feedback="rewards", range=(0.0, 1.0),
                      defaults={**ADDING, "waiting": 0.05})  # fmt: skip
    service = start(problem, tend_every=0.02)
    rank(service, eventId="later", deferActivation=True)
    reward(service, "later", 0.25)
    until(lambda: n_feedbacks(service) == 1)  # the default
    service.call("POST", "/personalizer/events/later/activate")
    assert rewards(service) == [[0.25]]  # which takes its place


def test_rewards_add_up_beyond_the_activation(start):
    problem = Problem("each round", feedback="rewards", range=(0.0, 1.0),
                      defaults={**ADDING, "waiting": 1000.0})  # fmt: skip
    service = start(problem, tend_every=0.02)
    rank(service, eventId="later", deferActivation=True)
    reward(service, "later", 0.25)
    assert service.call("POST", "/personalizer/events/later/activate")[0] == 204
    assert n_feedbacks(service) == 0
    reward(service, "later", 0.5)
    fast = dataclasses.replace(problem, defaults={**ADDING, "waiting": 0.01})
    assert service.call("POST", "/v1/problem", {"toml": fast.to_toml()})[0] == 200
    until(lambda: n_feedbacks(service) == 1)
    assert rewards(service) == [[0.75]]


APPRENTICE = Problem(
    "each round", feedback="rewards", baseline={"action": "first of each round", "mode": "shadow"}
)


def test_an_apprentice_plays_the_first_action_of_each_request(start):
    service = start(APPRENTICE)
    service.service.watcher.pause = 0.0
    for n in range(30):
        asked = as_json()
        if n % 2:
            asked["actions"].reverse()
        first = asked["actions"][0]["id"]
        answer = service.call("POST", "/personalizer/rank", asked)[1]
        assert answer["rewardActionId"] == first
        assert answer["ranking"][0] == {"id": first, "probability": 1.0}
        reward(service, answer["eventId"], 1.0 if first == "cake" else 0.0)
    shown = service.call("GET", "/v1/live")[1]
    assert 0.4 < shown["match_rate"] < 1.0  # half of the time it is cake, which it prefers
    (rule,) = shown["rules"]
    assert rule["says"].startswith("the first action of each round is always played")
    assert (rule["stands"], rule["held"]) == ("the baseline decided all", True)
    assert "graphcb_match_rate 0." in service.ask("GET", "/metrics")[2].decode()
    rewards(service)


def test_an_apprentice_plays_the_baseline_of_each_slot(start):
    service = start(APPRENTICE)
    slots = [{"id": "top", "baselineAction": "cake"}, {"id": "side", "baselineAction": "pasta"}]
    path = "/personalizer/multislot/rank"
    answer = service.call("POST", path, as_json(slots=slots))[1]
    assert [one["rewardActionId"] for one in answer["slots"]] == ["cake", "pasta"]
    for wrong in ("cake", "soup", None):
        slots[1]["baselineAction"] = wrong
        status, answer = service.call("POST", path, as_json(slots=slots))
        assert (status, answer["error"]["message"]) == (
            400, "`baselineAction` of slot 'side' must be an action that is not excluded and not "
            f"in another slot, got {wrong!r}",
        )  # fmt: skip
    assert service.call("GET", "/v1/status")[1]["n_decisions"] == 2


def test_names_of_events_end_with_their_decisions(start, monkeypatch):
    monkeypatch.setattr(tending, "PRUNE_EVERY", 0.02)
    problem = Problem("each round", feedback="rewards", defaults={"keep_days": 1e-6})
    service = start(problem, tend_every=0.02)
    desk = service.service.desk
    rank(service, eventId="old")

    def names():
        return asyncio.run_coroutine_threadsafe(_names(desk), service._loop).result(60.0)

    until(lambda: names() == [])
    status, answer = reward(service, "old", 1.0)
    assert (status, answer["error"]["code"]) == (404, "ResourceNotFound")


async def _names(desk):
    sql = "SELECT event FROM graphcb_named_events"
    return await desk.ask(lambda together: together.storage.execute(sql))


@pytest.mark.slow
def test_two_ranks_of_one_name_at_once_on_two_deciders(location):
    """Both get the same decision, and no other request fails because of them."""
    from graphcb.decisions import Decider, Trainer
    from graphcb.service.app import Service

    trainer = InProcess(Service(Trainer(location, problem=ITEMS, seed=0)))
    deciders = [InProcess(Service(Decider(location))) for _ in range(2)]
    try:
        with ThreadPoolExecutor(16) as pool:
            asked = [(n, decider) for n in range(60) for decider in deciders for _ in range(2)]
            found = list(pool.map(lambda one: rank(one[1], eventId=f"event {one[0]}"), asked))
            answers = list(pool.map(lambda one: reward(one[1], f"event%20{one[0]}", 1.0), asked))
        assert {status for status, _ in found} == {201}
        assert {status for status, _ in answers} == {204}
        for n in range(60):
            same = [answer for (m, _), (_, answer) in zip(asked, found, strict=True) if m == n]
            assert len({one["rewardActionId"] for one in same}) == 1
        status = lambda: trainer.call("GET", "/v1/status")[1]  # noqa: E731
        until(lambda: status()["n_feedbacks"] == 60)
        assert status()["n_decisions"] == 60
    finally:
        for one in (*deciders, trainer):
            one.stop()
