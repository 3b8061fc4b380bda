"""Nothing is kept in memory for each decision or feedback, with feedback or without."""

import gc

import pytest

pytest.importorskip("msgspec", reason="needs the extra `serve`")
pytest.importorskip("uvicorn", reason="needs the extra `serve`")

from .conftest import FRAUD, ITEMS

N = 300


def decide(service, n):
    """Decisions in batches and alone; every fifth one gets feedback."""
    contexts = [{"context": {"amount": float(k), "country": "DE"}} for k in range(n)]
    made = service.call("POST", "/v1/decisions", {"decisions": contexts[n // 10 :]})[1]["decisions"]
    made += [service.call("POST", "/v1/decisions", one)[1] for one in contexts[: n // 10]]
    for one in made[::5]:
        path = f"/v1/decisions/{one['decision_id']}/feedback"
        assert service.call("POST", path, {"rewards": {one["action"]: 1.0}})[0] == 200


def rank(service, n):
    """Events of Personalizer's clients, of which every second one gets a reward."""
    items = [{"id": name, "features": [{"price": 1.0}]} for name in "abc"]
    for k in range(n // 5):
        asked = {"eventId": f"{n} {k}", "actions": items, "contextFeatures": [{"hour": 7}]}
        assert service.call("POST", "/personalizer/v1.0/rank", asked)[0] == 201
        if k % 2:
            path = f"/personalizer/v1.0/events/{n}%20{k}/reward"
            assert service.call("POST", path, {"value": 0.5})[0] == 204


def n_objects():
    gc.collect()
    return len(gc.get_objects())


@pytest.mark.parametrize(("problem", "ask"), [(FRAUD, decide), (ITEMS, rank)])
def test_what_is_kept_does_not_grow_with_decisions(start, problem, ask):
    service = start(problem)
    ask(service, 100)
    grown = []
    for n in range(N, N + 60, 10):  # what is loaded on the way counts in some of them
        before = n_objects()
        ask(service, n)
        grown.append(n_objects() - before)
    assert min(grown) < N / 20


@pytest.mark.parametrize(("problem", "ask"), [(FRAUD, decide), (ITEMS, rank)])
def test_requests_leave_little_to_the_garbage_collection(serve, problem, ask):
    """Else it could not be put off as `spare_collections` does."""
    service = serve(problem)
    ask(service, 100)
    gc.collect()
    gc.disable()
    try:
        ask(service, N)
        assert gc.collect() < N / 20
    finally:
        gc.enable()
