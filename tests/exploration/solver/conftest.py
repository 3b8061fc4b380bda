"""Work arrays for tests of single kernels; only this and `test_workspace.py` know the layout."""

import numpy as np
import pytest

from graphcb.exploration.solver import workspace


class Laid:
    """Work arrays `v` and `a` of a whole graph, whose rows are read by name: `laid["W"]`."""

    def __init__(self, ft, matrix, p, q):
        n = len(ft)
        self.v = np.zeros((workspace.VECTORS, n))
        self.a = np.zeros((workspace.MATRICES, n, n))
        others = matrix - np.diag(np.diag(matrix))
        self["FT"], self["LOOPS"], self["P"], self["Q"] = ft, np.diag(matrix), p, q
        self.a[workspace.GRAPH], self.a[workspace.SEEN_BY] = others, others.T
        self.seen_by = self.a[workspace.SEEN_BY]

    def __getitem__(self, name):
        return self.v[getattr(workspace, name)]

    def __setitem__(self, name, values):
        self.v[getattr(workspace, name)] = values


@pytest.fixture(scope="session")
def lay_out():
    return Laid
