"""Learner: an agent that takes contexts as they are, names of actions, and losses or rewards."""

import copy
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from graphcb.agents import Agent, Budget, Greedy, InformationDirected, UninformedAgent
from graphcb.agents.pacing import Account
from graphcb.agents.prediction import Predicts
from graphcb.checks import as_one_of, listed
from graphcb.contexts import Encoder
from graphcb.contexts.frames import rows_of
from graphcb.contexts.watched_features import WatchedFeatures
from graphcb.describing import describe
from graphcb.graphs import FeedbackGraph
from graphcb.loaded import Instance, Learned, Made, Unchanged
from graphcb.oracles import ActionFeatureOracle, DefaultOracle, Oracle
from graphcb.oracles.rows import every_index
from graphcb.problems.guarded import (
    around,
    costs_in,
    default_oracle,
    explorer_of,
    guarded,
    innermost,
    needs_range,
)
from graphcb.problems.problem import Problem
from graphcb.problems.uninformed import check_features, predicted_graph, uninformed
from graphcb.problems.units import Floats
from graphcb.rounds import Entered, Played, act_on, gamma_of, hook, knowing_round, learn_from
from graphcb.rounds.identifiers import indices_of, pick

if TYPE_CHECKING:
    from graphcb.problems.importances import Importances

Features = Callable[[Any, str, Any], Any]


def problem_of(agent: Any) -> Problem | None:
    """The problem that an agent is for, if it has one."""
    problem = getattr(agent, "problem", None)
    return problem if isinstance(problem, Problem) else None


class Learner:
    """An agent in the terms of a problem; `graphcb.Policy(log, problem=...)` makes one.

    Contexts are dicts, rows or texts, which an `Encoder` turns into what an oracle takes.
    Actions are names. What is learned are losses or rewards within the problem's range. The
    `agent` inside, `InformationDirected()` if left out, gets rows, column numbers and losses
    between 0 and 1. Where the problem has no range, it gets losses as they are, or 1 - reward; an
    agent that `needs_range` gets none outside of 0 to 1. Where the problem's graph is not known
    beforehand, it is an `OnPredictedGraph` whose graph oracle the problem chooses; edges then
    depend on the context if all features are declared to be numbers.

    Where actions come with each round, `actions` is a list of names or a mapping from names to
    features, and the agent inside has an `oracles.ActionFeatureOracle`. What it knows of an
    action are its features and its name; `features(context, name, features)` may return others,
    a mapping or a row. To be saved, `features` must be an object of a class of your own with
    `__call__`, which is named on load; a plain function cannot be.

    The agent keeps the problem's limits, budgets and `explore`, and has its baseline around it. An
    agent may have rules of its own, by column, where the problem has none. What the problem knows
    counts as revealed by every action.

    >>> problem = Problem(["approve", "review"], reveals={"all": ["review"]}, feedback="rewards")
    >>> learner = Learner(problem)
    >>> learner.act({"amount": 30.0, "country": "DE"})
    array([0., 1.])
    >>> learner.learn({"amount": 30.0, "country": "DE"}, ["approve", "review"], [1.0, 0.2])
    >>> learner.predict({"amount": 30.0, "country": "DE"}) > 0.5
    array([ True, False])
    """

    learned = Learned(
        agent=Unchanged(),
        encoder=Instance(Encoder),
        action_encoder=Made(),
        progress=Instance(dict, None),
        past_budgets=Instance(tuple),
        watched=Instance(WatchedFeatures),
    )

    def __init__(
        self,
        problem: Problem,
        agent: Agent | UninformedAgent | None = None,
        *,
        features: Features | None = None,
    ) -> None:
        if not isinstance(problem, Problem):
            raise TypeError(
                f"`problem` must be a graphcb.Problem, got {type(problem).__name__}; "
                "Problem.read reads one from a TOML file"
            )
        if isinstance(agent, Problem):
            raise TypeError("`agent` must be an agent, got a Problem; the problem comes first")
        if features is not None and not callable(features):
            raise TypeError(
                "`features` must be a function of a context, a name and the action's features, "
                f"got {type(features).__name__}; kinds of features belong to the problem"
            )
        self.problem = problem
        self.features = features
        self.encoder = Encoder(problem.features)
        declared = None if problem.features is None else tuple(problem.features)
        self.watched = WatchedFeatures(declared)
        by_features = features is not None or not problem.has_fixed_actions
        self.action_encoder = Encoder() if by_features else None
        self.progress: dict[str, Any] | None = None  # what `graphcb run` needs to go on
        self.past_budgets: tuple[tuple[Budget, Account], ...] = ()  # of earlier versions
        if not problem.informed:
            check_features(features)
            self.agent: Any = guarded(uninformed(agent, problem, self.encoder), problem)
        else:
            agent = InformationDirected() if agent is None else agent
            self.agent = guarded(self._with_oracle(agent), problem)

    __repr__ = describe

    def __str__(self) -> str:
        """What it has learned, from how much, and who predicts."""
        from graphcb.problems.learned import learned_facts  # which imports this module

        return "\n".join([repr(self), *(f"  {name}: {text}" for name, text in learned_facts(self))])

    def act(
        self, context: Any, graph: FeedbackGraph | None = None, actions: Any = None
    ) -> NDArray[np.float64]:
        """Probabilities of this round's actions; the problem gives what is left out."""
        agent, row, whole, inner, _, given = self.enter(context, graph, actions)
        return act_on(agent, row, whole, inner, **given)

    def enter(self, context: Any, graph: FeedbackGraph | None, actions: Any) -> Entered:
        """The round in the terms of the agent inside, which plays it."""
        names = self._names(actions)
        graph = self.problem.graph_for(names, graph)
        given = self._guardrails(context, names)
        known = None if self.problem.known is None else self._known_losses(context, names)
        if known is not None:
            graph, given = self.problem.with_known(graph, names), {**given, "known": known}
        inner = self.inner(actions, names, self.described(context, actions, names))
        called = None if self.problem.has_fixed_actions else names
        return Entered(self.agent, self.encoder.encode(context), graph, inner, called, given)

    def foresee(self, contexts: Sequence[Any]) -> None:
        """Prepare decisions in these contexts, which follow and must not change; it saves time."""
        rows = self.encoder.foresee(contexts)
        foresee = getattr(getattr(explorer_of(self.agent), "oracle", None), "foresee", None)
        if foresee is not None:
            foresee(rows)

    @property
    def informed(self) -> bool:
        """Whether the graph of a round is known when it is decided; see `UninformedAgent`."""
        return self.problem.informed

    def learn(
        self, context: Any, actions: Any, values: Any, *, played: Any = None, among: Any = None
    ) -> None:
        """Learn the losses or rewards revealed for these actions; there may be none.

        Those that the problem knows have to agree with that. They need not be there, and are
        learned with the others.
        Where the graph is not known beforehand, `played` is needed: the action that revealed just
        these, and none of the others `among` the actions of the round, which are all if left out.
        """
        if not self.informed:
            self.learn_round(self._played(context, played, among), actions, values)
            return
        names = self._names(actions) if actions is None or len(actions) else ()
        values = self._checked(values, names)
        if self.problem.known is not None:
            actions, values = self._with_known(context, actions, names, values)
            names = self._names(actions)
        losses = self.problem.as_losses(values)
        described = self.described(context, actions, names)
        inner = self.inner(actions, names, described)
        row, count = self.encoder.taken(context)
        self.agent.learn(row, inner, losses)
        count()
        if self.action_encoder is not None:
            for action in described:
                self.action_encoder.learn(action)

    def completed(self, played: Played, revealed: Any, values: Any) -> tuple[Any, Any]:
        """What a round revealed, with what is known of those of its actions that were named before.

        Where actions come with each round, `learn` alone cannot tell which there were.
        """
        if self.problem.known is None or self.problem.has_fixed_actions:
            return revealed, values
        names = self._names(played.actions)
        places = indices_of(list(revealed), names)
        places, values = self.problem.completed(played.context, names, places, values)
        return pick(played.actions, places), values

    def learn_round(
        self, played: Played, revealed: Any, values: Any, *, shown: FeedbackGraph | None = None
    ) -> None:
        """Learn what a round revealed, and what it did not; for graphs that are not known."""
        names = self._names(revealed)
        losses = self.problem.as_losses(self._checked(values, names))
        inner = self.inner(revealed, names, [])
        learn_from(self.agent, self._inside(played), inner, losses, shown=shown)
        self.encoder.learn(played.context)

    @property
    def needs_range(self) -> str | None:
        """Who takes no losses but those within a range, "SquareCBG needs"; None if nobody is."""
        return needs_range(self.agent)

    @property
    def at_time(self) -> Callable[[float], None] | None:
        """The hook of the agent inside, if it has one."""
        return hook(self.agent, "at_time")

    def on_context(self, context: Any) -> None:
        """The hook `on_context`: the features of every decision are watched."""
        self.watched = self.watched.after(context)

    def passed(self, played: Played) -> bool:
        """Go on after a round that another copy has decided; False if the agent inside must act."""
        inner = getattr(self.agent, "passed", None)
        if inner is None or self.problem.known is not None:
            return False
        watched, columns = self.watched.after(played.context), None
        if self.action_encoder is None:
            columns = self.inner(played.actions, self._names(played.actions), [])
        if not inner(played._replace(actions=columns)):
            return False
        self.watched = watched  # only now: a round that is refused changes nothing
        return True

    def on_no_feedback(self, context: Any) -> None:
        """The hook `on_no_feedback`: the context is counted now, as it will not be learned from."""
        self.encoder = self.encoder.after(context)

    @property
    def on_draw(self) -> Callable[[Played], None] | None:
        """The hook of the agent inside, if it has one, in the terms of the problem."""
        inner = hook(self.agent, "on_draw")
        return None if inner is None else lambda played: inner(self._inside(played))

    @property
    def on_feedback(self) -> Callable[[Played, Any, Any], None] | None:
        """The hook of the agent inside, if it has one, in the terms of the problem."""
        inner = hook(self.agent, "on_feedback")
        return None if inner is None else partial(self._on_feedback, inner)

    def predict(self, context: Any, actions: Any = None) -> Floats:
        """The losses or rewards that are expected of these actions; of a data frame, row by row."""
        rows = rows_of(context)
        if rows is not None:
            found = [self.predict(row, actions) for row in rows]
            return np.array(found).reshape(len(rows), -1)
        names = self._names(actions)
        inner = self.inner(actions, names, self.described(context, actions, names))
        losses = self.inner_oracle().predict(self.encoder.encode(context), inner)
        if self.problem.range is not None or self.needs_range is not None:
            losses = np.clip(losses, 0.0, 1.0)
        values = self.problem.as_values(losses)
        if self.problem.known is None:
            return values
        known = self.problem.known_in(context, names)
        return values if known is None else np.where(np.isnan(known), values, known)

    def importances(self, rounds: Iterable[Any]) -> "Importances":
        """Which features matter for its predictions, by how much worse they are without each.

        `rounds` are pairs (context, {action: loss or reward}), with the actions of the round as a
        third part where these come with each round. They should be rounds that it has not learned
        from; `evaluation.importances(log)` does this for a log, with every prediction as it was
        when the decision was made.
        """
        from graphcb.problems.importances import importances_of  # which imports this module

        return importances_of(self, rounds)

    def update(self, context: Any, actions: Any, values: Any) -> None:
        """Teach what predicts: with `predict`, a learner is an oracle in the problem's units."""
        if self.informed:
            self.learn(context, actions, values)
            return
        names = self._names(actions)
        losses = self.problem.as_losses(self._checked(values, names))
        encoded = self.encoder.encode(context)
        explorer_of(self.agent).learn(encoded, self.inner(actions, names, []), losses)
        self.encoder.learn(context)

    def predicted_graph(self, context: Any, actions: Any = None) -> FeedbackGraph:
        """What each action is thought to reveal, where the graph is not known beforehand."""
        inner = self.inner(actions, self._names(actions), [])
        return predicted_graph(innermost(self.agent), self.encoder.encode(context), inner)

    @property
    def oracle(self) -> "Learner | None":
        """The learner itself, which predicts and learns; None if its agent has no oracle."""
        return self if hasattr(explorer_of(self.agent), "oracle") else None

    @property
    def gamma(self) -> float | None:
        """The gamma of the last round, if there is one."""
        return gamma_of(self.agent)

    def greedy(self) -> "Learner":
        """A learner that knows the same and always plays the action that looks best.

        It keeps the limits and budgets, but plays no baseline and explores nothing.
        """
        twin = copy.copy(self)
        best: Any = Greedy(self.inner_oracle())
        rules = getattr(innermost(self.agent), "rules", None)
        if rules is not None:
            best.rules = rules
        twin.agent = best
        return twin

    def __copy__(self) -> "Learner":
        twin = object.__new__(type(self))
        twin.__dict__ = {**self.__dict__, "agent": copy.copy(self.agent)}
        return twin

    def check_loaded(self) -> None:
        """Refuse parts that do not belong together."""
        for role in ("act", "learn"):
            if not callable(getattr(self.agent, role, None)):
                raise ValueError(f"a Learner whose agent must have a method {role}")
        if self.encoder.features != self.problem.features:
            raise ValueError("a Learner whose encoder has other features than its problem")
        features = self.problem.features
        if self.watched.declared != (None if features is None else tuple(features)):
            raise ValueError("a Learner that watches other features than its problem has")
        pairs: tuple[Any, ...] = self.past_budgets
        for pair in pairs:
            if not isinstance(pair, tuple) or list(map(type, pair)) != [Budget, Account]:
                raise ValueError("a Learner whose past budgets must be pairs with their accounts")
        oracle: Any = getattr(explorer_of(self.agent), "oracle", None)
        by_number = self.action_encoder is None and isinstance(oracle, DefaultOracle)
        if by_number and oracle.n_actions != len(self.problem.actions):
            raise ValueError("a Learner whose oracle has other actions than its problem")

    def _checked(self, values: Any, names: Sequence[str]) -> Floats:
        """Losses or rewards that the agent inside can learn."""
        needs_range = None if self.problem.range is not None else self.needs_range
        return self.problem.check_values(values, names, needs_range)

    def _names(self, actions: Any) -> tuple[str, ...]:
        if isinstance(actions, Mapping) and self.action_encoder is None:
            raise ValueError(
                "`actions` must be names in a problem with fixed actions, got features for "
                f'{listed(actions)}; write actions = "each round" in the problem to use them'
            )
        return self.problem.names_of(actions)

    def described(self, context: Any, actions: Any, names: tuple[str, ...]) -> list[Any]:
        """What is known of each action: its name and features, or what `features` returns."""
        if self.action_encoder is None:
            return []
        given: Mapping[str, Any] = actions if isinstance(actions, Mapping) else {}
        if self.features is not None:
            return [self.features(context, name, given.get(name)) for name in names]
        return [_described(name, given.get(name)) for name in names]

    def inner(self, actions: Any, names: tuple[str, ...], described: list[Any]) -> Any:
        """The actions in the terms of the agent inside: columns, or rows of features."""
        if self.action_encoder is not None:
            return self.action_encoder.encode_each(described)
        if actions is None:
            return None
        if names is self.problem.actions:
            return every_index(len(names))
        return np.array([self.problem.index(name) for name in names], dtype=np.intp)

    def _played(self, context: Any, played: Any, among: Any) -> Played:
        """A round that somebody else drew."""
        if played is None:
            raise TypeError(
                "`played` must be given, as the graph of this problem is not known beforehand: "
                "what an action reveals is learned"
            )
        names = self._names(among)
        action = names.index(as_one_of("played", self._names([played])[0], names))
        return Played(context, self.problem.graph_for(names), among, np.empty(0), action)

    def _inside(self, played: Played) -> Played:
        """The round in the terms of the agent inside."""
        names = self._names(played.actions)
        described = self.described(played.context, played.actions, names)
        inner = self.inner(played.actions, names, described)
        context = self.encoder.encode(played.context)
        called = None if self.problem.has_fixed_actions else names
        inside = played._replace(context=context, actions=inner, names=called)
        known = None if self.problem.known is None else self._known_losses(played.context, names)
        if known is None:
            return inside
        return knowing_round(inside, known, self.problem.with_known(played.graph, names))

    def _on_feedback(
        self, inner: Callable[..., None], played: Played, indices: Any, values: Any
    ) -> None:
        names = self._names(played.actions)
        revealed = [names[index] for index in indices]
        losses = self.problem.as_losses(self._checked(values, revealed))
        if played.known is not None:
            earlier = self.problem.as_losses(np.array(list(played.known.values()), dtype=float))
            played = played._replace(known=dict(zip(played.known, earlier.tolist(), strict=True)))
        known = self._known_losses(played.context, names)
        if known is not None:  # feedback need not name them
            also = np.setdiff1d(np.flatnonzero(~np.isnan(known)), indices)
            indices, losses = np.append(indices, also), np.append(losses, known[also])
        inner(self._inside(played), indices, losses)

    def _with_oracle(self, agent: Any) -> Any:
        """The agent; if it would make its oracle later, a copy that has the right one now."""
        inner = innermost(agent)
        if isinstance(inner, Predicts) and inner.oracle is None:
            inner = copy.copy(inner)
            if self.action_encoder is None:
                inner.oracle = default_oracle(inner, self.problem)
            else:
                inner.use_oracle(ActionFeatureOracle())
            agent = around(agent, inner)
        return agent

    def _guardrails(self, context: Any, names: tuple[str, ...]) -> dict[str, Any]:
        """What the rules of the agent inside need to know of a round, if the problem has any."""
        problem = self.problem
        if problem.limits is None and not problem.budgets and problem.baseline is None:
            return {}
        if problem.limits is not None:
            problem.limits.on(names)  # what clashes is named here, in the problem's terms
        given: dict[str, Any] = {} if problem.has_fixed_actions else {"names": names}
        costs = costs_in(problem, context, names)
        return given if costs is None else {**given, "costs": costs}

    def _with_known(
        self, context: Any, actions: Any, names: tuple[str, ...], values: Floats
    ) -> tuple[Any, Floats]:
        """What to learn of a feedback: with all that is known, or nothing if it is all known."""
        if not isinstance(self.problem.actions, tuple):
            places = np.arange(len(names))
            places, values = self.problem.completed(context, names, places, values)
            return pick(actions, places), values
        places = np.array([self.problem.index(name) for name in names], dtype=np.intp)
        return self.problem.completed(context, self.problem.actions, places, values)

    def _known_losses(self, context: Any, names: tuple[str, ...]) -> Floats | None:
        """The losses of a round that need no feedback, NaN for all others, if there are any."""
        known = self.problem.known_in(context, names)
        return None if known is None else self.problem.as_losses(known)

    def inner_oracle(self) -> Oracle:
        """The oracle of the agent inside, in its terms."""
        if self.oracle is None:
            name = type(innermost(self.agent)).__name__
            raise TypeError(f"{name} has no oracle to predict with")
        oracle: Oracle = explorer_of(self.agent).oracle
        return oracle


def _described(name: str, features: Any) -> dict[str, Any]:
    """An action as a context, flat already if its features are a dict."""
    if features is None:
        return {"action": name}
    if type(features) is dict:
        found: dict[str, Any] = {"action": name}
        for key, value in features.items():
            found[_below(key) if type(key) is str else f"features.{key}"] = value
        return found
    return {"action": name, "features": features}


@lru_cache(maxsize=1024)
def _below(key: str) -> str:
    """What a feature of an action is called; the same object, which dicts find sooner."""
    return f"features.{key}"
