"""Files that appear whole or not at all, and the error for one that cannot be believed."""

import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

try:
    import fcntl
except ImportError:  # Windows has no such locks
    fcntl = None  # type: ignore[assignment]


class FileError(ValueError):
    """A model, log or graph is damaged, too large, of another kind or of another version.

    The text begins with the name of the file or the address of the log.
    """


@contextmanager
def atomic_write(path: str | os.PathLike[str], *, text: bool = False) -> Iterator[IO[Any]]:
    """Open a file that replaces `path` when the block ends.

    What is written goes to a temporary file in the same folder. It is synced to disk and renamed
    to `path` at the end. If the block raises, `path` is left as it was. An existing file keeps its
    mode, and a symbolic link stays: the file that it points to is replaced. The file is binary, or
    UTF-8 with line ends as written if `text` is true.

    On Linux the temporary file has no name until it is complete, so a process that is killed
    leaves nothing behind, except in the moment between naming and renaming it. Then, and on other
    systems, it is called `.NAME.part`; the next write to the same path removes it if the process
    that wrote it has ended.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "a.txt"
    >>> with atomic_write(path, text=True) as file:
    ...     _ = file.write("done")
    >>> path.read_text()
    'done'
    """
    target = Path(os.path.realpath(path))
    how: dict[str, Any] = {"encoding": "utf-8", "newline": ""} if text else {}
    old = target.stat().st_mode if target.exists() else None
    if old is not None and not stat.S_ISREG(old):  # a device or a pipe: nothing to replace
        with target.open("w" if text else "wb", **how) as file:
            yield file
        return
    number, part = _open_part(target)
    try:
        with os.fdopen(number, "w" if text else "wb", **how) as file:
            if old is not None:
                Path(f"/proc/self/fd/{number}" if part is None else part).chmod(stat.S_IMODE(old))
            yield file
            file.flush()
            os.fsync(number)
            if part is None:
                part = _name_part(number, target)
            if os.name == "posix":
                part.replace(target)  # while it is open, and so locked
        if os.name != "posix":
            part.replace(target)
    except BaseException:
        if part is not None:
            part.unlink(missing_ok=True)
        raise
    _sync_folder(target.parent)


def _open_part(target: Path) -> tuple[int, Path | None]:
    """A new locked file in the folder of `target`: its descriptor, and its name if it has one."""
    if hasattr(os, "O_TMPFILE") and Path("/proc/self/fd").exists():
        with suppress(OSError):  # not every file system can: then it gets a name
            number = os.open(target.parent, os.O_TMPFILE | os.O_RDWR | os.O_CLOEXEC, 0o666)
            lock(number)
            return number, None
    flags = os.O_CREAT | os.O_EXCL | os.O_RDWR | getattr(os, "O_BINARY", 0)
    for part in _part_names(target):
        try:
            number = os.open(part, flags, 0o666)
        except FileExistsError:
            continue
        lock(number)
        if part.exists() and os.path.samestat(part.stat(), os.fstat(number)):
            return number, part
        os.close(number)  # another process took it for an old one, before it was locked
    raise FileExistsError(f"no name is free beside {target}")


def _name_part(number: int, target: Path) -> Path:
    """Give a file without a name one in the folder of `target`."""
    folder = os.open(target.parent, os.O_RDONLY)
    try:
        for part in _part_names(target):
            with suppress(FileExistsError):
                # With a folder's descriptor Python follows the link in /proc to the file.
                os.link(f"/proc/self/fd/{number}", part.name, dst_dir_fd=folder)
                return part
    finally:
        os.close(folder)
    raise FileExistsError(f"no name is free beside {target}")


def _part_names(target: Path) -> Iterator[Path]:
    """The usual name, freed of what a killed process left there; then names never used."""
    usual = target.with_name(f".{target.name[:200]}.part")
    _remove_if_left_behind(usual)
    yield usual
    while True:
        yield target.with_name(f".{target.name[:200]}.{secrets.token_hex(8)}.part")


def _remove_if_left_behind(part: Path) -> None:
    """Remove a temporary file that no living process has locked."""
    if fcntl is None:
        return
    with suppress(OSError):  # it is not there, or its process lives
        number = os.open(part, os.O_RDWR | os.O_NOFOLLOW)
        try:
            fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
            part.unlink()
        finally:
            os.close(number)


def lock(number: int) -> bool:
    """Mark a file as being written until this process closes it; False if another one does."""
    if fcntl is not None:
        try:
            fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except OSError:  # a file system without locks
            pass
    return True


def _sync_folder(folder: Path) -> None:
    """Make the new name durable, where folders can be synced."""
    with suppress(OSError):
        number = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(number)
        finally:
            os.close(number)
