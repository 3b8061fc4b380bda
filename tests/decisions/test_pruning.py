"""Old decisions are removed; what is left is read, verified and replayed as before."""

import itertools
from contextlib import suppress

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphcb import DecisionLog, InformationDirected, Policy, Problem, SquareCBG, graphs
from graphcb.cli import main
from graphcb.decisions import back_up, records, replay, verify
from graphcb.decisions import pruning as pruning_room
from graphcb.decisions.pruning import Pruning
from graphcb.decisions.tables import insert
from graphcb.decisions.writer import to_drop
from graphcb.evaluation import evaluate, logged, summarize
from graphcb.oracles import LinearOGD
from graphcb.saving import to_bytes
from graphcb.service.personalizer_events import _TABLE

DAY = 86_400.0
FIRST = Problem(["a", "b"], features={"age": "number"}, defaults={"keep_days": 5})
SECOND = Problem(["b", "c"], features={"age": "number"}, defaults={"keep_days": 5})


@pytest.fixture
def clock(monkeypatch):
    """Seconds that stand still until a test moves them."""
    now = [1e9]
    monkeypatch.setattr("graphcb.decisions.together.time.time", lambda: now[0])
    return now


def play(policy, clock, n_days, *, late=3):
    """Four decisions on each day, whose feedback comes after `late` more decisions."""
    waiting = []
    for day in range(n_days):
        for _ in range(4):
            waiting.append(policy.decide({"age": float(day)}))
            if len(waiting) > late:
                one = waiting.pop(0)
                policy.feedback(one.decision_id, {one.action: 0.25})
            clock[0] += DAY / 4
    return waiting


def test_what_is_left_is_read_and_replayed_and_the_model_is_the_same(tmp_path, clock):
    file = tmp_path / "log.db"
    with Policy(file, problem=FIRST, seed=1, checkpoint_every=9) as policy:
        waiting = play(policy, clock, 10)
        agent, events = to_bytes(policy.agent), policy.n_events
        with DecisionLog(file) as log:
            before = list(log)
        done = policy.prune()
        assert (done.n_decisions, done.n_feedbacks) == (20, 20)
        assert to_bytes(policy.agent) == agent
        assert policy.n_events == events
        assert policy.prune() == (0, 0, done.position)
        with pytest.raises(LookupError, match="from which old decisions were removed, this one"):
            policy.feedback(before[0].decision_id, {before[0].action: 0.25})
        assert policy.feedback(waiting[0].decision_id, {waiting[0].action: 0.5}).counted
        policy.decide({"age": 3.0})
        agent = to_bytes(policy.agent)
    assert verify(file) == []
    with DecisionLog(file) as log:
        rows = list(log)
        assert [row.decision_id for row in rows[:-1]] == [row.decision_id for row in before[20:]]
        assert log.n_decisions == 21
        assert to_bytes(replay(log).agent) == agent
        assert to_bytes(replay(log, from_checkpoint=True).agent) == agent
        assert summarize(log).n_decisions == 21
        assert log.start.position == done.position
    with Policy(file, problem=FIRST) as policy:
        assert to_bytes(policy.agent) == agent
    with pytest.raises(ValueError, match="`agent` must be left out, as the log was changed"):
        Policy(file, InformationDirected(), problem=FIRST)


def test_versions_stay_and_can_be_rolled_back_to_if_their_end_is_there(tmp_path, clock):
    file = tmp_path / "log.db"
    with Policy(file, problem=FIRST, seed=1) as policy:
        late = play(policy, clock, 6)
        policy.change(SECOND)
        for one in late:
            policy.feedback(one.decision_id, {one.action: 1.0})
        play(policy, clock, 3)
        policy.change(FIRST)
        play(policy, clock, 3)
        assert policy.prune(1e9 + 5.5 * DAY).n_decisions == 22
        assert [version.problem for version in policy.versions] == [FIRST, SECOND, FIRST]
        with pytest.raises(ValueError, match="must have its end in the log, got 1, which ended"):
            policy.roll_back(1)
        policy.roll_back(2)
        assert policy.problem == SECOND
        policy.prune(1e9 + 8 * DAY)
        play(policy, clock, 1)
        agent = to_bytes(policy.agent)
    assert verify(file) == []
    with DecisionLog(file) as log:
        assert [version.number for version in log.versions] == [1, 2, 3, 4]
        assert {row.version for row in log} == {2, 3, 4}
        assert to_bytes(replay(log).agent) == agent


def test_everything_may_be_removed(tmp_path, clock):
    file = tmp_path / "log.db"
    agent = SquareCBG(LinearOGD(2, 1, learning_rate=0.1))
    with Policy(file, agent, seed=1) as policy:
        for _ in range(5):
            made = policy.decide([1.0], graphs.full_information(2))
            policy.feedback(made.decision_id, {0: 0.5, 1: 0.25})
        with pytest.raises(ValueError, match="`before` must be given, as the problem does not say"):
            policy.prune()
        assert policy.prune(clock[0] + 1) == (5, 5, 10)
        model = to_bytes(policy.agent)
    assert verify(file) == []
    with Policy(file) as policy:
        assert (policy.n_events, policy.model_version) == (10, 5)
        assert to_bytes(policy.agent) == model
        assert policy.decide([1.0], graphs.full_information(2)).decision_id.split("-")[1] == "11"
    assert verify(file) == []


def test_the_command(tmp_path, clock, capsys):
    file = tmp_path / "log.db"
    with Policy(file, problem=FIRST, seed=1) as policy:
        play(policy, clock, 2)
    assert main(["log", "prune", str(file), "--days", "-1"]) != 0
    assert "`--days` must be positive, got -1" in capsys.readouterr().err
    assert main(["log", "prune", str(file), "--days", "1"]) == 0
    assert capsys.readouterr().out == (
        "4 decisions and 4 feedbacks removed\nthe log is replayed from event 12 on\n"
    )
    assert main(["log", "prune", str(file)]) == 0
    assert "0 decisions and 0 feedbacks removed" in capsys.readouterr().out
    assert main(["replay", str(file)]) == 0
    assert "old decisions were removed: from event 12 on" in capsys.readouterr().out


def test_an_interrupted_removal_has_happened_or_not(tmp_path, clock, monkeypatch):
    from graphcb.decisions import pruning

    file = tmp_path / "log.db"
    with Policy(file, problem=FIRST, seed=1) as policy:
        play(policy, clock, 4)
        agent = to_bytes(policy.agent)
        with monkeypatch.context() as patch:
            patch.setattr(pruning, "to_bytes", lambda _: 1 / 0)
            with pytest.raises(ZeroDivisionError):
                policy.prune(clock[0])
        assert to_bytes(policy.agent) == agent
        with DecisionLog(file) as log:
            assert (log.n_decisions, log.start.position) == (16, 0)
        policy.prune(clock[0] - 2 * DAY)
        assert to_bytes(policy.agent) == agent
        policy.decide({"age": 1.0})
    assert verify(file) == []


def test_a_change_a_default_and_a_removal_on_every_database(new_log, clock):
    location = new_log()
    waits = Problem(["a", "b"], features={"age": "number"}, defaults={"waiting": DAY, "loss": 1.0})
    with Policy(location, problem=waits, seed=1) as policy:
        waiting = play(policy, clock, 3)
        assert policy.fill_in(clock[0]) == 0
        policy.change(SECOND, note="on")
        assert policy.fill_in(clock[0] + DAY) == 3
        assert policy.feedback(waiting[0].decision_id, {waiting[0].action: 0.5}).counted
        play(policy, clock, 2)
        assert policy.prune(1e9 + 2 * DAY).n_decisions == 8
        policy.roll_back(1)
        policy.decide({"age": 1.0})
        agent = to_bytes(policy.agent)
    assert verify(location) == []
    with DecisionLog(location) as log:
        assert len(log.versions) == 3
        assert to_bytes(replay(log).agent) == agent
        assert len(list(log)) == 4 + 8 + 1
    with Policy(location) as policy:
        assert to_bytes(policy.agent) == agent


def test_in_one_transaction_with_feedback(tmp_path, clock):
    file = tmp_path / "log.db"
    with Policy(file, problem=FIRST, seed=1) as policy:
        old = policy.decide({"age": 1.0})
        clock[0] += 10 * DAY
        kept = policy.decide({"age": 1.0})
        with policy.together() as together:
            together.look_up([old.decision_id, kept.decision_id])
            assert together.feedback(old.decision_id, {old.action: 0.5}).counted
            assert together.feedback(kept.decision_id, {kept.action: 0.5}).counted
            assert together.prune(clock[0] - DAY) == (1, 1, 3)
            assert not together.feedback(kept.decision_id, {kept.action: 0.5}).counted
            with pytest.raises(LookupError, match="from which old decisions were removed"):
                together.feedback(old.decision_id, {old.action: 0.5})
            together.decide({"age": 2.0})
        agent = to_bytes(policy.agent)
    with DecisionLog(file) as log:
        assert to_bytes(replay(log).agent) == agent
    assert verify(file) == []


def slices(policy, before):
    """Remove old decisions in transactions as short as can be; yields between two of them."""
    pruning, is_done = Pruning(before), False
    while not is_done:
        with policy.together() as together:
            is_done = together.prune_some(pruning, seconds=0.0)
        yield pruning


@pytest.fixture
def small(monkeypatch):
    """Statements that see a few rows at a time."""
    monkeypatch.setattr(pruning_room, "SCANNED", 5)
    monkeypatch.setattr(pruning_room, "FEWEST", 2)
    monkeypatch.setattr(pruning_room, "MOST", 3)


def test_a_kill_between_two_slices_leaves_a_log_that_goes_on(tmp_path, clock, small):
    file, before = tmp_path / "log.db", 1e9 + 5 * DAY
    with Policy(file, problem=FIRST, seed=1, checkpoint_every=9) as policy:
        play(policy, clock, 10)
        with DecisionLog(file) as log:
            wanted = [row.decision_id for row in log][20:]
        for number, _ in enumerate(slices(policy, before)):
            back_up(file, tmp_path / f"{number}.db")
        n_slices, agent = number + 1, to_bytes(policy.agent)
    assert n_slices > 20
    seen = set()
    for number in range(n_slices):
        copy = tmp_path / f"{number}.db"
        with DecisionLog(copy) as log:
            rows = [row.decision_id for row in log]
            assert rows[-len(wanted) :] == wanted
            assert len(rows) == log.n_decisions == 40 - log.n_removed
            seen.add((len(rows), log.storage.execute("SELECT count(*) FROM graphcb_decisions")[0]))
        if number % 3 == 0:
            with Policy(copy) as policy:
                assert to_bytes(policy.agent) == agent
                policy.decide({"age": 1.0})
                policy.prune(before)
                policy.decide({"age": 2.0})
            assert verify(copy) == []
            with DecisionLog(copy) as log:
                assert [row.decision_id for row in log][:-2] == wanted
                assert log.storage.execute("SELECT count(*) FROM graphcb_decisions") == [(22,)]
    assert {n for n, _ in seen} == {40, 20}  # removed at once, whatever rows are left
    assert len(seen) > 5


def test_others_decide_and_answer_between_the_slices(tmp_path, clock, small):
    file = tmp_path / "log.db"
    with Policy(file, problem=FIRST, seed=1) as policy:
        waiting, refused = play(policy, clock, 10, late=40), 0
        before = clock[0] - 5 * DAY
        for number, _ in enumerate(slices(policy, before)):
            made = policy.decide({"age": 1.0})
            policy.feedback(made.decision_id, {made.action: 0.5})
            if number % 5 or not waiting:
                continue
            one = waiting.pop(0)
            with suppress(LookupError):
                policy.feedback(one.decision_id, {one.action: 0.5})
                continue
            refused += 1
        assert 0 < refused < 15
        agent = to_bytes(policy.agent)
    assert verify(file) == []
    with DecisionLog(file) as log:
        assert to_bytes(replay(log).agent) == agent
        assert log.n_removed == 20


def test_nothing_is_replayed_far_from_a_stored_agent(tmp_path, clock, monkeypatch):
    monkeypatch.setattr(pruning_room, "REPLAYED", 0)
    monkeypatch.setattr("graphcb.decisions.replaying.draw", lambda *_, **__: 1 / 0)
    file = tmp_path / "log.db"
    with Policy(file, problem=FIRST, seed=1, checkpoint_every=10) as policy:
        play(policy, clock, 10)
        stored = sorted(records.checkpoint_positions(policy._log.storage))
        done = policy.prune()
        assert done.n_decisions == 20
        assert done.position == next(p for p in stored if p >= 43)  # the feedback of the 20th
        assert policy.prune(clock[0] + 1.0).position == policy.n_events  # no later one is stored
        made = policy.decide({"age": 1.0})
        policy.feedback(made.decision_id, {made.action: 0.5})
        agent = to_bytes(policy.agent)
    monkeypatch.undo()
    assert verify(file) == []
    with DecisionLog(file) as log:
        assert to_bytes(replay(log).agent) == agent


@given(st.lists(st.integers(1, 50), min_size=1, max_size=120), st.integers(1, 10**8))
def test_checkpoints_are_few_and_evenly_spread(gaps, n_bytes):
    kept, last = [], 0
    for gap in gaps:
        last += gap
        for one in to_drop(kept, 0, last, n_bytes):
            kept.remove(one)
        kept.append(last)
        assert len(kept) <= 17
        assert len(kept) == 1 or len(kept) * n_bytes <= 64_000_000 + n_bytes
    if n_bytes * 16 <= 64_000_000:
        widest = max(b - a for a, b in itertools.pairwise([0, *kept]))
        assert widest <= last / 8 + max(gaps)


def test_a_checkpoint_in_the_middle_that_differs_is_found(tmp_path, clock):
    file = tmp_path / "log.db"
    with Policy(file, problem=FIRST, seed=1, checkpoint_every=10) as policy:
        play(policy, clock, 10)
        agent = to_bytes(policy.agent)
    assert verify(file) == []
    with Policy(file) as policy, policy.together() as together:
        storage = together.storage
        middle = sorted(records.checkpoint_positions(storage))[2]
        (row,) = records.read_checkpoints(storage, middle)
        storage.execute("DELETE FROM graphcb_checkpoints WHERE position = ?", (middle,))
        insert(storage, [row._replace(agent=agent)])
    assert verify(file) == [f"{file}, checkpoint {middle}: differs from what the log leads to"]


@pytest.mark.slow
@pytest.mark.parametrize("is_analyzed", [False, True])
def test_no_statement_of_a_removal_reads_a_whole_table_of_a_server(server, is_analyzed):
    """Whatever its planner knows of the tables: one such statement took a second for a million."""
    psycopg = pytest.importorskip("psycopg", reason="needs the extra `postgres`")
    url, n = server.url(f"removal{int(is_analyzed)}"), 20_000
    with Policy(url, problem=FIRST), psycopg.connect(url, client_encoding="utf8") as connection:
        for table in _TABLE:
            connection.execute(table.format(whole="BIGINT", real="DOUBLE PRECISION"))
        for table, values in {
            "decisions": "2 * n - 1, n, 1, 0, '', '', 0, '', NULL, 0, md5(n::text), 0, 0",
            "feedbacks": "2 * n, n, 2 * n - 1, '', '', NULL, 0",
            "subjects": "'', md5(n::text), 0",
            "named_events": "'', n::text, '', 0, '{}', n",
        }.items():
            connection.execute(
                f"INSERT INTO graphcb_{table} SELECT {values} FROM generate_series(1, {n}) n"
            )
        if is_analyzed:
            connection.execute("ANALYZE")

        def plan(statement, *values):
            for value in values:
                statement = statement.replace("?", str(value), 1)
            return "\n".join(row[0] for row in connection.execute(f"EXPLAIN {statement}"))

        between = n - 2000, n
        last = plan(pruning_room._LAST_FEEDBACK, *between)
        assert "graphcb_feedbacks_by_decision" in last, last
        assert "pkey" in plan(pruning_room._LAST_OF_THOSE_AFTER, *between, n)
        hashes = plan(pruning_room._HASHES_OF_DECIDERS, *between)
        assert "graphcb_subjects_by_token" in hashes, hashes
        names = plan(pruning_room._OLD_NAMES, 0.0, 0.9 * n)
        assert "graphcb_named_events_by_time" in names, names


def test_a_file_is_asked_by_the_index_of_decisions_too(tmp_path):
    file = tmp_path / "log.db"
    with Policy(file, problem=FIRST) as policy:
        ask = policy._log.storage.execute
        of_decisions = ask(f"EXPLAIN QUERY PLAN {pruning_room._LAST_FEEDBACK}", (0, 2000))
        after = ask(f"EXPLAIN QUERY PLAN {pruning_room._LAST_OF_THOSE_AFTER}", (0, 2000, 9))
    assert "graphcb_feedbacks_by_decision" in str(of_decisions)
    assert "INTEGER PRIMARY KEY" in str(after)


def test_graphs_go_with_the_decisions(tmp_path, clock, small):
    file = tmp_path / "log.db"
    shared = graphs.full_information(3)
    with Policy(file, SquareCBG(LinearOGD(3, 1, learning_rate=0.1)), seed=1) as policy:
        for number in range(20):
            own = graphs.random_self_aware(3, 0.5, np.random.default_rng(number))
            policy.decide([1.0], own if number % 2 else shared)
            clock[0] += DAY
        before = {row.decision_id: row.graph for row in DecisionLog(file)}
        assert policy.prune(1e9 + 10 * DAY).n_decisions == 10
        policy.decide([1.0], shared)
        policy.decide([1.0], graphs.random_self_aware(3, 0.5, np.random.default_rng(1)))
    assert verify(file) == []
    with DecisionLog(file) as log:
        rows = list(log)
        assert all(row.graph == before[row.decision_id] for row in rows[:10])
        used = len({row.graph for row in rows})
        assert log.storage.execute("SELECT count(*) FROM graphcb_graphs") == [(used,)]


def test_no_defaults_for_decisions_whose_rows_are_still_there(tmp_path, clock, small):
    waits = Problem(["a", "b"], defaults={"waiting": DAY, "loss": 1.0, "keep_days": 5})
    file = tmp_path / "log.db"
    with Policy(file, problem=waits, seed=1) as policy:
        for _ in range(10):
            policy.decide({})
            clock[0] += DAY
        for _ in slices(policy, clock[0] - 5 * DAY):
            with DecisionLog(file) as log:
                if log.n_removed:
                    break
        assert policy.fill_in(clock[0]) == 5
        policy.prune()
    assert verify(file) == []


def test_an_open_policy_keeps_nothing_of_what_was_removed(tmp_path, clock):
    file = tmp_path / "log.db"
    with Policy(file, problem=FIRST, seed=1) as policy:
        play(policy, clock, 10)
        policy.prune(clock[0])
        assert len(policy._log._counts.to_bytes()) < 20
        made = policy.decide({"age": 1.0})
        policy.feedback(made.decision_id, {made.action: 0.5})
        assert not policy.feedback(made.decision_id, {made.action: 0.5}).counted
    with Policy(file) as policy:
        assert not policy.feedback(made.decision_id, {made.action: 0.5}).counted


def test_estimates_say_what_they_stand_on(tmp_path, clock, capsys):
    file = tmp_path / "log.db"
    with Policy(file, problem=FIRST, seed=1) as policy:
        play(policy, clock, 10)
        policy.prune()
    with DecisionLog(file) as log:
        assert (summarize(log).n_removed, log.n_removed) == (20, 20)
    assert main(["log", "summary", str(file)]) == 0
    (row,) = [one for one in capsys.readouterr().out.splitlines() if "removed before" in one]
    assert row.split("│")[2].strip() == "20"
    assert main(["evaluate", str(file), "--policy", "logged"]) == 0
    assert "20 older decisions were removed from the log" in capsys.readouterr().out


def test_what_was_predicted_for_a_decision_before_the_start_is_not_known(tmp_path, clock):
    file = tmp_path / "log.db"
    problem = Problem(["a", "b"], reveals="unknown")
    with Policy(file, problem=problem, seed=1) as policy:
        waiting = []
        for _ in range(20):
            waiting.append(policy.decide({}))
            clock[0] += DAY
        for one in reversed(waiting):  # the oldest one gets its feedback last
            policy.feedback(one.decision_id, {one.action: 0.5})
        policy.prune(1e9 + 5 * DAY)
        made = policy.decide({})
        policy.feedback(made.decision_id, {made.action: 0.5})
    with DecisionLog(file) as log:
        assert summarize(log).n_used == 1
        with pytest.raises(ValueError, match=r"must be after event 40, from which the log is repl"):
            evaluate(log, logged)


def test_alarms_keep_their_times(tmp_path, clock):
    file = tmp_path / "log.db"
    with Policy(file, problem=Problem(["a", "b"], reveals="full-information"), seed=1) as policy:
        for number in range(1200):
            made = policy.decide({})
            clock[0] += 60.0
            policy.feedback(made.decision_id, {"a": float(number > 600), "b": float(number < 600)})
        before = policy.alarms
        assert before
        assert before[0].since_time is not None
        policy.prune(1e9 + 60.0 * 300)
        assert policy.alarms == before
    with DecisionLog(file) as log:
        assert summarize(log).alarms == tuple(before)
