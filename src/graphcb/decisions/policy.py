"""A policy: decides, takes feedback whenever it comes, and forgets nothing."""

import copy
import inspect
import os
import threading
import time
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager, suppress
from typing import Any

from graphcb.agents import Agent, Played
from graphcb.decisions.decision import Acknowledgement, Decision, decision_id, new_token
from graphcb.decisions.encoding import FLOAT, decode, encode, numbers
from graphcb.decisions.identifiers import Identifiers, as_list, read_identifiers
from graphcb.decisions.incoming import Losses, NewFeedback, check_feedbacks, read_whole
from graphcb.decisions.storage import Durability, LogError, without_password
from graphcb.decisions.tables import DecisionRow, FeedbackRow, insert
from graphcb.decisions.transition import Drawn, draw, learn
from graphcb.decisions.writer import LogWriter, Pending
from graphcb.graphs import FeedbackGraph, as_graph
from graphcb.problems import Problem, plain_actions, plain_context, problem_of


class Policy:
    """An agent whose decisions and feedbacks are in a log before they are returned.

    `log` is the path of a SQLite file or a URL postgresql://user@host/database. The log is
    created with `agent` and `seed` (random if left out), or continued where it stopped, however
    it stopped; `agent` may then be left out.

    Whatever was returned stays in the log: with `durability="power-loss"` even if the machine
    loses power, with the faster "process-kill" if only the process dies; a power cut, or a crash
    of PostgreSQL's server, may then lose the last moments. If a call raises, it is unknown
    whether its event is in the log: call again, and the policy rebuilds itself from the log. To
    copy a log, use `graphcb log backup`: its file alone lacks the latest events.

    One process writes a log, and a forked child is refused; several threads may share one
    policy. Every `checkpoint_every` events the agent is stored as well, which only makes the
    next start faster. `classes` are those of your own that the agent contains, as in
    `graphcb.load`. With `check_replay=False` a log continues even if its decisions no longer
    come out the same.

    With a `problem`, the log is created with a `graphcb.Learner` for it, and `agent` may be the
    agent inside. Decisions, feedback and errors then use its names and its losses or rewards,
    contexts may be dicts, and `graph` and `actions` are those of the problem. If the problem says
    that nobody knows the graph beforehand, the log has in its place what can be revealed.

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
        problem: Problem | None = None,
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
        self._log = LogWriter(self.location, agent, seed, problem, **self._settings)
        try:
            self.problem = problem_of(self._log.state().agent)
        except BaseException:
            self._log.storage.close()
            raise

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
        graph, actions = self._round(graph, actions)
        encoded_actions = encode(actions, "actions")
        identifiers = read_identifiers(encoded_actions, graph.n_actions)
        if self.problem is not None:
            contexts = map(plain_context, contexts)
        encoded = [encode(context, "context") for context in contexts]
        if not encoded:
            return []
        with self._alone(), self._log.transaction() as pending:
            number, known = pending.graphs.write(graph)
            pending.asked = True
            rows, made = [], []
            for context in encoded:
                given = decode(context), known, decode(encoded_actions)
                made_at = time.time()
                one = draw(pending.state, self._log.start.seed, made_at, *given)
                row = _as_row(one, made_at, context, encoded_actions, number)
                rows.append(row)
                made.append(self._as_decision(one, row, identifiers))
                pending.state = one.after
            insert(pending.storage, rows)
        return made

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
        with self._alone(), self._log.transaction() as pending:
            checked = check_feedbacks(pending, self._log.start.name, losses)
            rows = []
            for new in checked:
                if new.receipt.counted:
                    rows.append(_learn(pending, new))
            if rows:
                insert(pending.storage, rows)
        return [new.receipt for new in checked]

    @property
    def n_events(self) -> int:
        """The number of decisions and counted feedbacks, which is that of the last event."""
        with self._alone():
            return self._log.state().position

    @property
    def model_version(self) -> int:
        """The number of feedbacks that the model has learned from, each part of one counted."""
        with self._alone():
            return self._log.state().n_feedbacks

    @property
    def agent(self) -> Agent:
        """A copy of the agent as it is now, to look at or to save."""
        with self._alone():
            agent: Agent = copy.deepcopy(self._log.state().agent)
            return agent

    def close(self) -> None:
        """Store a checkpoint and release the log to the next writer; may be called again."""
        with suppress(LogError), self._alone():
            self._log.close()

    def _alone(self) -> AbstractContextManager[Any]:
        """One thread at a time; a forked child is refused before it could wait for another's."""
        self._log.check_process()
        return self._guard

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

    def _round(self, graph: FeedbackGraph | None, actions: Any) -> tuple[FeedbackGraph, Any]:
        """The graph of a round and its actions, as they are logged."""
        if self.problem is None:
            if graph is None:
                raise TypeError(
                    "`graph` must be given, as this log was created without a problem that says "
                    "what actions reveal"
                )
            return as_graph(graph), as_list(actions)
        names = self.problem.names_of(actions)
        is_mapping = isinstance(actions, Mapping)
        listed = plain_actions(actions) if is_mapping else list(names)
        return self.problem.graph_for(names, graph), listed

    def _as_decision(self, one: Drawn, row: DecisionRow, identifiers: Identifiers) -> Decision:
        probabilities = tuple(one.probabilities.tolist())
        return Decision(
            decision_id(self._log.start.name, row.position, row.token),
            identifiers.values[one.action_index],
            one.action_index,
            probabilities[one.action_index],
            identifiers.values,
            probabilities,
            one.gamma,
            one.after.n_feedbacks,
        )


def _learn(pending: Pending, new: NewFeedback) -> FeedbackRow:
    """Teach the agent, which learns in place, and return the row to be stored."""
    decision = read_whole(pending, new.decision)
    pending.asked = True
    played = Played(
        decode(decision.context),
        pending.graphs.read(decision.graph),
        decode(decision.actions),
        numbers(decision.probabilities, FLOAT),
        decision.action,
        known=new.known,
    )
    pending.state = learn(pending.state, played, new.indices, new.losses)
    pending.learned = True
    pending.answered.append(decision.position)
    content = decision.position, new.indices.tobytes(), new.losses.tobytes()
    return FeedbackRow(pending.state.position, time.time(), *content)


def _as_row(one: Drawn, made_at: float, context: bytes, actions: bytes, graph: int) -> DecisionRow:
    return DecisionRow(
        one.after.position,
        made_at,
        graph,
        context,
        actions,
        one.action_index,
        one.probabilities.astype(FLOAT).tobytes(),
        one.gamma,
        one.after.n_feedbacks,
        new_token(),
    )
