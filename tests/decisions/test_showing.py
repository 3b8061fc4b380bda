"""How policies and logs show themselves: as one would type them, and without a password."""

import traceback

import pytest

import graphcb
from graphcb import Decision, DecisionLog, Policy, graphs
from graphcb.decisions import LogError
from graphcb.decisions.storage import open_storage, without_password


class Mine(graphcb.Uniform):
    """An agent from outside graphcb."""


def test_a_policy_and_a_log_are_shown_as_they_are_typed(tmp_path):
    path = str(tmp_path / "a.db")
    with Policy(path, Mine(), classes=[Mine]) as policy:
        assert repr(policy) == f"Policy({path!r}, classes=[Mine])"
        decision = policy.decide([1.0], graphs.bandit(2))
    assert eval(repr(decision), {"Decision": Decision}) == decision
    with Policy(path, durability="process-kill", checkpoint_every=5, classes=[Mine]) as policy:
        settings = "durability='process-kill', checkpoint_every=5, classes=[Mine]"
        assert repr(policy) == f"Policy({path!r}, {settings})"
    with DecisionLog(path) as log:
        assert repr(log) == f"DecisionLog({path!r})"
        assert repr(log.storage) == f"SQLiteStorage({path!r})"
        assert " at 0x" not in repr(list(log))


def test_no_representation_shows_a_password(server):
    url = server.url("shown").replace("graphcb@", "graphcb:hunter2@")
    with Policy(url, graphcb.Uniform()) as policy, DecisionLog(url) as log:
        for thing in (policy, log, log.storage):
            assert repr(thing).startswith(f"{type(thing).__name__}('postgresql://graphcb@127.0.0.1")
            assert "hunter2" not in repr(thing)


@pytest.mark.parametrize(
    ("location", "shown"),
    [
        ("decisions.db", "decisions.db"),
        ("folder:a/b@c.db", "folder:a/b@c.db"),
        ("postgresql://host/db", "postgresql://host/db"),
        ("postgresql://me@host:5432/db?sslmode=require", "postgresql://me@host:5432/db"),
        ("postgresql://me:a@b:c?d@host/db", "postgresql://me@host/db"),
        ("postgresql://me:a/b@host/db", "postgresql://me"),
        ("postgresql://host?password=a/b@c", "postgresql://host"),
        ("postgresql://host/db?user=me@here&password=a@b", "postgresql://host/db"),
        ("postgresql://host?password=a", "postgresql://host"),
    ],
)
def test_locations_without_the_password(location, shown):
    assert without_password(location) == shown


def test_an_unknown_kind_of_url_is_refused_without_its_password():
    with pytest.raises(ValueError, match="got 'mysql://me@host/db'"):
        open_storage("mysql://me:secret@host/db", writes=False)


@pytest.mark.parametrize(
    "location",
    [
        "postgresql://me:hunter2/x@host/db",
        "postgresql://me:hun%ter2@host/db",
        "postgresql://me:hunter2%zz@host/db",
        "postgresql://me:hunter2@127.0.0.1:port/db",
        "postgresql://me:hunter2@127.0.0.1:1/db?nosuch=hunter2",
        "postgresql://me@127.0.0.1:1/db?password=hunter2&port=hunter2",
        "postgresql://me:hunter2@127.0.0.1:1/db",
        "postgresql://me:hunter2@[::1/db",
    ],
)
def test_no_error_of_an_address_shows_a_password(location):
    pytest.importorskip("psycopg", reason="needs the extra `postgres`")
    with pytest.raises((LogError, ValueError)) as caught:
        Policy(location, graphcb.Uniform())
    text = "".join(traceback.format_exception(caught.value))
    for secret in ("hunter2", "ter2", "hun%"):
        assert secret not in str(caught.value)
        assert secret not in text.split("Policy(location")[-1]
    assert "the address cannot be read; it must be" in text or "cannot be reached" in text
