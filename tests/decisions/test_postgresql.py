"""What only a server can do: lose a connection, refuse a user, keep a lock."""

import select as polling
import threading
import time
from contextlib import suppress

import pytest
from faults.interrupts import Interruption

from graphcb import DecisionLog, Policy, SquareCBG, graphs
from graphcb.decisions import LogError, replay
from graphcb.decisions.storage import new_storage, open_storage, transaction
from graphcb.decisions.tables import FeedbackRow, insert, select
from graphcb.oracles import LinearOGD
from graphcb.saving import to_bytes

pytest.importorskip("psycopg", reason="needs the extra `postgres`")

from graphcb.decisions import postgresql
from graphcb.decisions.postgresql import MANY

pytestmark = pytest.mark.slow

GRAPH = graphs.cops_and_robbers(3)


def new_agent():
    return SquareCBG(LinearOGD(3, 1, learning_rate=0.1))


def one_round(policy, number):
    decision = policy.decide([0.01 * number], GRAPH)
    seen = {a: 0.3 * a for a in range(3) if a != decision.action}
    policy.feedback(decision.decision_id, seen)
    return decision.probabilities


def run(server, statement):
    import psycopg

    with psycopg.connect(server.base, autocommit=True) as connection:
        return connection.execute(statement).fetchall()


def again(policy):
    policy.feedback(f"{policy._log.start.name}-1-{'0' * 16}", {})


@pytest.mark.parametrize("first", [lambda policy: one_round(policy, 5), again])
def test_a_lost_connection_is_said_and_mended(server, first):
    """Whether it is found when something is written or when something is read."""
    name = f"lost_{first.__name__.strip('<>')}"
    url = server.url(name)
    with Policy(url, new_agent(), seed=1) as policy:
        played = [one_round(policy, number) for number in range(5)]
        run(
            server,
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()"
            " AND backend_type = 'client backend'",
        )
        lost = pytest.raises(LogError, match="the connection was lost; call again to reconnect")
        with lost:
            first(policy)
        played += [one_round(policy, number) for number in range(5, 10)]
        state = to_bytes(policy.agent)
    with Policy(server.url(f"not_{name}"), new_agent(), seed=1) as policy:
        assert [one_round(policy, number) for number in range(10)] == played
        assert to_bytes(policy.agent) == state
    with DecisionLog(url) as log:
        assert to_bytes(replay(log).agent) == state


class TimeLimitError(Exception):
    """What a signal handler of the user's own raises."""


@pytest.mark.parametrize("kind", [KeyboardInterrupt, TimeLimitError])
def test_an_interrupt_after_any_answer_is_no_other_error(server, monkeypatch, kind):
    """psycopg may make an assertion of it, where it had begun or not ended a pipeline."""
    from graphcb.decisions import postgresql

    with Policy(server.url(f"interrupted_{kind.__name__.lower()}"), new_agent(), seed=1) as policy:
        wait, left = postgresql._Bounded.wait, [0]

        def interrupted(connection, *given, **settings):
            answer = wait(connection, *given, **settings)
            if threading.current_thread() is threading.main_thread():
                left[0] -= 1
                if left[0] == 0:
                    raise kind
            return answer

        def three():
            made = policy.decide_many([[0.1], [0.2], [0.3]], GRAPH)
            policy.feedback_many({one.decision_id: {} for one in made})

        monkeypatch.setattr(postgresql._Bounded, "wait", interrupted)
        three()  # which stores graphs and prepares statements
        left[0] = 0
        three()
        n_waits = -left[0]
        for n in range(1, n_waits + 1):
            left[0] = n
            with pytest.raises((kind, LogError)) as found:
                three()
            assert found.type is kind or kind is TimeLimitError
            left[0] = 0
            three()
        assert n_waits > 5


def test_a_connection_is_not_closed_under_another_thread_that_uses_it(server):
    """libpq may crash the process then; the thread that gives signs of life is such a one."""
    policy = Policy(server.url("closed_under"), new_agent(), seed=1)
    connection, has_begun, seen = policy._log.storage._connection, threading.Event(), []

    def use():
        with connection.lock:
            has_begun.set()
            time.sleep(0.3)
            seen.append(connection.closed)

    with connection.transaction():  # whoever closes in the middle of one asks the server nothing
        thread = threading.Thread(target=use)
        thread.start()
        assert has_begun.wait(60.0)
        policy._log.storage.close()
        thread.join()
        assert seen == [False]
        assert connection.closed
    policy.close()


def test_who_waits_for_a_silent_server_is_woken_before_the_connection_is_closed(
    server, monkeypatch
):
    monkeypatch.setattr(postgresql, "PATIENCE", 0.2)
    policy = Policy(server.url("woken"), new_agent(), seed=1)
    connection, has_begun, seen = policy._log.storage._connection, threading.Event(), []

    def use():
        with connection.lock:
            has_begun.set()
            readable, _, _ = polling.select([connection.fileno()], [], [], 60.0)
            seen.append((bool(readable), connection.closed))

    with connection.transaction():
        thread = threading.Thread(target=use)
        thread.start()
        assert has_begun.wait(60.0)
        policy._log.storage.close()
        thread.join()
        assert seen == [(True, False)]
        assert connection.closed
    policy.close()


def test_an_interrupt_while_a_connection_is_closed_leaves_no_lock_taken(server):
    url = server.url("interrupted_close")

    def opened():
        storage = new_storage(url, writes=True, durability="power-loss")
        storage.open()
        return storage

    counting = Interruption(10**9, True, KeyboardInterrupt)
    counting.run(opened().close)
    assert counting.counted > 10
    for n in range(1, counting.counted + 1):
        storage = opened()
        connection = storage._connection
        with suppress(KeyboardInterrupt):
            Interruption(n, True, KeyboardInterrupt).run(storage.close)
        assert connection.lock.acquire(timeout=5.0), n
        connection.lock.release()
        storage.close()
        assert connection.closed


def test_the_second_writer_gets_a_clear_error_and_readers_go_on(server):
    url, other = server.url("one"), server.url("two")
    with Policy(url, new_agent()) as policy, Policy(other, new_agent()):  # a log a schema
        with pytest.raises(LogError, match="one writer; stop that one, or read with DecisionLog"):
            Policy(url)
        with DecisionLog(url) as log:
            one_round(policy, 0)
            assert log.n_events == 2
    with Policy(url) as policy:
        assert policy.n_events == 2


def test_the_log_and_the_texts_do_not_show_the_password(server):
    url = server.url("secret").replace("graphcb@", "graphcb:hunter2@")
    with Policy(url, new_agent()) as policy:
        with pytest.raises(LogError, match="another policy") as busy:
            Policy(url)
        with pytest.raises(LookupError, match="is from another log") as unknown:
            policy.feedback(f"00000000-1-{'0' * 16}", {})
    with pytest.raises(LogError, match="this policy is closed") as closed:
        policy.decide([0.5], GRAPH)
    for caught in (busy, unknown, closed):
        assert "postgresql://graphcb@127.0.0.1" in str(caught.value)
        assert "hunter2" not in str(caught.value)


def test_a_user_who_may_only_read(server):
    url = server.url("readers")
    with Policy(url, new_agent(), seed=1) as policy:
        one_round(policy, 0)
    read_only = url + "%20-cdefault_transaction_read_only%3Don"
    with Policy(read_only) as policy:
        with pytest.raises(LogError, match="this user cannot write to the database"):
            one_round(policy, 1)
        assert policy.n_events == 2


def test_each_refusal_of_the_database_has_its_text():
    psycopg = pytest.importorskip("psycopg", reason="needs the extra `postgres`")
    from graphcb.decisions.postgresql import _explain

    full = _explain(psycopg.errors.DiskFull("no space"), "here")
    assert isinstance(full, LogError)
    assert str(full).startswith("here: the disk is full; make room and continue")
    damaged = _explain(psycopg.errors.DataCorrupted("bad page"), "here")
    assert isinstance(damaged, ValueError)
    assert str(damaged) == "here: damaged: bad page"
    other = _explain(psycopg.errors.UndefinedTable("no table"), "here")
    assert str(other) == "here: the database refused (no table)"


def test_a_log_in_a_schema_behind_is_not_taken_for_ones_own(server):
    front, behind = server.url("front"), server.url("behind")
    with Policy(behind, new_agent(), seed=1) as policy:
        one_round(policy, 0)
    both = front.replace("%3Dfront", "%3Dfront,behind")
    with Policy(both, new_agent(), seed=2) as policy:
        assert policy.n_events == 0
    with DecisionLog(behind) as log:
        assert log.n_events == 2


def test_a_server_that_is_not_there():
    pytest.importorskip("psycopg", reason="needs the extra `postgres`")
    with pytest.raises(LogError, match=r"the server cannot be reached; check the URL"):
        Policy("postgresql://graphcb@127.0.0.1:1/none", new_agent())


@pytest.mark.parametrize(("durability", "set_to"), [("power-loss", "on"), ("process-kill", "off")])
def test_durability_is_what_was_asked_for(server, durability, set_to):
    url = server.url(f"durable_{set_to}") + "%20-csynchronous_commit%3Doff"
    with Policy(url, new_agent(), durability=durability) as policy:
        assert policy._log.storage.execute("SHOW synchronous_commit") == [(set_to,)]


@pytest.mark.parametrize("n_rows", [1, 2, MANY - 1, MANY, 3 * MANY])
def test_any_number_of_rows_is_stored_as_it_was_given(server, n_rows):
    url = server.url(f"rows_{n_rows}")
    Policy(url, new_agent(), seed=1).close()
    rows = [
        FeedbackRow(
            k + 1,
            1e9 + k / 7,
            k + 1000,
            bytes(range(256)),
            b"\\x00\t\n\r'%s?",
            None if k % 2 else "?; %s \\N\t\u20ac",
        )
        for k in range(n_rows)
    ]
    storage = open_storage(url, writes=True)
    try:
        with transaction(storage):
            insert(storage, rows)
        found = select(storage, FeedbackRow, "ORDER BY position")  # checks their checksums
    finally:
        storage.close()
    assert [row._replace(checksum=0) for row in found] == rows
