"""Damage is found by whoever reads: rows, gaps, indices, checkpoints, lost tails."""

import itertools
import sqlite3
from contextlib import closing

import numpy as np
import pytest

import graphcb
from graphcb import DecisionLog, FileError, Policy, SquareCBG, graphs
from graphcb.decisions import LogError, replay, verify
from graphcb.decisions.sqlite import SQLiteStorage
from graphcb.decisions.storage import open_storage, transaction
from graphcb.decisions.tables import CheckpointRow, FeedbackRow, insert
from graphcb.evaluation import evaluate, uniform
from graphcb.oracles import LinearOGD
from graphcb.saving import to_bytes

GRAPH = graphs.full_information(3)


def new_agent():
    return SquareCBG(LinearOGD(3, 1, learning_rate=0.1))


def begin(path, n_rounds=8, *, checkpoint=True):
    """Decisions with feedback in two parts, some of it late."""
    with Policy(path, new_agent(), seed=1, durability="process-kill") as policy:
        made = [policy.decide([0.1 * n], GRAPH) for n in range(n_rounds)]
        for decision in made[::-1]:
            policy.feedback(decision.decision_id, {0: 0.5, 1: 0.25})
        for decision in made[::2]:
            policy.feedback(decision.decision_id, {2: 0.125})
        if not checkpoint:
            policy._log._checkpoint = lambda *_: True
        return made, to_bytes(policy.agent)


def change(path, *statements):
    with closing(sqlite3.connect(path)) as database:
        database.execute("PRAGMA writable_schema = ON")
        for statement in statements:
            database.execute(statement)
        database.commit()


READERS = {
    "iterating": list,
    "replaying": replay,
    "evaluating": lambda log: evaluate(log, uniform),
}


@pytest.mark.parametrize("read", READERS.values(), ids=READERS)
@pytest.mark.parametrize(
    ("statement", "text"),
    [
        ("DELETE FROM graphcb_decisions WHERE position = 3", "event 3 is missing"),
        ("DELETE FROM graphcb_feedbacks WHERE position = 12", "event 12 is missing"),
        ("DELETE FROM graphcb_feedbacks WHERE position > 18", "ends at event 18, but has a check"),
        ("DELETE FROM graphcb_feedbacks WHERE position = 20", "ends at event 19, but has a check"),
        (
            "UPDATE graphcb_feedbacks SET position = 3 WHERE position = 12",
            "(the checksum of graphcb_feedbacks, position 3|event 3 is there twice)",
        ),
        ("UPDATE graphcb_decisions SET graph = 2", "the checksum of graphcb_decisions, position 1"),
    ],
)
def test_whoever_reads(tmp_path, read, statement, text):
    begin(tmp_path / "a.db")
    change(tmp_path / "a.db", statement)
    with (
        DecisionLog(tmp_path / "a.db") as log,
        pytest.raises(FileError, match=rf"a\.db: damaged: (the log )?{text}"),
    ):
        read(log)


def test_an_export_of_a_log_with_a_gap_leaves_no_file(tmp_path):
    pytest.importorskip("pyarrow", reason="needs the extra `experiments`")
    from graphcb.decisions.export import export_parquet

    begin(tmp_path / "a.db")
    change(tmp_path / "a.db", "DELETE FROM graphcb_feedbacks WHERE position = 12")
    with DecisionLog(tmp_path / "a.db") as log, pytest.raises(FileError, match="event 12 is miss"):
        export_parquet(log, tmp_path / "a.parquet")
    assert not list(tmp_path.glob("*.parquet*"))


@pytest.mark.parametrize("checkpoint", [True, False])
def test_a_damaged_index_does_not_let_a_feedback_count_twice(tmp_path, checkpoint):
    """The index is emptied; the table still has all rows."""
    path = tmp_path / "a.db"
    made, state = begin(path, checkpoint=checkpoint)
    index = "graphcb_feedbacks_by_decision"
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute("PRAGMA writable_schema = ON")
        database.execute("CREATE TABLE spare (decision INTEGER)")
        database.execute("CREATE INDEX empty ON spare (decision)")
        (root,) = database.execute(
            "SELECT rootpage FROM sqlite_master WHERE name = 'empty'"
        ).fetchone()
        database.execute(f"UPDATE sqlite_master SET rootpage = {root} WHERE name = '{index}'")
    with Policy(path) as policy:
        assert to_bytes(policy.agent) == state
        for actions in ({0: 0.5, 1: 0.25}, {0: 0.75}, {2: 0.125}):
            with pytest.raises(
                FileError, match="decision 1 has 2 feedbacks, of which an index finds 0"
            ):
                policy.feedback(made[0].decision_id, actions)
        assert policy.n_events == 20
    with DecisionLog(path) as log, pytest.raises(FileError, match="decision 1 has 2 feedb"):
        next(iter(log))
    assert any(index in finding for finding in verify(path))


def test_a_feedback_that_was_counted_twice_is_found(tmp_path):
    path = tmp_path / "a.db"
    begin(path, checkpoint=False)
    storage = open_storage(str(path), writes=True)
    action, loss = np.array([1]), np.array([0.25])
    with transaction(storage):
        insert(storage, [FeedbackRow(21, 0.0, 4, action.tobytes(), loss.tobytes())])
    storage.close()
    text = "events 13 and 21 are feedback for the same action of decision 4"
    for read in (list, replay):
        with DecisionLog(path) as log, pytest.raises(FileError, match=text):
            read(log)
    with pytest.raises(FileError, match=text):
        Policy(path)
    assert any(text in finding for finding in verify(path))


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE graphcb_checkpoints SET agent = x'00'",
        "UPDATE graphcb_checkpoints SET n_parts = x'00'",
        "UPDATE graphcb_checkpoints SET position = 1000",
        "UPDATE graphcb_checkpoints SET n_feedbacks = 'many'",
    ],
)
def test_a_checkpoint_that_cannot_be_read_is_passed_over(tmp_path, statement):
    _, state = begin(tmp_path / "a.db")
    change(tmp_path / "a.db", statement)
    with Policy(tmp_path / "a.db") as policy:
        assert to_bytes(policy.agent) == state
        policy.decide([0.5], GRAPH)


def test_a_checkpoint_on_a_page_that_is_lost_is_passed_over(tmp_path):
    path = tmp_path / "a.db"
    _, state = begin(path)
    where = "SELECT rootpage FROM sqlite_master WHERE name = 'graphcb_checkpoints'"
    with closing(sqlite3.connect(path)) as database:
        (root,) = database.execute(where).fetchone()
    content = bytearray(path.read_bytes())
    content[4096 * (root - 1) : 4096 * root] = bytes(4096)
    path.write_bytes(content)
    with Policy(path) as policy:
        assert to_bytes(policy.agent) == state
    assert verify(path)


def test_a_checkpoint_whose_agent_is_nonsense_is_passed_over(tmp_path):
    """Its checksum is right: it was written so."""
    _, state = begin(tmp_path / "a.db", checkpoint=False)
    storage = open_storage(str(tmp_path / "a.db"), writes=True)
    with transaction(storage):
        insert(storage, [CheckpointRow(20, 12, b"nonsense", b"")])
    storage.close()
    assert any("checkpoint 20: cannot be read" in text for text in verify(tmp_path / "a.db"))
    with Policy(tmp_path / "a.db") as policy:
        assert to_bytes(policy.agent) == state


def test_flipped_bits_are_never_silent(tmp_path):
    """What a reader returns without an error is what was written."""
    path = tmp_path / "a.db"
    begin(path, 120)
    whole, rng = path.read_bytes(), np.random.default_rng(0)

    def contents():
        with DecisionLog(path) as log:
            rows = [
                (row.decision_id, row.probabilities.tobytes(), row.feedback.losses.tobytes())
                for row in log
            ]
            return rows, to_bytes(replay(log).agent)

    expected, texts = contents(), []
    for place in rng.integers(0, len(whole), 150):
        damaged = bytearray(whole)
        damaged[place] ^= 1 << rng.integers(8)
        path.write_bytes(damaged)
        try:
            assert contents() == expected
        except (FileError, LogError) as problem:
            texts.append(str(problem))
    assert len(texts) > 30
    assert all(text.startswith(f"{path}: ") for text in texts)


def test_a_name_that_cannot_be_decoded_is_damage(tmp_path):
    """SQLite repeats it in its message."""
    path = tmp_path / "a.db"
    begin(path)
    whole = path.read_bytes().replace(b"graphcb_writer", b"graphcb_write\xf3")
    path.write_bytes(whole.replace(b"CREATE TABLE graphcb_write", b"CREATF TABLE graphcb_write"))
    for call in (DecisionLog, Policy):
        with pytest.raises(FileError, match=r"a\.db: not a decision log, or damaged: "):
            call(path)


class TestVerify:
    def test_a_log_that_is_whole(self, new_log):
        location = new_log()
        begin(location)
        assert verify(location) == []
        assert verify(location, replays=False) == []

    def test_every_damaged_row_is_listed(self, tmp_path):
        begin(tmp_path / "a.db")
        change(
            tmp_path / "a.db",
            "UPDATE graphcb_decisions SET made_at = 0.0 WHERE position IN (2, 5)",
            "UPDATE graphcb_feedbacks SET received_at = 0.0 WHERE position = 10",
        )
        found = verify(tmp_path / "a.db")
        for text in (
            "the checksum of graphcb_decisions, position 2",
            "the checksum of graphcb_decisions, position 5",
            "the checksum of graphcb_feedbacks, position 10",
        ):
            assert sum(text in finding for finding in found) == 1
        assert all(finding.startswith(f"{tmp_path / 'a.db'}: damaged: ") for finding in found)

    def test_pages_in_the_wrong_order_are_found_in_finite_time(self, tmp_path, monkeypatch):
        with Policy(tmp_path / "a.db", new_agent(), seed=1, durability="process-kill") as policy:
            policy.decide_many([[0.5]] * 150, GRAPH)
        content = (tmp_path / "a.db").read_bytes()
        pages = [content[at : at + 4096] for at in range(0, len(content), 4096)]
        leaves = [number for number, page in enumerate(pages) if page[0] == 13]
        execute, left = SQLiteStorage.execute, 0

        def count(storage, *arguments):
            nonlocal left
            left -= 1
            assert left, "it does not come to an end"
            return execute(storage, *arguments)

        monkeypatch.setattr(SQLiteStorage, "execute", count)
        for a, b in itertools.combinations(leaves, 2):
            if pages[a] == pages[b]:  # of two empty tables
                continue
            mixed = list(pages)
            mixed[a], mixed[b] = mixed[b], mixed[a]
            (tmp_path / "b.db").write_bytes(b"".join(mixed))
            left = 2000  # statements
            assert verify(tmp_path / "b.db", replays=False) != []

    def test_an_index_that_lacks_rows_and_what_is_no_log(self, tmp_path):
        (tmp_path / "b.db").write_bytes(b"not a database, but long enough to be read as one" * 9)
        assert "not a decision log, or damaged" in verify(tmp_path / "b.db")[0]

    def test_a_log_that_does_not_come_out_the_same(self, tmp_path, monkeypatch):
        begin(tmp_path / "a.db")
        monkeypatch.setattr(LinearOGD, "update", lambda *_: None)
        with Policy(tmp_path / "a.db") as policy:
            policy.decide([0.5], GRAPH)
        found = verify(tmp_path / "a.db")
        assert any("differs from" in finding for finding in found)
        assert verify(tmp_path / "a.db", replays=False) == []


class TestBackUp:
    def test_a_copy_made_while_the_policy_continues(self, tmp_path):
        path, copy = tmp_path / "a.db", tmp_path / "copy.db"
        with Policy(path, new_agent(), seed=1) as policy:
            for n in range(3):
                policy.decide([0.1 * n], GRAPH)
            assert graphcb.decisions.back_up(path, copy) == 3
            policy.decide([0.5], GRAPH)
        assert sorted(p.name for p in tmp_path.iterdir() if "copy" in p.name) == ["copy.db"]
        assert verify(copy) == []
        with Policy(copy) as policy:
            assert policy.n_events == 3

    def test_it_overwrites_nothing_and_leaves_nothing_behind(self, tmp_path):
        path, copy = tmp_path / "a.db", tmp_path / "copy.db"
        begin(path)
        copy.write_text("before")
        with pytest.raises(FileExistsError, match=r"a backup must be a new file, got '.*copy\.db'"):
            graphcb.decisions.back_up(path, copy)
        assert copy.read_text() == "before"
        with pytest.raises((LogError, OSError)):
            graphcb.decisions.back_up(path, tmp_path / "no" / "copy.db")
        assert not list(tmp_path.glob("*.part*"))

    @pytest.mark.slow
    def test_of_a_server_is_the_servers_task(self, server, tmp_path):
        url = server.url("backup")
        begin(url)
        with pytest.raises(ValueError, match="such as pg_dump --schema=NAME"):
            graphcb.decisions.back_up(url, tmp_path / "copy.db")
