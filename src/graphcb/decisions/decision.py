"""What a policy hands out: a decision, and the receipt for its feedback."""

import json
from dataclasses import asdict, dataclass, fields


@dataclass(frozen=True, slots=True)
class Decision:
    """An action that was drawn, and all that has to be known to judge it later.

    `action` is its place in the graph, counted from 0. `probabilities` are those of all actions
    of the round, `gamma` is None for an agent that has none, `model_version` is how many
    feedbacks the model had learned.

    >>> decision = Decision("5f3a90c1-7", 1, 0.75, (0.25, 0.75), 32.0, 4)
    >>> Decision.from_json(decision.to_json()) == decision
    True
    """

    decision_id: str
    action: int
    probability: float
    probabilities: tuple[float, ...]
    gamma: float | None
    model_version: int

    def to_json(self) -> str:
        """A JSON object; the numbers keep every bit."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> "Decision":
        """What `to_json` wrote."""
        try:
            content = json.loads(text)
            content["probabilities"] = tuple(content["probabilities"])
            return cls(**content)
        except (ValueError, KeyError, TypeError) as reason:
            names = ", ".join(field.name for field in fields(cls))
            raise ValueError(
                f"`text` must be a decision in JSON with {names}: {reason!r}"
            ) from None


@dataclass(frozen=True, slots=True)
class Acknowledgement:
    """The receipt for a feedback: it is in the log for good.

    `counted` is False for a second feedback, which changes nothing; `message` says so.
    """

    decision_id: str
    counted: bool
    message: str
