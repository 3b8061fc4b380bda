"""The answers to clients: structs that are sent as JSON."""

from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from graphcb.decisions import Acknowledgement, Change, Versions
from graphcb.decisions.decided import Decided
from graphcb.decisions.encoding import FLOAT, decode, numbers, read_identifiers
from graphcb.decisions.explaining import Explanation
from graphcb.decisions.incoming import Found
from graphcb.decisions.parts import merge
from graphcb.decisions.tables import name_of
from graphcb.decisions.together import Together
from graphcb.estimates.stillness import Alarm
from graphcb.problems import Problem
from graphcb.problems.alarms import in_words

MANY = 100  # actions, of which those that are played are looked for first


class DecisionAnswer(msgspec.Struct):
    """A decision that is in the log.

    `probability` is that of `action`. `probabilities` has by name the actions of the round that
    could have been drawn; all others had a probability of 0. `gamma` is null for an agent without
    one. `model_version` counts the feedback events that the model had learned from.
    """

    decision_id: str
    action: str
    probability: float
    probabilities: dict[str, float]
    gamma: float | None
    model_version: int


class DecisionsAnswer(msgspec.Struct):
    """The decisions of a batch, in its order."""

    decisions: list[DecisionAnswer]


class FeedbackAnswer(msgspec.Struct):
    """The receipt for feedback; `counted` is false if all of it was known."""

    decision_id: str
    counted: bool
    message: str


class LoggedAnswer(msgspec.Struct):
    """A decision as it is in the log, with the losses or rewards known so far, if any.

    `made_at` is in seconds since 1970. Actions that `probabilities` lacks had a probability of 0.
    """

    decision_id: str
    position: int
    made_at: float
    context: Any
    action: str
    probability: float
    probabilities: dict[str, float]
    gamma: float | None
    model_version: int
    feedback: dict[str, float] | None


class ExplanationAnswer(msgspec.Struct):
    """Why a decision was made, in words as `text` and in numbers for each action.

    `reason` is one sentence, `bound` what limits, budgets and prices had to do with it.
    """

    decision_id: str
    action: str
    probability: float
    unit: str
    reason: str
    bound: list[str]
    actions: list[dict[str, Any]]
    text: str


class ProblemAnswer(msgspec.Struct):
    """The current problem; `toml` is its file. Without a `range`, it is found as it comes."""

    name: str
    actions: list[str] | str
    feedback: str
    range: tuple[float, float] | None
    features: dict[str, str] | None
    toml: str


class ForgottenAnswer(msgspec.Struct):
    """The receipt: when, a hash of the person, and how much was removed.

    `left` says what could not be overwritten on disk, "" if nothing.
    """

    forgotten_at: float
    subject: str
    n_decisions: int
    n_feedbacks: int
    unlearned: bool
    left: str = ""


class VersionAnswer(msgspec.Struct):
    """A version of the problem; it begins with the event `position`."""

    version: int
    position: int
    made_at: float
    note: str
    toml: str


class VersionsAnswer(msgspec.Struct):
    """All versions of the problem; the last one is the current one."""

    versions: list[VersionAnswer]


class ChangeAnswer(msgspec.Struct):
    """A new version; `said` tells in sentences what it keeps of what was learned."""

    version: int
    position: int
    said: list[str]


class AlarmAnswer(msgspec.Struct):
    """An action whose losses, or a feature whose values, looked different.

    From decision `since` on, which was made at `since_time`, in seconds since 1970, and known at
    decision `raised`; `over` is null while it still does. `chance` bounds the probability that such
    an alarm is ever raised while the world stands still.
    """

    kind: str
    name: str
    since: int
    raised: int
    over: int | None
    chance: float
    since_time: float | None
    text: str


class StatusAnswer(msgspec.Struct):
    """Counts and latencies since the start; times are in seconds.

    `role` is "alone", or "decider" or "trainer" where many deciders share a log; then `staleness`
    is by how many seconds the model may be behind the log. `alarms` has the latest first.
    `log_failures` are transactions that the log refused, `defaults` were given after waiting.
    `clock_jumps` counts how often the clock of this machine jumped by more than 5 seconds, last by
    `last_clock_jump`, which is below 0 if it went back.
    """

    version: str
    uptime: float
    n_events: int
    n_decisions: int
    n_feedbacks: int
    model_version: int
    problem_version: int
    waiting: int
    commits: int
    jobs_per_commit: float
    requests: dict[str, dict[str, int]]
    latency: dict[str, dict[str, float]]
    role: str
    staleness: float | None
    alarms: list[AlarmAnswer]
    log_failures: int
    defaults: int
    clock_jumps: int
    last_clock_jump: float | None


class ErrorDetail(msgspec.Struct):
    """Why a request was refused or failed."""

    code: str
    message: str


class ErrorAnswer(msgspec.Struct):
    """The body of every answer that is an error."""

    error: ErrorDetail


def of_decision(made: Decided) -> DecisionAnswer:
    """A decision of a policy with a problem, whose actions are names."""
    row, names, probabilities = made.row, made.identifiers.values, made.probabilities
    return DecisionAnswer(
        made.decision_id,
        str(names[row.action]),
        float(probabilities[row.action]),
        _played(names, probabilities),
        row.gamma,
        row.model_version,
    )


def _played(names: Sequence[Any], probabilities: NDArray[np.float64]) -> dict[str, float]:
    """The probabilities by name that are not 0."""
    if probabilities.size > MANY and 2 * np.count_nonzero(probabilities) < probabilities.size:
        places = probabilities.nonzero()[0].tolist()
        return {names[place]: float(probabilities[place]) for place in places}
    each = zip(names, probabilities.tolist(), strict=True)
    return {name: probability for name, probability in each if probability}


def of_receipt(receipt: Acknowledgement) -> FeedbackAnswer:
    """The receipt for feedback."""
    return FeedbackAnswer(receipt.decision_id, receipt.counted, receipt.message)


def of_logged(found: Found, together: Together) -> LoggedAnswer:
    """A decision that was read back from the log."""
    row, graph = found.row, together.graph(found.row.graph)
    names = [str(name) for name in read_identifiers(row.actions, graph.n_actions).values]
    probabilities = numbers(row.probabilities, FLOAT)
    known = merge(found.parts, graph, together.storage.location)
    feedback = {names[index]: part.loss for index, part in sorted(known.items())}
    return LoggedAnswer(
        decision_id=name_of(together.log_name, row),
        position=row.position,
        made_at=row.made_at,
        context=_plain(decode(row.context)),
        action=names[row.action],
        probability=float(probabilities[row.action]),
        probabilities=_played(names, probabilities),
        gamma=row.gamma,
        model_version=row.model_version,
        feedback=feedback if found.parts else None,
    )


def of_explanation(found: Explanation) -> ExplanationAnswer:
    """Why a decision was made."""
    plain = found.to_dict()
    return ExplanationAnswer(
        decision_id=found.decision_id,
        action=str(found.action),
        probability=found.probability,
        unit=found.unit,
        reason=found.reason,
        bound=plain["bound"],
        actions=plain["actions"],
        text=str(found),
    )


def of_versions(versions: Versions) -> VersionsAnswer:
    """The versions of a log."""
    return VersionsAnswer(
        [
            VersionAnswer(
                version=one.number,
                position=one.position,
                made_at=one.made_at,
                note=one.note,
                toml="" if one.problem is None else one.problem.to_toml(),
            )
            for one in versions
        ]
    )


def of_change(change: Change) -> ChangeAnswer:
    """A new version."""
    return ChangeAnswer(change.version.number, change.version.position, list(change.said))


def of_alarms(alarms: list[Alarm]) -> list[AlarmAnswer]:
    """Alarms as clients get them."""
    return [AlarmAnswer(*alarm, text=in_words(alarm)) for alarm in alarms]


def of_problem(problem: Problem) -> ProblemAnswer:
    """A problem and its file."""
    return ProblemAnswer(
        name=problem.name,
        actions=list(problem.actions) if isinstance(problem.actions, tuple) else problem.actions,
        feedback=problem.feedback,
        range=problem.range,
        features=problem.features,
        toml=problem.to_toml(),
    )


def _plain(context: Any) -> Any:
    """A context as JSON: arrays become lists."""
    if hasattr(context, "tolist"):
        return context.tolist()
    return [part.tolist() for part in context] if isinstance(context, tuple) else context
