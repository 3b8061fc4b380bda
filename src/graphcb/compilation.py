"""One way to compile a kernel, so that every kernel is cached on disk and none holds the GIL."""

import time
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar, cast

import numba
import numpy as np
from numba import types
from numba.core.compiler import Compiler
from numpy.typing import NDArray

P = ParamSpec("P")
R = TypeVar("R")


class _PartCompiler(Compiler):
    """Compiles as usual, but leaves optimising to the functions that call this one.

    numba optimises a function and, once more, its copy in each caller, and in the callers of
    those: in a deep tree of calls that is most of the time. Where numba has no such step to
    leave out, it is done as usual.
    """

    def define_pipelines(self) -> Any:
        library = self.state.targetctx.codegen().create_library("part")
        library.enable_object_caching()
        if hasattr(library, "_optimize_final_module"):
            library._optimize_final_module = _nothing
            self.state.library = library
        return super().define_pipelines()  # type: ignore[no-untyped-call]


def _nothing() -> None:
    """Left to the callers."""


def compiled(function: Callable[P, R]) -> Callable[P, R]:
    """Compile `function` with numba on its first call and keep the machine code on disk.

    Division by zero follows IEEE rules (inf or nan) instead of raising, as the formulas expect.
    """
    decorate = numba.njit(cache=True, nogil=True, error_model="numpy")
    return cast(Callable[P, R], decorate(function))


def part(function: Callable[P, R]) -> Callable[P, R]:
    """`compiled`, for a function that only compiled ones call: slow when called alone."""
    decorate = numba.njit(cache=True, nogil=True, error_model="numpy", pipeline_class=_PartCompiler)
    return cast(Callable[P, R], decorate(function))


def fused_part(function: Callable[P, R]) -> Callable[P, R]:
    """`part`, and a product and a sum may become one instruction that rounds once.

    Not for formulas that rely on equal products cancelling exactly.
    """
    decorate = numba.njit(
        cache=True,
        nogil=True,
        error_model="numpy",
        pipeline_class=_PartCompiler,
        fastmath={"contract"},
    )
    return cast(Callable[P, R], decorate(function))


def inlined(function: Callable[P, R]) -> Callable[P, R]:
    """Compile `function` as part of each compiled function that calls it, never on its own.

    For small parts of a large kernel that are called from one place.
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


inner = part
inner_fused = fused_part
