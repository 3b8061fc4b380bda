"""Files that are whole and lie: sizes, shapes, indices and numbers that do not fit each other.

The zip files are valid, their checksums too. A model or graph is refused with an error of graphcb
that names the file, or it can be used: then it may answer or raise, but never crash the process or
take more memory than the file may unpack to.
"""

import io
import json
import random
import zipfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from faults import plants
from faults.damage import restore
from faults.places import folder
from faults.plan import N_ACTIONS, context
from faults.session import cases
from faults.specimens import Specimen, graph_files, models
from faults.tally import Finding, Plant, Row, Tell, in_children
from graphcb import graphs, load
from graphcb.graphs.files import read_graph

MEMORY = 1 << 30
NUMBERS = (0, -1, 1, 2, 4, 7, 1000, 2**31, 2**40, 2**62, 2**70, 0.5, -1e300, float("nan"))
OTHERS: tuple[Any, ...] = (None, "", "x", [], {}, True)
PLANTS = {"sizes that are believed": Plant(plants.believe_files, "lying model")}


def run(n: int, seed: int, plant: str | None = None) -> Iterator[Row]:
    planted = PLANTS[plant] if plant else None
    with folder() as path:
        graph_forms = [one for one in graph_files(path) if one.name.endswith(("npz)", "json)"))]
        for kind, specimens in {"model": models(path), "graph": graph_forms}.items():
            row, play = Row(f"lying {kind}"), partial(lie_and_use, path, specimens)
            yield in_children(row, cases(seed), play, enough=n // 2, plant=planted, memory=MEMORY)
        bombs = write_bombs(path, real=n >= 500)
        row, play = Row("file that unpacks to gigabytes"), partial(use_bomb, bombs)
        each = range(len(bombs))
        yield in_children(row, each, play, enough=len(each), plant=planted, memory=3 * MEMORY // 2)


def lie_and_use(home: Path, specimens: list[Specimen], seed: int, tell: Tell) -> None:
    rng = random.Random(seed)
    specimen = specimens[seed % len(specimens)]
    path = restore(specimen, home, f"lying-{seed}")
    content = path.read_bytes()
    lie, words = lie_in_json if path.suffix == ".json" else lie_in_zip, ""
    for _ in range(rng.choice((1, 1, 2))):
        content, more = lie(content, rng)
        words = f"{words} {more}"
    path.write_bytes(content)
    try:
        use(path, specimen.name)
    except Finding:
        raise
    except MemoryError as problem:
        raise Finding("crashed", f"{specimen.name},{words}: {problem!r}") from problem
    path.unlink()
    tell()


def use(path: Path, kind: str) -> None:
    """Read a file and, if it is not refused, do with it what one does."""
    try:
        thing: Any = load(path) if "model" in kind else read_graph(str(path))
    except ValueError as problem:
        if path.name not in str(problem):
            text = f"the error does not name the file: {problem!r}"
            raise Finding("crashed", text) from problem
        return
    try:
        if "graph" in kind:
            if thing.n_actions <= 1000:
                thing.reveal_probabilities(np.full(thing.n_actions, 1.0 / thing.n_actions))
            return
        graph = graphs.full_information(N_ACTIONS)
        for turn in range(2):
            thing.act(context(turn), graph)
            thing.learn(context(turn), list(range(N_ACTIONS)), [0.5] * N_ACTIONS)
    except (ValueError, TypeError, LookupError, ArithmeticError, AttributeError):
        return


def lie_in_json(content: bytes, rng: random.Random) -> tuple[bytes, str]:
    """Replace one value somewhere in a JSON text."""
    holder = {"": json.loads(content)}
    places = list(_places(holder))
    where, key = rng.choice(places)
    new = rng.choice((*NUMBERS, *OTHERS))
    words = f"{key!r}: {where[key]!r} became {new!r};"
    where[key] = new
    return json.dumps(holder[""]).encode(), words


def _places(value: Any) -> Any:
    if isinstance(value, dict | list):
        for key in value if isinstance(value, dict) else range(len(value)):
            yield value, key
            yield from _places(value[key])


def lie_in_zip(content: bytes, rng: random.Random) -> tuple[bytes, str]:
    """Replace one array of an npz file by another; a JSON text in an array by another text."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    name = rng.choice(sorted(members))
    if name == "json.npy":
        text, words = lie_in_json(np.load(io.BytesIO(members[name])).tobytes(), rng)
        array = np.frombuffer(text, np.uint8)
    else:
        array, words = other_array(np.load(io.BytesIO(members[name]), allow_pickle=False), rng)
        words = f"{name} {words};"
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, array, allow_pickle=False)
    members[name] = buffer.getvalue()
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for member, value in members.items():
            archive.writestr(member, value)
    return out.getvalue(), words


def other_array(array: np.ndarray, rng: random.Random) -> tuple[np.ndarray, str]:
    kind = rng.choice(("shape", "short", "long", "type", "value", "nothing"))
    if kind == "shape":
        return array.reshape(rng.choice(((-1,), (-1, 1), (1, *array.shape)))), "in another shape"
    if kind == "short":
        return array.ravel()[: rng.randrange(array.size + 1)], "cut"
    if kind == "long":
        return np.concatenate([np.atleast_1d(array)] * rng.choice((2, 9))), "longer"
    if kind == "type":
        wanted = rng.choice(("<f4", "<i4", "<i8", "<u1", ">f8", "<c16", "<U3"))
        with np.errstate(all="ignore"):
            return array.astype(wanted) if array.dtype.kind in "fiu" else array, f"as {wanted}"
    if kind == "value" and array.size and array.dtype.kind in "fiu":
        changed, new = array.copy(), rng.choice(NUMBERS)
        if array.dtype.kind != "f":
            new, limits = 0 if new != new else int(new), np.iinfo(array.dtype)
            new = max(limits.min, min(limits.max, new))
        changed.flat[rng.randrange(array.size)] = new
        return changed, f"with {new}"
    return np.empty(0, array.dtype), "empty"


def write_bombs(home: Path, *, real: bool) -> list[Path]:
    """Small files that unpack to two gigabytes, if they are `real`, or say that they would."""
    header = io.BytesIO()
    shape = {"descr": "<f8", "fortran_order": False, "shape": (16384, 16384)}
    np.lib.format.write_array_header_1_0(header, shape)
    model, graph = home / "model-bomb.npz", home / "graph-bomb.npz"
    archive = zipfile.ZipFile(model, "w", zipfile.ZIP_DEFLATED, compresslevel=1)
    with archive, archive.open("matrix.npy", "w", force_zip64=True) as file:
        file.write(header.getvalue())
        for _ in range(2048 if real else 1):
            file.write(bytes(1 << 20))
    graph.hardlink_to(model)
    claims, family = home / "graph-claims.npy", home / "graph-huge.json"
    claims.write_bytes(header.getvalue())
    family.write_text('{"n_actions": 100000000, "edges": [[0, 1]]}')
    return [model, graph, claims, family]


def use_bomb(bombs: list[Path], number: int, tell: Tell) -> None:
    try:
        use(bombs[number], bombs[number].name)
    except MemoryError as problem:
        raise Finding("crashed", f"{bombs[number].name}: out of memory") from problem
    tell()
