import os
import signal
import stat
import subprocess
import sys

import pytest

from graphcb import files
from graphcb.files import atomic_write


def test_the_file_appears_at_the_end(tmp_path):
    path = tmp_path / "a.bin"
    with atomic_write(path) as file:
        file.write(b"new")
        assert not path.exists()
    assert path.read_bytes() == b"new"
    assert list(tmp_path.iterdir()) == [path]


def test_text_keeps_its_line_ends(tmp_path):
    with atomic_write(tmp_path / "a.txt", text=True) as file:
        file.write("é\r\n\n")
    assert (tmp_path / "a.txt").read_bytes() == "é\r\n\n".encode()


def write_and_fail(path, error):
    with atomic_write(path, text=True) as file:
        file.write("new")
        raise error


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_a_failure_leaves_the_old_file(tmp_path, error):
    path = tmp_path / "a.txt"
    path.write_text("old")
    with pytest.raises(error):
        write_and_fail(path, error)
    assert list(tmp_path.iterdir()) == [path]
    assert path.read_text() == "old"


def test_others_may_read_the_file_as_any_other(tmp_path):
    (tmp_path / "plain").touch()
    with atomic_write(tmp_path / "whole"):
        pass
    modes = [stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("plain", "whole")]
    assert modes[0] == modes[1]


def test_a_folder_that_does_not_exist(tmp_path):
    with pytest.raises(FileNotFoundError), atomic_write(tmp_path / "no" / "a.txt"):
        pass


@pytest.fixture(params=["without a name", "with a name"])
def system(request, monkeypatch):
    """A system that has files without a name, and one that has not."""
    if request.param == "with a name":
        monkeypatch.delattr(os, "O_TMPFILE", raising=False)


def test_a_file_keeps_its_mode(tmp_path, system):
    path = tmp_path / "a.txt"
    path.write_text("old")
    path.chmod(0o640)
    with atomic_write(path, text=True) as file:
        file.write("new")
    assert (path.read_text(), stat.S_IMODE(path.stat().st_mode)) == ("new", 0o640)
    assert list(tmp_path.iterdir()) == [path]


def test_a_link_stays_and_its_target_is_replaced(tmp_path, system):
    (tmp_path / "folder").mkdir()
    target, link = tmp_path / "folder" / "a.txt", tmp_path / "link"
    link.symlink_to(target)
    for content in ("first", "second"):
        with atomic_write(link, text=True) as file:
            file.write(content)
        assert link.is_symlink()
        assert target.read_text() == content
    assert list(target.parent.iterdir()) == [target]


def test_a_pipe_is_written_to_and_not_replaced(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    with atomic_write(path) as file:
        file.write(b"new")
    assert os.read(reader, 10) == b"new"
    os.close(reader)
    assert stat.S_ISFIFO(path.stat().st_mode)


def test_what_a_killed_process_left_is_removed(tmp_path, system):
    path = tmp_path / "a.txt"
    (tmp_path / ".a.txt.part").write_text("half")
    with atomic_write(path, text=True) as file:
        file.write("new")
    assert list(tmp_path.iterdir()) == [path]


def test_what_another_process_is_writing_is_left_alone(tmp_path, system):
    path = tmp_path / "a.txt"
    part = tmp_path / ".a.txt.part"
    with part.open("w") as other:
        files.fcntl.flock(other, files.fcntl.LOCK_EX)
        with atomic_write(path, text=True) as file:
            file.write("new")
        assert part.exists()
    assert path.read_text() == "new"


KILLED = """
import os, sys
from graphcb.files import atomic_write
if sys.argv[2] == "with a name":
    del os.O_TMPFILE
with atomic_write(sys.argv[1]) as file:
    file.write(b"half")
    file.flush()
    print("written", flush=True)
    sys.stdin.read()
"""


@pytest.mark.parametrize("kind", ["without a name", "with a name"])
def test_a_kill_leaves_nothing_that_the_next_write_does_not_remove(tmp_path, kind):
    path = tmp_path / "a.txt"
    path.write_bytes(b"old")
    child = subprocess.Popen(
        [sys.executable, "-c", KILLED, path, kind],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    with child:
        assert child.stdout.readline() == b"written\n"
        child.send_signal(signal.SIGKILL)
    left = sorted(file.name for file in tmp_path.iterdir())
    assert left == (["a.txt"] if kind == "without a name" else [".a.txt.part", "a.txt"])
    assert path.read_bytes() == b"old"
    with atomic_write(path) as file:
        file.write(b"new")
    assert [file.name for file in tmp_path.iterdir()] == ["a.txt"]
