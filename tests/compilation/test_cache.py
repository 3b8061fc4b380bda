"""The key follows every source behind a kernel; the place is the first that is safe to use."""

import os

import pytest

from graphcb import compilation
from graphcb.compilation import cache


@pytest.fixture
def package(tmp_path, monkeypatch, forget):
    """A small package in place of graphcb: `kernels` needs all the others but `other`."""
    folder = tmp_path / "graphcb"
    (folder / "room").mkdir(parents=True)
    for name, text in {
        "__init__": "",
        "kernels": "from graphcb.room import (\n    near,\n)\nimport graphcb.plain\n",
        "plain": "from graphcb.room.far import LIMIT as MOST\n",
        "other": "from graphcb.kernels import work\n",
        "room/__init__": "",
        "room/near": "from graphcb import kernels  # in a circle\n",
        "room/far": "LIMIT = 1\n",
    }.items():
        (folder / f"{name}.py").write_text(text, encoding="utf-8")
    monkeypatch.setattr(cache, "PACKAGE", folder)
    return folder


def digest(package, module="kernels"):
    cache._source.cache_clear()
    cache._key.cache_clear()
    return cache._key(module, str(package / f"{module}.py")).digest


@pytest.mark.parametrize("edited", ["kernels", "plain", "room/__init__", "room/near", "room/far"])
def test_an_edit_anywhere_behind_a_kernel_changes_its_key(package, edited):
    before, other = digest(package), digest(package, "plain")
    file = package / f"{edited}.py"
    file.write_text(file.read_text() + "# edited\n", encoding="utf-8")
    assert digest(package) != before
    assert (digest(package, "plain") != other) == (edited in ("plain", "room/far"))


def test_an_edit_elsewhere_leaves_the_key(package):
    before = digest(package)
    (package / "other.py").write_text("", encoding="utf-8")
    assert digest(package) == before


def test_without_source_there_is_no_key():
    assert cache._key("prompt", "<stdin>") is None


def test_the_key_of_each_kernel_covers_what_it_calls():
    """By the names that occur in its code: nothing is imported in a way that is not seen."""
    kernels = compilation.ENTRY_POINTS + compilation.INNER
    assert len(kernels) > 50
    for kernel in kernels:
        function = kernel.py_func
        covered = cache.sources_of(function.__code__.co_filename)
        for name in function.__code__.co_names:
            called = getattr(function.__globals__.get(name), "py_func", None)
            if called is not None:
                assert called.__code__.co_filename in covered, (function, name)


def test_places_in_their_order(tmp_path, monkeypatch):
    monkeypatch.setattr(cache._settings, "CACHE_DIR", str(tmp_path / "numba"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    found = list(cache._places())
    assert [folder for folder, _ in found[:3]] == [
        tmp_path / "numba" / "graphcb", cache.BESIDE_THE_PACKAGE, tmp_path / "xdg" / "graphcb"
    ]  # fmt: skip
    assert found[3][0].name == f"graphcb-{os.getuid()}"
    assert [private for _, private in found] == [False, False, True, True]


def test_the_first_place_that_can_be_written_is_taken(tmp_path, monkeypatch, forget):
    (tmp_path / "file").write_text("not a folder")
    places = [(tmp_path / "file" / "a", False), (tmp_path / "b", True), (tmp_path / "c", True)]
    monkeypatch.setattr(cache, "_places", lambda: places)
    assert cache.place() == tmp_path / "b"
    assert (tmp_path / "b").stat().st_mode & 0o777 == 0o700


def test_a_folder_others_can_write_is_not_used(tmp_path):
    folder = tmp_path / "open"
    folder.mkdir()
    folder.chmod(0o777)
    assert not cache._is_usable(folder, private=True)
    folder.chmod(0o700)
    assert cache._is_usable(folder, private=True)
    (tmp_path / "link").symlink_to(folder)
    assert not cache._is_usable(tmp_path / "link", private=True)


def test_a_folder_of_somebody_else_is_not_used(tmp_path, monkeypatch):
    somebody = os.getuid() + 1
    monkeypatch.setattr(os, "getuid", lambda: somebody)
    assert not cache._is_usable(tmp_path, private=True)
    assert cache._is_usable(tmp_path, private=False)


def test_old_folders_are_dropped(place):
    place.mkdir(mode=0o700)
    names = [f"graphcb.room-{number:016d}" for number in range(cache.KEPT + 5)]
    for age, name in enumerate([*names, "graphcb.room.other-0"]):
        (place / name).mkdir()
        os.utime(place / name, (age, age))
    cache.folder_for(cache.Key("graphcb.room", "new"))
    assert {folder.name for folder in place.iterdir()} == {
        *names[-cache.KEPT + 1 :], "graphcb.room.other-0"
    }  # fmt: skip


def test_what_was_compiled_beside_a_read_only_package_is_taken_over(place, tmp_path, monkeypatch):
    shipped = tmp_path / "shipped" / "kernels-0" / "room_1"
    shipped.mkdir(parents=True)
    (shipped / "work.nbi").write_text("index")
    (shipped / "work.1.nbc").write_text("code")
    monkeypatch.setattr(cache, "BESIDE_THE_PACKAGE", tmp_path / "shipped")
    monkeypatch.setattr(cache._settings, "CACHE_DIR", "")
    folder = cache.folder_for(cache.Key("kernels", "0"))
    assert folder == str(place / "kernels-0")
    assert (place / "kernels-0" / "room_1" / "work.1.nbc").read_text() == "code"
    assert [one.name for one in place.iterdir()] == ["kernels-0"]
    assert cache.folder_for(cache.Key("kernels", "1")) == str(place / "kernels-1")
