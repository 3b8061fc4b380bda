"""A policy: decides, takes feedback whenever it comes, and forgets nothing."""

import copy
import inspect
import os
import threading
import time
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphcb.agents import Agent
from graphcb.decisions import records
from graphcb.decisions.decision import Acknowledgement, Decision, decision_id, position_of
from graphcb.decisions.encoding import FLOAT, decode, encode
from graphcb.decisions.identifiers import Identifiers, as_list, read_identifiers
from graphcb.decisions.revealed import read_losses
from graphcb.decisions.storage import Durability, without_password
from graphcb.decisions.tables import DecisionRow, FeedbackRow, insert
from graphcb.decisions.transition import Drawn, draw, learn
from graphcb.decisions.writer import LogWriter
from graphcb.graphs import FeedbackGraph, as_graph

Losses = Mapping[Any, float]
NewFeedback = tuple[DecisionRow, NDArray[np.int64], NDArray[np.float64]]


class Policy:
    """An agent whose decisions and feedbacks are in a log before they are returned.

    `log` is the path of a SQLite file or a URL postgresql://user@host/database. The log is
    created with `agent` and `seed` (random if left out), or continued where it stopped, however
    it stopped; `agent` may then be left out. Whatever was returned stays in the log: with
    `durability="power-loss"` even if the machine loses power, with the faster "process-kill" if
    only the process dies. One process writes a log; several threads may share one policy. Every
    `checkpoint_every` events the agent is stored as well, which only makes the next start
    faster. `classes` are those of your own that the agent contains, as in `graphcb.load`. With
    `check_replay=False` a log continues even if its decisions no longer come out the same.

    >>> import tempfile, pathlib, graphcb
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "decisions.db"
    >>> agent = graphcb.SquareCBG(graphcb.oracles.LinearOGD(3, 1))
    >>> with Policy(file, agent, seed=0) as policy:
    ...     decision = policy.decide([1.0], graphcb.graphs.full_information(3), [2, 0, 1])
    >>> decision.actions
    (2, 0, 1)
    >>> with Policy(file) as policy:  # another day
    ...     policy.feedback(decision.decision_id, {0: 0.2, 1: 0.5, 2: 0.9}).counted
    True
    """

    def __init__(
        self,
        log: str | os.PathLike[str],
        agent: Agent | None = None,
        *,
        seed: int | None = None,
        durability: Durability = "power-loss",
        checkpoint_every: int = 10_000,
        classes: Iterable[type] = (),
        check_replay: bool = True,
    ) -> None:
        self.location = os.fspath(log)
        self._guard = threading.RLock()
        self._settings: dict[str, Any] = {
            "durability": durability,
            "checkpoint_every": checkpoint_every,
            "classes": tuple(classes),
            "check_replay": check_replay,
        }
        self._log = LogWriter(self.location, agent, seed, **self._settings)

    def decide(self, context: Any, graph: FeedbackGraph, actions: Any = None) -> Decision:
        """Draw an action; the decision is in the log when it is returned.

        `actions` are today's identifiers in the oracle's terms, as in `agent.act`; they must be
        distinct, because feedback is keyed by them.
        """
        return self.decide_many([context], graph, actions)[0]

    def decide_many(
        self, contexts: Iterable[Any], graph: FeedbackGraph, actions: Any = None
    ) -> list[Decision]:
        """One decision per context, as by `decide` in turn, but in one transaction."""
        encoded_actions = encode(as_list(actions), "actions")
        identifiers = read_identifiers(encoded_actions, as_graph(graph).n_actions)
        encoded = [encode(context, "context") for context in contexts]
        with self._guard:
            state, seed = self._log.state(), self._log.start.seed
            known = self._log.graphs.as_read(graph)
            drawn: list[Drawn] = []
            for context in encoded:
                drawn.append(draw(state, seed, decode(context), known, decode(encoded_actions)))
                state = drawn[-1].after
            if drawn:
                with self._log.transaction() as pending:
                    number = self._log.graphs.write(graph)
                    both = zip(drawn, encoded, strict=True)
                    rows = [_as_row(one, x, encoded_actions, number) for one, x in both]
                    insert(pending.storage, rows)
                    pending.state = state
            return [self._as_decision(one, identifiers) for one in drawn]

    def feedback(self, decision_id: str, losses: Losses) -> Acknowledgement:
        """Learn what a decision revealed: {action: loss, ...}, keyed by identifiers.

        The keys are elements of `decision.actions`, or their texts as in JSON ("2" for 2). The
        feedback is durable when this returns. A second one for the same decision changes
        nothing, and the receipt says so. Losses may be missing: {} means that nothing was seen.
        """
        return self.feedback_many({decision_id: losses})[0]

    def feedback_many(self, losses: Mapping[str, Losses]) -> list[Acknowledgement]:
        """Feedback for many decisions, as by `feedback` in turn, but in one transaction."""
        with self._guard:
            self._log.state()
            new, receipts = self._check(losses)
            if new:
                with self._log.transaction() as pending:
                    rows = []
                    for row, indices, values in new:
                        pending.state = learn(pending.state, row, indices, values)
                        content = row.position, indices.tobytes(), values.tobytes()
                        rows.append(FeedbackRow(pending.state.position, time.time(), *content))
                    insert(pending.storage, rows)
            return receipts

    @property
    def n_events(self) -> int:
        """The number of decisions and counted feedbacks, which is that of the last event."""
        with self._guard:
            return self._log.state().position

    @property
    def model_version(self) -> int:
        """The number of feedbacks that the model has learned from."""
        with self._guard:
            return self._log.state().n_feedbacks

    @property
    def agent(self) -> Agent:
        """A copy of the agent as it is now, to look at or to save."""
        with self._guard:
            agent: Agent = copy.deepcopy(self._log.state().agent)
            return agent

    def close(self) -> None:
        """Store a checkpoint and release the log to the next writer; may be called again."""
        with self._guard:
            self._log.close()

    def __enter__(self) -> "Policy":
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __repr__(self) -> str:
        shown = [repr(without_password(self.location))]
        parameters = inspect.signature(Policy).parameters
        for name, value in self._settings.items():
            if value != parameters[name].default:
                is_classes = name == "classes"
                text = f"[{', '.join(c.__name__ for c in value)}]" if is_classes else repr(value)
                shown.append(f"{name}={text}")
        return f"Policy({', '.join(shown)})"

    def _as_decision(self, one: Drawn, identifiers: Identifiers) -> Decision:
        probabilities = tuple(one.probabilities.tolist())
        return Decision(
            decision_id(self._log.start.name, one.after.position),
            identifiers.values[one.action_index],
            one.action_index,
            probabilities[one.action_index],
            identifiers.values,
            probabilities,
            one.gamma,
            one.after.n_feedbacks,
        )

    def _check(
        self, losses: Mapping[str, Losses]
    ) -> tuple[list[NewFeedback], list[Acknowledgement]]:
        """The feedbacks that are new, and the receipts of all; nothing has changed yet."""
        name, shown = self._log.start.name, self._log.shown
        positions = [position_of(text, name, shown) for text in losses]
        rows = records.read_decisions(self._log.storage, positions)
        known = records.read_feedbacks(self._log.storage, positions)
        new, receipts = [], []
        for position, (text, given) in zip(positions, losses.items(), strict=True):
            if position not in rows:
                raise LookupError(f"decision {text!r} is not in the log {shown}")
            row = rows[position]
            graph = self._log.graphs.read(row.graph)
            identifiers = read_identifiers(row.actions, graph.n_actions)
            indices, values = read_losses(given, identifiers, graph, row.action)
            if position in known:
                receipts.append(_second(text, known[position], indices, values))
            else:
                new.append((row, indices, values))
                receipts.append(Acknowledgement(text, True, "counted"))
        return new, receipts


def _second(
    text: str, first: FeedbackRow, indices: NDArray[np.int64], losses: NDArray[np.float64]
) -> Acknowledgement:
    same = (indices.tobytes(), losses.tobytes()) == (first.actions, first.losses)
    message = (
        f"decision {text} already has its feedback (event {first.position}), with "
        f"{'the same' if same else 'other'} losses; this one changes nothing"
    )
    return Acknowledgement(text, False, message)


def _as_row(one: Drawn, context: bytes, actions: bytes, graph: int) -> DecisionRow:
    return DecisionRow(
        one.after.position,
        time.time(),
        graph,
        context,
        actions,
        one.action_index,
        one.probabilities.astype(FLOAT).tobytes(),
        one.gamma,
        one.after.n_feedbacks,
    )
