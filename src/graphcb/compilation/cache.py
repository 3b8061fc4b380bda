"""Where the machine code of a kernel is kept, and how an edit makes it a new one.

Each module has a folder of its own, named after a digest of its source and of all graphcb modules
it imports, directly or not. The folders are in the first place that can be written:
NUMBA_CACHE_DIR if it is set, beside the package, the user's cache folder, the temporary folder.
"""

import hashlib
import os
import re
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numba

PACKAGE = Path(__file__).parents[1]
BESIDE_THE_PACKAGE = PACKAGE / "__pycache__" / "compiled"
KEPT = 8  # folders per module: old ones serve users who return to an old version

_settings: Any = numba.config
_IMPORT = re.compile(r"^(?:from|import) +(graphcb[\w.]*)(?: +import +(\([^)]*\)|.*))?", re.M)


class Key(NamedTuple):
    """What a folder is named after."""

    module: str
    digest: str


def key_of(function: Callable[..., Any]) -> Key | None:
    """The key of the module a kernel is in, from the source as it is now; None without source.

    Asked for while the module is imported: later, the files may have been edited already.
    """
    return _key(function.__module__, function.__code__.co_filename)


@cache
def folder_for(key: Key) -> str | None:
    """The folder of a module; None if there is no place that can be written."""
    chosen = place()
    if chosen is None:
        return None
    folder = chosen / f"{key.module}-{key.digest}"
    if not folder.exists():
        _drop_old(chosen, key.module)
        if not _settings.CACHE_DIR:  # a folder the user names is not for us to fill
            _copy(BESIDE_THE_PACKAGE / folder.name, folder)
    return str(folder)


@contextmanager
def keeping_in(folder: str) -> Iterator[None]:
    """What numba caches meanwhile goes to this folder."""
    users_own = _settings.CACHE_DIR
    _settings.CACHE_DIR = folder
    try:
        yield
    finally:
        _settings.CACHE_DIR = users_own


@cache
def place() -> Path | None:
    """Where all folders are: the first place that can be written."""
    for folder, private in _places():
        if _is_usable(folder, private):
            return folder
    return None


def _places() -> Iterator[tuple[Path, bool]]:
    """Each place, and whether it has to be the user's own.

    Loading machine code is running it: where others can write, no one else may have made the
    folder. The folder beside the package is as trustworthy as the package.
    """
    if _settings.CACHE_DIR:
        yield Path(_settings.CACHE_DIR) / "graphcb", False
    yield BESIDE_THE_PACKAGE, False
    base = os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA") or "~/.cache"
    folder = Path(os.path.expanduser(base))  # noqa: PTH111 - Path.expanduser raises without a home
    if folder.is_absolute():
        yield folder / "graphcb", True
    user = os.getuid() if hasattr(os, "getuid") else "user"
    try:
        yield Path(tempfile.gettempdir()) / f"graphcb-{user}", True
    except FileNotFoundError:  # there is none that can be written
        return


def _is_usable(folder: Path, private: bool) -> bool:
    try:
        folder.mkdir(mode=0o700 if private else 0o777, parents=True, exist_ok=True)
        if private and hasattr(os, "getuid"):
            status = folder.lstat()
            if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.getuid():
                return False
            if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
                return False
        tempfile.TemporaryFile(dir=folder).close()
    except OSError:
        return False
    return True


@cache
def _key(module: str, file: str) -> Key | None:
    try:
        found = sources_of(file)
    except OSError:  # typed at a prompt, or in an archive
        return None
    digests = b"".join(found[one] for one in sorted(found))
    return Key(module, hashlib.sha256(digests).hexdigest()[:16])


def sources_of(file: str) -> dict[str, bytes]:
    """A file and those of all graphcb modules behind it, with a digest of each."""
    found: dict[str, bytes] = {}
    left = [file]
    while left:
        one = left.pop()
        if one not in found:
            found[one], imported = _source(one)
            left.extend(imported)
    return found


@cache
def _source(file: str) -> tuple[bytes, list[str]]:
    """A digest of one file, and the files of the graphcb modules it imports at its top."""
    text = Path(file).read_bytes()
    files = _modules()
    imported = []
    for module, members in _IMPORT.findall(text.decode()):
        names = [module, *(f"{module}.{member}" for member in re.findall(r"\w+", members))]
        imported += [files[name] for name in names if name in files]
    return hashlib.sha256(text).digest(), imported


@cache
def _modules() -> dict[str, str]:
    """The file of every graphcb module."""
    found = {}
    for folder, below, names in os.walk(PACKAGE):
        below[:] = [name for name in below if name != "__pycache__"]
        package = "graphcb" + folder[len(str(PACKAGE)) :].replace(os.sep, ".")
        for name in names:
            module, suffix = f"{package}.{name[:-3]}", name[-3:]
            if suffix == ".py":
                found[module.removesuffix(".__init__")] = f"{folder}{os.sep}{name}"
    return found


def _drop_old(chosen: Path, module: str) -> None:
    """Keep the newest folders of a module; a process that uses another one compiles again."""
    ages = []
    for folder in chosen.glob(f"{module}-*"):
        try:
            ages.append((folder.stat().st_mtime, folder))
        except OSError:  # another process was faster
            continue
    for _, folder in sorted(ages)[: -KEPT + 1]:
        shutil.rmtree(folder, ignore_errors=True)


def _copy(shipped: Path, folder: Path) -> None:
    """Start from what `graphcb compile` left beside a package that cannot be written now.

    numba loads only from folders it can write. A container image is compiled by root and used by
    another user.
    """
    if shipped == folder or not shipped.is_dir():
        return
    with suppress(OSError), tempfile.TemporaryDirectory(dir=folder.parent) as draft:
        for file in shipped.glob("*/*.nb[ic]"):
            copy = Path(draft, folder.name, file.parent.name, file.name)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, copy)
        Path(draft, folder.name).rename(folder)  # fails where another process was faster
