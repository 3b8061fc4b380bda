"""Target policies: what each would have played in a logged round."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from graphcb.agents import Agent, Greedy
from graphcb.decisions import LoggedDecision
from graphcb.estimates.terms import Floats
from graphcb.oracles import Oracle
from graphcb.problems import Learner
from graphcb.rounds import would_play
from graphcb.rounds.identifiers import Identifiers, as_identifier
from graphcb.saving import load

Target = Callable[[LoggedDecision], Floats]
FORMS = "uniform, logged, constant:ACTION, MODEL.npz, greedy:MODEL.npz, PROBLEM.toml or shadow"


def uniform(row: LoggedDecision) -> Floats:
    """Every action equally often."""
    return np.full(row.graph.n_actions, 1.0 / row.graph.n_actions)


def logged(row: LoggedDecision) -> Floats:
    """The policy that wrote the log."""
    return row.probabilities


def constant(action: Any) -> Target:
    """Always the same action, by its identifier or the text of it, as in `Policy.feedback`."""
    key = as_identifier(action)

    def target(row: LoggedDecision) -> Floats:
        probabilities = np.zeros(row.graph.n_actions)
        probabilities[Identifiers(row.actions, row.graph.n_actions).index(key)] = 1.0
        return probabilities

    return target


def as_saved(agent: Agent) -> Target:
    """An agent as it is: it neither learns nor counts rounds while it is evaluated."""

    def target(row: LoggedDecision) -> Floats:
        return would_play(agent, row.context, row.graph, row.actions)

    return target


def greedy(oracle: Oracle | Learner) -> Target:
    """The action that looks best to an oracle or a `Learner` as it is."""
    if isinstance(oracle, Learner):
        return as_saved(oracle.greedy())
    return as_saved(Greedy(oracle))


def read_target(text: str) -> Target:
    """A policy from its text on the command line; a shadow and a problem need their log."""
    if text in ("uniform", "logged"):
        return uniform if text == "uniform" else logged
    kind, colon, rest = text.partition(":")
    if kind == "constant" and rest:
        return constant(rest)
    if kind == "greedy" and colon:
        thing = _load(rest)
        return greedy(thing if isinstance(thing, Learner) else getattr(thing, "oracle", thing))
    if text.endswith(".npz"):
        thing = _load(text)
        if not hasattr(thing, "act"):
            raise ValueError(
                f"{text}: must contain an agent, got a {type(thing).__name__}; evaluate an oracle "
                f"as greedy:{text}"
            )
        return as_saved(thing)
    raise ValueError(f"`policy` must be {FORMS}, got {text!r}")


def _load(text: str) -> Any:
    if not Path(text).is_file():
        raise FileNotFoundError(f"`policy` must name a model that exists, got {text!r}")
    return load(text)
