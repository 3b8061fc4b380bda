"""What a policy returns: a decision, and the receipt for its feedback."""

import json
import re
from dataclasses import asdict, dataclass, fields

from graphcb.decisions.tables import DecisionRow, decision_id
from graphcb.html import shares
from graphcb.rounds.identifiers import Identifier, as_identifier

_IDENTIFIER = re.compile(r"([0-9a-f]{8})-(0|[1-9][0-9]{0,17})-([0-9a-f]{16})")


@dataclass(frozen=True, slots=True)
class Decision:
    """The action that was drawn, and everything needed to judge it later.

    `action` is its identifier: an element of the round's `actions`, which are 0, 1, ... unless
    `decide` was given others. Feedback is keyed by these identifiers. `action_index` is where
    the action stands in the graph and in `probabilities`. `gamma` is None for an agent without
    one, and `model_version` counts the feedbacks that the model had learned from.

    >>> name = "5f3a90c1-7-d2c4018e66a1f3b7"
    >>> decision = Decision(name, "b", 1, 0.75, ("a", "b"), (0.25, 0.75), 32.0, 4)
    >>> Decision.from_json(decision.to_json()) == decision
    True
    """

    decision_id: str
    action: Identifier
    action_index: int
    probability: float
    actions: tuple[Identifier, ...]
    probabilities: tuple[float, ...]
    gamma: float | None
    model_version: int

    def to_json(self) -> str:
        """A JSON object; the numbers keep every bit."""
        return json.dumps(asdict(self))

    def _repr_html_(self) -> str:
        title = f"decision {self.decision_id}: {self.action}"
        return shares(title, self.actions, self.probabilities)

    @classmethod
    def from_json(cls, text: str) -> "Decision":
        """Read what `to_json` wrote."""
        try:
            content = json.loads(text)
            content["action"] = as_identifier(content["action"])
            content["actions"] = tuple(map(as_identifier, content["actions"]))
            content["probabilities"] = tuple(content["probabilities"])
            return cls(**content)
        except (ValueError, KeyError, TypeError) as reason:
            names = ", ".join(field.name for field in fields(cls))
            raise ValueError(
                f"`text` must be a decision in JSON with {names}: {reason!r}"
            ) from None


@dataclass(frozen=True, slots=True)
class Acknowledgement:
    """The receipt for a feedback, which is durably in the log.

    `counted` is False if all of it was known, so that it changes nothing; `message` says so.
    """

    decision_id: str
    counted: bool
    message: str


def is_decision_id(text: str, log_name: str) -> bool:
    """Whether a text has the form of an identifier of this log."""
    parts = _IDENTIFIER.fullmatch(text)
    return parts is not None and parts[1] == log_name


def read_decision_id(decision: str, log_name: str, location: str) -> tuple[int, str]:
    """The number of the event that an identifier of this log names, and its token."""
    parts = _IDENTIFIER.fullmatch(str(decision))
    if parts is None:
        raise LookupError(
            "`decision_id` must be one that `decide` returned, such as "
            f"{decision_id(log_name, 7, '0123456789abcdef')!r}, got {decision!r}"
        )
    if parts[1] != log_name:
        raise LookupError(
            f"decision {decision!r} is from another log: those of {location} begin with "
            f"{log_name!r}"
        )
    return int(parts[2]), parts[3]


def check_decision_id(
    decision: str,
    token: str,
    row: DecisionRow | None,
    until: int,
    location: str,
    removed: int = 0,
) -> DecisionRow:
    """The row, unless this log, with `until` events, does not hold a decision of that name.

    Old ones among the first `removed` events were taken out.
    """
    if row is not None and row.token == token:
        return row
    position = int(decision.split("-")[1])
    if position == 0:
        reason = (
            "where no decision has these digits; it may have been removed, or the database restored"
        )
    elif position > until:
        reason = (
            f"which ends at event {until}: it has lost its tail, such as by restoring a backup or "
            'by a power cut with durability "process-kill"'
        )
    elif row is None and position <= removed:
        reason = "from which old decisions were removed, this one among them"
    else:
        reason = (
            f"where event {position} is another one: the log was continued from a copy, such as a "
            "backup, in which this decision was not made"
        )
    raise LookupError(f"decision {decision!r} is not in the log {location}, {reason}")
