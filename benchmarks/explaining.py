"""What an explanation costs, by the shape of the problem and by how far the stored model is.

A policy decides and learns; the last decision is then explained by `Policy.explain` again and
again. Each time the log is read, the model of that moment is rebuilt from the last checkpoint, and
the oracle is asked again without each feature.
"""

import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from measure import part_arguments, spread

import graphcb

Rng = np.random.Generator


class Case(NamedTuple):
    """A problem, what its contexts are like, and the actions of a round if they are not fixed."""

    name: str
    actions: Any
    context: Callable[[Rng], dict[str, Any]]
    items: Callable[[Rng], dict[str, Any]] | None = None


def _payment(rng: Rng) -> dict[str, Any]:
    return {"amount": rng.lognormal(3.0, 1.0), "country": str(rng.choice(["DE", "FR", "XX"]))}


def _numbers(n: int) -> Callable[[Rng], dict[str, Any]]:
    return lambda rng: {f"x{i}": rng.normal() for i in range(n)}


def _text(rng: Rng) -> dict[str, Any]:
    return {"text": " ".join(rng.choice([f"word{i}" for i in range(500)], 40))}


def _items(rng: Rng) -> dict[str, Any]:
    kinds = ["book", "film"]
    return {f"item {k}": {"price": rng.normal(), "kind": str(rng.choice(kinds))} for k in range(20)}


CASES = (
    Case("2 actions, a number and a category", ["approve", "review"], _payment),
    Case("2 actions, 30 numbers", ["a", "b"], _numbers(30)),
    Case("10 actions, 10 numbers", [f"a{k}" for k in range(10)], _numbers(10)),
    Case("50 actions, 30 numbers", [f"a{k}" for k in range(50)], _numbers(30)),
    Case("2 actions, a text of 40 words", ["a", "b"], _text),
    Case("20 actions with 2 features each, 2 features", "each round", _payment, _items),
)


def explained(case: Case, log: Path, n: int, every: int, repeats: int) -> list[float]:
    """Seconds of explaining the last of n decisions, with a checkpoint `every` so many events."""
    rng, problem = np.random.default_rng(0), graphcb.Problem(case.actions, range=(0, 1))
    with graphcb.Policy(log, problem=problem, seed=0, checkpoint_every=every) as policy:
        for _ in range(n):
            items = None if case.items is None else case.items(rng)
            made = policy.decide(case.context(rng), actions=items)
            policy.feedback(made.decision_id, {made.action: float(rng.random())})
        seconds = []
        for _ in range(repeats + 1):  # of which the first is not counted
            began = time.process_time()
            policy.explain(made.decision_id)
            seconds.append(time.process_time() - began)
    return seconds[1:]


def main() -> None:
    quick = part_arguments(__doc__).quick
    repeats = 2 if quick else 20
    print("Processor time of one `Policy.explain`; in brackets the quartiles.\n")
    print("| problem | events after the stored model | time |\n|---|---:|---:|")
    with tempfile.TemporaryDirectory() as folder:
        for at, case in enumerate(CASES):
            n = 20 if quick else 250  # 500 events, so that 99 of them come after a checkpoint
            seconds = explained(case, Path(folder) / f"{at}.db", n, 2 * n // 5 + 1, repeats)
            print(f"| {case.name} | {(2 * n - 2) % (2 * n // 5 + 1)} | {spread(seconds)} |")
        n = 20 if quick else 2500
        seconds = explained(CASES[0], Path(folder) / "far.db", n, 10**6, 2)
        print(f"| {CASES[0].name} | {2 * n - 2:,} | {spread(seconds)} |")


if __name__ == "__main__":
    main()
