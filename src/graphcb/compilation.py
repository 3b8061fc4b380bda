"""One way to compile a kernel, so that every kernel is cached on disk and none holds the GIL."""

import time
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar, cast

import numba
import numpy as np
from numba import types
from numpy.typing import NDArray

P = ParamSpec("P")
R = TypeVar("R")


def compiled(function: Callable[P, R]) -> Callable[P, R]:
    """Compile `function` with numba on its first call and keep the machine code on disk.

    Division by zero follows IEEE rules (inf or nan) instead of raising, as the formulas expect.
    """
    decorate = numba.njit(cache=True, nogil=True, error_model="numpy")
    return cast(Callable[P, R], decorate(function))


def fused(function: Callable[P, R]) -> Callable[P, R]:
    """`compiled`, and a product and a sum may become one instruction that rounds once.

    Not for formulas that rely on equal products cancelling exactly.
    """
    decorate = numba.njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract"})
    return cast(Callable[P, R], decorate(function))


def inlined(function: Callable[P, R]) -> Callable[P, R]:
    """Compile `function` as part of each compiled function that calls it, never on its own.

    For the parts of a large kernel that are called from one place: compiling them first and
    the caller after would optimise the same code twice.
    """
    decorate = numba.njit(inline="always", nogil=True, error_model="numpy")
    return cast(Callable[P, R], decorate(function))


CLOCK = getattr(time, "CLOCK_MONOTONIC", -1)  # not on Windows: there a kernel does not see the time
_clock_gettime: Any = types.ExternalFunction(
    "clock_gettime", types.int32(types.int32, types.voidptr)
)


@compiled
def nanoseconds(room: NDArray[np.int64]) -> int:
    """A clock for kernels, about 25 ns a look; `room` is a scratch array of two numbers."""
    if CLOCK >= 0:
        _clock_gettime(CLOCK, room.ctypes.data)
    now: int = room[0] * 1_000_000_000 + room[1]
    return now
