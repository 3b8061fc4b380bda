"""HiGHS says nothing, and what others say meanwhile is not lost."""

import ctypes
import os
import sys

import numpy as np
import pytest

from graphcb import integer_programs
from graphcb.exploration.clashing import Limit, fewest_clashing

LINE = b"HighsMipSolverData::transformNewIntegerFeasibleSolution tmpSolver.run();\n"


def clashing_limits(seed):
    """Limits on which HiGHS corrects solutions of its own, and prints that."""
    rng = np.random.default_rng(seed)
    k, n = int(rng.integers(2, 9)), int(rng.integers(2, 12))
    scale = 10.0 ** rng.integers(-12, 1)
    rows = rng.normal(size=(n, k)) if seed % 3 else rng.choice([0.0, 1.0, -1.0, scale], (n, k))
    rows /= np.maximum(1e-300, np.abs(rows).max(1, keepdims=True))
    bounds = rng.normal(size=n) * scale - (0.5 if seed % 2 else 0.0)
    return [Limit(str(i), rows[i], float(bounds[i])) for i in range(n)]


def test_refused_limits_print_nothing(capfd):
    for seed in (17, 65, 83, 89, 115):
        fewest_clashing(clashing_limits(seed))
    if sys.platform != "win32":
        ctypes.CDLL(None).fflush(None)
    assert capfd.readouterr().out == ""


def test_what_others_print_meanwhile_is_kept(capfd, monkeypatch):
    def milp(costs, **more):
        os.write(1, b"before\n" + LINE)
        os.write(1, b"after\n")
        return costs, more

    monkeypatch.setattr("scipy.optimize.milp", milp)
    assert integer_programs.solve_integer_program([1.0], bounds=3) == ([1.0], {"bounds": 3})
    assert capfd.readouterr().out == "before\nafter\n"


def test_an_error_gives_the_output_back(capfd, monkeypatch):
    def milp(costs):
        os.write(1, LINE)
        raise MemoryError

    monkeypatch.setattr("scipy.optimize.milp", milp)
    with pytest.raises(MemoryError):
        integer_programs.solve_integer_program([1.0])
    print("still there", flush=True)
    assert capfd.readouterr().out == "still there\n"


def test_without_a_standard_output_it_solves(monkeypatch):
    def closed(_):
        raise OSError(9, "Bad file descriptor")

    monkeypatch.setattr(os, "dup", closed)
    monkeypatch.setattr("scipy.optimize.milp", lambda costs: costs)
    assert integer_programs.solve_integer_program([2.0]) == [2.0]
