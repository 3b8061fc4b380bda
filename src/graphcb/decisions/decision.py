"""What a policy returns: a decision, and the receipt for its feedback."""

import json
import re
from dataclasses import asdict, dataclass, fields

from graphcb.decisions.identifiers import Identifier, as_identifier


@dataclass(frozen=True, slots=True)
class Decision:
    """The action that was drawn, and everything needed to judge it later.

    `action` is its identifier: an element of the round's `actions`, which are 0, 1, ... unless
    `decide` was given others. Feedback is keyed by these identifiers. `action_index` is where
    the action stands in the graph and in `probabilities`. `gamma` is None for an agent without
    one, and `model_version` counts the feedbacks that the model had learned from.

    >>> decision = Decision("5f3a90c1-7", "b", 1, 0.75, ("a", "b"), (0.25, 0.75), 32.0, 4)
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

    `counted` is False for a second feedback, which changes nothing; `message` says so.
    """

    decision_id: str
    counted: bool
    message: str


def decision_id(log_name: str, position: int) -> str:
    """The identifier of a decision: the log's name and the event's number."""
    return f"{log_name}-{position}"


def position_of(decision: str, log_name: str, location: str) -> int:
    """The number of the event that an identifier of this log names."""
    parts = re.fullmatch(r"([0-9a-f]{8})-([1-9][0-9]{0,17})", str(decision))
    if parts is None:
        raise LookupError(
            "`decision_id` must be one that `decide` returned, such as "
            f"{decision_id(log_name, 7)!r}, got {decision!r}"
        )
    if parts[1] != log_name:
        raise LookupError(
            f"decision {decision!r} is from another log: those of {location} begin with "
            f"{log_name!r}"
        )
    return int(parts[2])
