"""A policy: decides, takes feedback whenever it comes, and forgets nothing."""

import builtins
import copy
import inspect
import os
import threading
import time
import warnings
import weakref
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import TYPE_CHECKING, Any

from graphcb.contexts.frames import each_row
from graphcb.decisions.dating import dated
from graphcb.decisions.decided import NewRound
from graphcb.decisions.decision import Acknowledgement, Decision
from graphcb.decisions.forgetting import Unlearned, unlearned
from graphcb.decisions.incoming import Losses, by_decision
from graphcb.decisions.log import DecisionLog
from graphcb.decisions.pruning import DAY, Pruned, Pruning
from graphcb.decisions.records import Forgotten
from graphcb.decisions.storage import Durability, LogError, without_password
from graphcb.decisions.taking_in import AT_ONCE, take_in
from graphcb.decisions.together import Together
from graphcb.decisions.versions import Change, Versions
from graphcb.decisions.writer import LogWriter, Took
from graphcb.estimates.stillness import Alarm
from graphcb.graphs import FeedbackGraph
from graphcb.problems import Problem
from graphcb.problems.alarms import alarms_of
from graphcb.problems.guarded import match_rate_of
from graphcb.rounds import Agent

if TYPE_CHECKING:
    from graphcb.decisions.explaining import Explanation


_OPENED: "weakref.WeakSet[Policy]" = weakref.WeakSet()


def is_in_notebook() -> bool:
    """Whether people run cells, and run them again."""
    return hasattr(builtins, "__IPYTHON__")


def close_earlier(location: str) -> None:
    """Close the policies of this process that hold a log, as its cell is run again."""
    for policy in list(_OPENED):
        if os.path.realpath(policy.location) == os.path.realpath(location):
            policy.close()


class TakesFeedback(ABC):
    """How feedback is given: each call is a transaction of its own."""

    @abstractmethod
    def together(self) -> AbstractContextManager[Together]:
        """A transaction for calls that come at the same time."""

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

    async def afeedback(self, decision_id: str, losses: Losses) -> Acknowledgement:
        """`feedback` in an event loop, which goes on meanwhile; see `Calls.adecide`."""
        import asyncio  # which few programs need

        return await asyncio.to_thread(self.feedback, decision_id, losses)

    def feedback_many(self, losses: Mapping[str, Losses]) -> list[Acknowledgement]:
        """Feedback for many decisions, as by `feedback` in turn, but in one transaction.

        A data frame has a column `decision_id`, and one for each action that has feedback; a cell
        without a value says nothing.
        """
        losses = by_decision(losses)
        if not losses:
            return []
        with self.together() as together:
            return together.feedback_many(losses)


class Calls(TakesFeedback):
    """How a policy and a decider are asked for decisions, too."""

    def decide(
        self,
        context: Any,
        graph: FeedbackGraph | None = None,
        actions: Any = None,
        *,
        subject: str | int | None = None,
    ) -> Decision:
        """Draw an action; the decision is in the log when it is returned.

        `actions` are today's identifiers in the oracle's terms, as in `agent.act`; they must be
        distinct, because feedback is keyed by them. With a problem they are names, or a mapping
        from names to features; the problem gives what is left out. Without one, `graph` is needed.
        `subject` is whom it is about, by whom it can be forgotten: the log keeps a hash of it.
        """
        with self.together() as together:
            return together.decide(context, graph, actions, subject)

    async def adecide(
        self,
        context: Any,
        graph: FeedbackGraph | None = None,
        actions: Any = None,
        *,
        subject: str | int | None = None,
    ) -> Decision:
        """`decide` in an event loop, which goes on while the decision is made and written.

        A thread makes it, one at a time. If the task is cancelled, the decision is made all the
        same, as if its answer had been lost.
        """
        import asyncio  # which few programs need

        return await asyncio.to_thread(self.decide, context, graph, actions, subject=subject)

    def decide_many(
        self, contexts: Iterable[Any], graph: FeedbackGraph | None = None, actions: Any = None
    ) -> list[Decision]:
        """One decision per context, as by `decide` in turn, but in one transaction.

        `contexts` may be a data frame of pandas, polars or pyarrow, whose rows they are.
        """
        return self.decide_rounds((context, graph, actions) for context in each_row(contexts))

    def decide_rounds(
        self, rounds: Iterable[tuple[Any, FeedbackGraph | None, Any]]
    ) -> list[Decision]:
        """As `decide_many` for rounds (context, graph, actions) that differ in all of these."""
        asked = [NewRound(*one) for one in rounds]
        if not asked:
            return []
        with self.together() as together:
            return together.decide_rounds(asked)


class Policy(Calls):
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
    policy. Other processes on the machine give feedback with `graphcb.Inbox`, which this one
    learns when it opens the log or is called. In a notebook, opening a log again closes the policy
    of an earlier cell. In an event loop, use `adecide` and `afeedback`. Every `checkpoint_every`
    events the agent is stored as well, which only makes the next start faster. `classes` are those
    of your own that the agent contains, as in `graphcb.load`. With `check_replay=False` a log
    continues even if its decisions no longer come out the same.

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
        if isinstance(agent, Problem):
            raise TypeError(
                "`agent` must be an agent, got a Problem; write Policy(log, problem=...)"
            )
        self.location = os.fspath(log)
        if is_in_notebook():
            close_earlier(self.location)
        self._guard = threading.RLock()
        self._settings: dict[str, Any] = {
            "durability": durability,
            "checkpoint_every": checkpoint_every,
            "classes": tuple(classes),
            "check_replay": check_replay,
        }
        self._log = LogWriter(self.location, agent, seed, problem, **self._settings)
        try:
            self._log.state()
            while self._log.has_waiting:
                with self._transaction(take_in_at_most=AT_ONCE):
                    pass
            _OPENED.add(self)
        except BaseException:
            self._log.storage.close()
            raise

    def together(self) -> AbstractContextManager[Together]:
        """A transaction for decisions and feedback that come at the same time.

        What the calls inside it return is in the log once the block has ended. Each may be
        refused on its own: catch its error inside the block, and the others stay.
        """
        return self._transaction()

    @contextmanager
    def _transaction(self, take_in_at_most: int | None = None) -> Iterator[Together]:
        with self._alone(), self._log.transaction() as pending:
            classes, check = self._settings["classes"], self._settings["check_replay"]
            together = Together(pending, classes=classes, check_replay=check)
            try:
                if pending.has_mail:
                    take_in(together, take_in_at_most)
                yield together
                together.finish()
            finally:
                pending.is_over = True

    def fill_in(self, now: float | None = None) -> int:
        """Give decisions that have waited long enough the default of their problem; how many.

        For problems with defaults {"waiting": seconds, "loss": number}. A decision without any
        feedback after this time gets the number as the loss or reward of its action, if playing
        it surely reveals that. The agent learns it. Feedback that comes later takes its place for
        everyone who reads the log, and is learned as well. `now` is in seconds since 1970, the
        present if left out. The service calls this by itself; call it now and then otherwise.
        """
        seconds = time.time() if now is None else float(now)
        total, is_done = 0, False
        while not is_done:
            with self.together() as together:
                count, is_done = together.fill_in(seconds)
            total += count
        return total

    def prune(self, before: float | None = None) -> Pruned:
        """Remove the decisions made before a time, in seconds since 1970, with their feedback.

        Left out, it is `keep_days` of the problem's defaults ago. The model stays as it is: the
        log then starts from the agent after the last event that was removed, and is replayed
        from there, or from a later event at which the agent was stored, if that one is far from
        any. Feedback for a removed decision is refused with a LookupError. All is done in many
        short transactions; other threads may decide in between.
        """
        pruning = Pruning(self._keep_from(time.time()) if before is None else float(before))
        is_done = False
        while not is_done:
            with self.together() as together:
                is_done = together.prune_some(pruning)
            time.sleep(0.0)  # a thread that waits may go first
        return pruning.done

    def forget(self, subject: str | int, *, unlearn: bool = False) -> Forgotten:
        """Remove contexts, outcomes and names of all decisions about a person.

        These are the decisions that were made with this `subject`. The model stays as it is; with
        `unlearn`, it is rebuilt as if they had not been made, by a replay of all others, while
        other threads may decide. The log is replayed from this moment on. The receipt, which has a
        hash of the person, stays in the log (`DecisionLog.receipts`). What is deleted is
        overwritten in a SQLite file; a warning says what is left where. Backups are logs too:
        forget the person in each.
        """
        so_far = self.unlearned(subject) if unlearn else None
        with self.together() as together:
            receipt = together.forget(subject, unlearn=unlearn, so_far=so_far)
        if left := self.scrub():
            warnings.warn(left, RuntimeWarning, stacklevel=2)
        return receipt

    def unlearned(self, subject: str | int) -> Unlearned | None:
        """What `forget` with `unlearn` comes to, for `Together.forget`; others decide meanwhile."""
        return unlearned(self.location, subject, self._settings["classes"])

    def scrub(self) -> str:
        """Overwrite what deleted rows have left on disk; what could not be done, "" if nothing."""
        with self._alone():
            self._log.state()  # which may have to open the log again
            return self._log.storage.scrub()

    def _keep_from(self, now: float) -> float:
        defaults = None if self.problem is None else self.problem.defaults
        if defaults is None or defaults.keep_days is None:
            raise ValueError(
                "`before` must be given, as the problem does not say [defaults] keep_days"
            )
        return now - DAY * defaults.keep_days

    def change(
        self, problem: Problem | None = None, *, agent: Agent | None = None, note: str = ""
    ) -> Change:
        """Go on with another problem or agent; the change is an event of the log.

        What was learned is kept where it keeps its meaning, as `problems.succeed` says, and the
        result has sentences on that. With an `agent`, which may be trained, that one decides. Late
        feedback for earlier decisions is still taken, in the terms of their version, and
        learned as far as the new agent understands it. Each decision belongs to the version that
        made it, and is replayed, exported and evaluated with its problem.
        """
        with self.together() as together:
            return together.change(problem, agent, note)

    def roll_back(self, version: int, *, note: str = "") -> Change:
        """Go back to the problem and the agent of an earlier version, as they were at its end.

        This is a change like any other: nothing is removed from the log. The agent is rebuilt
        from the log. Budgets go on with what was spent since then.
        """
        with self.together() as together:
            return together.roll_back(version, note)

    def explain(self, decision_id: str) -> "Explanation":
        """Why a decision was made: what was expected of each action, and what spoke for it.

        The state at that moment is replayed from the log, from the last checkpoint before it.
        Nothing is kept for this when deciding.
        """
        from graphcb.decisions.explaining import explain  # not needed to decide

        with DecisionLog(self.location) as log:
            return explain(log, decision_id, classes=self._settings["classes"])

    @property
    def problem(self) -> Problem | None:
        """The problem that is decided now, if there is one."""
        return self.versions.last.problem

    @property
    def versions(self) -> Versions:
        """All versions of the log in order; the last one decides."""
        with suppress(LogError), self._alone():
            self._log.state()  # which may have to open the log again
        return self._log.versions

    @property
    def n_events(self) -> int:
        """The number of the last event: decisions, counted feedbacks and changes."""
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

    @property
    def alarms(self) -> list[Alarm]:
        """The actions and features that have looked different, the latest first."""
        with self._alone():
            state = self._log.state()
            return dated(alarms_of(state.agent), self._log.storage, state, self._log.start)

    @property
    def match_rate(self) -> float | None:
        """How often the agent in a shadow would have played as the baseline did; None for others.

        It is counted since the version began.
        """
        with self._alone():
            return match_rate_of(getattr(self._log.state().agent, "agent", None))

    @property
    def last_checkpoint(self) -> Took | None:
        """When this process last stored a checkpoint, and how long that took."""
        return self._log.last_checkpoint

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
        parameters = inspect.signature(type(self)).parameters
        for name, value in self._settings.items():
            if value != parameters[name].default:
                is_classes = name == "classes"
                text = f"[{', '.join(c.__name__ for c in value)}]" if is_classes else repr(value)
                shown.append(f"{name}={text}")
        return f"{type(self).__name__}({', '.join(shown)})"
