"""The first active set, and what enters with an action: a greedy cover of the graph.

A probability must be positive for some observer of every action, or W vanishes and the value is
infinite. So an action enters together with its cheapest observer.
"""

from graphcb.compilation import inner
from graphcb.exploration.solver.edges import Edges, fetch
from graphcb.exploration.solver.restriction import COLUMN, ROW, count
from graphcb.exploration.solver.workspace import Flags, Floats

LARGEST_SYSTEM = 4000  # more actions are never solved together: 0.6 GB
COVERED = 0.25  # an action is covered by an observer that reveals it at least this often


@inner
def cover(ft: Floats, edges: Edges, covered: Flags, inside: Flags, line: Floats) -> None:
    """Admit the best action that is not covered and its cheapest observer, until all are covered.

    The cheapest observer i of b has the largest G_ib / (1 + ft_i). Stops early when more than half
    of all actions are inside. `line` is overwritten.
    """
    n = ft.size
    size = count(inside)
    while 2 * size <= min(n, LARGEST_SYSTEM):
        unseen = int(-1)
        for b in range(n):
            if not covered[b] and (unseen < 0 or ft[b] < ft[unseen]):
                unseen = b
        if unseen < 0:
            return
        fetch(edges, unseen, bool(COLUMN), line)
        observer = unseen
        for i in range(n):
            if line[i] * (ft[observer] + 1.0) > line[observer] * (ft[i] + 1.0):
                observer = i
        covered[unseen] = True
        fetch(edges, observer, bool(ROW), line)
        for b in range(n):
            covered[b] = covered[b] or line[b] > COVERED
        size += (not inside[unseen]) + (observer != unseen and not inside[observer])
        inside[unseen] = inside[observer] = True
