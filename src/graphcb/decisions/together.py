"""Decisions and feedback in one transaction, each accepted or refused on its own."""

import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cached_property
from typing import Any

import numpy as np

from graphcb.decisions.changing import change, roll_back
from graphcb.decisions.decided import Decided, NewRound
from graphcb.decisions.decision import Acknowledgement, Decision, is_decision_id
from graphcb.decisions.encoding import (
    FLOAT,
    WHOLE,
    Encoded,
    as_encoded,
    decode,
    plain_context,
)
from graphcb.decisions.filling import find_due
from graphcb.decisions.forgetting import Unlearned, forget, hash_of, note_subjects
from graphcb.decisions.frames import Frame, new_frame
from graphcb.decisions.inbox import lock_tokens
from graphcb.decisions.incoming import (
    Asked,
    Found,
    Losses,
    NewFeedback,
    check_asked,
    check_feedback,
    read_asked,
)
from graphcb.decisions.lessons import Lessons
from graphcb.decisions.places import Call, DecidingPlace, Place
from graphcb.decisions.pruning import SLICE, Pruned, Pruning
from graphcb.decisions.records import Forgotten
from graphcb.decisions.storage import LogError
from graphcb.decisions.tables import DecisionRow, FeedbackRow, insert, name_of, new_token
from graphcb.decisions.transition import Drawn, draw, uniform_at
from graphcb.decisions.versions import Change, Version, Versions
from graphcb.decisions.writer import Pending
from graphcb.graphs import FeedbackGraph
from graphcb.problems import Problem
from graphcb.rounds import Agent

FORESEEN = 64  # rounds of a batch, together
WAITING = "waiting"  # the source of a default


class InLog:
    """The log, by its one writer: rows are its next events, and the agent goes on with each."""

    learns = True

    def __init__(self, pending: Pending) -> None:
        self._pending = pending

    def check(self, call: Call) -> None:
        """Refuse what only deciders may write, and calls after the block of the transaction."""
        if self._pending.is_over:
            raise LogError(
                f"{self._pending.storage.location}: this transaction is over; call the policy, or "
                "begin another with together()"
            )
        if self._pending.has_deciders and call != "upkeep":
            raise ValueError(
                f"{self._pending.storage.location}: this log has deciders, which decide and take "
                "feedback; ask one of them (graphcb serve --decide-only, or "
                "graphcb.decisions.Decider)"
            )

    def uniform(self, token: str) -> float:
        """By the number of the event."""
        return uniform_at(self._pending.start.seed, self._pending.state.position + 1)

    def decided(self, drawn: Drawn, row: DecisionRow) -> DecisionRow:
        """The next event."""
        pending = self._pending
        pending.state = drawn.after
        if pending.asker != pending.last_asker:
            pending.begin_run(row.position, pending.asker)
        return row

    def lock(self, names: Sequence[str]) -> None:
        """Nobody else writes."""

    def store(self, decisions: list[DecisionRow], feedbacks: list[FeedbackRow]) -> None:
        """Write rows; the commit follows."""
        for rows in (decisions, feedbacks, self._pending.runs):
            if rows:
                insert(self._pending.storage, rows)
        self._pending.runs.clear()


class Together:
    """An open transaction: calls of a policy that are committed together, or not at all.

    A call that is refused, by a ValueError, a TypeError or a LookupError, leaves the transaction
    as it was, and others may follow, unless `is_spoilt` says that the agent may have changed:
    then nothing is committed. Other places than the log are the same for decisions and feedback, or
    refuse decisions.
    """

    def __init__(
        self,
        pending: Pending,
        place: Place | None = None,
        *,
        decides: DecidingPlace | None = None,
        classes: tuple[type, ...] = (),
        check_replay: bool = True,
    ) -> None:
        self.pending, self.storage = pending, pending.storage
        self.n_withheld = 0  # defaults, as no feedback came at all
        self.unheard = Counter[int]()  # the same, as none ever came for who asked
        in_log = InLog(pending)
        self._place: Place = in_log if place is None else place
        self._decides: DecidingPlace = in_log if decides is None else decides
        self._classes, self._check = classes, check_replay
        self._decisions: list[DecisionRow] = []
        self._subjects: dict[str, tuple[str, str, int]] = {}  # by token
        self._feedbacks: list[FeedbackRow] = []
        self._asked: dict[str, Asked] = {}

    @property
    def is_spoilt(self) -> bool:
        """Whether the agent may have changed by what it refused."""
        return self.pending.is_spoilt

    @cached_property
    def lessons(self) -> Lessons:
        """What its agent learns; a decision does not need this."""
        return Lessons(self.pending, self._classes)

    @property
    def is_in_log(self) -> bool:
        """Whether it writes to the log itself, and not to where the trainer finds it."""
        return self._place.learns

    @property
    def log_name(self) -> str:
        """The first part of the names of this log's decisions."""
        return self.pending.start.name

    @property
    def position(self) -> int:
        """The number of the last event."""
        return self.pending.state.position

    @property
    def model_version(self) -> int:
        """The number of feedbacks that the model has learned from."""
        return self.pending.state.n_feedbacks

    @property
    def version(self) -> Version:
        """The version that decides."""
        return self.pending.versions.last

    @property
    def versions(self) -> Versions:
        """All versions of the log."""
        return self.pending.versions

    def graph(self, number: int) -> FeedbackGraph:
        """A graph of the log by its number."""
        return self.pending.graphs.read(number)

    def decide(
        self,
        context: Any,
        graph: FeedbackGraph | None = None,
        actions: Any = None,
        subject: str | int | None = None,
    ) -> Decision:
        """Draw an action, as `Policy.decide` does."""
        return _as_decision(self.make(context, graph, actions, subject))

    def make(
        self,
        context: Any,
        graph: FeedbackGraph | None = None,
        actions: Any = None,
        subject: str | int | None = None,
    ) -> Decided:
        """`decide`, for those who put the answer into another form."""
        self._place.check("decide")
        pending = self.pending
        problem, frame = pending.versions.last.problem, self._frame(graph, actions)
        context = self._encoded(context)
        if subject is None and problem is not None:
            subject = problem.subject_of(context.value)
        about = None if subject is None else hash_of(subject, pending.start)
        pending.asked = True
        made_at, token = time.time(), new_token()
        uniform = self._decides.uniform(token)
        try:
            drawn = draw(pending.state, uniform, made_at, context.value, frame.graph, frame.given)
        except BaseException as problem:
            self.lessons.note(problem)
            raise
        played, after = drawn.played, drawn.after
        row = DecisionRow(
            after.position,
            made_at,
            frame.number,
            context.content,
            frame.actions,
            played.action,
            np.asarray(played.probabilities, FLOAT).tobytes(),
            drawn.gamma,
            after.n_feedbacks,
            token,
        )
        row = self._decides.decided(drawn, row)
        self._decisions.append(row)
        if about is not None:
            self._subjects[token] = about, token, row.position
        name = name_of(pending.start.name, row)
        return Decided(name, row, frame.identifiers, played.probabilities)

    def _encoded(self, context: Any) -> Encoded:
        """A context with its bytes, as the log will have them."""
        if isinstance(context, Encoded):
            return context
        problem = self.pending.versions.last.problem
        return as_encoded(context if problem is None else plain_context(context))

    def _frame(self, graph: FeedbackGraph | None, actions: Any) -> Frame:
        """The graph and actions of a round; those of a problem's own rounds are kept."""
        graphs, version = self.pending.graphs, self.pending.versions.last
        is_own = graph is not None or actions is not None or bool(self._classes)
        if not is_own and graphs.whole is not None and graphs.whole[0] == version.number:
            kept: Frame = graphs.whole[1]
            return kept
        frame = new_frame(graphs, version.problem, graph, actions)
        if is_own:
            return frame._replace(given=decode(frame.actions)) if self._classes else frame
        graphs.whole = version.number, frame
        return frame

    def decide_rounds(self, rounds: Iterable[NewRound]) -> list[Decision]:
        """One decision per round; if one round is refused, none is decided."""
        return [_as_decision(made) for made in self.make_rounds(rounds)]

    def make_rounds(self, rounds: Iterable[NewRound]) -> list[Decided]:
        """`decide_rounds`, for those who put the answers into another form."""
        whole = [NewRound(self._encoded(context), *rest) for context, *rest in rounds]
        made: list[Decided] = []
        with self.all_or_none():
            for begin in range(0, len(whole), FORESEEN):
                part = whole[begin : begin + FORESEEN]
                self.foresee(part)
                made += [self.make(*one) for one in part]
        return made

    def foresee(self, rounds: Sequence[NewRound]) -> None:
        """Let the agent prepare for rounds with the problem's actions: together it takes less time.

        It is a shortcut: what cannot be foreseen is seen when it is decided.
        """
        foresee = getattr(self.pending.state.agent, "foresee", None)
        usual = (one.context for one in rounds if one.actions is None)
        contexts = [context.value for context in usual if type(context) is Encoded]
        if foresee is not None and len(contexts) > 1:
            with suppress(Exception):
                foresee(contexts)

    @contextmanager
    def all_or_none(self) -> Iterator[None]:
        """Forget the decisions of a block that raises."""
        before, n_rows = self.pending.state, len(self._decisions)
        try:
            yield
        except BaseException:
            self.pending.state = before  # a decision changes a copy of the agent
            for row in self._decisions[n_rows:]:
                self._subjects.pop(row.token, None)
            del self._decisions[n_rows:]
            raise

    def claim(self, keys: Sequence[str]) -> None:
        """Keep other processes from claiming the same until the commit.

        Claim all at once and before anything else, so that no two wait for each other.
        """
        if self.storage.is_shared:
            lock_tokens(self.storage, keys)

    def look_up(self, names: Iterable[str]) -> None:
        """Read many decisions at once that feedback will be for; those of no log are left out."""
        self._read([name for name in names if is_decision_id(name, self.log_name)])

    def find(self, name: str) -> Found:
        """A decision of the log, with the parts of its feedback."""
        if name not in self._asked:
            self._read([name])
        return check_asked(self.pending, name, self._asked[name])

    def feedback(self, name: str, losses: Losses) -> Acknowledgement:
        """Learn what a decision revealed, as `Policy.feedback` does."""
        return self.feedback_many({name: losses})[0]

    def feedback_many(self, losses: Mapping[str, Losses]) -> list[Acknowledgement]:
        """Feedback for many decisions; all of it is checked before any of it is learned."""
        self._place.check("feedback")
        self._read([name for name in losses if name not in self._asked])
        checked = [
            check_feedback(self.pending, name, self.find(name), part)
            for name, part in losses.items()
        ]
        for _, new in checked:
            if new is not None:
                self.add(new)
        return [receipt for receipt, _ in checked]

    def fill_in(self, now: float) -> tuple[int, bool]:
        """Give some decisions the default of their problem, as `Policy.fill_in` does.

        Returns how many got it, and whether no other has to be looked at.
        """
        self._begin_upkeep()
        due = find_due(self.pending, now)
        for row, value in due.rows:
            name = name_of(self.log_name, row)
            asked = self._asked.setdefault(name, Asked(row.token, row, []))
            played, loss = np.array([row.action], WHOLE), np.array([value], FLOAT)
            self.add(NewFeedback(row, asked.parts, played, loss, source=WAITING))
        self.pending.waited = due.waited
        self.n_withheld += due.n_withheld
        self.unheard += due.unheard
        return len(due.rows), due.is_done

    def prune(self, before: float) -> Pruned:
        """Remove old decisions, as `Policy.prune` does, but all at once."""
        pruning = Pruning(before)
        self.prune_some(pruning, seconds=float("inf"))
        return pruning.done

    def prune_some(self, pruning: Pruning, seconds: float = SLICE) -> bool:
        """Go on to remove old decisions for a while; whether all are removed."""
        self._begin_upkeep()
        return pruning.go_on(self.pending, self._classes, check=self._check, seconds=seconds)

    def forget(
        self, subject: str | int, *, unlearn: bool = False, so_far: Unlearned | None = None
    ) -> Forgotten:
        """Remove all that is about a person, as `Policy.forget` does.

        What was unlearned `so_far`, by `Policy.unlearned`, makes the transaction short.
        """
        self._begin_upkeep()
        self._asked.clear()
        return forget(self.pending, subject, self._classes, unlearn=unlearn, so_far=so_far)

    def change(
        self, problem: Problem | None = None, agent: Agent | None = None, note: str = ""
    ) -> Change:
        """Begin another version, as `Policy.change` does."""
        self._begin_upkeep()
        return change(self.pending, problem, agent, note, self._classes)

    def roll_back(self, version: int, note: str = "") -> Change:
        """Begin a version that is an earlier one again, as `Policy.roll_back` does."""
        self._begin_upkeep()
        return roll_back(self.pending, version, note, self._classes, check=self._check)

    def _begin_upkeep(self) -> None:
        self._place.check("upkeep")
        self.store()

    def finish(self) -> None:
        """Write what was decided and learned; the commit follows."""
        if self.pending.is_spoilt:
            raise LogError(
                f"{self.storage.location}: a call failed in a way that may have changed the "
                "agent, so that nothing of this transaction was written; call again"
            )
        self.store()

    def _read(self, names: list[str]) -> None:
        if names:
            self.store()
            self._place.lock(names)
            self._asked.update(read_asked(self.pending, self.log_name, names))

    def store(self) -> None:
        """Write the rows that were added."""
        self._place.store(self._decisions, self._feedbacks)
        if self._subjects:
            note_subjects(self.storage, list(self._subjects.values()))
            self._subjects.clear()
        self._decisions.clear()
        self._feedbacks.clear()

    def add(self, new: NewFeedback) -> None:
        """Add a feedback, which the agent learns here and now if this is the place for that."""
        received_at = time.time() if new.received_at is None else new.received_at
        given = received_at, new.row.position, new.indices.tobytes(), new.losses.tobytes()
        if self._place.learns:
            self.lessons.learn(new)
            row = FeedbackRow(self.pending.state.position, *given, new.source)
            new.parts.append(row)
        else:
            row = FeedbackRow(0, *given, new.row.token)
            new.parts.append(row._replace(source=None))
        self._feedbacks.append(row)


def _as_decision(made: Decided) -> Decision:
    """A decision as `Policy.decide` returns it."""
    row, names, probabilities = made.row, made.identifiers.values, made.probabilities.tolist()
    return Decision(
        made.decision_id,
        names[row.action],
        row.action,
        probabilities[row.action],
        names,
        tuple(probabilities),
        row.gamma,
        row.model_version,
    )
