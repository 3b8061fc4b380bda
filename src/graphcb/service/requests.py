"""What clients send: JSON read into structs, and from these the rounds of a policy."""

from typing import Any

import msgspec
import numpy as np

from graphcb.checks import listed
from graphcb.contexts.values import flat
from graphcb.decisions.encoding import Encoded
from graphcb.decisions.together import NewRound
from graphcb.graphs import FeedbackGraph
from graphcb.problems import Problem
from graphcb.problems.reveals import read_reveals
from graphcb.problems.toml import read_tables
from graphcb.service.errors import Refused
from graphcb.service.guards import RequestLimits

Plain = str | int | float | bool | None


def _no_context() -> msgspec.Raw:
    return msgspec.Raw(b"null")


class DecisionRequest(msgspec.Struct, forbid_unknown_fields=True):
    """A round to be decided.

    `context` holds features by name (objects may hold objects), a row of numbers, a text, or
    nothing. `actions` are names, or features by name; the problem gives them if they are left
    out. `reveals` is what this round's actions reveal, where that is not the problem's: as in
    the problem file, or a matrix whose row is played and whose column is revealed.
    """

    context: msgspec.Raw = msgspec.field(default_factory=_no_context)
    actions: list[str] | dict[str, Any] | None = None
    reveals: str | dict[str, Any] | list[list[float]] | None = None


class DecisionsRequest(DecisionRequest):
    """A round, or several in `decisions`, which are all decided or none."""

    decisions: list[DecisionRequest] | None = None


class FeedbackRequest(msgspec.Struct, forbid_unknown_fields=True):
    """What a decision revealed, by the actions' names: losses or rewards, as the problem has."""

    losses: dict[str, float] | None = None
    rewards: dict[str, float] | None = None


class ProblemRequest(msgspec.Struct, forbid_unknown_fields=True):
    """The problem to decide from now on, as the text of its TOML file, and why."""

    toml: str
    note: str = ""


class RollbackRequest(msgspec.Struct, forbid_unknown_fields=True):
    """The version whose problem and model are to decide again, and why."""

    version: int
    note: str = ""


_DECISIONS = msgspec.json.Decoder(DecisionsRequest)
_FEEDBACK = msgspec.json.Decoder(FeedbackRequest)
_PROBLEM = msgspec.json.Decoder(ProblemRequest)
_ROLLBACK = msgspec.json.Decoder(RollbackRequest)
_FLAT = msgspec.json.Decoder(dict[str, Plain])
_ANY = msgspec.json.Decoder(Any)


def read_decisions(body: bytes) -> DecisionsRequest:
    """The rounds in a body."""
    return _DECISIONS.decode(body)


def read_problem(body: bytes) -> tuple[Problem, str]:
    """A problem that a client sends, and a note; it cannot name files of this machine."""
    request = _PROBLEM.decode(body)
    if "file" in read_tables(request.toml).get("reveals", {}):
        raise ValueError("`toml` must hold the graph itself, got the name of a file in [reveals]")
    return Problem.from_toml(request.toml), request.note


def read_rollback(body: bytes) -> RollbackRequest:
    """Which version is to decide again."""
    return _ROLLBACK.decode(body)


def read_feedback(body: bytes) -> FeedbackRequest:
    """The losses or rewards in a body."""
    return _FEEDBACK.decode(body)


def values_in(request: FeedbackRequest, problem: Problem) -> dict[str, float]:
    """The losses or rewards of a request, in the problem's word."""
    given = {"losses": request.losses, "rewards": request.rewards}
    values = given.pop(problem.feedback)
    if values is None or any(other is not None for other in given.values()):
        word = problem.feedback
        raise ValueError(
            f"`{word}` must be given for this problem, {{action: {problem.unit}, ...}}, and "
            f"nothing else; {{}} means that nothing was seen"
        )
    return values


def as_rounds(
    request: DecisionsRequest, problem: Problem, limits: RequestLimits
) -> tuple[list[NewRound], bool]:
    """The rounds of a request, and whether they are several."""
    if request.decisions is None:
        return [as_round(request, problem, limits)], False
    if bytes(request.context) != b"null" or request.actions or request.reveals:
        raise ValueError("`decisions` must stand alone: put context, actions and reveals into each")
    check_size("decisions", len(request.decisions), limits.batch)
    rounds = [as_round(one, problem, limits) for one in request.decisions]
    n_fixed = len(problem.actions) if problem.has_fixed_actions else 0
    n_actions = sum(n_fixed if one.actions is None else len(one.actions) for one in rounds)
    check_size("actions of all decisions together", n_actions, limits.in_all)
    return rounds, True


def as_round(request: DecisionRequest, problem: Problem, limits: RequestLimits) -> NewRound:
    """The round of one request."""
    actions = request.actions
    if actions is not None:
        check_size("actions", len(actions), limits.actions)
        if isinstance(actions, dict):
            for name, features in actions.items():
                what = f"features of action {name!r}"
                check_size(what, count_features(features), limits.features)
    graph = None
    if request.reveals is not None:
        graph = as_graph(request.reveals, problem.names_of(actions))
    return NewRound(as_context(bytes(request.context), limits), graph, actions)


def as_context(content: bytes, limits: RequestLimits) -> Any:
    """A context from its JSON, which is logged as it came where nothing has to be flattened."""
    try:
        context: Any = _FLAT.decode(content)
    except msgspec.ValidationError:
        context = _ANY.decode(content)
        check_size("features of the context", count_features(context), limits.features)
        if isinstance(context, bool | int | float):
            raise TypeError(
                "`context` must be an object with features by name, a row of numbers, a text or "
                f"null, got {context!r}"
            ) from None
        return context
    check_size("features of the context", len(context), limits.features)
    return Encoded(b"j" + content, context)


def as_graph(reveals: Any, actions: tuple[str, ...]) -> FeedbackGraph:
    """The graph of a round, in the words of a problem file or as a matrix."""
    if isinstance(reveals, list):
        widths = {len(row) for row in reveals}
        if widths != {len(actions)} or len(reveals) != len(actions):
            raise ValueError(
                f"`reveals` as a matrix must have a row and a column for each of the round's "
                f"{len(actions)} actions ({listed(actions)})"
            )
        return FeedbackGraph(np.array(reveals, dtype=np.float64))
    if isinstance(reveals, dict) and not reveals.keys().isdisjoint(("file", "each_round")):
        raise ValueError("`reveals` of a round must have a family, or all, own and edges")
    return read_reveals(reveals, actions).graph(actions)


def count_features(context: Any) -> int:
    """The number of features in a context or of an action."""
    if isinstance(context, dict):
        return len(flat(context))
    return len(context) if isinstance(context, list) else 1


def check_size(what: str, size: int, most: int) -> None:
    """Refuse more than there may be."""
    if size > most:
        raise Refused(413, f"the {what} must be at most {most:,}, got {size:,}")
