"""How far a SQLite log goes, noted in a file beside it after each commit.

SQLite ends a write-ahead log at the first frame whose checksum is wrong, and what follows is gone
without a word. A number outside of it tells. It is written after the commit and never waited for,
so it may lag behind the log but is never ahead of it: if the log ends earlier, events are missing.
"""

import struct
import zlib
from functools import cache
from pathlib import Path
from typing import NamedTuple

from graphcb.decisions.storage import Durability

# A mark, the name of the log, the start of the machine; then the number of the event, a CRC-32.
_HEAD = struct.Struct("<8s8s36s")
_CONTENT = struct.Struct("<8s8s36sqI")
_MARK = b"graphcb1"


class NotedEnd(NamedTuple):
    """An event that was committed, and the name of its log."""

    name: str
    position: int


def head(name: str, durability: Durability) -> bytes:
    """What stands before the number; b"" if nothing can be noted.

    After a power cut, a log with the durability "process-kill" may have lost its last moments. What
    it notes therefore counts until the machine starts again.
    """
    start = b"" if durability == "power-loss" else _this_start()
    if durability != "power-loss" and not start:
        return b""
    return _HEAD.pack(_MARK, name.encode(), start)


def read_noted_end(path: Path) -> NotedEnd | None:
    """What was noted last; None if nothing was, or it cannot be relied on."""
    try:
        content = path.read_bytes()
    except OSError:
        return None
    if len(content) != _CONTENT.size or zlib.crc32(content[:-4]) != _CONTENT.unpack(content)[-1]:
        return None  # its writer was killed within the write
    mark, name, start, position, _ = _CONTENT.unpack(content)
    if mark != _MARK or start.strip(b"\0") not in (b"", _this_start()):
        return None
    return NotedEnd(name.rstrip(b"\0").decode(errors="replace"), position)


@cache
def _this_start() -> bytes:
    """What tells this start of the machine from any other, b"" if the system does not say."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_bytes().strip()[:36]
    except OSError:
        return b""
