"""What a model has learned, in words: from how much, of what, and who predicts."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from graphcb.checks import listed
from graphcb.oracles import DefaultOracle
from graphcb.problems.alarms import alarms_of, in_words
from graphcb.problems.guarded import explorer_of, innermost, played_by
from graphcb.problems.learner import Learner

SHOWN = 12  # actions and features


def learned_facts(agent: Any) -> list[tuple[str, str]]:
    """Names and sentences on an agent or a learner.

    >>> from graphcb import Problem
    >>> learner = Learner(Problem(["a", "b"], range=(0, 1)))
    >>> learner.learn({"x": 1.0}, ["a"], [0.25])
    >>> for name, text in learned_facts(learner)[:4]:
    ...     print(f"{name}: {text}")
    played by: InformationDirected
    learned from: 1 loss, 0 decisions
    a: seen once, mean loss 0.25
    b: never seen
    """
    is_learner = isinstance(agent, Learner)
    inside = agent.agent if is_learner else agent
    oracle = getattr(explorer_of(inside), "oracle", None)
    facts = [("played by", played_by(inside)), ("learned from", _from(inside, oracle))]
    if isinstance(oracle, DefaultOracle):
        facts += _of_actions(agent, oracle)
        facts.append(("predictions", oracle.explain().removeprefix("predicted ")))
    if is_learner and agent.encoder.kinds:
        kinds = [f"{name} ({kind})" for name, kind in agent.encoder.kinds.items()]
        facts.append(("features", listed(kinds, at_most=SHOWN)))
    if is_learner and agent.encoder.missing:
        missing = [f"{name} ({n:,} times)" for name, n in agent.encoder.missing.items()]
        facts.append(("missing", listed(missing, at_most=SHOWN)))
    facts += [("alarm", in_words(alarm)) for alarm in alarms_of(agent)]
    return facts


def _from(inside: Any, oracle: Any) -> str:
    rounds = int(getattr(innermost(inside), "n_rounds", 0))
    n = oracle.scale.n_losses if isinstance(oracle, DefaultOracle) else None
    decisions = f"{rounds:,} decision{'' if rounds == 1 else 's'}"
    return decisions if n is None else f"{n:,} loss{'' if n == 1 else 'es'}, {decisions}"


def _of_actions(agent: Any, oracle: DefaultOracle) -> list[tuple[str, str]]:
    """How often each action was seen, and what it brought on average."""
    names: Sequence[Any] = range(oracle.n_actions)
    values, unit = oracle.scale.means, "loss"
    if isinstance(agent, Learner):
        names, unit = tuple(agent.problem.actions), agent.problem.unit
        values = agent.problem.as_values(np.array(values))
    facts = []
    for name, n, value in zip(names, oracle.scale.counts.tolist(), values, strict=True):
        times = "once" if n == 1 else f"{n:,.0f} times"
        text = f"seen {times}, mean {unit} {value:.4g}" if n else "never seen"
        facts.append((str(name), text))
    return facts[:SHOWN]
