"""Problem: what is decided, what each action reveals, and in which units it is judged."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property, partial
from html import escape
from pathlib import Path
from typing import Any, Literal

from graphcb.agents import Budget
from graphcb.checks import as_action, as_one_of, as_range, listed
from graphcb.contexts.frames import is_frame
from graphcb.contexts.values import as_given, features_of
from graphcb.describing import describe
from graphcb.exploration import Limits
from graphcb.exploration.seldom_seen import as_share
from graphcb.files import FileError, atomic_write
from graphcb.graph_oracles.sides import as_kind, certain_graph
from graphcb.graphs import FeedbackGraph, as_graph
from graphcb.loaded import Instance, Learned
from graphcb.problems.baselines import Baseline, check_obeys, read_baseline
from graphcb.problems.defaults import Defaults, read_defaults
from graphcb.problems.guardrails import check_spending, read_budgets, read_limits
from graphcb.problems.known import Known, Knows, read_known
from graphcb.problems.names import EACH_ROUND, as_name, as_names, read_actions, read_features
from graphcb.problems.reveals import Reveals, read_reveals
from graphcb.problems.toml import read_tables, write_tables

OF_BASELINE, OF_KNOWN = "a baseline needs", "known outcomes need"  # a range


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Problem(Knows):
    """A problem, said once for the library, the command line, logs and their evaluation.

    `actions` are names, or "each round" if they come with each round. `reveals` says what
    playing an action shows: the name of a family ("bandit": each action its own outcome), a
    `FeedbackGraph`, "each round" for a graph that comes with each round, or a mapping with
    names: {"all": ["review"]} for actions that show every outcome, {"own": True} for those that
    show their own, {"edges": [("a", "b", 0.5)]} for single ones. {"review": ["approve", "review"]}
    lists what an action shows, and a matrix has played actions as rows and shown ones as columns.
    "unknown" stands for a graph
    that nobody knows beforehand, {"unknown": "bids"} (or "prices", "stock") for one that a hidden
    price decides, and "answers": "learned" beside a known one for feedback that may not come;
    what is revealed is then learned, by an `OnPredictedGraph`. `feedback` is "losses" or
    "rewards", between the two numbers of `range`. If that is left out, it is found as it comes: any
    numbers are taken, and while all of them lie between 0 and 1, that counts as the range. Beyond,
    what is proven of bounded values is withheld (`graphcb evaluate` has no anytime-valid
    intervals), and where something needs a range, as a baseline does, other values are refused.
    `features` are kinds by name, such as {"amount": "number", "country": "category?"}; if left out,
    they are noted as they come.

    What the learner must keep to is part of the problem. `limits` are `graphcb.Limits` or a
    mapping with their arguments; they hold in every round. `budgets`, a list of `graphcb.Budget`
    or {"reviews": {"costs": {"review": 1}, "at_most": 0.05}}, say what may be spent over time; a
    cost is a number or the name of a feature of the context.
    `baseline` is today's rule: {"action": "approve"}, which the learner must not fall behind,
    with `epsilon`, `confidence` and "loss" or "reward" (what the rule is known to lose or earn
    per round) as in `agents.Conservative`; with mode "shadow", the rule alone is played.
    `defaults` are {"waiting": seconds, "loss": number} (or "reward"): what a decision gets if no
    feedback has come after this time (`Policy.fill_in`), and {"keep_days": number}, after which
    decisions may be removed. `explore` is a share of every decision's probability, such as 0.01:
    up to so much of it goes to outcomes that are seldom seen, so that other policies can be
    judged on the log (`graphcb evaluate`). `subject` names the feature of the context that says
    whom a decision is about, such as "customer.id", so that a `Policy` can forget that person;
    it has to be there unless `features` says that it may be missing.

    `known` are losses or rewards that need no feedback, such as {"review": -2.0}: a number, or the
    name of a feature of the context, by action. Whatever is played, they count as revealed.
    Nothing is explored for their sake, predictions and estimates use them as they are, and
    feedback need not name them; if it does, it has to agree.

    >>> problem = Problem(["approve", "review"], reveals={"all": ["review"]}, feedback="rewards")
    >>> problem.graph
    apple_tasting(n_actions=2, revealing_action=1)
    >>> print(problem.to_toml(), end="")
    [problem]
    actions = ["approve", "review"]
    feedback = "rewards"
    <BLANKLINE>
    [reveals]
    all = ["review"]
    """

    actions: tuple[str, ...] | Literal["each round"]
    reveals: Reveals
    feedback: Literal["losses", "rewards"]
    range: tuple[float, float] | None
    features: dict[str, str] | None
    name: str
    limits: Limits | None = None
    budgets: tuple[Budget, ...] = ()
    baseline: Baseline | None = None
    defaults: Defaults | None = None
    explore: float = 0.0
    known: Known | None = None
    subject: str = ""
    learned = Learned(reveals=Instance(Reveals))
    added = ("explore", "known", "subject")

    def __init__(
        self,
        actions: Sequence[str] | Literal["each round"],
        *,
        reveals: str | FeedbackGraph | Mapping[str, Any] | Reveals = "bandit",
        feedback: str = "losses",
        range: tuple[float, float] | None = None,
        features: Mapping[str, str] | None = None,
        name: str = "",
        limits: Limits | Mapping[str, Any] | None = None,
        budgets: Sequence[Budget] | Mapping[str, Mapping[str, Any]] = (),
        baseline: str | Mapping[str, Any] | Baseline | None = None,
        defaults: Mapping[str, float] | Defaults | None = None,
        explore: float = 0.0,
        known: Mapping[str, float | str] | None = None,
        subject: str = "",
    ) -> None:
        names = read_actions(actions)
        low, high = (0.0, 1.0) if range is None else as_range("range", range)
        kinds = None if features is None else read_features(features) or None
        content = {
            "actions": names,
            "reveals": read_reveals(reveals, names),
            "feedback": as_one_of("feedback", feedback, ("losses", "rewards")),
            "range": None if range is None else (low + 0.0, high + 0.0),  # -0.0 becomes 0.0
            "features": kinds,
            "name": as_name("name", name) if name != "" else name,
            "limits": read_limits(limits, names),
            "budgets": read_budgets(budgets, names, kinds),
            "explore": as_share(explore),
            "subject": as_name("subject", subject) if subject != "" else subject,
        }
        for key, value in content.items():
            object.__setattr__(self, key, value)
        within = partial(self.check_values, needs_range=OF_KNOWN)
        object.__setattr__(self, "known", read_known(known, names, kinds, within))
        if self.known is not None and not self.informed:
            raise ValueError(
                "`known` must be left out where what is revealed is learned: an outcome that "
                "feedback does not name counts as not revealed"
            )
        self._check_observable()
        check_spending(self.budgets, self.limits, names)
        within = partial(self.check_values, needs_range=OF_BASELINE)
        rule = read_baseline(baseline, names, self.unit, within)
        if rule is not None and not self.informed:
            raise ValueError(
                "`baseline` must be left out where what is revealed is learned: nothing can be "
                "proven of the learner without true reveal probabilities"
            )
        object.__setattr__(self, "baseline", rule)
        waiting = read_defaults(defaults, self.unit, self.check_values)
        if waiting is not None and waiting.waiting is not None and not self.informed:
            raise ValueError(
                "`defaults.waiting` must be left out where it is not known beforehand what is "
                "revealed: an outcome that does not come says that it was not revealed"
            )
        object.__setattr__(self, "defaults", waiting)
        if rule is not None and isinstance(names, tuple):
            check_obeys(rule.action, names, self.limits, self.budgets)

    # As a file ----------------------------------------------------------------------------

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> "Problem":
        """The problem in a TOML file; a graph file in it is found beside it."""
        file = Path(path)
        if not file.is_file():
            raise FileNotFoundError(f"`problem` must be an existing file, got {str(file)!r}")
        try:
            return cls.from_toml(file.read_text(encoding="utf-8"), folder=file.parent)
        except (ValueError, TypeError, FileNotFoundError) as reason:
            raise FileError(f"{file}: {reason}") from None

    @classmethod
    def from_toml(cls, text: str, *, folder: str | os.PathLike[str] = ".") -> "Problem":
        """What `to_toml` wrote, or a person; graph files are looked for in `folder`."""
        tables = read_tables(text)
        arguments = dict(tables["problem"])
        if "actions" not in arguments:
            raise ValueError('[problem] must have actions = ["name", ...] or "each round"')
        if "reveals" in tables:
            reveals = dict(tables["reveals"])
            if isinstance(reveals.get("file"), str):
                reveals["file"] = str(Path(folder) / reveals["file"])
            arguments["reveals"] = reveals
        rules: Any = {
            key: tables[key]
            for key in ("limits", "budgets", "baseline", "defaults", "known")
            if key in tables
        }
        return cls(features=tables.get("features"), **rules, **arguments)

    def to_toml(self) -> str:
        """The problem as TOML; what a graph file says is written out."""
        plain: dict[str, Any] = {"name": self.name} if self.name else {}
        plain["actions"] = self.actions
        plain["feedback"] = self.feedback
        if self.range is not None:
            plain["range"] = self.range
        if self.explore:
            plain["explore"] = self.explore
        if self.subject:
            plain["subject"] = self.subject
        tables: dict[str | tuple[str, ...], Mapping[str, Any]] = {
            "problem": plain,
            "reveals": self.reveals.as_table(),
            "features": self.features or {},
            "limits": {} if self.limits is None else self.limits.as_table(),
        }
        for budget in self.budgets:
            tables["budgets", budget.name] = budget.as_table()
        tables["known"] = self.known or {}
        for key, rule in (("baseline", self.baseline), ("defaults", self.defaults)):
            tables[key] = {} if rule is None else rule.as_table(self.unit)
        return write_tables(tables)

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the TOML file; it appears complete or not at all."""
        with atomic_write(path, text=True) as file:
            file.write(self.to_toml())

    # What is played -----------------------------------------------------------------------

    @property
    def has_fixed_actions(self) -> bool:
        """Whether the actions are known beforehand, rather than coming with each round."""
        return self.actions != EACH_ROUND

    @cached_property
    def informed(self) -> bool:
        """Whether it is known beforehand what each action reveals, rather than learned."""
        return self.reveals.informed

    @property
    def needs_range(self) -> str | None:
        """What in the problem holds only for values within a range; None if nothing does."""
        if self.baseline is not None and not self.baseline.is_shadow:
            return OF_BASELINE
        return None if self.known is None else OF_KNOWN

    @cached_property
    def graph(self) -> FeedbackGraph:
        """The feedback graph among all actions; if it has to be learned, what can be revealed."""
        if not isinstance(self.actions, tuple) or self.reveals.each_round:
            what = "graph" if self.reveals.each_round else "actions"
            raise ValueError(
                f"this problem has no graph of its own: the {what} must be given in each round"
            )
        return self.reveals.graph(self.actions)

    def graph_for(
        self, actions: Sequence[str], graph: FeedbackGraph | None = None
    ) -> FeedbackGraph:
        """The graph among the actions of a round; `graph` is the round's own, if it has one.

        If it has to be learned, the graph has an edge wherever something may be revealed.
        """
        if graph is not None and not self.informed:
            raise ValueError(
                "`graph` must not be given: in this problem it is not known beforehand, and learned"
            )
        if graph is not None:
            if as_graph(graph).n_actions != len(actions):
                raise ValueError(
                    f"`graph` must have one row for each of the round's {len(actions)} actions "
                    f"({listed(actions)}), got {graph.n_actions}"
                )
            return graph
        if self.reveals.each_round:
            raise ValueError("`graph` must be given: in this problem it comes with each round")
        if not isinstance(self.actions, tuple):
            return self.reveals.graph(actions)
        if actions is self.actions or tuple(actions) == self.actions:
            return self.graph
        return self.graph.subgraph([self.index(action) for action in actions])

    def certain_graph_for(self, actions: Sequence[str]) -> FeedbackGraph | None:
        """What is revealed wherever a hidden price is; None if the problem has none."""
        if not isinstance(self.reveals.unknown, str):
            return None
        graph = certain_graph(as_kind(self.reveals.unknown), len(self.actions))
        if tuple(actions) == self.actions:
            return graph
        return graph.subgraph([self.index(action) for action in actions])

    def names_of(self, actions: Any) -> tuple[str, ...]:
        """The names of a round's actions: names, places of fixed ones, or None for all of these."""
        if isinstance(self.actions, tuple):
            if actions is None or actions is self.listed:
                return self.actions
            if type(actions) is list and actions == self.listed:
                return self.actions
            if type(actions) is not list and (isinstance(actions, str) or is_frame(actions)):
                as_names("actions", actions)  # refuses it
            return tuple([self.actions[self.index(action)] for action in actions])
        if actions is None:
            raise ValueError("`actions` must be given: in this problem they come with each round")
        names = as_names("actions", list(actions) if isinstance(actions, Mapping) else actions)
        if not names:
            raise ValueError("`actions` must have at least one name, got none")
        return names

    def index(self, action: Any) -> int:
        """Where an action stands, from its name or already from its place."""
        if not isinstance(action, str):
            return as_action(action, len(self.actions))
        place = self._places.get(action)
        return self._places[as_one_of("action", action, self.actions)] if place is None else place

    @cached_property
    def listed(self) -> list[str]:
        """The names of fixed actions, as a log has them; never written to."""
        return list(self.actions)

    @cached_property
    def _places(self) -> dict[str, int]:
        return {name: place for place, name in enumerate(self.actions)}

    def subject_of(self, context: Any) -> Any:
        """Whom a decision with this context is about; None if that is not said."""
        if not self.subject:
            return None
        features = features_of(context)
        if (self.features or {}).get(self.subject, "").endswith("?"):
            return features.get(self.subject)
        return as_given(features, self.subject, "says whom the decision is about")

    # Value semantics ----------------------------------------------------------------------

    def differences(self, other: "Problem") -> list[str]:
        """What differs, such as "range: (0.0, 2.0), not (0.0, 5.0)"."""
        found = []
        for field in fields(self):
            mine, theirs = (repr(one._argument(field.name)) for one in (self, other))
            if mine != theirs:
                found.append(f"{field.name}: {mine}, not {theirs}")
        return found

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Problem):
            return NotImplemented
        return self.to_toml() == other.to_toml()

    def __hash__(self) -> int:
        return hash(self.to_toml())

    def __repr__(self) -> str:
        return describe(self, **{field.name: self._argument(field.name) for field in fields(self)})

    def _repr_html_(self) -> str:
        """The problem as its file, and what its actions reveal."""
        from graphcb.graphs.drawing import as_svg  # in notebooks only

        text = f"<pre>{escape(self.to_toml())}</pre>"
        if not isinstance(self.actions, tuple) or self.reveals.each_round or self.reveals.unknown:
            return text
        return text + as_svg(self.graph, self.actions)

    def _argument(self, name: str) -> Any:
        """What a person would give for this argument."""
        value = getattr(self, name)
        if isinstance(value, Reveals):
            return value.shortest()
        if isinstance(value, Baseline | Defaults):
            return value.as_table(self.unit)
        return list(value) if name == "actions" and isinstance(value, tuple) else value

    def _check_observable(self) -> None:
        if not isinstance(self.actions, tuple) or self.reveals.each_round:
            return
        unseen = self.with_known(self.graph, self.actions).unobservable_actions
        if unseen.size:
            raise ValueError(
                f"`reveals` must show the {self.unit} of every action to someone, but nothing "
                f"reveals {listed(repr(self.actions[i]) for i in unseen)}; set own = true, add an "
                "action to all, add an edge that ends there, or say in known what it is"
            )
