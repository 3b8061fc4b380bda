"""The fault campaign: is anything lost, confused, stuck, silent or crashed?

    python benchmarks/campaign.py                                # all faults, a quarter of an hour
    python benchmarks/campaign.py --quick                        # a few of each kind
    python benchmarks/campaign.py kills --plant "a dropped commit"

Prints one table of the faults made and what came of them, and one of faults planted in graphcb with
how many it took to find each. Exits with 1 if there is anything in the first, or anything missing
in the second. Parts that need gcc or PostgreSQL are left out by name where there is none.
"""

import argparse
import importlib
import multiprocessing
import sys
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor, as_completed
from importlib.util import find_spec
from typing import Any, NamedTuple

from faults.sabotage import is_possible, restart_with_interposer
from faults.server import why_not
from faults.tally import KINDS, Row, end_with_parent
from measure import print_table

SEED = 1


class Part(NamedTuple):
    """A module of `faults`, on one backend if it takes one, and how many faults it makes.

    Each has `run`, which yields a `Row` for each kind of fault, and PLANTS by their names.
    """

    module: str
    backend: str | None
    full: int
    quick: int

    @property
    def name(self) -> str:
        return f"{self.module}, {self.backend}" if self.backend else self.module

    def run(self, n: int, seed: int, plant: str | None = None) -> list[Row]:
        module = importlib.import_module(f"faults.{self.module}")
        if self.module == "extreme":
            return [solve_programs(module, n, seed, plant)]
        before = [] if self.backend is None else [self.backend]
        rows: list[Row] = []
        for row in module.run(*before, n, seed, plant):
            rows.append(row)
            if plant and row.first is not None:
                break
        return rows

    def plants(self) -> list[str]:
        return list(importlib.import_module(f"faults.{self.module}").PLANTS)

    def missing(self) -> str | None:
        """What this part needs and is not there."""
        if not is_possible():
            return "gcc and make on Linux"
        if self.backend == "PostgreSQL" or self.module == "postgresql":
            return why_not() if find_spec("psycopg") else "the extra `postgres`"
        return None


# The long ones first, for two at a time.
PARTS = (
    Part("extreme", None, 50_000, 200),
    Part("postgresql", None, 1_100, 40),
    Part("kills", "PostgreSQL", 3_000, 20),
    Part("interrupts", "PostgreSQL", 3_000, 40),
    Part("kills", "SQLite", 3_000, 40),
    Part("confusion", "PostgreSQL", 60, 4),
    Part("confusion", "SQLite", 400, 20),
    Part("interrupts", "SQLite", 3_000, 200),
    Part("damage", None, 6_000, 300),
    Part("lies", None, 1_000, 60),
    Part("disks", None, 1_000, 100),
    Part("promises", None, 2_000, 300),
    Part("estimates", None, 1_000, 20),
)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    modules = sorted({part.module for part in PARTS})
    parser.add_argument("modules", nargs="*", metavar="KIND", help=f"any of {', '.join(modules)}")
    parser.add_argument("--quick", action="store_true", help="a few faults of each kind")
    parser.add_argument("--only", choices=("faults", "plants"), help="one of the two tables")
    parser.add_argument("--plant", help="plant this fault first, and make no table of plants")
    parser.add_argument("--faults", type=int, help="how many, instead of the usual number")
    parser.add_argument("--seed", type=int, default=SEED)
    given = parser.parse_args()
    if unknown := set(given.modules) - set(modules):
        parser.error(f"no kind is named {', '.join(sorted(unknown))}")
    chosen = [part for part in PARTS if part.module in (given.modules or modules)]
    if is_possible():
        restart_with_interposer()
    possible = [part for part in chosen if part.missing() is None]
    for part in chosen:
        if part not in possible:
            print(f"Left out: {part.name}, for want of {part.missing()}.\n")
    warm_up()
    context = multiprocessing.get_context("fork")
    with ProcessPoolExecutor(2, mp_context=context, initializer=end_with_parent) as pool:
        n_wrong = 0
        if given.only != "plants":
            n_wrong += run_all(pool, possible, given)
        if given.only != "faults" and not given.plant:
            n_wrong += run_plants(pool, possible, given.seed)
        return int(n_wrong > 0)


def solve_programs(module: Any, n: int, seed: int, plant: str | None) -> Row:
    """The part about the solver, which counts by words of its own."""
    start = time.monotonic()
    rows, n_wrong = module.run(n, seed, plant)
    total = dict(zip(module.HEADERS, rows[-1], strict=True))
    silent = sum(total[name] for name in ("NaN", "no distribution", "false bound"))
    found = {"silent": silent, "crashed": total["exception"], "stuck": total["not certified"]}
    seconds = time.monotonic() - start
    return Row("extreme program", n, Counter(found), seconds, n if n_wrong else None)


def warm_up() -> None:
    """Compile what the children need, before they are forked."""
    import tempfile

    from faults.plan import plan, run_alone

    with tempfile.TemporaryDirectory() as name:
        run_alone(f"{name}/log.db", plan(10, 0))


def run_all(pool: ProcessPoolExecutor, parts: list[Part], given: Any) -> int:
    """Make the faults, and print what came of them."""
    waiting = {}
    for part in parts:
        n = given.faults or (part.quick if given.quick else part.full)
        waiting[pool.submit(part.run, n, given.seed, given.plant)] = part
    rows, start = dict[Part, list[Row]](), time.monotonic()
    for done in as_completed(waiting):
        part = waiting[done]
        rows[part] = done.result()
        n, seconds = sum(row.n for row in rows[part]), time.monotonic() - start
        say(f"[{len(rows)}/{len(parts)}] {part.name}: {n} faults, after {seconds:.0f} s")
    lines = [row for part in parts for row in rows[part]]
    cells = [[line.fault, f"{line.n:,}", *counts(line), f"{line.seconds:.0f}"] for line in lines]
    total = [sum(line.found[kind] for line in lines) for kind in KINDS]
    seconds = time.monotonic() - start
    cells.append(["all", f"{sum(line.n for line in lines):,}", *map(str, total), f"{seconds:.0f}"])
    print_table(["fault", "how many", *KINDS, "seconds"], cells)
    return sum(total)


def counts(row: Row) -> list[str]:
    return [str(row.found[kind]) for kind in KINDS]


def run_plants(pool: ProcessPoolExecutor, parts: list[Part], seed: int) -> int:
    """Plant each fault in turn, and print after how many of its own each part noticed.

    The number of those that were not noticed.
    """
    chosen = {part.module: part for part in parts}  # the last of each: SQLite, which is faster
    waiting = [
        (part.module, plant, pool.submit(part.run, part.quick, seed, plant))
        for part in chosen.values()
        for plant in part.plants()
    ]
    cells, n_missed = [], 0
    for module, plant, done in waiting:
        after = caught_after(done.result())
        n_missed += after is None
        cells.append([module, plant, "never" if after is None else after])
        say(f"planted {plant}: {module} noticed {cells[-1][-1]}")
    print_table(["part", "planted", "noticed within"], cells)
    return n_missed


def caught_after(rows: list[Row]) -> int | None:
    """The number of faults until the first finding."""
    made = 0
    for row in rows:
        if row.first is not None:
            return made + row.first
        made += row.n
    return None


def say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
