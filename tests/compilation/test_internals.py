"""Kernels load what was kept, and work whatever happens to it: also run with the oldest numba."""

import ctypes
import shutil
import signal
import sys

import numba
import numpy as np
import pytest

from graphcb.compilation import cache, internals


def misses(kernel):
    return sum(kernel.stats.cache_misses.values())


def test_a_second_process_compiles_nothing(place, fresh):
    first, second = fresh(), fresh()
    assert first.work(3.0) == second.work(3.0) == 11.5
    assert (misses(first.work), misses(second.work)) == (1, 0)
    assert second.work.stats.cache_path.startswith(str(place))
    assert not second.half.signatures


def test_kernels_for_other_kernels_can_be_called_alone(place, fresh):
    module = fresh()
    assert (module.half(3.0), module.fused(3.0)) == (1.5, 10.0)


def test_nothing_is_written_by_an_import(place, fresh):
    fresh()
    assert not place.exists()


def test_numbas_setting_is_as_it_was(place, fresh):
    before = numba.config.CACHE_DIR
    fresh().work(3.0)
    assert before == numba.config.CACHE_DIR


@pytest.mark.parametrize("suffix", ["nbi", "nbc"])
@pytest.mark.parametrize("damage", [b"", b"\x80\x05no pickle", None])
def test_a_damaged_file_is_compiled_again(place, fresh, suffix, damage):
    fresh().work(3.0)
    for file in place.rglob(f"*.{suffix}"):
        if damage is None:
            file.unlink()
        else:
            file.write_bytes(damage)
    mended = fresh()
    assert mended.work(3.0) == 11.5
    assert misses(mended.work) == 1
    again = fresh()
    assert again.work(3.0) == 11.5
    assert misses(again.work) == 0


def test_code_for_other_types_is_not_taken(place, fresh):
    """Two processes that save at once can leave one's code under the other's types."""
    module = fresh()
    assert (module.work(3.0), module.work(3)) == (11.5, 11.5)
    first, second = sorted(place.rglob("*work*.nbc"))
    first.write_bytes(second.read_bytes())
    again = fresh()
    assert (again.work(3.0), again.work(3)) == (11.5, 11.5)
    assert misses(again.work) > 0


def test_a_place_that_is_gone_does_no_harm(place, fresh):
    module = fresh()
    module.half(3.0)
    shutil.rmtree(place)
    place.write_text("a file now")
    assert module.work(3.0) == 11.5


def test_without_any_place_kernels_work(monkeypatch, forget, fresh):
    monkeypatch.setattr(cache, "_places", lambda: [])
    module = fresh()
    assert module.work(3.0) == 11.5
    assert module.work.stats.cache_path is None


def test_a_numba_without_these_internals_keeps_machine_code_too(place, fresh, monkeypatch):
    monkeypatch.setattr(internals, "FunctionCache", None)
    monkeypatch.setattr(internals, "LEFT_TO_THE_CALLERS", {})
    assert fresh().work(3.0) == 11.5
    second = fresh()
    assert second.work(3.0) == 11.5
    assert misses(second.work) == 0


def test_this_numba_has_what_is_used_of_it(place, fresh):
    """If this fails with a new numba, nothing breaks, but compiling takes longer."""
    kernel = fresh().half
    kernel(3.0)
    library = kernel.overloads[kernel.signatures[0]].library
    assert library._optimize_final_module is internals._nothing
    assert internals.FunctionCache is not None
    assert isinstance(kernel._cache, internals._Files)


def test_who_listens_hears_what_is_compiled(place, fresh):
    heard = []
    internals.on_compile(lambda name: heard.append(("from", name)), lambda name: heard.append(name))
    module = fresh()
    module.half(3.0)
    assert heard == [("from", f"{module.__name__}.half"), f"{module.__name__}.half"]
    fresh().half(3.0)
    assert len(heard) == 2


@pytest.mark.skipif(sys.platform == "win32", reason="signals there are others")
def test_ctrl_c_in_a_kernel_stays_a_keyboard_interrupt(request):
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    request.addfinalizer(lambda: signal.signal(signal.SIGINT, before))
    send = ctypes.CDLL(None)["raise"]
    send.argtypes, send.restype = [ctypes.c_int], ctypes.c_int

    @numba.njit
    def work(number):
        if number:
            send(number)  # it waits until Python looks, which may be while the answer is made
        return np.zeros(2), np.ones(3, dtype=np.bool_)

    work(0)
    with pytest.raises(KeyboardInterrupt):
        work(int(signal.SIGINT))


@numba.njit
def _half_of_all(arrays):
    (one, two), number = internals.borrowed(arrays)
    total = number
    for array in (one, two):
        array[:] = 0.5 * array
        total += array[1:].sum()
    return total


def test_borrowed_arrays_are_the_callers_own_and_are_not_leaked():
    one, two = np.array([2.0, 4.0, 6.0]), np.array([8.0, 10.0])
    found = _half_of_all(((one, two), 1.0))
    before = sys.getrefcount(one)
    assert found == 11.0
    assert (one.tolist(), two.tolist()) == ([1.0, 2.0, 3.0], [4.0, 5.0])
    for _ in range(100):
        _half_of_all(((one, two), 1.0))
    after = sys.getrefcount(one)
    assert after == before
    assert internals.borrowed(one) is one
