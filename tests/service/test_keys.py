import os
import stat

import pytest

pytest.importorskip("msgspec", reason="needs the extra `serve`")
pytest.importorskip("uvicorn", reason="needs the extra `serve`")
pytest.importorskip("prometheus_client", reason="needs the extra `serve`")

from graphcb.files import FileError
from graphcb.service import keys as module
from graphcb.service.keys import Keys


@pytest.fixture
def path(tmp_path):
    return tmp_path / "keys.json"


def test_a_key_is_random_and_only_its_digest_is_stored(path):
    keys = Keys(path)
    first, second = keys.add("shop", ["decide", "feedback"]), keys.add("page", ["read"])
    assert len(first) == 43
    assert first != second
    assert first not in path.read_text()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [key.name for key in Keys(path)] == ["shop", "page"]
    assert Keys(path).find(second).scopes == ("read",)
    assert Keys(path).find(first[:-1]) is None
    assert Keys(path).find("\udcff") is None


def test_scopes(path):
    keys = Keys(path)
    shop = keys.find(keys.add("shop", ["decide"]))
    boss = keys.find(keys.add("boss", ["admin"]))
    assert [shop.allows(scope) for scope in module.SCOPES] == [True, False, False, False, False]
    assert all(boss.allows(scope) for scope in module.SCOPES)


def test_a_running_service_notices_a_change(path, monkeypatch):
    keys = Keys(path)
    secret = keys.add("shop", ["decide"])
    other = Keys(path)
    assert other.find(secret).name == "shop"
    keys.remove("shop")
    monkeypatch.setattr(module, "LOOK_EVERY", 0.0)
    assert other.find(secret) is None


def test_keys_stay_while_their_file_is_damaged(path, monkeypatch, caplog):
    keys = Keys(path)
    secret = keys.add("shop", ["decide"])
    monkeypatch.setattr(module, "LOOK_EVERY", 0.0)
    path.write_text("{")
    os.utime(path, ns=(1, 1))
    assert keys.find(secret).name == "shop"
    assert "the keys stay as they were" in caplog.text


def test_refusals(path):
    keys = Keys(path)
    keys.add("shop", ["decide"])
    with pytest.raises(ValueError, match="`name` must be new, got 'shop', which has a key; remove"):
        keys.add("shop", ["read"])
    with pytest.raises(ValueError, match=r"`scopes` must be one of decide, .*; got 'decides'; did"):
        keys.add("other", ["decides"])
    with pytest.raises(ValueError, match=r"`scopes` must be some of decide, .*, got none"):
        keys.add("other", [])
    with pytest.raises(ValueError, match="`name` must not be empty"):
        keys.add(" ", ["read"])
    with pytest.raises(ValueError, match="`name` must be one of shop; got 'shops'"):
        keys.remove("shops")
    assert len(Keys(path)) == 1
    path.write_text('{"format": 2, "keys": []}')
    with pytest.raises(FileError, match="must have format 1, got 2"):
        Keys(path)
    path.write_text("[]")
    with pytest.raises(FileError, match="must hold keys as graphcb writes them"):
        Keys(path)
