import stat

import pytest

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
