"""Agents and oracles on disk: a zip file of arrays and one JSON text, without any code.

A file holds names of classes and their attributes. Loading builds only classes of graphcb, or
those that the caller names, so a file cannot run anything. How what it says is checked is in
`loaded.py`.
"""

import io
import json
import os
from collections.abc import Iterable
from dataclasses import fields, is_dataclass
from inspect import isfunction
from pathlib import Path
from typing import Any

import numpy as np

from graphcb import agents, contexts, exploration, graph_oracles, oracles, problems
from graphcb.archives import check_size, read_archive, size_limit
from graphcb.contexts import scaling, watched_features
from graphcb.files import FileError, atomic_write
from graphcb.graphs import FeedbackGraph
from graphcb.loaded import contents, is_rebuilt, rebuild
from graphcb.oracles import (
    action_rows,
    blends,
    context_products,
    features,
    loss_scale,
    pairs,
    watched_losses,
)

FORMAT = 1
# Parts of oracles and encoders.
_PARTS = (
    action_rows, blends, context_products, features, loss_scale, pairs, scaling, watched_features,
    watched_losses,
)  # fmt: skip
_ROOMS = [
    thing
    for room in (agents, contexts, exploration, graph_oracles, oracles, problems, *_PARTS)
    for thing in vars(room).values()
    if isinstance(thing, type)
    and (is_rebuilt(thing) or "__setstate__" in vars(thing) or hasattr(thing, "check_loaded"))
]
# A class with `read_by` hands bytes of the file to another package: it has to be asked for.
_OURS = [kind for kind in _ROOMS if not hasattr(kind, "read_by")]
_ON_REQUEST = {kind.__name__: kind.read_by for kind in _ROOMS if hasattr(kind, "read_by")}
# What a class may say of attributes that it did not expect.
_DAMAGED = (
    ArithmeticError,
    AttributeError,
    LookupError,
    MemoryError,
    RuntimeError,
    TypeError,
    ValueError,
)


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


def load(
    path: str | os.PathLike[str], *, classes: Iterable[type] = (), max_bytes: int | None = None
) -> Any:
    """Read what `save` wrote; a file that cannot be believed raises `FileError`.

    `classes` are your own classes that the file may hold; one with a method `check_loaded` is
    asked to check itself. A model that another package reads is loaded only if it is named here
    too: `classes=[graphcb.oracles.VowpalWabbit]`, for files that you trust. A file may unpack to
    1 GiB, or to its own size if that is larger, unless `max_bytes` says otherwise.
    """
    size = Path(path).stat().st_size
    try:
        check_size(size, size_limit(size, max_bytes))
    except ValueError as reason:
        raise FileError(f"{os.fspath(path)}: {reason}") from None
    content = Path(path).read_bytes()
    return from_bytes(content, where=str(path), classes=classes, max_bytes=max_bytes)


def to_bytes(thing: Any) -> bytes:
    """What `save` writes: the same bytes for the same state."""
    arrays: dict[str, np.ndarray] = {}
    content = {"graphcb": FORMAT, "content": _encode(thing, type(thing).__name__, arrays)}
    arrays["json"] = np.frombuffer(json.dumps(content).encode(), dtype=np.uint8)
    buffer = io.BytesIO()
    try:
        np.savez(buffer, allow_pickle=False, **arrays)
    except ValueError as closing:
        # Interrupted inside, numpy closes an archive whose member is open, which raises this.
        if closing.__context__ is not None:
            raise closing.__context__ from None
        raise
    return buffer.getvalue()


def from_bytes(
    content: bytes,
    *,
    where: str,
    classes: Iterable[type] = (),
    max_bytes: int | None = None,
    part: str | None = None,
    only: type | None = None,
) -> Any:
    """Rebuild what `to_bytes` wrote; `where` names the source in errors.

    With `part`, only the object in this attribute is rebuilt; None if it is not a known one. With
    `only`, nothing but an object of this class is rebuilt; None if it is of another.
    """
    known = {kind.__name__: kind for kind in (*_OURS, *classes)}
    try:
        arrays = read_archive(content, max_bytes=max_bytes)
        description = json.loads(arrays.pop("json").tobytes().decode())
    except (KeyError, ValueError, RecursionError) as reason:
        why = "it holds no description" if isinstance(reason, KeyError) else reason
        raise FileError(f"{where}: not a file written by graphcb.save, or damaged: {why}") from None
    version = description.get("graphcb") if isinstance(description, dict) else None
    if version != FORMAT:
        raise FileError(
            f"{where}: must have format {FORMAT}, got {str(version)[:20]}; "
            "it was written by another version of graphcb"
        )
    try:
        found = description.get("content")
        if found is None:
            raise FileError("holds nothing, neither an agent nor an oracle; save it again")
        if only is not None and found.get("class") != only.__name__:
            return None
        if part is not None:
            found = found["attributes"].get(part)
            if not isinstance(found, dict) or found.get("class") not in known:
                return None
        return _decode(found, arrays, known)
    except FileError as reason:
        raise FileError(f"{where}: {reason}") from None
    except _DAMAGED as reason:
        raise FileError(f"{where}: damaged: {_shortly(reason)}") from None


def _shortly(reason: Exception) -> str:
    text = str(reason) if isinstance(reason, ValueError) else repr(reason)
    return text if len(text) <= 300 else f"{text[:297]}..."


def _encode(value: Any, where: str, arrays: dict[str, np.ndarray]) -> Any:
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, np.generic):
        return _encode(value.item(), where, arrays)
    if isinstance(value, np.ndarray):
        arrays[where] = value
        return {"array": where}
    if isinstance(value, FeedbackGraph):
        return {"graph": value.to_json()}
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
    if "__setstate__" in vars(type(thing)):
        state: dict[str, Any] = thing.__getstate__()
        return state
    if is_rebuilt(type(thing)):
        return contents(thing)
    if is_dataclass(thing):
        return {field.name: getattr(thing, field.name) for field in fields(thing)}
    return dict(vars(thing))


def _decode(value: Any, arrays: dict[str, np.ndarray], known: dict[str, type]) -> Any:
    if not isinstance(value, dict):
        return value
    if "array" in value:
        return arrays.pop(value["array"]).copy()  # each has one place: no file grows by repetition
    if "graph" in value:
        return FeedbackGraph.from_json(value["graph"])
    for container in (list, tuple, dict):
        if container.__name__ in value:
            return container(_decode(item, arrays, known) for item in value[container.__name__])
    name = value["class"]
    if name not in known:
        raise FileError(_unknown(name))
    attributes = {k: _decode(v, arrays, known) for k, v in value["attributes"].items()}
    return _build(known[name], attributes)


def _unknown(name: str) -> str:
    if name in _ON_REQUEST:
        return (
            f"the file holds a {name}, whose model is read by {_ON_REQUEST[name]}; if you trust "
            f"the file, name it: load(path, classes=[graphcb.oracles.{name}])"
        )
    return (
        f"the file holds a {str(name)[:100]}, which is not a class of graphcb; "
        "name it: load(path, classes=[...])"
    )


def _build(kind: type, attributes: dict[str, Any]) -> Any:
    """An object with these attributes, checked as far as its class can."""
    if is_rebuilt(kind):
        return rebuild(kind, attributes)
    thing: Any = object.__new__(kind)
    if "__setstate__" in vars(kind):
        thing.__setstate__(attributes)
        return thing
    if is_dataclass(kind) and set(attributes) != {field.name for field in fields(kind)}:
        raise ValueError(f"a {kind.__name__} with the attributes {sorted(attributes)}")
    for name, attribute in attributes.items():
        if name.startswith("__") or (not is_dataclass(kind) and _is_taken(kind, name)):
            raise ValueError(f"a {kind.__name__} cannot have the attribute {name!r}")
        object.__setattr__(thing, name, attribute)
    if is_dataclass(thing) and hasattr(thing, "__post_init__"):
        thing.__post_init__()
    if hasattr(thing, "check_loaded"):
        thing.check_loaded()
    return thing


def _is_taken(kind: type, name: str) -> bool:
    """Whether the class uses the name for a method or a property."""
    found = getattr(kind, name, None)
    return callable(found) or hasattr(found, "__set__")
