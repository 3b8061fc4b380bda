"""What `graphcb inspect` says of a model file."""

from typing import Any

from graphcb.experiments.model import Model
from graphcb.problems import Learner
from graphcb.problems.learned import learned_facts
from graphcb.saving import load


def model_facts(path: str) -> list[tuple[str, str]]:
    """What it has learned, from how much, and how good it was on the rows of `graphcb run`."""
    model: Any = load(path)
    if not hasattr(model, "act"):
        return [("oracle", repr(model))]
    facts = learned_facts(model)
    if isinstance(model, Learner) and model.progress is not None:
        facts.append((f"mean {model.problem.unit}", _progress(model)))
    return facts


def _progress(model: Learner) -> str:
    run = Model.from_learner(model, "the model")
    tally = run.tally
    text = f"{run.in_units(tally.total / max(tally.count, 1)):.6g} over {tally.count:,} rows"
    n = tally.count - tally.last_count
    if 0 < n < tally.count:
        lately = run.in_units((tally.total - tally.last_total) / n)
        text += f", {lately:.6g} in the last {n:,}"
    return text
