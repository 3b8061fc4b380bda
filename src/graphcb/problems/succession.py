"""From one version of a problem to the next: what was learned stays where it has a meaning."""

import copy
from dataclasses import replace
from typing import Any

import numpy as np

from graphcb.agents import (
    Agent,
    Budget,
    Conservative,
    InformationDirected,
    OnPredictedGraph,
    Rules,
    Spending,
)
from graphcb.agents.pacing import Account
from graphcb.checks import listed
from graphcb.oracles import ActionFeatureOracle, DefaultOracle
from graphcb.problems.guarded import explorer_of, innermost
from graphcb.problems.learner import Learner
from graphcb.problems.problem import Problem


def succeed(
    learner: Learner, problem: Problem, agent: Agent | None = None
) -> tuple[Learner, list[str]]:
    """A learner for the next version of a problem, and sentences on what it keeps.

    What was learned is kept if feedback, range and features are the same: of actions that stay,
    while new ones start as unknown as all did, and of actions that come with each round. It is
    kept too if the graph, limits, budgets, baseline or `explore` change. Otherwise, or with
    another `agent`, learning starts anew. A budget with the same name and costs goes on with what
    was spent, and a baseline with what was proven. The learner that is given does not change.

    >>> learner = Learner(Problem(["a", "b"]))
    >>> learner.learn({"age": 30.0}, ["a", "b"], [0.0, 1.0])
    >>> following, sentences = succeed(learner, Problem(["b", "c", "a"]))
    >>> following.predict({"age": 30.0}).round(2)
    array([0.74, 0.5 , 0.26])
    >>> sentences
    ["what was learned of 'a', 'b' is kept", "'c' is new and starts unknown"]
    """
    old = learner.problem
    changed = _what_loses_meaning(old, problem)
    if agent is not None:
        following = Learner(problem, agent, features=learner.features)
        sentences = ["the new agent starts as it is; what was learned before is not used"]
    elif changed:
        fresh = _untrained(innermost(learner.agent), problem, " and ".join(changed))
        following = Learner(problem, fresh, features=learner.features)
        sentences = [f"learning starts anew, as {' and '.join(changed)} changed"]
    else:
        following, sentences = _kept(learner, problem)
        sentences += _known_otherwise(old, problem)
    return following, sentences + carry_rules(learner, following)


def carry_rules(old: Any, new: Any) -> list[str]:
    """Take what was spent of budgets, and what was proven, into another agent, in place.

    What the new one has of its own, as after a rollback, would be spent or used twice. A learner
    keeps the accounts of budgets that its problem does not have, for one that has them again.
    """
    sentences = []
    inner: Any = innermost(_inside(new))
    rules: Rules | None = getattr(inner, "rules", None)
    known = _accounts(old)
    if rules is not None and rules.spending is not None:
        accounts = []
        for budget in _budgets(new, rules.spending):
            found = next((one for one in known if one[0].is_of_one_kind(budget)), None)
            goes = "begins with nothing spent" if found is None else "goes on with what was spent"
            sentences.append(f"budget {budget.name!r} {goes}")
            accounts.append(Account() if found is None else found[1].under(found[0], budget))
            known = [one for one in known if one is not found]
        inner.rules = replace(rules, spending=replace(rules.spending, accounts=tuple(accounts)))
    if isinstance(new, Learner):
        new.past_budgets = tuple(one for one in known if one[1].n_rounds)
    outer, before = _inside(new), _inside(old)
    if isinstance(outer, Conservative):
        is_kept = isinstance(before, Conservative) and _same_baseline(old, new)
        source: Any = before if is_kept else Conservative(outer.agent, outer.baseline)
        for name in ("n_rounds", "n_deviations", "proven", "least", "estimated"):
            setattr(outer, name, copy.copy(getattr(source, name)))
        kept = "what was proven against the baseline is kept"
        sentences.append(kept if is_kept else "nothing is proven against the baseline yet")
    return sentences


def _kept(learner: Learner, problem: Problem) -> tuple[Learner, list[str]]:
    """A learner with the same model, whose columns are those of the new actions."""
    inner: Any = copy.deepcopy(innermost(learner.agent))
    if learner.problem.limits is not None or learner.problem.budgets:
        explorer_of(inner).rules = None  # those of the new problem follow
    if learner.problem.explore:
        del explorer_of(inner).explore
    sentences = ["what was learned is kept"]
    old, new = learner.problem.actions, problem.actions
    if isinstance(old, tuple) and isinstance(new, tuple) and learner.action_encoder is None:
        stay = [name for name in old if name in new]
        if not stay:
            raise ValueError(
                f"`problem` must keep an action of {listed(map(repr, old))}, got "
                f"{listed(map(repr, new))}; for other actions, create a new log"
            )
        if old != new:
            sentences = _move(inner, old, new)
    following = Learner(problem, inner, features=learner.features)
    following.encoder = copy.deepcopy(learner.encoder)
    following.watched = learner.watched
    following.action_encoder = copy.deepcopy(learner.action_encoder)
    return following, sentences


def _move(agent: Any, old: tuple[str, ...], new: tuple[str, ...]) -> list[str]:
    """Give the oracle of an agent the columns of the new actions, in place."""
    added = [name for name in new if name not in old]
    places = [old.index(name) if name in old else len(old) + added.index(name) for name in new]
    if getattr(agent, "rules", None) is not None:
        raise ValueError(
            "`agent` must be given, as the actions change and the log's agent has limits or "
            "budgets of its own, by column; write them in the problem"
        )
    for name in ("oracle", "fresh_oracle"):
        oracle = getattr(agent, name, None)
        if oracle is None:
            continue
        if not isinstance(oracle, DefaultOracle):
            raise ValueError(
                f"`agent` must be given, as the actions change and a {type(oracle).__name__} has "
                "no room for others; give one for the new actions, which starts untrained"
            )
        oracle.grow(len(old) + len(added))
        oracle.take(places)
    for name in ("waiting", "wanted", "taken"):  # looks by column
        looks = getattr(agent, name, None)
        if looks is not None:
            room = np.zeros(max(len(old) + len(added), looks.size))
            room[: looks.size] = looks
            setattr(agent, name, room[places])
    if hasattr(agent, "before_round"):
        agent.before_round = None
    retired = [name for name in old if name not in new]
    sentences = [f"what was learned of {_words([n for n in old if n in new])} is kept"]
    if added:
        sentences.append(f"{_words(added)} {'is' if len(added) == 1 else 'are'} new and "
                    f"start{'s' if len(added) == 1 else ''} unknown")  # fmt: skip
    if retired:
        sentences.append(f"what was learned of {_words(retired)} is dropped")
    return sentences


def _what_loses_meaning(old: Problem, new: Problem) -> list[str]:
    """The parts of a problem that differ, and without which a model means something else."""
    parts = ("feedback", "range", "features")
    changed = [name for name in parts if getattr(old, name) != getattr(new, name)]
    if old.has_fixed_actions != new.has_fixed_actions:
        changed.append("the form of actions")
    if not (old.informed and new.informed):
        learned = old.actions, old.reveals
        if learned != (new.actions, new.reveals):
            changed.append("what the actions reveal, which is learned,")
    return changed


def _known_otherwise(old: Problem, new: Problem) -> list[str]:
    """Sentences on outcomes that are known from now on, or not any more."""
    before, after = old.known or {}, new.known or {}
    begins, ends = [n for n in after if n not in before], [n for n in before if n not in after]
    sentences = []
    if begins:
        sentences.append(f"the {new.unit} of {_words(begins)} is known from now on")
    if ends:
        sentences.append(f"the {new.unit} of {_words(ends)} is no longer known, and learned")
    return sentences


def _untrained(agent: Any, problem: Problem, why: str) -> InformationDirected | None:
    """An agent of the same settings that has learned nothing; None for that of the problem."""
    if not problem.informed or isinstance(agent, OnPredictedGraph):
        return None
    made_here = isinstance(getattr(agent, "oracle", None), DefaultOracle | ActionFeatureOracle)
    if not isinstance(agent, InformationDirected) or not made_here:
        raise ValueError(
            f"`agent` must be given, as learning starts anew ({why} changed) and only "
            "InformationDirected() is made without settings; the log has "
            f"{type(agent).__name__}"
        )
    return InformationDirected()


def _inside(agent: Any) -> Any:
    return agent.agent if isinstance(agent, Learner) else agent


def _budgets(agent: Any, spending: Spending) -> tuple[Budget, ...]:
    """The budgets of an agent, in the names of its problem if that has them."""
    return (agent.problem.budgets if isinstance(agent, Learner) else ()) or spending.budgets


def _accounts(agent: Any) -> list[tuple[Budget, Account]]:
    """What was spent so far, of the budgets of now and then of earlier ones."""
    past = list(agent.past_budgets) if isinstance(agent, Learner) else []
    rules: Rules | None = getattr(innermost(_inside(agent)), "rules", None)
    if rules is None or rules.spending is None:
        return past
    spending = rules.spending
    return [*zip(_budgets(agent, spending), spending.accounts, strict=True), *past]


def _same_baseline(old: Any, new: Any) -> bool:
    if isinstance(old, Learner) and isinstance(new, Learner):
        promised = ("baseline", "feedback", "range")
        return all(getattr(old.problem, one) == getattr(new.problem, one) for one in promised)
    settings = ("baseline", "epsilon", "loss", "confidence")
    return all(getattr(old, one, None) == getattr(new, one, None) for one in settings)


def _words(names: list[str]) -> str:
    return listed(map(repr, names))
