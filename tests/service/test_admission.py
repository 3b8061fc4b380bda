import pytest

pytest.importorskip("msgspec", reason="needs the extra `serve`")
pytest.importorskip("uvicorn", reason="needs the extra `serve`")
pytest.importorskip("prometheus_client", reason="needs the extra `serve`")

from graphcb.service.admission import Rates, RequestLimits
from graphcb.service.errors import Refused
from graphcb.service.keys import Keys

ASKED = {"context": {"amount": 1.0}}


@pytest.fixture
def keys(tmp_path):
    return Keys(tmp_path / "keys.json")


def bearer(secret):
    return {"Authorization": f"Bearer {secret}"}


def test_keys_and_scopes(start, keys):
    decides, reads = keys.add("shop", ["decide"]), keys.add("page", ["read"])
    service = start(keys=keys)
    assert service.call("POST", "/v1/decisions", ASKED, bearer(decides))[0] == 200
    status, made = service.call(
        "POST", "/v1/decisions", ASKED, {"Ocp-Apim-Subscription-Key": decides}
    )
    assert status == 200
    status, answer = service.call("POST", "/v1/decisions", ASKED, bearer(reads))
    assert (status, answer["error"]["message"]) == (
        403,
        "the key must have the scope 'decide', got read",
    )
    path = f"/v1/decisions/{made['decision_id']}"
    assert service.call("GET", path, headers=bearer(reads))[0] == 200
    assert service.call("POST", f"{path}/feedback", {"rewards": {}}, bearer(decides))[0] == 403
    status, headers, body = service.ask("POST", "/v1/decisions", ASKED)
    assert (status, headers["WWW-Authenticate"]) == (401, "Bearer")
    assert b"a key must be given in the header Authorization: Bearer KEY" in body
    status, answer = service.call("POST", "/v1/decisions", ASKED, bearer("guess"))
    assert (status, answer["error"]["message"]) == (401, "the key is unknown")
    for path in ("/v1/problem", "/v1/status", "/metrics"):
        assert service.call("GET", path)[0] == 401
        assert service.ask("GET", path, None, bearer(reads))[0] == 200
    for path in ("/healthz", "/openapi.json"):
        assert service.call("GET", path)[0] == 200


def test_requests_per_key(start, keys):
    first, second = keys.add("first", ["decide"]), keys.add("second", ["decide"])
    service = start(keys=keys, limits=RequestLimits(per_second=0.001))
    assert service.call("POST", "/v1/decisions", ASKED, bearer(first))[0] == 200
    status, headers, body = service.ask("POST", "/v1/decisions", ASKED, bearer(first))
    assert status == 429
    assert int(headers["Retry-After"]) > 900
    assert b"first must send at most 0.001 requests per second; wait and try again" in body
    assert service.call("POST", "/v1/decisions", ASKED, bearer(second))[0] == 200


def test_a_bucket_fills_again():
    now = [0.0]
    rates = Rates(2.0, now=lambda: now[0])
    rates.take("shop")
    rates.take("shop")
    with pytest.raises(Refused, match="at most 2 requests per second"):
        rates.take("shop")
    rates.take("other")
    now[0] = 0.5
    rates.take("shop")
    with pytest.raises(Refused):
        rates.take("shop")
    now[0] = 100.0
    rates.take("shop")
    rates.take("shop")
    with pytest.raises(Refused):
        rates.take("shop")


def test_pages_of_other_sites_are_kept_out(start):
    service = start()
    status, answer = service.call("GET", "/v1/status", headers={"Origin": "http://example.com"})
    assert (status, answer["error"]["message"]) == (
        403,
        "pages of another origin must not call this service",
    )
    assert service.call("GET", "/v1/status", headers={"Origin": "http://localhost"})[0] == 200
    status, answer = service.call("GET", "/v1/status", headers={"Host": "example.com:8000"})
    assert status == 403
    assert answer["error"]["message"].startswith("the host must be one of localhost, 127.0.0.1")
    assert service.call("GET", "/v1/status", headers={"Host": "localhost:99"})[0] == 200
