"""The bodies of requests as structs, and the rounds and problems that are made from them."""

from typing import Any

import msgspec
import numpy as np

from graphcb.checks import listed
from graphcb.contexts.values import flat
from graphcb.decisions.decided import NewRound
from graphcb.decisions.encoding import Encoded, is_plain
from graphcb.graphs import FeedbackGraph
from graphcb.problems import Problem
from graphcb.problems.reveals import read_reveals
from graphcb.problems.toml import read_tables
from graphcb.service.admission import RequestLimits
from graphcb.service.errors import Refused

Plain = str | int | float | bool | None


def _no_context() -> msgspec.Raw:
    return msgspec.Raw(b"null")


class DecisionRequest(msgspec.Struct, forbid_unknown_fields=True):
    """A round to decide on.

    `context` is an object with features by name (which may be nested), a row of numbers, a text,
    or null. `actions` are names, or an object with the features of each; by default they are the
    problem's. `reveals` is what this round's actions reveal, by default what the problem says: as
    in the problem file, or a matrix whose row is played and whose column is revealed. `subject` is
    whom it is about, so that this person can be forgotten; the log keeps a hash of it.
    """

    context: msgspec.Raw = msgspec.field(default_factory=_no_context)
    actions: list[str] | dict[str, Any] | None = None
    reveals: str | dict[str, Any] | list[list[float]] | None = None
    subject: str | int | None = None


class DecisionsRequest(DecisionRequest):
    """A round, or a batch of rounds in `decisions`, of which all are decided or none."""

    decisions: list[DecisionRequest] | None = None


class FeedbackRequest(msgspec.Struct, forbid_unknown_fields=True):
    """What a decision revealed, by action: losses or rewards, whichever the problem has."""

    losses: dict[str, float] | None = None
    rewards: dict[str, float] | None = None


class ProblemRequest(msgspec.Struct, forbid_unknown_fields=True):
    """The new problem, as the text of its TOML file, and a note on why it changes."""

    toml: str
    note: str = ""


class ForgetRequest(msgspec.Struct, forbid_unknown_fields=True):
    """Whom to forget, as decisions name them; `unlearn` rebuilds the model without them."""

    subject: str | int
    unlearn: bool = False


class RollbackRequest(msgspec.Struct, forbid_unknown_fields=True):
    """The version whose problem and model return, and a note on why."""

    version: int
    note: str = ""


_FLAT = msgspec.json.Decoder(dict[str, Plain])
_ANY = msgspec.json.Decoder(Any)
_SAMPLES = {
    "number": 1.5,
    "category": "red",
    "text": "a few words of text",
    "time": "2024-05-01T18:30:00",
}


def as_problem(request: ProblemRequest) -> Problem:
    """The problem that a client sends, which must not name files of this machine."""
    if "file" in read_tables(request.toml).get("reveals", {}):
        raise ValueError("`toml` must contain the graph, got the name of a file in [reveals]")
    return Problem.from_toml(request.toml)


def values_in(request: FeedbackRequest, problem: Problem) -> dict[str, float]:
    """The losses or the rewards of a request, whichever the problem has."""
    values, other = request.losses, request.rewards
    if problem.feedback == "rewards":
        values, other = other, values
    if values is None or other is not None:
        raise ValueError(
            f"`{problem.feedback}` must be given for this problem, {{action: {problem.unit}, "
            f"...}}, and nothing else; {{}} means that nothing was seen"
        )
    return values


def as_batch(request: DecisionsRequest, problem: Problem, limits: RequestLimits) -> list[NewRound]:
    """The rounds of a request with several."""
    rounds = request.decisions or []
    alone = request.context, request.actions, request.reveals, request.subject
    if bytes(alone[0]) != b"null" or any(alone[1:3]) or alone[3] is not None:
        raise ValueError("`decisions` must stand alone: put context, actions and reveals into each")
    check_size("decisions", len(rounds), limits.batch)
    batch = [as_round(one, problem, limits) for one in rounds]
    n_fixed = len(problem.actions) if problem.has_fixed_actions else 0
    n_actions = sum(n_fixed if one.actions is None else one.n_own for one in batch)
    check_size("actions of all decisions together", n_actions, limits.in_all)
    squares = sum(one.graph.n_actions**2 for one in batch if one.graph is not None)
    check_size("squared actions of all graphs together", squares, limits.graph**2)
    return batch


def as_round(request: DecisionRequest, problem: Problem, limits: RequestLimits) -> NewRound:
    """The round of one request."""
    actions = request.actions
    if actions is not None:
        check_size("actions", len(actions), limits.actions)
        if isinstance(actions, dict):
            for name, features in actions.items():
                size = count_features(features)
                if size > limits.features:
                    check_size(f"features of action {name!r}", size, limits.features)
    graph = None
    if request.reveals is not None:
        n_actions = len(problem.names_of(actions))
        check_size("actions of a round with its own graph", n_actions, limits.graph)
        graph = as_graph(request.reveals, problem.names_of(actions))
    context = as_context(bytes(request.context), limits)
    return NewRound(context, graph, _encoded(actions), request.subject)


def _encoded(actions: list[str] | dict[str, Any] | None) -> Any:
    """Actions with their bytes, as a log has them, if their features are plain."""
    if not isinstance(actions, dict) or not all(map(is_plain, actions.values())):
        return actions
    try:
        return Encoded(b"j" + msgspec.json.encode(actions), actions)
    except OverflowError:  # of a whole number beyond 64 bits
        return actions


def as_context(content: bytes, limits: RequestLimits) -> Any:
    """A context from its JSON, whose bytes are logged as they are if it is a flat object."""
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
    """The graph of a round, given as in a problem file or as a matrix."""
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
        if is_plain(context):
            return len(context)
        found = flat(context, whole_vectors=True).values()
        return sum(getattr(value, "size", 1) for value in found)
    return len(context) if isinstance(context, list) else 1


def check_size(what: str, size: int, most: int) -> None:
    """Refuse a request that has more of something than it may have."""
    if size > most:
        raise Refused(413, f"the {what} must be at most {most:,}, got {size:,}")


def decision_example(problem: Problem) -> dict[str, Any]:
    """A request for a decision that this problem accepts."""
    features = problem.features or {"amount": "number", "country": "category"}
    context = {name: _SAMPLES[kind.removesuffix("?")] for name, kind in features.items()}
    request: dict[str, Any] = {"context": context}
    if not problem.has_fixed_actions:
        request["actions"] = {"first": {"price": 0.0}, "second": {"price": 1.0}}
    if problem.reveals.each_round:
        request["reveals"] = {"own": True}
    return request


def feedback_example(problem: Problem) -> dict[str, Any]:
    """Feedback for a decision that plays the first action of the example above."""
    return {problem.feedback: {action_examples(problem)[0]: problem.scale[0]}}


def action_examples(problem: Problem) -> list[str]:
    """The names of the actions in these examples."""
    return list(problem.actions) if isinstance(problem.actions, tuple) else ["first", "second"]


def problem_example(problem: Problem) -> dict[str, Any]:
    """A problem that differs from this one in its name."""
    text = problem.to_toml()
    if problem.name:
        return {"toml": text.replace("name =", "# name =", 1), "note": "without a name"}
    return {"toml": text.replace("[problem]", '[problem]\nname = "next"', 1), "note": "a name"}
