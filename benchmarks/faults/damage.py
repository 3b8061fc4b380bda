"""Damaged files: bits flipped, pages zeroed or swapped, ends cut off, rows lost or changed.

Whoever reads a damaged log, model or graph gets exactly what was in it, or an error of graphcb
that names the file; also if the write-ahead log is damaged, as another file says how far the log
went. Formats without a checksum (CSV, JSON, npy) must give a graph.
"""

import math
import random
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

from faults import plants
from faults.places import folder
from faults.session import cases
from faults.specimens import Specimen, all_specimens
from faults.tally import Finding, Plant, Row, Tell, in_children
from graphcb.decisions import LogError

PAGE, SECTOR, MEMORY = 4096, 512, 1 << 30
PLANTS = {
    "a checksum that is not compared": Plant(plants.believe_rows, "damaged log"),
    "a zip file whose checksums are ignored": Plant(plants.believe_zips, "damaged model"),
    "gaps that nobody looks for": Plant(plants.ignore_gaps, "damaged log"),
    "an end that nobody looks for": Plant(plants.ignore_ends, "damaged log"),
}


def run(n: int, seed: int, plant: str | None = None) -> Iterator[Row]:
    planted = PLANTS[plant] if plant else None
    with folder() as path:
        specimens = all_specimens(path)
        truth = {
            (one.name, how): read(restore(one, path, "whole"))
            for one in specimens
            for how, read in one.readers.items()
        }
        for kind, share in {"log": 0.6, "model": 0.25, "graph": 0.15}.items():
            row, enough = Row(f"damaged {kind}"), round(share * n)
            some = [one for one in specimens if one.name.startswith(kind)]
            play = partial(damage_and_read, path, some, truth)
            yield in_children(row, cases(seed), play, enough=enough, plant=planted, memory=MEMORY)


def damage_and_read(
    home: Path, specimens: list[Specimen], truth: dict[tuple[str, str], Any], seed: int, tell: Tell
) -> None:
    rng = random.Random(seed)
    specimen = specimens[seed % len(specimens)]
    how, read = rng.choice(sorted(specimen.readers.items()))
    path = restore(specimen, home, f"damaged-{seed}")
    words = damage(specimen, path, rng)
    try:
        found = read(path)
    except (LogError, ValueError, LookupError) as problem:
        if path.name not in str(problem):
            text = f"{words}, {how}: the error does not name the file: {problem!r}"
            raise Finding("crashed", text) from problem
        found = None
    if specimen.sure and found is not None and found != truth[specimen.name, how]:
        raise Finding("silent", f"{specimen.name}, {words}: other content by {how}")
    for file in home.glob(f"{path.stem}*"):
        file.unlink()
    tell()


def restore(specimen: Specimen, home: Path, name: str) -> Path:
    """Write the files of a specimen, and give the path of the first."""
    ends = list(specimen.files)
    suffix = {"log": ".db", "model": ".npz"}.get(specimen.name.split()[0], "")
    for end, content in specimen.files.items():
        (home / f"{name}{suffix}{end}").write_bytes(content)
    return home / f"{name}{suffix}{ends[0]}"


def damage(specimen: Specimen, path: Path, rng: random.Random) -> str:
    """Damage one of the files, in words."""
    if specimen.name == "log" and rng.random() < 0.5:
        return rng.choice((lose_rows, change_value))(path, rng)
    end = rng.choice(sorted(specimen.files))
    file = path if len(specimen.files) == 1 else Path(f"{path}{end}")
    content = bytearray(file.read_bytes())
    kind = rng.choice(sorted(KINDS))
    words = KINDS[kind](content, rng)
    file.write_bytes(content)
    if end == "-wal" and rng.random() < 0.1:
        file.unlink()
        words = "is lost"
    return f"{file.name}: {words}"


def flip_bits(content: bytearray, rng: random.Random, begin: int = 0, size: int = 0) -> str:
    n = rng.choice((1, 1, 1, 8))
    places = [begin + rng.randrange(size or len(content)) for _ in range(n)]
    for place in places:
        content[place] ^= 1 << rng.randrange(8)
    return f"bits flipped in bytes {places}"


def flip_in_header(content: bytearray, rng: random.Random) -> str:
    return flip_bits(content, rng, 0, min(len(content), 200))


def flip_in_index(content: bytearray, rng: random.Random) -> str:
    """Flip bits in a page of an index, if it is a database that has one."""
    found = [at for at in range(0, len(content), PAGE) if content[at] in (2, 10)]
    if not found:
        return flip_bits(content, rng)
    return flip_bits(content, rng, rng.choice(found), PAGE)


def zero(content: bytearray, rng: random.Random) -> str:
    size = rng.choice((SECTOR, PAGE))
    begin = rng.randrange(0, len(content), size)
    end = min(begin + size, len(content))
    content[begin:end] = bytes(end - begin)
    return f"zeros from {begin} to {end}"


def cut(content: bytearray, rng: random.Random) -> str:
    size = rng.randrange(len(content))
    if rng.random() < 0.5:
        size -= size % PAGE
    del content[size:]
    return f"cut to {size} bytes"


def swap(content: bytearray, rng: random.Random) -> str:
    size = PAGE if len(content) >= 2 * PAGE else max(1, len(content) // 8)
    a, b = (size * rng.randrange(len(content) // size) for _ in range(2))
    content[a : a + size], content[b : b + size] = content[b : b + size], content[a : a + size]
    return f"{size} bytes at {a} and {b} swapped"


KINDS: dict[str, Callable[[bytearray, random.Random], str]] = {
    "flip": flip_bits,
    "header": flip_in_header,
    "index": flip_in_index,
    "zero": zero,
    "cut": cut,
    "swap": swap,
}


EVENTS = ("graphcb_decisions", "graphcb_feedbacks")
TABLES = (
    *EVENTS,
    "graphcb_contents",
    "graphcb_versions",
    "graphcb_graphs",
    "graphcb_checkpoints",
)


def lose_rows(path: Path, rng: random.Random) -> str:
    """Delete a row of a table, as a careless hand would."""
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        table, offset, where = draw_row(database, TABLES, rng)
        database.execute(f"DELETE FROM {table} WHERE {where}")
    return f"{table} lost its row number {offset}"


def change_value(path: Path, rng: random.Random) -> str:
    """Change a value of a row, mostly of an event: the database is whole, its checksum is not."""
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        table, offset, where = draw_row(database, TABLES + 2 * EVENTS, rng)
        found = database.execute(f"SELECT * FROM {table} WHERE {where}")
        names = [column[0] for column in found.description]
        values = dict(zip(names, found.fetchone() or (), strict=False))
        possible = [name for name in names[1:-1] if values.get(name)]  # no key and no checksum
        if not possible:
            return f"{table} is empty"
        name = rng.choice(possible)
        new = other_value(values[name], rng)
        database.execute(f"UPDATE {table} SET {name} = ? WHERE {where}", (new,))
    return f"{table} has another {name} in its row number {offset}"


def draw_row(
    database: sqlite3.Connection, tables: tuple[str, ...], rng: random.Random
) -> tuple[str, int, str]:
    """A table, the number of one of its rows, and the condition that finds it."""
    table = rng.choice(tables)
    (n,) = database.execute(f"SELECT count(*) FROM {table}").fetchone()
    offset = rng.randrange(max(1, n))
    rows = f"SELECT rowid FROM {table} ORDER BY rowid LIMIT 1 OFFSET {offset}"
    return table, offset, f"rowid IN ({rows})"


def other_value(value: Any, rng: random.Random) -> Any:
    """A value of the same type, one bit or one letter away."""
    if isinstance(value, bytes):
        content = bytearray(value)
        content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
        return bytes(content)
    if isinstance(value, str):
        place = rng.randrange(len(value))
        return f"{value[:place]}{'1' if value[place] == '0' else '0'}{value[place + 1 :]}"
    return value ^ 1 if isinstance(value, int) else math.nextafter(value, math.inf)
