"""What the agent of a transaction learns: feedback, and rounds that were decided elsewhere."""

from collections.abc import Sequence
from itertools import accumulate
from typing import Any

from graphcb.decisions.encoding import FLOAT, decode, numbers, read_once
from graphcb.decisions.incoming import NewFeedback, read_whole
from graphcb.decisions.records import BYTES_AT_ONCE
from graphcb.decisions.tables import DecisionRow
from graphcb.decisions.transition import Passed, learn, pass_by
from graphcb.decisions.versions import learn_earlier
from graphcb.decisions.writer import Pending
from graphcb.rounds import Played, hook


class Lessons:
    """Teaches the agent, which goes on in `pending.state`."""

    def __init__(self, pending: Pending, classes: tuple[type, ...]) -> None:
        self._pending, self._classes = pending, classes
        self._passed: dict[str, Played] = {}  # by token

    def pass_by(self, rows: Sequence[DecisionRow]) -> list[DecisionRow]:
        """Decisions that were made elsewhere as the next events, which the caller writes."""
        pending, first = self._pending, self._pending.state.position + 1
        pending.asked = True
        versions = [pending.versions.of(row).number for row in rows]
        made_at = [row.made_at for row in rows]
        played = map(self._kept, rows, accumulate(len(row.context) for row in rows))
        pending.state = pass_by(pending.state, map(Passed, made_at, versions, played))
        return [DecisionRow(first + k, *row[1:-1]) for k, row in enumerate(rows)]

    def learn(self, new: NewFeedback) -> None:
        """Teach the agent, which learns in place."""
        pending = self._pending
        decision = read_whole(pending, new.row)
        played = self._passed.get(decision.token) or self._played(decision)
        by_default = new.source is not None
        if by_default or new.known is not None:
            played = played._replace(known=new.known, by_default=by_default)
        pending.asked = True
        then, now = pending.versions.of(decision), pending.versions.last
        try:
            if then.number == now.number:
                pending.state = learn(pending.state, played, new.indices, new.losses)
            else:
                pending.state = learn_earlier(
                    pending.state,
                    played,
                    new.indices,
                    new.losses,
                    then=then.problem,
                    now=now.problem,
                )
        except BaseException as problem:
            self.note(problem)
            if hook(pending.state.agent, "on_feedback") is not None:
                pending.is_spoilt = True  # by what it heard of and did not learn
            raise
        pending.learned = True
        pending.answered.append(decision.position)

    def _played(self, row: DecisionRow) -> Played:
        return Played(
            decode(row.context),
            self._pending.graphs.read(row.graph),
            self._decoded(row.actions),
            numbers(row.probabilities, FLOAT),
            row.action,
        )

    def _kept(self, row: DecisionRow, n_bytes: int) -> Played:
        """The round of a decision, which is kept for its feedback with others of so many bytes.

        Not for an agent of other classes, which may have written to it.
        """
        played = self._played(row)
        if n_bytes <= BYTES_AT_ONCE and not self._classes:
            self._passed[row.token] = played
        return played

    def _decoded(self, actions: bytes) -> Any:
        """The actions of a round; an agent of graphcb's own classes does not write to them."""
        return read_once(actions) if not self._classes else decode(actions)

    def note(self, problem: BaseException) -> None:
        """A refused call leaves an agent of graphcb's own classes as it was, no other."""
        if self._classes or not isinstance(problem, ValueError | TypeError):
            self._pending.is_spoilt = True
