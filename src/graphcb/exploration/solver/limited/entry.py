"""The entry of the limited solver: checked programs and limits in, outcomes out."""

from graphcb.compilation import compiled, inlined
from graphcb.exploration.solver.edges import Edges
from graphcb.exploration.solver.limited.active_set import solve_scaled
from graphcb.exploration.solver.limited.workspace import PackedBox, unpack
from graphcb.exploration.solver.outcomes import settle
from graphcb.exploration.solver.workspace import Floats
from graphcb.graphs.formulas import LARGEST_GAP, record, scale


@compiled
def solve_limited(
    losses: Floats,
    gammas: Floats,
    edges: Edges,
    packed: PackedBox,
    tolerance: float,
    max_steps: int,
    block: Floats,
    row: int,
    p: Floats,
    outcomes: Floats,
) -> None:
    """`entry.solve_general` for the program in one row, with limits."""
    one = Edges(edges.form, edges.flat[0], edges.start, edges.action, edges.chance)
    box = unpack(packed)
    _leave_out(box.left_out, losses[row].max(), losses[row])
    cut = scale(losses[row], gammas[row], LARGEST_GAP)
    _leave_out(box.left_out, LARGEST_GAP, losses[row])
    outcome = solve_scaled(losses[row], one, box, tolerance, max_steps, block, p[row])
    record(outcome, cut, outcomes[row])
    settle(outcomes[row], tolerance, False)
    for i in range(box.upper.size):  # lower + (upper - lower) may be above `upper`
        p[row, i] = min(p[row, i], box.upper[i])


@inlined
def _leave_out(left_out: Floats, loss: float, losses: Floats) -> None:
    """Give the actions that are neither seen nor played a loss with which they do not matter."""
    for b in range(left_out.size):
        if left_out[b] != 0.0:
            losses[b] = loss
