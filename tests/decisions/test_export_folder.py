import contextlib
import itertools
import json
import signal
import subprocess
import sys
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import graphcb
from graphcb import DecisionLog, Policy, graphs
from graphcb.decisions import LogError
from graphcb.decisions import export_folder as module
from graphcb.decisions.export import export_parquet
from graphcb.decisions.export_folder import MANIFEST, export_folder
from graphcb.evaluation import constant, evaluate
from graphcb.files import FileError

pq = pytest.importorskip("pyarrow.parquet", reason="needs the extra `experiments`")

PROBLEM = graphcb.Problem(["a", "b"], feedback="rewards", features={"x": "number"})


@pytest.fixture
def clock(monkeypatch):
    """A clock that tests set, of decisions."""

    class Clock:
        now = 1_767_225_600.0  # 2026-01-01

        def days(self, n):
            self.now += 86_400.0 * n

    ticking = Clock()
    monkeypatch.setattr(time, "time", lambda: ticking.now)
    return ticking


def export(location, folder):
    with DecisionLog(location) as log:
        return export_folder(log, folder)


def rows_in(folder):
    """All rows, each once, in the order of the files."""
    return [row for file in files_in(folder) for row in pq.read_table(file).to_pylist()]


def files_in(folder):
    return sorted(folder.glob("*.parquet"), key=lambda path: path.stem[-15:])


def whole(location, tmp_path):
    """The rows of an export to one file."""
    with DecisionLog(location) as log:
        export_parquet(log, tmp_path / "whole.parquet")
    return pq.read_table(tmp_path / "whole.parquet").to_pylist()


def decide(policy, n):
    return [policy.decide({"x": float(k)}) for k in range(n)]


def reward(policy, made, value=1.0):
    policy.feedback(made.decision_id, {made.action: value})


class TestWhatIsNew:
    def test_is_added_and_late_feedback_finds_its_row(self, new_log, tmp_path, clock):
        location, folder = new_log(), tmp_path / "out"
        with Policy(location, problem=PROBLEM, seed=0) as policy:
            first = decide(policy, 3)
            reward(policy, first[0])
            assert export(location, folder) == (3, 0, 1, 4, 0, 0)
            assert export(location, folder) == (0, 0, 0, 4, 0, 0)
            clock.days(1)
            second = decide(policy, 2)
            reward(policy, first[2], 0.5)
            reward(policy, second[0], 0.25)
            assert export(location, folder) == (2, 1, 2, 8, 0, 0)
            clock.days(1)
            reward(policy, first[1], 0.75)
            assert export(location, folder) == (0, 1, 1, 9, 0, 0)
        assert [row["reward"] for row in rows_in(folder)] == [1.0, 0.75, 0.5, 0.25, None]
        assert rows_in(folder) == whole(location, tmp_path)
        assert [file.name for file in files_in(folder)] == [
            "decisions-2026-01-01-000000000000001.parquet",
            "decisions-2026-01-02-000000000000005.parquet",
        ]
        assert json.loads((folder / MANIFEST).read_text())["event"] == 9

    def test_the_last_file_of_a_day_grows_until_it_is_full(self, tmp_path, clock, monkeypatch):
        monkeypatch.setattr(module, "ROWS_PER_FILE", 4)
        folder = tmp_path / "out"
        with Policy(tmp_path / "a.db", problem=PROBLEM, seed=0) as policy:
            sizes = []
            for n in (1, 2, 3, 5):
                decide(policy, n)
                export(tmp_path / "a.db", folder)
                sizes.append([pq.read_metadata(file).num_rows for file in files_in(folder)])
        assert sizes == [[1], [3], [4, 2], [4, 4, 3]]
        assert rows_in(folder) == whole(tmp_path / "a.db", tmp_path)

    def test_times_out_of_order_make_no_file_of_their_own(self, tmp_path, clock):
        with Policy(tmp_path / "a.db", problem=PROBLEM, seed=0) as policy:
            for days in (0, 2, -1, -1, 3):
                clock.days(days)
                decide(policy, 1)
        export(tmp_path / "a.db", tmp_path / "out")
        names = [file.name[10:20] for file in files_in(tmp_path / "out")]
        assert names == ["2026-01-01", "2026-01-03", "2026-01-04"]
        assert rows_in(tmp_path / "out") == whole(tmp_path / "a.db", tmp_path)

    def test_only_new_events_are_read(self, tmp_path, monkeypatch):
        with Policy(tmp_path / "a.db", problem=PROBLEM, seed=0) as policy:
            decide(policy, 20)
            export(tmp_path / "a.db", tmp_path / "out")
            decide(policy, 2)
        seen, read = [], DecisionLog.read_row

        def noted(log, row, *given):
            seen.append(row.position)
            return read(log, row, *given)

        monkeypatch.setattr(DecisionLog, "read_row", noted)
        assert export(tmp_path / "a.db", tmp_path / "out").n_new == 2
        assert sorted(set(seen)) == [20, 21, 22]  # the last one exported is compared

    def test_a_change_of_the_problem_begins_a_file(self, tmp_path):
        other = graphcb.Problem(["a", "b", "c"], features={"x": "number", "y": "text?"})
        folder = tmp_path / "out"
        with Policy(tmp_path / "a.db", problem=PROBLEM, seed=0) as policy:
            first = decide(policy, 2)
            export(tmp_path / "a.db", folder)
            policy.change(other)
            second = policy.decide({"x": 1.0, "y": "word"})
            reward(policy, first[0], 0.5)
            reward(policy, second, 0.25)
            assert export(tmp_path / "a.db", folder)[:3] == (1, 1, 2)
        old, new = (pq.read_table(file) for file in files_in(folder))
        assert "loss" not in old.column_names
        assert old["reward"].to_pylist() == [0.5, None]
        assert (new["loss"].to_pylist(), new["reward"].to_pylist()) == ([0.25], [None])
        assert new["context.y"].to_pylist() == ["word"]
        assert b"problem 2" in new.schema.metadata

    def test_rows_that_were_removed_from_the_log_stay(self, tmp_path, clock):
        folder = tmp_path / "out"
        with Policy(tmp_path / "a.db", problem=PROBLEM, seed=0) as policy:
            first = decide(policy, 3)
            export(tmp_path / "a.db", folder)
            clock.days(10)
            second = decide(policy, 2)
            assert export(tmp_path / "a.db", folder) == (2, 0, 1, 5, 0, 0)  # one file is written
            policy.prune(clock.now - 1.0)
            assert export(tmp_path / "a.db", folder) == (0, 0, 0, 5, 0, 0)
            reward(policy, second[1])
            decide(policy, 1)
            assert export(tmp_path / "a.db", folder) == (1, 1, 1, 7, 0, 0)
            clock.days(10)
            decide(policy, 1)
            policy.prune(clock.now - 1.0)  # of which the sixth was exported, and not the others
            decide(policy, 1)
            found = export(tmp_path / "a.db", folder)
        assert (found.n_new, found.removed) == (2, 0)
        rows = rows_in(folder)
        assert [row["position"] for row in rows] == [1, 2, 3, 4, 5, 7, 8, 9]
        assert rows[0]["decision_id"] == first[0].decision_id

    def test_what_was_removed_before_it_was_exported_is_said(self, tmp_path, clock):
        with Policy(tmp_path / "a.db", problem=PROBLEM, seed=0) as policy:
            decide(policy, 3)
            clock.days(1)
            decide(policy, 1)
            policy.prune(clock.now - 1.0)
            assert export(tmp_path / "a.db", tmp_path / "out") == (1, 0, 1, 4, 3, 0)
            assert export(tmp_path / "a.db", tmp_path / "out").removed == 0

    def test_graphs_that_nobody_knew(self, tmp_path):
        problem = graphcb.Problem(["a", "b"], reveals="unknown")
        with Policy(tmp_path / "a.db", problem=problem, seed=0) as policy:
            made = policy.decide({})
            policy.feedback(made.decision_id, {"a": 0.5})
        export(tmp_path / "a.db", tmp_path / "out")
        (row,) = rows_in(tmp_path / "out")
        assert row["reveal_probabilities"] is None
        assert row["feedback_losses"] == [0.5]

    def test_a_log_without_a_problem(self, tmp_path):
        with Policy(tmp_path / "a.db", graphcb.Uniform(), seed=0) as policy:
            made = policy.decide([0.5], graphs.bandit(2))
            export(tmp_path / "a.db", tmp_path / "out")
            policy.feedback(made.decision_id, {made.action: 0.5})
        export(tmp_path / "a.db", tmp_path / "out")
        (row,) = rows_in(tmp_path / "out")
        assert (row["loss"], row["context"]) == (0.5, [0.5])


@pytest.mark.parametrize("n_files", range(6))
def test_an_interrupted_export_is_made_good(tmp_path, clock, monkeypatch, n_files):
    """The second export stops after some files; late feedback is for the first of them."""
    folder, late = tmp_path / "out", []
    with Policy(tmp_path / "a.db", problem=PROBLEM, seed=0) as policy:
        for _ in range(2):
            late += decide(policy, 3)
            clock.days(1)
        export(tmp_path / "a.db", folder)
        for made in late:
            reward(policy, made)
        for _ in range(2):
            decide(policy, 3)
            clock.days(1)
        with monkeypatch.context() as patch:
            interrupt(patch, after=n_files)
            with contextlib.suppress(KeyboardInterrupt):
                export(tmp_path / "a.db", folder)
        reward(policy, decide(policy, 1)[0])
    export(tmp_path / "a.db", folder)
    assert rows_in(folder) == whole(tmp_path / "a.db", tmp_path)


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("decide"), st.integers(1, 4)),
        st.tuples(st.just("feedback"), st.integers(0, 30)),
        st.tuples(st.just("export"), st.integers(0, 9)),
        st.tuples(st.just("day"), st.integers(-1, 2)),
    ),
    max_size=25,
)


@settings(max_examples=25, deadline=None)
@given(steps=STEPS, size=st.integers(1, 5))
def test_a_folder_holds_what_one_file_would_whatever_was_interrupted(tmp_path_factory, steps, size):
    """Exports are interrupted after some of their files; the number says after how many."""
    tmp_path = tmp_path_factory.mktemp("export")
    folder, made, now = tmp_path / "out", [], 1_767_225_600.0
    given_out = set()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "ROWS_PER_FILE", size)
        patch.setattr(time, "time", lambda: now)
        with Policy(
            tmp_path / "a.db", problem=PROBLEM, seed=0, durability="process-kill"
        ) as policy:
            for what, number in [*steps, ("decide", 1)]:
                if what == "decide":
                    made += decide(policy, number)
                elif what == "feedback" and number < len(made) and number not in given_out:
                    given_out.add(number)
                    reward(policy, made[number], 0.5)
                elif what == "day":
                    now += 86_400.0 * number
                elif what == "export":
                    with pytest.MonkeyPatch.context() as again:
                        interrupt(again, after=number)
                        with contextlib.suppress(KeyboardInterrupt):
                            export(tmp_path / "a.db", folder)
        export(tmp_path / "a.db", folder)
        assert rows_in(folder) == whole(tmp_path / "a.db", tmp_path)
        assert export(tmp_path / "a.db", folder)[:3] == (0, 0, 0)


def interrupt(patch, *, after):
    """Let the writing of files stop after some."""
    real, counted = module.atomic_write, itertools.count()

    def write(*given, **options):
        if next(counted) >= after:
            raise KeyboardInterrupt
        return real(*given, **options)

    patch.setattr(module, "atomic_write", write)


class TestRefusals:
    @pytest.fixture
    def log(self, tmp_path):
        with Policy(tmp_path / "a.db", problem=PROBLEM, seed=0) as policy:
            decide(policy, 3)
        return tmp_path / "a.db"

    def test_a_file_in_the_place_of_the_folder(self, log, tmp_path):
        (tmp_path / "out").write_text("x")
        with pytest.raises(FileExistsError, match="must go to a folder, got the file"):
            export(log, tmp_path / "out")

    def test_a_folder_with_other_files(self, log, tmp_path):
        (tmp_path / "out").mkdir()
        (tmp_path / "out" / "x.parquet").write_text("x")
        with pytest.raises(FileError, match=r"must be empty, or have the _export\.json of an"):
            export(log, tmp_path / "out")
        (tmp_path / "out" / "x.parquet").unlink()
        export(log, tmp_path / "out")
        (tmp_path / "out" / "x.parquet").write_text("x")
        with pytest.raises(FileError, match=r"x\.parquet: is no file of an export"):
            export(log, tmp_path / "out")

    def test_the_folder_of_another_log(self, log, tmp_path):
        export(log, tmp_path / "out")
        with Policy(tmp_path / "b.db", problem=PROBLEM, seed=0) as policy:
            decide(policy, 9)
        with pytest.raises(FileError, match="must be a new folder or one for this log"):
            export(tmp_path / "b.db", tmp_path / "out")

    def test_a_log_that_was_restored(self, log, tmp_path):
        graphcb.decisions.back_up(log, tmp_path / "copy.db")
        with Policy(log) as policy:
            decide(policy, 1)
        export(log, tmp_path / "out")
        with pytest.raises(FileError, match="up to event 4, but the log ends at event 3"):
            export(tmp_path / "copy.db", tmp_path / "out")
        with Policy(tmp_path / "copy.db") as policy:
            decide(policy, 5)
        with pytest.raises(FileError, match=r"which .*copy\.db does not: the log was restored"):
            export(tmp_path / "copy.db", tmp_path / "out")

    @pytest.mark.parametrize("text", ["", "[]", "{}", '{"log": "x"}'])
    def test_a_manifest_that_says_nothing(self, log, tmp_path, text):
        export(log, tmp_path / "out")
        (tmp_path / "out" / MANIFEST).write_text(text)
        with pytest.raises(FileError, match="must say which log was exported, and how far"):
            export(log, tmp_path / "out")

    def test_a_cut_file(self, log, tmp_path):
        export(log, tmp_path / "out")
        (file,) = files_in(tmp_path / "out")
        file.write_bytes(file.read_bytes()[:-100])
        with pytest.raises(FileError, match="must be a Parquet file of an export"):
            export(log, tmp_path / "out")

    def test_two_at_a_time(self, log, tmp_path):
        pytest.importorskip("fcntl")
        (tmp_path / "out").mkdir()
        with (
            module._alone(tmp_path / "out"),
            pytest.raises(LogError, match="another process is exporting to this folder"),
        ):
            export(log, tmp_path / "out")

    def test_an_event_that_is_missing(self, log, tmp_path):
        import sqlite3

        export(log, tmp_path / "out")
        with Policy(log) as policy:
            decide(policy, 3)
        with sqlite3.connect(log) as database:
            database.execute("DELETE FROM graphcb_decisions WHERE position = 5")
            database.execute("DELETE FROM graphcb_checkpoints")
        with pytest.raises(FileError, match="event 5 is missing"):
            export(log, tmp_path / "out")


PROGRAM = """
import sys, graphcb
from graphcb.decisions import export_folder as module
module.ROWS_PER_FILE = 300
with graphcb.DecisionLog(sys.argv[1]) as log:
    print("ready", flush=True)
    module.export_folder(log, sys.argv[2])
"""


@pytest.mark.slow
def test_kills_lose_nothing_and_repeat_nothing(tmp_path):
    location, folder = tmp_path / "a.db", tmp_path / "out"
    n_killed = 0
    with Policy(location, problem=PROBLEM, seed=0, durability="process-kill") as policy:
        waiting = []
        for turn in range(12):
            made = policy.decide_many([{"x": float(k)} for k in range(700)])
            late, waiting = waiting, made[::2]
            answered = [*made[1::2], *late]
            policy.feedback_many({one.decision_id: {one.action: 0.5} for one in answered})
            child = subprocess.Popen(
                [sys.executable, "-c", PROGRAM, str(location), str(folder)], stdout=subprocess.PIPE
            )
            child.stdout.readline()
            time.sleep(0.02 * turn)
            child.send_signal(signal.SIGKILL)
            n_killed += child.wait() == -signal.SIGKILL
            child.stdout.close()
            for file in files_in(folder):
                pq.read_table(file)  # whole
            rows = [row["position"] for row in rows_in(folder)]
            assert len(rows) == len(set(rows))
    assert n_killed > 3
    export(location, folder)
    assert rows_in(folder) == whole(location, tmp_path)
    assert not list(folder.glob(".*"))


def test_a_folder_is_judged_as_its_log_is(tmp_path):
    location, folder = tmp_path / "a.db", tmp_path / "out"
    with Policy(
        location, graphcb.Uniform(), problem=PROBLEM, seed=0, durability="process-kill"
    ) as policy:
        for part in range(3):
            made = policy.decide_many([{"x": float(k)} for k in range(40)])
            seen = {one.decision_id: {one.action: 0.25 * part} for one in made}
            policy.feedback_many(seen)
            export(location, folder)
    with DecisionLog(location) as log:
        whole_log = evaluate(log, constant("a"))
    found = graphcb.evaluate_table(
        str(folder / "*.parquet"),
        action="action",
        probability="probability",
        reward="reward",
        policy="constant:a",
    )
    assert found.n_rows == 120
    (judged,) = found.policies
    assert judged.estimates["self-normalised"].value == pytest.approx(whole_log.plain.value)
