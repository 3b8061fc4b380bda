"""How much feedback came: against what the graph promises, and against what was learned."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from graphcb.decisions import LoggedDecision
from graphcb.graphs import FeedbackGraph


@dataclass(frozen=True)
class Answered:
    """What playing an action revealed, on average over its `n` decisions with feedback.

    `revealed` is how many outcomes came. `promised` is how many the graph promises, None if there
    was no graph; `learned` how many were expected by what was learned before each decision,
    None if the graph was known, or the log cannot be replayed.
    """

    action: str
    n: int
    promised: float | None
    revealed: float
    learned: float | None

    @property
    def rate(self) -> float | None:
        """The share of what was promised that came."""
        return self.revealed / self.promised if self.promised else None


class Answering:
    """Decisions with feedback, added one by one; `promises` if their graphs do."""

    def __init__(self, *, promises: bool) -> None:
        self.promises = promises
        self.sums: dict[str, Any] = {}
        self.learns = False

    def add(self, row: LoggedDecision, learned: FeedbackGraph | None = None) -> None:
        """One more decision, and the graph that was predicted for it."""
        if row.feedback is None or row.feedback.is_default:
            return
        self.learns |= learned is not None
        sums = self.sums.setdefault(str(row.action), np.zeros(4))
        expected = 0.0 if learned is None else float(learned.row(row.action_index).sum())
        promised = float(np.delete(row.graph.row(row.action_index), list(row.known or ())).sum())
        sums += 1.0, promised, row.feedback.action_indices.size, expected

    def result(self) -> tuple[Answered, ...]:
        """By action, those with most decisions first."""
        ordered = sorted(self.sums.items(), key=lambda one: (-one[1][0], one[0]))
        return tuple(
            Answered(
                action,
                int(n),
                promised / n if self.promises else None,
                revealed / n,
                learned / n if self.learns else None,
            )
            for action, (n, promised, revealed, learned) in (
                (action, map(float, sums)) for action, sums in ordered
            )
        )
