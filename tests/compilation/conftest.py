import importlib.util
import sys

import pytest

from graphcb.compilation import cache

KERNELS = """
from graphcb.compilation import compiled, inner, inner_fused

@inner
def half(x: float) -> float:
    return 0.5 * x

@inner_fused
def fused(x: float) -> float:
    return x * x + 1.0

@compiled
def work(x: float) -> float:
    return half(x) + fused(x)
"""


@pytest.fixture
def forget():
    """What is remembered of files and places is asked for anew, before and after the test."""
    remembered = [cache.place, cache.folder_for, cache._key, cache._source, cache._modules]
    for one in remembered:
        one.cache_clear()
    yield
    for one in remembered:
        one.cache_clear()


@pytest.fixture
def place(tmp_path, monkeypatch, forget):
    """The only place where machine code is kept."""
    folder = tmp_path / "place"
    monkeypatch.setattr(cache, "_places", lambda: [(folder, True)])
    return folder


@pytest.fixture
def fresh(tmp_path, monkeypatch):
    """A function that imports a file of kernels again, as a new process would."""
    file = tmp_path / "kernels.py"
    file.write_text(KERNELS, encoding="utf-8")

    def load():
        spec = importlib.util.spec_from_file_location("kernels_of_a_test", file)
        module = importlib.util.module_from_spec(spec)
        monkeypatch.setitem(sys.modules, "kernels_of_a_test", module)
        spec.loader.exec_module(module)
        return module

    return load
