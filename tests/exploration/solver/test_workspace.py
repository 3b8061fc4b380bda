"""What kernels rely on in the layout of their work arrays."""

import ast
from pathlib import Path

import numpy as np
import pytest

from graphcb.exploration import solver
from graphcb.exploration.solver import workspace
from graphcb.exploration.solver.workspace import (
    CURVES,
    MATRICES,
    SLOPES,
    VECTORS,
    at_least,
    matrices,
    room_for,
    squares,
    vectors,
)

# The bodies as Python runs them: kernels are compiled with these lines in place of the call.
at_least, matrices, squares, vectors = (
    one.py_func for one in (at_least, matrices, squares, vectors)
)


def test_each_name_has_a_row_of_its_own():
    rows = {name: value for name, value in vars(workspace).items() if name.isupper()}
    counts = [rows.pop(f"{kind}VECTORS") for kind in ("", "BOX_", "LINEAR_", "PASSIVE_")]
    every, box, linear, passive = map(range, counts)
    shared = len(("FLOOR", "SPAN", "BASE", "INNER"))  # the first rows, of a box too
    expected = [*every, *range(rows.pop("MATRICES")), *box[shared:], *linear, *passive]
    assert sorted(rows.values()) == sorted(expected)
    assert [workspace.FLOOR, workspace.SPAN, workspace.BASE, workspace.INNER] == [0, 1, 2, 3]
    assert [workspace.EQUAL, workspace.BOUND] == [0, 1]


def test_vectors_and_matrices_fill_a_block_and_do_not_overlap():
    n = 5
    block = room_for(n)
    block[:] = np.arange(block.size)
    v, a = vectors(block, n), matrices(block, n)
    assert v.shape == (VECTORS, n)
    assert a.shape == (MATRICES, n, n)
    assert np.concatenate([v.ravel(), a.ravel()]).tolist() == block.tolist()


def test_a_larger_block_serves_a_smaller_program():
    block = room_for(9)
    assert at_least(block, 9) is block
    assert at_least(block, 3) is block
    assert at_least(block, 10).size >= room_for(10).size


def test_slopes_follow_curves():
    n = 3
    a = matrices(room_for(n), n)
    a[CURVES], a[SLOPES] = 1.0, 2.0
    both = squares(a, n)
    assert both[:n].tolist() == a[CURVES].tolist()
    assert both[n:].tolist() == a[SLOPES].tolist()
    both[:] = 3.0  # a view, not a copy
    assert (a[SLOPES] == 3.0).all()


ARRAYS = ("v", "a", "linear", "passive", "of_actions")
NAMES = {name for name in vars(workspace) if name.isupper() and "VECTORS" not in name}


def rows_not_bound_by_name(source):
    """Where a work array is read by anything but the name of a row: `v[at.P, i]`, `v[at.P + 1]`."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Subscript):
            array = getattr(node.value, "id", getattr(node.value, "attr", ""))
            name = getattr(node.slice, "attr", getattr(node.slice, "id", ""))
            if array in ARRAYS and name not in NAMES:
                yield f"{array}[{ast.unparse(node.slice)}] in line {node.lineno}"


@pytest.mark.parametrize(
    ("line", "broken"),
    [
        ("p = v[at.P]", 0), ("p = work.v[P]", 0), ("x = v[at.P, i]", 1), ("x = v[at.P + 1]", 1),
        ("y = limits.linear[at.Y, r]", 1), ("y = limits.linear[at.Y]", 0), ("z = v[0]", 1),
        ("limits.passive[at.PASSIVE_T, b] = 0.0", 1), ("box.of_actions[4]", 1),
    ],
)  # fmt: skip
def test_the_rule_sees_what_breaks_it(line, broken):
    assert len(list(rows_not_bound_by_name(line))) == broken


def test_kernels_bind_rows_by_name_and_compute_no_index_from_one():
    folder = Path(solver.__file__).parent
    kernels = {path.name: path.read_text() for path in folder.rglob("*.py")}
    del kernels["workspace.py"]
    assert len(kernels) > 20
    broken = {name: list(rows_not_bound_by_name(text)) for name, text in kernels.items()}
    assert {name: found for name, found in broken.items() if found} == {}
