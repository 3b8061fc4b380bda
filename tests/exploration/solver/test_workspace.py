"""What kernels rely on in the layout of their work arrays."""

import ast
from pathlib import Path

import numpy as np

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
    assert (rows.pop("VECTORS"), rows.pop("MATRICES")) == (VECTORS, MATRICES)
    assert sorted(rows.values()) == sorted([*range(VECTORS), *range(MATRICES)])


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


def test_kernels_bind_rows_by_name_and_compute_no_index_from_one():
    """`v[at.P]` at the head of a function is all: neither `v[at.P, i]` nor `v[at.P + 1]`."""
    names = {name for name in vars(workspace) if name.isupper()}
    for path in Path(solver.__file__).parent.glob("*.py"):
        if path.name == "workspace.py":
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Subscript) and getattr(node.value, "id", "") in ("v", "a"):
                name = getattr(node.slice, "attr", getattr(node.slice, "id", ""))
                assert name in names, f"{path.name}:{node.lineno}"
