"""Files that appear whole or not at all, and the error for one that cannot be believed."""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any


class FileError(ValueError):
    """A model, log or graph is damaged, too large, of another kind or of another version.

    The text begins with the name of the file or the address of the log.
    """


@contextmanager
def atomic_write(path: str | os.PathLike[str], *, text: bool = False) -> Iterator[IO[Any]]:
    """Open a file that replaces `path` when the block ends.

    What is written goes to a temporary file in the same folder. It is synced to disk and renamed
    to `path` at the end. If the block raises, `path` is left as it was. The file is binary, or
    UTF-8 with line ends as written if `text` is true.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "a.txt"
    >>> with atomic_write(path, text=True) as file:
    ...     _ = file.write("done")
    >>> path.read_text()
    'done'
    """
    target = Path(path)
    part = target.with_name(f"{target.name}.{secrets.token_hex(4)}.part")
    how: dict[str, Any] = {"encoding": "utf-8", "newline": ""} if text else {}
    try:
        with part.open("x" if text else "xb", **how) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        part.replace(target)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
