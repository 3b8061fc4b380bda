"""A log knows how far it went, whatever became of its write-ahead log."""

import os
import shutil
from pathlib import Path

import pytest

import graphcb
from graphcb import DecisionLog, FileError, Policy
from graphcb.cli import main
from graphcb.decisions import back_up, noted_end, verify

GRAPH = graphcb.graphs.bandit(2)
N_EVENTS = 40


def left_over(folder: Path, durability: str = "power-loss") -> Path:
    """The files of a log whose process was killed: all events are in the write-ahead log."""
    folder.mkdir()
    path = folder / "a.db"
    policy = Policy(path, graphcb.Uniform(), seed=0, durability=durability)
    for _ in range(N_EVENTS):
        policy.decide([1.0], GRAPH)
    killed = folder / "killed"
    killed.mkdir()
    for file in folder.glob("a.db*"):
        shutil.copy(file, killed)
    policy.close()
    return killed / "a.db"


def flip(path: Path, place: float) -> None:
    wal = Path(f"{path}-wal")
    content = bytearray(wal.read_bytes())
    content[int(place * len(content))] ^= 4
    wal.write_bytes(content)


@pytest.mark.parametrize("place", [0.0, 0.1, 0.5, 0.95])
def test_a_flipped_bit_in_the_write_ahead_log_is_told(tmp_path, capsys, place):
    path = left_over(tmp_path / "log")
    flip(path, place)
    wal = Path(f"{path}-wal").read_bytes()
    for agent in (None, graphcb.Uniform()):
        with pytest.raises(FileError, match=r"event 40 .*acknowledged: it has lost its tail"):
            Policy(path, agent)
    assert "it has lost its tail" in verify(path)[0]
    assert main(["log", "summary", str(path)]) != 0
    assert "or delete the file ...-end to continue" in capsys.readouterr().err
    with pytest.raises(FileError, match="lost its tail"):
        back_up(path, tmp_path / "backup.db")
    assert Path(f"{path}-wal").read_bytes() == wal  # nothing was made of it


def test_without_the_note_the_log_continues_where_it_ends(tmp_path):
    path = left_over(tmp_path / "log")
    flip(path, 0.5)
    Path(f"{path}-end").unlink()
    with Policy(path) as policy:
        assert 0 < policy.n_events < N_EVENTS
        policy.decide([1.0], GRAPH)
    assert verify(path) == []


def test_a_deleted_write_ahead_log_is_told(tmp_path):
    path = left_over(tmp_path / "log")
    Path(f"{path}-wal").unlink()
    with pytest.raises(FileError, match="holds no decision log, but event 40 of one was ack"):
        Policy(path, graphcb.Uniform())
    with pytest.raises(FileError, match="holds no decision log, but event 40 of one was ack"):
        DecisionLog(path)


def test_what_is_whole_is_opened(tmp_path):
    path = left_over(tmp_path / "log")
    with DecisionLog(path) as log:
        assert len(list(log)) == N_EVENTS
    with Policy(path) as policy:
        assert policy.n_events == N_EVENTS
    assert sorted(file.name for file in path.parent.glob("a.db*")) == ["a.db", "a.db-writer"]


@pytest.mark.parametrize("content", [b"", b"x" * 64, None])
def test_a_note_that_cannot_be_read_says_nothing(tmp_path, content):
    path = left_over(tmp_path / "log")
    note = Path(f"{path}-end")
    note.write_bytes(note.read_bytes()[:40] if content is None else content)
    assert noted_end.read_noted_end(note) is None
    with Policy(path) as policy:
        assert policy.n_events == N_EVENTS


def test_a_note_of_another_log_says_nothing(tmp_path):
    path = left_over(tmp_path / "log")
    with Policy(tmp_path / "b.db", graphcb.Uniform()) as policy:
        policy.decide([1.0], GRAPH)
    shutil.copy(f"{path}-end", tmp_path / "b.db-end")
    with Policy(tmp_path / "b.db") as policy:
        assert policy.n_events == 1


def test_a_note_of_a_log_that_was_removed_says_nothing(tmp_path):
    path = left_over(tmp_path / "log")
    for end in ("", "-wal", "-shm"):
        Path(f"{path}{end}").unlink()
    Policy(path, graphcb.Uniform()).close()
    assert not Path(f"{path}-end").exists()


def test_a_power_cut_may_take_the_last_moments_of_a_log_that_allows_it(tmp_path, monkeypatch):
    path = left_over(tmp_path / "log", durability="process-kill")
    flip(path, 0.5)
    with pytest.raises(FileError, match="lost its tail"):
        Policy(path)
    monkeypatch.setattr(noted_end, "_this_start", lambda: b"after the power cut")
    with Policy(path, durability="process-kill") as policy:
        assert policy.n_events < N_EVENTS


def test_where_starts_of_the_machine_are_unknown_only_lasting_logs_note(tmp_path, monkeypatch):
    monkeypatch.setattr(noted_end, "_this_start", lambda: b"")
    path = left_over(tmp_path / "log", durability="process-kill")
    assert noted_end.read_noted_end(Path(f"{path}-end")) is None


def test_a_disk_that_takes_no_note_stops_nobody(tmp_path):
    (tmp_path / "a.db-end").mkdir()
    with Policy(tmp_path / "a.db", graphcb.Uniform()) as policy:
        policy.decide([1.0], GRAPH)
        assert policy.n_events == 1


def test_a_reader_beside_the_writer_sees_no_missing_tail(tmp_path):
    path = tmp_path / "a.db"
    with Policy(path, graphcb.Uniform()) as policy, DecisionLog(path) as log:
        for n in range(1, 6):
            policy.decide([1.0], GRAPH)
            assert len(list(log)) == n
    assert not os.path.exists(f"{path}-end")  # noqa: PTH110
