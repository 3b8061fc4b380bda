"""The time, for kernels."""

import time
from typing import Any

import numpy as np
from numba import types
from numpy.typing import NDArray

from graphcb.compilation import compiled

CLOCK = getattr(time, "CLOCK_MONOTONIC", -1)  # not on Windows: there a kernel does not see the time
_clock_gettime: Any = types.ExternalFunction(
    "clock_gettime", types.int32(types.int32, types.voidptr)
)


@compiled
def nanoseconds(room: NDArray[np.int64]) -> int:
    """Nanoseconds since some fixed time, in about 25 ns; `room` is a scratch array of two."""
    if CLOCK >= 0:
        _clock_gettime(CLOCK, room.ctypes.data)
    now: int = room[0] * 1_000_000_000 + room[1]
    return now
