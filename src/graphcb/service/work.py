"""What rounds cost, and what their contexts lack: counted before they are decided."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from graphcb.contexts.values import features_of
from graphcb.decisions.decided import NewRound
from graphcb.decisions.encoding import Encoded
from graphcb.service.routing import Call

if TYPE_CHECKING:
    from graphcb.service.app import Service

LONG_BATCH = 32  # rounds; a longer batch does not hold up the event loop
LONG_GRAPH = 50  # actions of a round with its own graph; more do not either


def note_rounds(call: Call, rounds: Sequence[NewRound]) -> None:
    """Count the work, and declared features that contexts lack though they must have them.

    A graph of a round's own costs much: it needs a scope, unless the problem has one in each round.
    """
    own = any(one.graph is not None for one in rounds)
    if own and not call.service.desk.problem.reveals.each_round:
        call.service.admission.check_scope(call.client, "graphs")
    call.service.admission.charge(call.client, work_of(rounds) - 1.0)
    needed = _needed(call.service)
    for one in rounds:
        context = one.context.value if isinstance(one.context, Encoded) else one.context
        if (
            not isinstance(context, dict)
            or not needed <= context.keys()
            or None in context.values()
        ):
            features = features_of(context)
            for name in needed:
                if features.get(name) is None:
                    call.service.metrics.missing[name] += 1


def work_of(rounds: Sequence[NewRound]) -> float:
    """How much rounds cost: 1 each, up to 4 more for many actions, and for a graph of its own."""
    cost = 0.0
    for one in rounds:
        cost += 1.0 + one.n_own / 250
        if one.graph is not None:
            cost += (one.graph.n_actions / 20) ** 2
    return cost


def _needed(service: "Service") -> frozenset[str]:
    """The features that every context must have."""
    version = service.desk.versions.last
    if service.needed[0] != version.number:
        features = {} if version.problem is None else version.problem.features or {}
        names = (name for name, kind in features.items() if not kind.endswith("?"))
        service.needed = version.number, frozenset(names)
    return service.needed[1]
