"""All that is used of numba beyond its documented interface.

Everything here is guarded: where a version of numba lacks what is used, kernels are compiled and
cached as numba does on its own, with the same results. `tests/compilation` is run with the oldest
and the newest numba allowed (docs/decisions/0009).
"""

from collections.abc import Callable
from contextlib import suppress
from functools import cached_property, lru_cache
from typing import Any, TypeVar

import numba.extending

from graphcb.compilation.cache import keeping_in

T = TypeVar("T")

LEFT_TO_THE_CALLERS: dict[str, Any] = {}  # options of a kernel that is optimised in its callers

try:
    from numba.core.compiler import Compiler
except ImportError:
    pass
else:

    class _LeftToTheCallers(Compiler):
        """Compile as usual, but leave the optimising to the functions that call this one.

        numba optimises a function and, once more, its copy in each caller, and in the callers of
        those: in a deep tree of calls that is most of the time.
        """

        def define_pipelines(self) -> Any:
            library = self.state.targetctx.codegen().create_library("inner")
            library.enable_object_caching()
            if hasattr(library, "_optimize_final_module"):
                library._optimize_final_module = _nothing
                self.state.library = library
            if hasattr(self.state.flags, "no_cfunc_wrapper"):
                self.state.flags.no_cfunc_wrapper = True  # C never calls it
            return super().define_pipelines()  # type: ignore[no-untyped-call]

    LEFT_TO_THE_CALLERS["pipeline_class"] = _LeftToTheCallers


def borrowed(value: T) -> T:
    """The arguments of a `compiled` function, with arrays whose references are not counted.

    Counting is an atomic instruction whenever an array is taken out of a tuple or sliced, a third
    of the time of a kernel that works on many small ones. Python holds on to arguments until a
    kernel returns; arrays that a kernel makes itself must be counted.
    """
    return value


try:
    from numba.core import cgutils, types
    from numba.extending import intrinsic, overload
except ImportError:
    borrowed = numba.extending.register_jitable(borrowed)
else:
    _code: Any = cgutils  # neither is annotated
    _kinds: Any = types

    def _uncount(typing: Any, kind: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            return _without_count(context, builder, signature.args[0], values[0])

        return kind(kind), generate

    _uncounted: Any = intrinsic(_uncount)

    def _without_count(context: Any, builder: Any, kind: Any, value: Any) -> Any:
        if isinstance(kind, _kinds.Array):
            array = context.make_array(kind)(context, builder, value)
            array.meminfo = _code.get_null_value(array.meminfo.type)
            array.parent = _code.get_null_value(array.parent.type)
            return array._getvalue()
        if isinstance(kind, _kinds.BaseTuple):
            pairs = zip(kind, _code.unpack_tuple(builder, value), strict=True)
            parts = [_without_count(context, builder, *pair) for pair in pairs]
            return context.make_tuple(builder, kind, parts)
        return value

    @overload(borrowed, strict=False, inline="always")
    def _compile_borrowed(value: Any) -> Callable[[Any], Any]:
        return lambda value: _uncounted(value)


FunctionCache: Any = None
with suppress(ImportError):
    from numba.core.caching import FunctionCache, NullCache


def keep_ctrl_c_out() -> None:
    """Let machine code look up the types of its answers without running Python.

    numba asks a function in Python for the class of every array that a kernel returns, and goes on
    if that function raises. Python handles signals as such a function begins, so now and then a
    Ctrl-C came out as a SystemError. The functools.lru_cache around it answers without bytecode.
    """
    with suppress(ImportError):
        from numba.core import serialize

        plain = getattr(serialize, "_numba_unpickle", None)
        if plain is not None and not hasattr(plain, "cache_info"):
            serialize._numba_unpickle = lru_cache(maxsize=None)(plain)


def _nothing() -> None:
    """Left to the callers."""


def on_compile(started: Callable[[str], None], finished: Callable[[str], None]) -> None:
    """Call these with a kernel's full name around its compiling, not when it is loaded."""
    try:
        from numba.core.event import Listener, register
    except ImportError:
        return

    class Both(Listener):
        def on_start(self, event: Any) -> None:
            started(_name(event))

        def on_end(self, event: Any) -> None:
            finished(_name(event))

    register("numba:compile", Both())  # type: ignore[no-untyped-call]


def _name(event: Any) -> str:
    function = getattr(event.data["dispatcher"], "py_func", None)
    return f"{getattr(function, '__module__', '')}.{getattr(function, '__name__', '')}"


def keep_on_disk(kernel: Any, find_folder: Callable[[], str | None]) -> None:
    """Let numba load and save the kernel's machine code; the folder is asked for when needed.

    If this numba has no cache to put in place of its own, its documented setting has to do: then
    the folder is needed now.
    """
    if FunctionCache is not None and hasattr(kernel, "_cache"):
        kernel._cache = _Files(kernel, find_folder)
    elif hasattr(kernel, "enable_caching") and (folder := find_folder()) is not None:
        with keeping_in(folder), suppress(RuntimeError):  # raised where it cannot be written
            kernel.enable_caching()


class _Files:
    """numba's cache of one kernel, opened when the kernel is first called, and forgiving.

    numba on its own tries each folder while it is imported, and raises from the middle of a call
    if the disk is full, a file is damaged, or the process has given up the right to write.
    """

    def __init__(self, kernel: Any, find_folder: Callable[[], str | None]) -> None:
        self._kernel, self._find_folder = kernel, find_folder

    @cached_property
    def _files(self) -> Any:
        with suppress(RuntimeError, OSError):
            folder = self._find_folder()
            if folder is not None:
                with keeping_in(folder):
                    files = FunctionCache(self._kernel.py_func)
                if files.cache_path.startswith(folder):  # numba has other places in mind, too
                    return files
        return NullCache()

    def load_overload(self, signature: Any, target: Any) -> Any:
        """The machine code for these types, or None if it has to be compiled.

        Two processes that save at once may leave the code of one under the types of the other.
        """
        try:
            code = self._files.load_overload(signature, target)
            if code is None or tuple(code.signature.args) == tuple(
                getattr(signature, "args", signature)
            ):
                return code
        except Exception:  # whatever unpickling a damaged file raises
            pass
        with suppress(OSError):
            self._files.flush()
        return None

    def save_overload(self, *arguments: Any) -> None:
        """Keep the machine code, if that is possible."""
        with suppress(OSError):
            self._files.save_overload(*arguments)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._files, name)
