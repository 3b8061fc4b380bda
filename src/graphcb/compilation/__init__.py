"""One way to compile a kernel: no kernel holds the GIL, and its machine code is kept on disk.

`compiled` is for functions that Python calls, `inner`, `inner_fused`, `summed` and `inlined` for
functions that only other kernels call. `cache` decides where machine code is kept, `internals`
holds all that is used of numba beyond its documented interface.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, ParamSpec, TypeVar, cast

import numba

from graphcb.compilation import cache, internals, watch

P = ParamSpec("P")
R = TypeVar("R")

ENTRY_POINTS: list[Any] = []  # every `compiled` function imported so far
INNER: list[Any] = []  # every `inner`, `inner_fused` and `summed` one

internals.on_compile(watch.started, watch.finished)
internals.keep_ctrl_c_out()


def compiled(function: Callable[P, R]) -> Callable[P, R]:
    """Compile `function` with numba on its first call and keep the machine code on disk.

    Division by zero follows IEEE rules (inf or nan) instead of raising, as the formulas expect.
    """
    kernel = _compile(function)
    ENTRY_POINTS.append(kernel)
    return cast(Callable[P, R], kernel)


def inner(function: Callable[P, R]) -> Callable[P, R]:
    """`compiled`, for a function that only kernels call: optimised in its callers alone."""
    return _inner(function, **internals.LEFT_TO_THE_CALLERS)


def inner_fused(function: Callable[P, R]) -> Callable[P, R]:
    """`inner`, and a product and a sum may become one instruction that rounds once.

    Not for formulas that rely on equal products cancelling exactly.
    """
    return _inner(function, **internals.LEFT_TO_THE_CALLERS, fastmath={"contract"})


def summed(function: Callable[P, R]) -> Callable[P, R]:
    """For a loop over an array that only kernels call: sums are taken in any order.

    It becomes vector instructions, which it would not in a large caller: it is optimised on its
    own. What is not finite stays so. It should call none but `inlined` kernels, or processes may
    not agree on the last bit (docs/decisions/0009).
    """
    return _inner(function, fastmath={"contract", "reassoc"})


def inlined(function: Callable[P, R]) -> Callable[P, R]:
    """Compile `function` as part of each kernel that calls it, never on its own.

    For a small step of a large kernel that is called from one place.
    """
    return cast(Callable[P, R], _compile(function, cached=False, inline="always"))


def _inner(function: Callable[P, R], **options: Any) -> Callable[P, R]:
    kernel = _compile(function, **options)
    INNER.append(kernel)
    return cast(Callable[P, R], kernel)


def _compile(function: Callable[..., Any], cached: bool = True, **options: Any) -> Any:
    kernel = numba.njit(nogil=True, error_model="numpy", **options)(function)
    key = cache.key_of(function) if cached else None
    if key is not None:
        internals.keep_on_disk(kernel, partial(cache.folder_for, key))
    return kernel


borrowed = internals.borrowed

# At the end, as this module holds a kernel itself.
from graphcb.compilation.clock import nanoseconds  # noqa: E402

__all__ = ["borrowed", "compiled", "inlined", "inner", "inner_fused", "nanoseconds", "summed"]
