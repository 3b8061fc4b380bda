"""Integer programs by HiGHS, without the lines that it prints for its own developers."""

import ctypes
import os
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

_NOISE = b"HighsMipSolverData::"  # what no option of HiGHS turns off begins with it
_ONE_AT_A_TIME = threading.Lock()


def solve_integer_program(costs: Any, **more: Any) -> Any:
    """`scipy.optimize.milp`, which prints nothing."""
    from scipy.optimize import milp

    with _ONE_AT_A_TIME, _without_noise():
        return milp(costs, **more)


@contextmanager
def _without_noise() -> Iterator[None]:
    """Hold back what goes to the standard output meanwhile, and pass on all but the noise."""
    try:
        real = os.dup(1)
    except OSError:  # there is none
        yield
        return
    with os.fdopen(real, "wb", buffering=0) as output, tempfile.TemporaryFile(buffering=0) as held:
        _flush()
        os.dup2(held.fileno(), 1)
        try:
            yield
        finally:
            _flush()
            os.dup2(real, 1)
            held.seek(0)
            kept = [line for line in held.read().splitlines(True) if not line.startswith(_NOISE)]
            if kept:
                output.write(b"".join(kept))


def _flush() -> None:
    """Let C write out what it has buffered."""
    with suppress(OSError, TypeError, AttributeError):
        ctypes.CDLL(None).fflush(None)
