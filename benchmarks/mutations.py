"""Which tests notice a changed line: small mutations of a room, each met by the room's own tests.

    python benchmarks/mutations.py estimates tests/estimates --mutants 40

A mutant is a copy of the package with one operator, comparison or number of the room changed. Each
runs the given tests to the end. Prints the mutants that no test noticed, how many each test file
noticed, and how many of the tests noticed none, which may protect something else or nothing.
Kernels are compiled again for each mutant, so rooms of plain Python are done in minutes.
"""

import argparse
import ast
import os
import random
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from measure import print_table

ROOT = Path(__file__).parents[1]
OPERATORS: dict[type, type] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult,
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.And: ast.Or, ast.Or: ast.And,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip


class Mutant(NamedTuple):
    """A file of the room, the line that was changed, and what the file says then."""

    file: Path
    line: int
    source: str


def mutants(file: Path) -> Iterator[Mutant]:
    """Every mutant of a file. What is written for people stays: docstrings, messages, types."""
    text = file.read_text(encoding="utf-8")
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.BinOp | ast.BoolOp) and type(node.op) in OPERATORS:
            kept = node.op
            node.op = OPERATORS[type(kept)]()
            yield Mutant(file, node.lineno, ast.unparse(tree))
            node.op = kept
        elif isinstance(node, ast.Compare) and type(node.ops[0]) in OPERATORS:
            first = node.ops[0]
            node.ops[0] = OPERATORS[type(first)]()
            yield Mutant(file, node.lineno, ast.unparse(tree))
            node.ops[0] = first
        elif isinstance(node, ast.Constant) and not isinstance(node.value, bool):
            number = node.value
            if isinstance(number, int | float):
                node.value = number + 1
                yield Mutant(file, node.lineno, ast.unparse(tree))
                node.value = number


def noticed_by(mutant: Mutant, tests: list[str], folder: Path) -> tuple[set[str], set[str]]:
    """The tests that failed, and all that ran."""
    package = folder / "graphcb"
    shutil.copytree(ROOT / "src" / "graphcb", package)
    (package / mutant.file.relative_to(ROOT / "src" / "graphcb")).write_text(mutant.source)
    report = folder / "report.xml"
    command = [sys.executable, "-m", "pytest", *tests, "-q", "-p", "no:cacheprovider"]
    subprocess.run(
        [*command, f"--junit-xml={report}", "-m", "not slow"],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(folder)},
        capture_output=True,
        timeout=600,
    )
    cases = list(ElementTree.parse(report).iter("testcase"))
    names = {case: f"{case.get('classname')}.{case.get('name')}" for case in cases}
    failed = {names[case] for case in cases if case.find("failure") is not None}
    failed |= {names[case] for case in cases if case.find("error") is not None}
    return failed, set(names.values())


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("room", help="a folder or file of src/graphcb")
    parser.add_argument("tests", nargs="+", help="test files or folders")
    parser.add_argument("--mutants", type=int, default=40)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    room = ROOT / "src" / "graphcb" / given.room
    files = [room] if room.is_file() else sorted(room.rglob("*.py"))
    chosen = [mutant for file in files for mutant in mutants(file)]
    random.Random(given.seed).shuffle(chosen)
    by_test, all_tests, survivors = Counter[str](), set[str](), list[Mutant]()
    for n, mutant in enumerate(chosen[: given.mutants], start=1):
        with tempfile.TemporaryDirectory() as name:
            failed, ran = noticed_by(mutant, given.tests, Path(name))
        by_test.update(failed)
        all_tests |= ran
        if not failed:
            survivors.append(mutant)
        where = f"{mutant.file.relative_to(ROOT)}:{mutant.line}"
        print(f"[{n}] {where}: noticed by {len(failed)}", file=sys.stderr, flush=True)
    n_made = min(given.mutants, len(chosen))
    print(f"{n_made - len(survivors)} of {n_made} mutants noticed; ", end="")
    print(f"{len(all_tests - set(by_test))} of {len(all_tests)} tests noticed none.\n")
    print_table(["noticed by nobody", "line"], [
        [str(mutant.file.relative_to(ROOT)), str(mutant.line)] for mutant in survivors
    ])  # fmt: skip
    print()
    print_table(["test", "mutants"], [[name, str(n)] for name, n in by_test.most_common()])


if __name__ == "__main__":
    main()
