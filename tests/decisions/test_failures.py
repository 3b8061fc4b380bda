"""What can go wrong with a file: each gets its text, and nothing is half-written."""

import os
import sqlite3
import subprocess
import sys
import tempfile
from contextlib import closing, contextmanager
from pathlib import Path

import numpy as np
import pytest

from graphcb import DecisionLog, Policy, SquareCBG, graphs
from graphcb.decisions import LogError, replay
from graphcb.decisions.sqlite import SQLiteStorage
from graphcb.oracles import LinearOGD
from graphcb.saving import to_bytes

GRAPH = graphs.cops_and_robbers(3)
NOBODY = 65534


def new_agent():
    return SquareCBG(LinearOGD(3, 1, learning_rate=0.1))


def one_round(policy, number):
    decision = policy.decide([0.01 * number], GRAPH)
    seen = {a: 0.3 * a for a in range(3) if a != decision.action}
    policy.feedback(decision.decision_id, seen)
    return decision.probabilities


def begin(path, n_rounds=5):
    with Policy(path, new_agent(), seed=1) as policy:
        return [one_round(policy, number) for number in range(n_rounds)]


def change(path, statement):
    with closing(sqlite3.connect(path)) as database:
        database.execute(statement)
        database.commit()


@pytest.fixture
def open_folder():
    """A folder that others may enter, unlike pytest's own."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        yield Path(name)


@contextmanager
def without_rights(*paths):
    """No right to write, also for root, who is nobody for a while."""
    modes = {path: path.stat().st_mode for path in paths}
    for path in paths:
        path.chmod(0o555 if path.is_dir() else 0o444)
    if os.geteuid() == 0:
        os.seteuid(NOBODY)
        try:
            yield
        finally:
            os.seteuid(0)
    else:
        yield
    for path, mode in modes.items():
        path.chmod(mode)


class TestFullDisk:
    def test_nothing_half_written_and_on_it_goes_once_there_is_room(self, tmp_path, monkeypatch):
        whole = begin(tmp_path / "whole.db", 60)
        begin(tmp_path / "full.db", 0)
        with DecisionLog(tmp_path / "full.db") as log:
            (pages,) = log.storage.execute("PRAGMA page_count")[0]
        room, plain = [pages + 1], SQLiteStorage.begin

        def begin_in_little_room(storage, *question, **more):
            storage.execute(f"PRAGMA max_page_count = {room[0]}")
            return plain(storage, *question, **more)

        monkeypatch.setattr(SQLiteStorage, "begin", begin_in_little_room)
        with Policy(tmp_path / "full.db") as policy:
            played = []
            with pytest.raises(
                LogError, match=r"full.db: the disk is full; make room and continue"
            ):
                played.extend(one_round(policy, number) for number in range(60))
            assert 0 < len(played) < 60
            events = policy.n_events
            with pytest.raises(LogError, match="the disk is full"):
                policy.decide([0.5], graphs.random_self_aware(3, 0.5, np.random.default_rng(0)))
            assert policy.n_events == events
            with DecisionLog(tmp_path / "full.db") as log:
                assert log.n_events == events
                assert replay(log).position == events
            room[0] = 100_000
            if events % 2:  # the decision was written, its feedback not
                with DecisionLog(tmp_path / "full.db") as log:
                    row = list(log)[-1]
                seen = {a: 0.3 * a for a in range(3) if a != row.action}
                assert policy.feedback(row.decision_id, seen).counted
                played.append(tuple(row.probabilities))
            played += [one_round(policy, number) for number in range(len(played), 60)]
            state = to_bytes(policy.agent)
        assert played == whole
        with DecisionLog(tmp_path / "whole.db") as log:
            assert to_bytes(replay(log).agent) == state

    def test_a_limit_of_the_operating_system(self, tmp_path):
        """Writes really fail here, in the middle of a transaction."""
        path = tmp_path / "a.db"
        begin(path, 3)
        limit = path.stat().st_size + 100_000  # the write-ahead log is a file of its own
        code = f"""
import resource, sys
import graphcb
from graphcb.decisions import LogError
policy = graphcb.Policy({str(path)!r})
resource.setrlimit(resource.RLIMIT_FSIZE, ({limit}, {limit}))
try:
    for number in range(10_000):
        last = policy.decide([0.5], graphcb.graphs.cops_and_robbers(3)).decision_id
except LogError as problem:
    print(policy.n_events, last.split("-")[1], problem)
"""
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        )
        events, last, text = done.stdout.split(maxsplit=2)
        assert events == last
        assert f"{path}: the disk" in text
        with DecisionLog(path) as log:
            assert log.n_events == int(events) > 6
        with Policy(path) as policy:
            one_round(policy, 0)
            assert policy.n_events == int(events) + 2

    def test_a_checkpoint_that_has_no_room_is_done_without(self, tmp_path, monkeypatch):
        plain = SQLiteStorage.execute

        def execute(storage, sql, parameters=()):
            if "INTO graphcb_checkpoints" in sql:
                raise LogError("the disk is full")
            return plain(storage, sql, parameters)

        with Policy(tmp_path / "a.db", new_agent(), seed=1, checkpoint_every=5) as policy:
            one_round(policy, 0)
            monkeypatch.setattr(SQLiteStorage, "execute", execute)
            played = [one_round(policy, number) for number in range(1, 10)]
            state = to_bytes(policy.agent)
        assert len(played) == 9
        with Policy(tmp_path / "a.db") as policy:
            assert to_bytes(policy.agent) == state


class TestRights:
    def test_a_file_that_may_not_be_written(self, open_folder):
        path = open_folder / "a.db"
        begin(path)
        with (
            without_rights(path, open_folder / "a.db-writer", open_folder),
            pytest.raises(LogError, match=r"a\.db: the file cannot be"),
        ):
            Policy(path)
        with Policy(path) as policy:
            assert policy.n_events == 10

    def test_a_file_alone_that_may_not_be_written(self, tmp_path):
        """The lock can be had; the log itself refuses."""
        path = tmp_path / "a.db"
        begin(path)
        read_only = sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True, isolation_level=None)
        with closing(read_only), Policy(path) as policy:
            kept, policy._log.storage._connection = policy._log.storage._connection, read_only
            with pytest.raises(LogError, match="the file cannot be written; make it and"):
                policy.decide([0.5], GRAPH)
            policy._log.storage._connection = kept
            assert policy.n_events == 10

    def test_it_can_be_read_from_a_folder_that_may_not_be_written(self, open_folder):
        path = open_folder / "a.db"
        played = begin(path)
        with without_rights(path, open_folder), DecisionLog(path) as log:
            assert [tuple(row.probabilities) for row in log] == played

    def test_a_folder_that_is_not_there(self, tmp_path):
        with pytest.raises(LogError, match="check that its folder exists and is writable"):
            Policy(tmp_path / "no" / "a.db", new_agent())

    def test_a_log_that_is_not_there(self, tmp_path):
        with pytest.raises(FileNotFoundError, match=r"must be a file that exists, got '.*a\.db'"):
            DecisionLog(tmp_path / "a.db")
        assert list(tmp_path.iterdir()) == []


class TestDamage:
    @pytest.mark.parametrize("content", [b"not a database, but long enough to be read as one" * 9])
    def test_a_file_of_something_else(self, tmp_path, content):
        (tmp_path / "a.db").write_bytes(content)
        for call in (DecisionLog, lambda path: Policy(path, new_agent())):
            with pytest.raises(ValueError, match=r"a.db: not a decision log, or damaged: file is"):
                call(tmp_path / "a.db")
        assert (tmp_path / "a.db").read_bytes() == content

    def test_a_database_of_something_else(self, tmp_path):
        change(tmp_path / "a.db", "CREATE TABLE customers (name TEXT)")
        before = (tmp_path / "a.db").read_bytes()
        with pytest.raises(ValueError, match="with the tables customers; a log needs its own file"):
            Policy(tmp_path / "a.db", new_agent())
        with pytest.raises(ValueError, match="holds no decision log"):
            DecisionLog(tmp_path / "a.db")
        assert (tmp_path / "a.db").read_bytes() == before

    @pytest.mark.parametrize("number", [1, 3, 99])
    def test_another_format(self, tmp_path, number):
        path = tmp_path / "a.db"
        begin(path)
        change(path, f"UPDATE graphcb_log SET format = {number}")
        before = path.read_bytes()
        text = f"a.db: must have format 5, got {number}; it was written by another version of"
        for call in (DecisionLog, Policy):
            with pytest.raises(ValueError, match=text):
                call(path)
        assert path.read_bytes() == before

    @pytest.mark.parametrize(
        ("statement", "text"),
        [
            (
                "UPDATE graphcb_feedbacks SET losses = zeroblob(16) WHERE position = 4",
                "the checksum of graphcb_feedbacks, position 4, does not match",
            ),
            (
                "UPDATE graphcb_decisions SET made_at = 0.0 WHERE position = 5",
                "the checksum of graphcb_decisions, position 5, does not match",
            ),
            ("UPDATE graphcb_graphs SET description = '{}'", "the checksum of graphcb_graphs"),
            ("UPDATE graphcb_log SET seed = 2", "the checksum of graphcb_log, format 5"),
            ("DELETE FROM graphcb_log", "graphcb_log must have one row, got 0"),
            ("DELETE FROM graphcb_feedbacks WHERE position = 4", "event 4 is missing"),
            ("DELETE FROM graphcb_decisions WHERE position = 5", "event 5 is missing"),
            ("DELETE FROM graphcb_decisions WHERE position < 5", "event 1 is missing"),
            ("DELETE FROM graphcb_graphs", "graph 1 is missing"),
            ("DELETE FROM graphcb_decisions WHERE position = 9", "event 9 is missing"),
            ("DROP TABLE graphcb_decisions", "no such table: graphcb_decisions"),
        ],
    )
    def test_rows_that_were_changed_or_lost(self, tmp_path, statement, text):
        begin(tmp_path / "a.db")
        change(tmp_path / "a.db", statement)
        with (
            pytest.raises((ValueError, LogError), match=f"a.db: (damaged: )?{text}"),
            DecisionLog(tmp_path / "a.db") as log,
        ):
            replay(log)

    def test_bytes_that_were_overwritten(self, tmp_path):
        path = tmp_path / "a.db"
        begin(path, 200)
        whole, rng, texts = path.read_bytes(), np.random.default_rng(0), []
        for place in range(6000, len(whole), 4096):
            path.write_bytes(whole[:place] + rng.bytes(64) + whole[place + 64 :])
            try:
                with DecisionLog(path) as log:
                    replayed = replay(log).position
            except (ValueError, LogError) as problem:
                texts.append(str(problem))
            else:
                assert replayed == 400  # an index, a free page or the checkpoint: not looked at
        assert len(texts) >= 5
        assert all(text.startswith(f"{path}: ") for text in texts)


class TestOneWriter:
    def test_the_second_gets_a_clear_error_and_readers_go_on(self, tmp_path):
        path = tmp_path / "a.db"
        with Policy(path, new_agent(), seed=1) as policy:
            with pytest.raises(
                LogError, match="another policy is writing to this log, and a log has"
            ):
                Policy(path)
            with DecisionLog(path) as log:
                for number in range(3):
                    one_round(policy, number)
                    assert log.n_decisions == number + 1
        with Policy(path) as policy:
            assert policy.n_events == 6

    def test_in_another_process_and_through_another_name(self, tmp_path):
        path = tmp_path / "a.db"
        (tmp_path / "link.db").symlink_to(path)
        code = f"import graphcb; graphcb.Policy({str(tmp_path / 'link.db')!r})"
        with Policy(path, new_agent(), seed=1) as policy:
            one_round(policy, 0)
            done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
            assert done.returncode == 1
            assert "LogError" in done.stderr
            assert "another policy is writing to this log" in done.stderr
            one_round(policy, 1)
            assert policy.n_events == 4

    def test_a_reader_sees_the_log_stand_still(self, tmp_path):
        path = tmp_path / "a.db"
        with Policy(path, new_agent(), seed=1) as policy:
            waiting = policy.decide([0.5], GRAPH)
            one_round(policy, 0)
            with DecisionLog(path) as log:
                rows = iter(log)
                first = next(rows)
                seen = {a: 0.3 for a in range(3) if a != waiting.action}
                policy.feedback(waiting.decision_id, seen)
                one_round(policy, 1)
                assert first.feedback is None
                assert len(list(rows)) == 1


def test_a_file_that_sqlite_opens_for_reading_alone_is_refused_when_it_is_opened(
    tmp_path, monkeypatch
):
    """As it does where the disk fails for a moment; it would say so at the first write."""
    path, connect = tmp_path / "log.db", sqlite3.connect
    Policy(path, SquareCBG(gamma=10.0), seed=0).close()

    def for_reading(file, **options):
        if Path(file) == path:
            return connect(f"{path.as_uri()}?mode=ro", uri=True, **options)
        return connect(file, **options)

    monkeypatch.setattr("graphcb.decisions.sqlite.sqlite3.connect", for_reading)
    with pytest.raises(LogError, match=r"log\.db: the file cannot be written; make it and its"):
        Policy(path, seed=0)
    monkeypatch.undo()
    Policy(path, seed=0).close()
