"""What happens while kernels are compiled: a line for the user, and no garbage collection."""

import gc
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from graphcb.compilation import cache

QUIET = "GRAPHCB_QUIET"  # an environment variable: no line if it is set to anything
NOTICEABLE = 1.0  # seconds of compiling after which the line is printed

clock = time.perf_counter
_names: list[str] = []  # kernels being compiled, from the outermost on
_was_collecting = False
_since = _spent = 0.0
_said = False
_tell: Callable[[str], None] | None = None


def _print(text: str) -> None:
    print(f"graphcb: {text}", file=sys.stderr, flush=True)


announce: Callable[[str], None] = _print  # a program with a log of its own has another function


def started(name: str) -> None:
    """Compiling of a kernel begins, of a callee during that of its caller.

    A kernel that takes long has callees, so that this is the place to look at the clock.
    """
    global _since, _said, _was_collecting
    if not name.startswith("graphcb."):
        return
    if not _names:
        # Many objects are made and few of them are garbage: looking for it takes a tenth.
        _was_collecting = gc.isenabled()
        gc.disable()
        _since = clock()
    _names.append(name)
    if not _said and _spent + clock() - _since > NOTICEABLE:
        _said = True
        if _tell is None and sys.stderr is not None and not os.environ.get(QUIET):
            announce(_line(_names[0]))


def finished(name: str) -> None:
    """Compiling of a kernel has ended, well or not."""
    global _spent
    if not _names or not name.startswith("graphcb."):
        return
    _names.pop()
    if not _names:
        _spent += clock() - _since
        if _was_collecting:
            gc.enable()
    if _tell is not None:
        _tell(name)


def is_compiling() -> bool:
    """Whether a kernel is being compiled at this moment, by any thread."""
    return bool(_names)


@contextmanager
def reporting_to(tell: Callable[[str], None]) -> Iterator[None]:
    """Call `tell` with the name of each kernel that was compiled, and print no line."""
    global _tell
    _tell = tell
    try:
        yield
    finally:
        _tell = None


def _line(name: str) -> str:
    room = ".".join(name.split(".")[:2])
    if cache.place() is None:
        when = "in every process, as no folder for machine code is writable; set NUMBA_CACHE_DIR"
    else:
        when = "once per installation; `graphcb compile` does it ahead of time"
    return f"compiling {room}, up to 15 s ({when})"
