"""Decisions and feedback in one transaction, each accepted or refused on its own."""

import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from graphcb.agents import Agent, Played, hook
from graphcb.decisions.changing import change, roll_back
from graphcb.decisions.decision import (
    Acknowledgement,
    Decision,
    is_decision_id,
    name_of,
    new_token,
)
from graphcb.decisions.encoding import (
    FLOAT,
    WHOLE,
    Encoded,
    decode,
    encode,
    numbers,
    read_identifiers,
)
from graphcb.decisions.filling import find_due
from graphcb.decisions.incoming import (
    Asked,
    Found,
    Losses,
    NewFeedback,
    check_asked,
    check_feedback,
    read_asked,
    read_whole,
)
from graphcb.decisions.pruning import Pruned, prune
from graphcb.decisions.records import read_decisions
from graphcb.decisions.storage import LogError, Storage
from graphcb.decisions.tables import DecisionRow, FeedbackRow, LogStart, insert
from graphcb.decisions.transition import Drawn, draw, learn, uniform_at
from graphcb.decisions.versions import Change, Version, Versions, learn_earlier
from graphcb.decisions.writer import Pending
from graphcb.graphs import FeedbackGraph, as_graph
from graphcb.problems import Problem, plain_actions, plain_context
from graphcb.rounds.identifiers import Identifiers, as_list

WAITING = "waiting"  # the source of a default


class NewRound(NamedTuple):
    """What is decided on: the arguments of `Policy.decide`."""

    context: Any
    graph: FeedbackGraph | None = None
    actions: Any = None


class _Frame(NamedTuple):
    """The graph and the actions of a round, as they are logged and as they are read back."""

    number: int
    graph: FeedbackGraph
    actions: bytes
    identifiers: Identifiers


class Together:
    """An open transaction: calls of a policy that are committed together, or not at all.

    A call that is refused, by a ValueError, a TypeError or a LookupError, leaves the transaction
    as it was, and others may follow, unless `is_spoilt` says that the agent may have changed:
    then nothing is committed.
    """

    def __init__(
        self,
        pending: Pending,
        start: LogStart,
        *,
        classes: tuple[type, ...] = (),
        check_replay: bool = True,
    ) -> None:
        self.storage: Storage = pending.storage
        self.is_spoilt = False
        self._pending, self._start, self._problem = pending, start, pending.versions.last.problem
        self._classes, self._check = classes, check_replay
        self._trusts_agent = not classes
        self._decisions: list[DecisionRow] = []
        self._feedbacks: list[FeedbackRow] = []
        self._asked: dict[str, Asked] = {}
        self._whole: _Frame | None = None

    @property
    def log_name(self) -> str:
        """The first part of the names of this log's decisions."""
        return self._start.name

    @property
    def position(self) -> int:
        """The number of the last event."""
        return self._pending.state.position

    @property
    def model_version(self) -> int:
        """The number of feedbacks that the model has learned from."""
        return self._pending.state.n_feedbacks

    @property
    def version(self) -> Version:
        """The version that decides."""
        return self._pending.versions.last

    @property
    def versions(self) -> Versions:
        """All versions of the log."""
        return self._pending.versions

    def graph(self, number: int) -> FeedbackGraph:
        """A graph of the log by its number."""
        return self._pending.graphs.read(number)

    def decide(
        self, context: Any, graph: FeedbackGraph | None = None, actions: Any = None
    ) -> Decision:
        """Draw an action, as `Policy.decide` does."""
        self._check_place()
        frame = self._frame(graph, actions)
        if not isinstance(context, Encoded):
            plain = context if self._problem is None else plain_context(context)
            content = encode(plain, "context")
            context = Encoded(content, decode(content))
        pending = self._pending
        given = context.value, frame.graph, self._decoded(frame.actions)
        pending.asked = True
        made_at, token = time.time(), new_token()
        try:
            one = draw(pending.state, self._uniform(token), made_at, *given)
        except BaseException as problem:
            self._note(problem)
            raise
        row = self._decided(one, _as_row(one, made_at, context.content, frame, token))
        self._decisions.append(row)
        return self._as_decision(one, row, frame.identifiers)

    def _check_place(self) -> None:
        """Refuse what only deciders may write."""
        if self._pending.has_deciders:
            raise ValueError(
                f"{self.storage.location}: this log has deciders, which decide and take feedback; "
                "ask one of them (graphcb serve --decide-only, or graphcb.decisions.Decider)"
            )

    def _uniform(self, token: str) -> float:
        """The number by which the next action is drawn."""
        return uniform_at(self._start.seed, self._pending.state.position + 1)

    def _decided(self, one: Drawn, row: DecisionRow) -> DecisionRow:
        """The decision as it is logged; the agent goes on."""
        self._pending.state = one.after
        return row

    def decide_rounds(self, rounds: Iterable[NewRound]) -> list[Decision]:
        """One decision per round; if one round is refused, none is decided."""
        with self.all_or_none():
            return [self.decide(*one) for one in rounds]

    @contextmanager
    def all_or_none(self) -> Iterator[None]:
        """Forget the decisions of a block that raises."""
        before, n_rows = self._pending.state, len(self._decisions)
        try:
            yield
        except BaseException:
            self._pending.state = before  # a decision changes a copy of the agent
            del self._decisions[n_rows:]
            raise

    def look_up(self, names: Iterable[str]) -> None:
        """Read many decisions at once that feedback will be for; those of no log are left out."""
        self._read([name for name in names if is_decision_id(name, self._start.name)])

    def find(self, name: str) -> Found:
        """A decision of the log, with the parts of its feedback."""
        if name not in self._asked:
            self._read([name])
        return check_asked(self._pending, name, self._asked[name])

    def feedback(self, name: str, losses: Losses) -> Acknowledgement:
        """Learn what a decision revealed, as `Policy.feedback` does."""
        return self.feedback_many({name: losses})[0]

    def feedback_many(self, losses: Mapping[str, Losses]) -> list[Acknowledgement]:
        """Feedback for many decisions; all of it is checked before any of it is learned."""
        self._check_place()
        self._read([name for name in losses if name not in self._asked])
        checked = [
            check_feedback(self._pending, name, self.find(name), part)
            for name, part in losses.items()
        ]
        for new in checked:
            if new.receipt.counted:
                self._learn(new)
        return [new.receipt for new in checked]

    def fill_in(self, now: float) -> tuple[int, bool]:
        """Give some decisions the default of their problem, as `Policy.fill_in` does.

        Returns how many got it, and whether no other has to be looked at.
        """
        self._store()
        due = find_due(self._pending, now)
        for row, value in due.rows:
            name = name_of(self._start.name, row)
            asked = self._asked.setdefault(name, Asked(row.token, row, []))
            told = np.array([row.action], dtype=WHOLE), np.array([value], dtype=FLOAT)
            receipt = Acknowledgement(name, True, "by default")
            self._learn(NewFeedback(row, asked.parts, *told, receipt, source=WAITING))
        self._pending.waited = due.waited
        return len(due.rows), due.is_done

    def prune(self, before: float) -> Pruned:
        """Remove old decisions, as `Policy.prune` does."""
        self._store()
        given = self._pending, self._start, before, self._classes
        pruned = prune(*given, check=self._check)
        self._start = self._pending.start
        known = [asked.row.position for asked in self._asked.values() if asked.row is not None]
        left = {row.position for row in read_decisions(self.storage, known)}
        for name, asked in self._asked.items():
            if asked.row is not None and asked.row.position not in left:
                self._asked[name] = Asked(asked.token, None, [])
        return pruned

    def change(
        self, problem: Problem | None = None, agent: Agent | None = None, note: str = ""
    ) -> Change:
        """Begin another version, as `Policy.change` does."""
        self._store()
        return self._changed(change(self._pending, problem, agent, note, self._classes))

    def roll_back(self, version: int, note: str = "") -> Change:
        """Begin a version that is an earlier one again, as `Policy.roll_back` does."""
        self._store()
        given = self._pending, self._start, version, note, self._classes
        return self._changed(roll_back(*given, check=self._check))

    def _changed(self, made: Change) -> Change:
        self._problem, self._whole = made.version.problem, None
        return made

    def finish(self) -> None:
        """Write what was decided and learned; the commit follows."""
        if self.is_spoilt:
            raise LogError(
                f"{self.storage.location}: a call failed in a way that may have changed the "
                "agent, so that nothing of this transaction was written; call again"
            )
        self._store()

    def _read(self, names: list[str]) -> None:
        if names:
            self._store()
            self._asked.update(read_asked(self._pending, self._start.name, names))

    def _store(self) -> None:
        for rows in (self._decisions, self._feedbacks):
            if rows:
                insert(self.storage, rows)
                rows.clear()

    def _learn(self, new: NewFeedback) -> None:
        """Teach the agent, which learns in place."""
        pending = self._pending
        decision = read_whole(pending, new.row)
        played = self._played(decision)._replace(known=new.known)
        pending.asked = True
        judges = hook(pending.state.agent, "judge") is not None
        then, now = pending.versions.of(decision), pending.versions.last
        told = pending.state, played, new.indices, new.losses
        try:
            if then.number == now.number:
                pending.state = learn(*told)
            else:
                pending.state = learn_earlier(*told, then.problem, now.problem)
        except BaseException as problem:
            self._note(problem)
            self.is_spoilt = self.is_spoilt or judges  # it has judged what it did not learn
            raise
        pending.learned = True
        pending.answered.append(decision.position)
        content = decision.position, new.indices.tobytes(), new.losses.tobytes()
        received_at = time.time() if new.received_at is None else new.received_at
        row = FeedbackRow(pending.state.position, received_at, *content, new.source)
        self._feedbacks.append(row)
        new.parts.append(row)

    def _played(self, row: DecisionRow) -> Played:
        return Played(
            decode(row.context),
            self._pending.graphs.read(row.graph),
            self._decoded(row.actions),
            numbers(row.probabilities, FLOAT),
            row.action,
        )

    def _decoded(self, actions: bytes) -> Any:
        """The actions of a round; an agent of graphcb's own classes does not write to them."""
        return _read_once(actions) if self._trusts_agent else decode(actions)

    def _note(self, problem: BaseException) -> None:
        """A refused call leaves an agent of graphcb's own classes as it was, no other."""
        refused = isinstance(problem, ValueError | TypeError)
        self.is_spoilt = self.is_spoilt or not (refused and self._trusts_agent)

    def _frame(self, graph: FeedbackGraph | None, actions: Any) -> _Frame:
        if graph is None and actions is None:
            if self._whole is None:
                self._whole = self._new_frame(None, None)
            return self._whole
        return self._new_frame(graph, actions)

    def _new_frame(self, graph: FeedbackGraph | None, actions: Any) -> _Frame:
        graph, actions = self._round(graph, actions)
        encoded = encode(actions, "actions")
        identifiers = read_identifiers(encoded, graph.n_actions)
        number, known = self._pending.graphs.write(graph)
        return _Frame(number, known, encoded, identifiers)

    def _round(self, graph: FeedbackGraph | None, actions: Any) -> tuple[FeedbackGraph, Any]:
        """The graph of a round and its actions, as they are logged."""
        if self._problem is None:
            if graph is None:
                raise TypeError(
                    "`graph` must be given, as this log was created without a problem that says "
                    "what actions reveal"
                )
            return as_graph(graph), as_list(actions)
        names = self._problem.names_of(actions)
        is_mapping = isinstance(actions, Mapping)
        listed = plain_actions(actions) if is_mapping else list(names)
        return self._problem.graph_for(names, graph), listed

    def _as_decision(self, one: Drawn, row: DecisionRow, identifiers: Identifiers) -> Decision:
        probabilities, index = tuple(one.played.probabilities.tolist()), one.played.action
        return Decision(
            name_of(self._start.name, row),
            identifiers.values[index],
            index,
            probabilities[index],
            identifiers.values,
            probabilities,
            one.gamma,
            one.after.n_feedbacks,
        )


_read_once = lru_cache(maxsize=16)(decode)


def _as_row(one: Drawn, made_at: float, context: bytes, frame: _Frame, token: str) -> DecisionRow:
    return DecisionRow(
        one.after.position,
        made_at,
        frame.number,
        context,
        frame.actions,
        one.played.action,
        one.played.probabilities.astype(FLOAT).tobytes(),
        one.gamma,
        one.after.n_feedbacks,
        token,
    )
