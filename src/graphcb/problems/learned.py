"""What a model has learned, in words: from how much, of what, and who predicts."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from graphcb.checks import listed
from graphcb.contexts.codes import codes_in_words
from graphcb.oracles import DefaultOracle
from graphcb.oracles.blends import Blend
from graphcb.oracles.members import LEAST, member_weights
from graphcb.problems.alarms import alarms_of, in_words
from graphcb.problems.guarded import explorer_of, innermost, played_by
from graphcb.problems.learner import Learner

SHOWN = 12  # actions and features
SHAPES = ("straight lines", "products of features", "curves")  # the kinds of members


def learned_facts(agent: Any) -> list[tuple[str, str]]:
    """Names and sentences on an agent or a learner.

    >>> from graphcb import Problem
    >>> learner = Learner(Problem(["a", "b"], range=(0, 1)))
    >>> learner.learn({"x": 1.0}, ["a"], [0.25])
    >>> for name, text in learned_facts(learner)[:4]:
    ...     print(f"{name}: {text}")
    played by: InformationDirected
    learned from: 1 outcome
    a: seen once, mean loss 0.25
    b: never seen
    """
    is_learner = isinstance(agent, Learner)
    inside = agent.agent if is_learner else agent
    oracle = getattr(explorer_of(inside), "oracle", None)
    facts = [("played by", played_by(inside)), ("learned from", _from(inside, oracle))]
    if isinstance(oracle, DefaultOracle):
        facts += _of_actions(agent, oracle)
        if oracle.blend is not None:
            facts.append(("predicts by", _shapes(oracle.blend)))
    if is_learner and agent.encoder.kinds:
        kinds = [f"{name} ({kind})" for name, kind in agent.encoder.kinds.items()]
        facts.append(("features", listed(kinds, at_most=SHOWN)))
    if is_learner and agent.encoder.missing:
        missing = [f"{name} ({_times(n)})" for name, n in agent.encoder.missing.items()]
        facts.append(("missing", listed(missing, at_most=SHOWN)))
    facts += [("alarm", in_words(alarm)) for alarm in alarms_of(agent)]
    encoders = (agent.encoder, agent.action_encoder) if is_learner else ()
    return facts + [("warning", text) for text in codes_in_words(encoders)]


def _from(inside: Any, oracle: Any) -> str:
    rounds = int(getattr(innermost(inside), "n_rounds", 0))
    n = oracle.scale.n_losses if isinstance(oracle, DefaultOracle) else None
    decisions = f"{rounds:,} decision{'' if rounds == 1 else 's'}"
    if n is None:
        return decisions
    outcomes = f"{n:,} outcome{'' if n == 1 else 's'}"
    return f"{outcomes} of {decisions}" if rounds else outcomes


def _shapes(blend: Blend) -> str:
    """What the weight of the members is on, the heaviest first, and how much of it forgets."""
    weights = member_weights(blend)
    named = sorted(zip(weights.sum(axis=1).tolist(), SHAPES, strict=True), reverse=True)
    text = ", ".join(f"{100 * share:.0f} % {shape}" for share, shape in named if share >= LEAST)
    forgets = float(weights[:, 1:].sum())
    return f"{text}; {100 * forgets:.0f} % of it forgets old outcomes" if forgets >= LEAST else text


def _times(n: float) -> str:
    return "once" if n == 1 else f"{n:,.0f} times"


def _of_actions(agent: Any, oracle: DefaultOracle) -> list[tuple[str, str]]:
    """How often each action was seen, and what it brought on average."""
    names: Sequence[Any] = range(oracle.n_actions)
    values, unit = oracle.scale.means, "loss"
    if isinstance(agent, Learner):
        names, unit = tuple(agent.problem.actions), agent.problem.unit
        values = agent.problem.as_values(np.array(values))
    facts = []
    for name, n, value in zip(names, oracle.scale.counts.tolist(), values, strict=True):
        text = f"seen {_times(n)}, mean {unit} {value:.4g}" if n else "never seen"
        facts.append((str(name), text))
    return facts[:SHOWN]
