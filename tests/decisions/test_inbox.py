"""What is asked of the inbox takes no longer than what it returns, whatever PostgreSQL believes."""

import secrets

import pytest

from graphcb import Problem
from graphcb.decisions import Decider, Trainer, inbox
from graphcb.decisions.tables import DecisionRow, insert, select

psycopg = pytest.importorskip("psycopg", reason="needs the extra `postgres`")
pytestmark = pytest.mark.slow


@pytest.fixture
def url(server):
    location = server.url(f"s{secrets.token_hex(6)}")
    Trainer(location, problem=Problem(["a", "b"]), seed=1).close()
    return location


def plan_of(connection, statement, *values):
    for value in values:
        statement = statement.replace("?", value, 1)
    return "\n".join(row[0] for row in connection.execute(f"EXPLAIN {statement}").fetchall())


@pytest.mark.parametrize(
    ("statement", "values"),
    [
        (inbox._TAKE_DECISIONS, ["1000"]),
        (inbox._TAKE_FEEDBACKS, ["1000", "1000"]),
    ],
)
def test_taking_compares_no_row_with_every_other(url, statement, values):
    """Not even after the server has seen that the tables are empty."""
    with psycopg.connect(url, client_encoding="utf8") as connection:
        connection.execute("ANALYZE")
        plan = plan_of(connection, statement, *values)
    assert "Nested Loop" not in plan, plan
    assert "Join Filter" not in plan, plan


def test_what_else_waits_is_not_looked_at(url):
    """A trainer that was away for an hour takes its rows as fast as one that was not."""
    with psycopg.connect(url, client_encoding="utf8") as connection:
        connection.execute("ANALYZE")
        connection.execute(
            "INSERT INTO graphcb_inbox (token, asked_by, made_at, graph, context, actions, action, "
            "probabilities, model_version, snapshot, checksum) SELECT md5(n::text), 0, 0, 1, "
            "repeat('x', 300)::bytea, 'n', 0, '', 0, 0, 0 FROM generate_series(1, 5000) AS n"
        )
        connection.execute(
            "INSERT INTO graphcb_inbox_feedbacks (received_at, decision, actions, losses, token, "
            "checksum) SELECT 0, 0, '', '', token, 0 FROM graphcb_inbox ORDER BY arrival"
        )
        plans = [
            plan_of(connection, inbox._TAKE_DECISIONS, "1000"),
            plan_of(connection, inbox._TAKE_FEEDBACKS, "1000", "1000"),
        ]
    for plan in plans:
        assert "Seq Scan" not in plan, plan


def test_models_are_stored_as_they_are(url):
    """PostgreSQL would compress them for long and save little."""
    with psycopg.connect(url, client_encoding="utf8") as connection:
        found = connection.execute(
            "SELECT attrelid::regclass::text, attstorage FROM pg_attribute "
            "WHERE attname = 'agent' AND attrelid IN "
            "('graphcb_snapshots'::regclass, 'graphcb_checkpoints'::regclass)"
        ).fetchall()
    assert sorted(found) == [("graphcb_checkpoints", "e"), ("graphcb_snapshots", "e")]


def test_feedback_is_found_by_an_index_also_without_statistics(url):
    with psycopg.connect(url, client_encoding="utf8") as connection:
        connection.execute(
            "INSERT INTO graphcb_feedbacks (position, received_at, decision, actions, losses, "
            "checksum) SELECT 2 * n, 0, 2 * n - 1, '', '', 0 FROM generate_series(1, 20000) AS n"
        )
        plan = plan_of(connection, inbox._FIND_PARTS, "'{u,v}'::text[]", "'{u,v}'::text[]")
    assert "graphcb_feedbacks_by_decision" in plan, plan
    assert "Seq Scan on graphcb_feedbacks" not in plan, plan


def test_the_first_come_first_and_feedback_not_before_its_decision(url):
    from graphcb.decisions.storage import new_storage

    with Decider(url) as decider:
        made = [decider.decide(None) for _ in range(5)]
        for one in reversed(made):
            decider.feedback(one.decision_id, {one.action: 0.5})
    tokens = [one.decision_id.split("-")[2] for one in made]
    storage = new_storage(url, writes=True, durability="power-loss", shares=True)
    storage.open()
    try:

        def take(most, after):
            found = inbox.take_decisions(storage, most)
            rows = [one.row._replace(position=after + k + 1) for k, one in enumerate(found)]
            insert(storage, rows)
            return [row.token for row in rows]

        assert take(3, 0) == tokens[:3]
        assert inbox.take_feedbacks(storage, 2) == []  # both are for decisions that wait
        told = [one.row.source for one in inbox.take_feedbacks(storage, 4)]
        assert told == [tokens[2], tokens[1]]
        assert [one.row.source for one in inbox.take_feedbacks(storage, 1000)] == [tokens[0]]
        assert inbox.take_feedbacks(storage, 1000) == []
        assert take(1000, 3) == tokens[3:]
        assert len(inbox.take_feedbacks(storage, 1000)) == 2
        moved = select(storage, DecisionRow, "ORDER BY position")  # checks their checksums
        assert [(row.position, row.token) for row in moved] == list(enumerate(tokens, 1))
        assert inbox.take_decisions(storage, 1000) == []
    finally:
        storage.close()
