"""Agents and oracles on disk: a zip file of arrays and one JSON text, without any code.

A file holds names of classes and their attributes. Loading builds only classes of graphcb, or
those that the caller names, so a file cannot run anything.
"""

import io
import json
import os
import zipfile
from collections.abc import Iterable
from dataclasses import fields, is_dataclass
from inspect import isfunction
from pathlib import Path
from typing import Any

import numpy as np

from graphcb import agents, contexts, exploration, oracles, problems
from graphcb.files import atomic_write
from graphcb.oracles import action_rows, blends, features, pairs

FORMAT = 1
_PARTS = (action_rows, blends, features, pairs)  # of oracles
_OURS = [
    thing
    for room in (agents, contexts, exploration, oracles, problems, *_PARTS)
    for thing in vars(room).values()
    if isinstance(thing, type) and not getattr(thing, "_is_protocol", False)
]


def save(thing: Any, path: str | os.PathLike[str]) -> None:
    """Write an agent or an oracle to a file; once loaded, it continues bit for bit.

    The file appears complete or not at all. A class of your own is saved by its attributes too;
    name it in `load`.

    >>> import tempfile, pathlib
    >>> from graphcb.oracles import LinearOGD
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "model.npz"
    >>> save(LinearOGD(2, 3, learning_rate=0.5), file)
    >>> load(file).learning_rate
    0.5
    """
    content = to_bytes(thing)
    with atomic_write(path) as file:
        file.write(content)


def load(path: str | os.PathLike[str], *, classes: Iterable[type] = ()) -> Any:
    """Read what `save` wrote. `classes` are your own classes that the file may hold."""
    return from_bytes(Path(path).read_bytes(), where=str(path), classes=classes)


def to_bytes(thing: Any) -> bytes:
    """What `save` writes: the same bytes for the same state."""
    arrays: dict[str, np.ndarray] = {}
    content = {"graphcb": FORMAT, "content": _encode(thing, type(thing).__name__, arrays)}
    arrays["json"] = np.frombuffer(json.dumps(content).encode(), dtype=np.uint8)
    buffer = io.BytesIO()
    np.savez(buffer, allow_pickle=False, **arrays)
    return buffer.getvalue()


def from_bytes(
    content: bytes, *, where: str, classes: Iterable[type] = (), part: str | None = None
) -> Any:
    """Rebuild what `to_bytes` wrote; `where` names the source in errors.

    With `part`, only the object in this attribute is rebuilt; None if it is not a known one.
    """
    known = {kind.__name__: kind for kind in (*_OURS, *classes)}
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive}
        description = json.loads(arrays["json"].tobytes().decode())
    except (zipfile.BadZipFile, KeyError, ValueError, EOFError, UnicodeDecodeError) as reason:
        raise ValueError(
            f"{where}: not a file written by graphcb.save, or damaged: {reason}"
        ) from None
    if description.get("graphcb") != FORMAT:
        raise ValueError(
            f"{where}: must have format {FORMAT}, got {description.get('graphcb')!r}; "
            "it was written by another version of graphcb"
        )
    try:
        found = description["content"]
        if part is not None:
            found = found["attributes"].get(part)
            if not isinstance(found, dict) or found.get("class") not in known:
                return None
        return _decode(found, arrays, known)
    except (KeyError, TypeError) as reason:
        raise ValueError(f"{where}: damaged: {reason!r}") from None


def _encode(value: Any, where: str, arrays: dict[str, np.ndarray]) -> Any:
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, np.generic):
        return _encode(value.item(), where, arrays)
    if isinstance(value, np.ndarray):
        arrays[where] = value
        return {"array": where}
    if isinstance(value, list | tuple):
        items = [_encode(item, f"{where}.{i}", arrays) for i, item in enumerate(value)]
        return {"tuple" if isinstance(value, tuple) else "list": items}
    if isinstance(value, dict):
        pairs = [
            _encode(list(pair), f"{where}.{i}", arrays) for i, pair in enumerate(value.items())
        ]
        return {"dict": pairs}
    if callable(value) and not isfunction(vars(type(value)).get("__call__")):
        raise TypeError(
            f"`{where}` must be made of numbers, strings, arrays and the like to be saved, got the "
            f"function {_name_of(value)}; make it an object of a class of your own with __call__, "
            "and name the class on load: load(path, classes=[...])"
        )
    if not (is_dataclass(value) or hasattr(value, "__dict__")):
        raise TypeError(
            f"`{where}` must be made of numbers, strings, arrays and the like to be saved, "
            f"got {type(value).__name__}; pickle the whole if you trust the file"
        )
    attributes = {
        name: _encode(attribute, f"{where}.{name}", arrays)
        for name, attribute in _attributes(value).items()
    }
    return {"class": type(value).__name__, "attributes": attributes}


def _name_of(function: Any) -> str:
    return str(getattr(function, "__name__", type(function).__name__))


def _attributes(thing: Any) -> dict[str, Any]:
    """The attributes to save; a class that wraps another package defines __getstate__."""
    if "__setstate__" in vars(type(thing)) and not is_dataclass(thing):
        state: dict[str, Any] = thing.__getstate__()
        return state
    if is_dataclass(thing):
        return {field.name: getattr(thing, field.name) for field in fields(thing)}
    return dict(vars(thing))


def _decode(value: Any, arrays: dict[str, np.ndarray], known: dict[str, type]) -> Any:
    if not isinstance(value, dict):
        return value
    if "array" in value:
        return arrays[value["array"]].copy()
    for container in (list, tuple, dict):
        if container.__name__ in value:
            return container(_decode(item, arrays, known) for item in value[container.__name__])
    if value["class"] not in known:
        raise ValueError(
            f"the file holds a {value['class']}, which is not a class of graphcb; "
            "name it: load(path, classes=[...])"
        )
    kind = known[value["class"]]
    attributes = {k: _decode(v, arrays, known) for k, v in value["attributes"].items()}
    thing: Any = object.__new__(kind)
    if "__setstate__" in vars(kind) and not is_dataclass(kind):
        thing.__setstate__(attributes)
    else:
        for name, attribute in attributes.items():
            object.__setattr__(thing, name, attribute)
    return thing
