"""Decisions and feedback one at a time or many at once, each call in a transaction of its own."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager
from typing import Any

from graphcb.decisions.decision import Acknowledgement, Decision
from graphcb.decisions.incoming import Losses
from graphcb.decisions.together import NewRound, Together
from graphcb.graphs import FeedbackGraph


class Calls(ABC):
    """What a policy and a decider have in common: how they are asked."""

    @abstractmethod
    def together(self) -> AbstractContextManager[Together]:
        """A transaction for decisions and feedback that come at the same time."""

    def decide(
        self, context: Any, graph: FeedbackGraph | None = None, actions: Any = None
    ) -> Decision:
        """Draw an action; the decision is in the log when it is returned.

        `actions` are today's identifiers in the oracle's terms, as in `agent.act`; they must be
        distinct, because feedback is keyed by them. With a problem they are names, or a mapping
        from names to features; the problem gives what is left out. Without one, `graph` is needed.
        """
        return self.decide_many([context], graph, actions)[0]

    def decide_many(
        self, contexts: Iterable[Any], graph: FeedbackGraph | None = None, actions: Any = None
    ) -> list[Decision]:
        """One decision per context, as by `decide` in turn, but in one transaction."""
        return self.decide_rounds((context, graph, actions) for context in contexts)

    def decide_rounds(
        self, rounds: Iterable[tuple[Any, FeedbackGraph | None, Any]]
    ) -> list[Decision]:
        """As `decide_many` for rounds (context, graph, actions) that differ in all of these."""
        asked = [NewRound(*one) for one in rounds]
        if not asked:
            return []
        with self.together() as together:
            return together.decide_rounds(asked)

    def feedback(self, decision_id: str, losses: Losses) -> Acknowledgement:
        """Learn what a decision revealed: {action: loss, ...}, keyed by identifiers.

        The keys are elements of `decision.actions`, or their texts as in JSON ("2" for 2). If the
        policy has a problem, its values are losses or rewards as the problem says, within its
        range. The feedback is durable when this returns. It may come in parts: each action
        counts once. A part that was received before changes nothing, and the receipt says so; one
        that gives an action another loss is refused. {} means that nothing was seen.

        Where the graph is not known beforehand, all other actions count as not revealed. So the
        feedback of a decision must come in one part, and {} teaches that nothing was revealed.
        """
        return self.feedback_many({decision_id: losses})[0]

    def feedback_many(self, losses: Mapping[str, Losses]) -> list[Acknowledgement]:
        """Feedback for many decisions, as by `feedback` in turn, but in one transaction."""
        if not losses:
            return []
        with self.together() as together:
            return together.feedback_many(losses)
