"""What a learner gains from decisions of another program, and whether to weigh them by propensity.

A logging policy that follows a feature of the context writes a log. A learner learns from it, as
`graphcb log import --continue` does, and then decides as many rounds by itself. Beside it: the
same with importance weights, clipped at 10, by learning a decision as often as its weight says
(the mean weight is 1, fractions by a draw); with the imported decisions counted as rounds of its
own; a learner that starts cold; and one that decided those first rounds itself. Regret is
expected: what the played distribution loses over the best action of the round.
"""

import argparse
import copy
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

import graphcb

K, WIDTH, CLIP = 5, 6, 10.0
NAMES = [f"a{k}" for k in range(K)]
PROBLEM = graphcb.Problem(NAMES, features={f"x{j}": "number" for j in range(WIDTH)})
WAYS = ("cold", "warm", "warm, weighted", "warm, rounds counted", "live")
Floats = NDArray[np.float64]


class World:
    """Contexts and the expected losses of the actions: linear in them, or not."""

    def __init__(self, kind: str, seed: int) -> None:
        rng = np.random.default_rng([seed, 1])
        self.kind, self.seed = kind, seed
        self.weights = rng.normal(size=(K, WIDTH)) / np.sqrt(WIDTH)
        self.hidden = rng.normal(size=(2, K, WIDTH))
        self.favourite = rng.permutation(K)

    def rounds(self, n_rounds: int, part: int) -> Iterator[tuple[dict[str, float], Floats, Floats]]:
        """Contexts, expected losses, and the losses of all actions, drawn."""
        rng = np.random.default_rng([self.seed, 2, part])
        for _ in range(n_rounds):
            x = rng.normal(size=WIDTH)
            scores = self.weights @ x
            if self.kind == "not linear":
                first, second = self.hidden @ x
                scores = np.sign(first) * np.sign(second)
            means = 1.0 / (1.0 + np.exp(-1.5 * scores))
            yield _named(x), means, (rng.random(K) < means).astype(float)

    def logged(self, context: dict[str, float]) -> Floats:
        """The policy that writes the log: two actions that a feature chooses, and some chance."""
        p = np.full(K, 0.02)
        p[self.favourite[0 if context["x0"] > 0.0 else 1]] += 0.7
        p[self.favourite[2]] += 0.2
        return np.asarray(p / p.sum())


def _named(x: Floats) -> dict[str, float]:
    return {f"x{j}": float(value) for j, value in enumerate(x)}


def regret_of(learner: Any, world: World, n_rounds: int, part: int, seed: int) -> float:
    """The expected regret per round of a learner that goes on deciding; it learns."""
    rng, total = np.random.default_rng([seed, 3]), 0.0
    for context, means, losses in world.rounds(n_rounds, part):
        p = learner.act(context)
        total += p @ means - means.min()
        action = graphcb.draw(p, rng)
        learner.learn(context, [NAMES[action]], [losses[action]])
    return total / n_rounds


def taught(world: World, n_rounds: int, *, weighted: bool) -> Any:
    """A learner that has learned from the log."""
    learner = graphcb.Learner(PROBLEM)
    rng, draws = np.random.default_rng([world.seed, 4]), np.random.default_rng([world.seed, 5])
    rows = []
    for context, _, losses in world.rounds(n_rounds, 0):
        p = world.logged(context)
        action = graphcb.draw(p, rng)
        rows.append((context, action, losses[action], min(1.0 / p[action], CLIP)))
    mean = float(np.mean([weight for *_, weight in rows]))
    for context, action, loss, weight in rows:
        times = int(weight / mean + draws.random()) if weighted else 1
        for _ in range(times):
            learner.update(context, [NAMES[action]], [loss])
    return learner


def measure(kind: str, n_rounds: int, seed: int) -> list[float]:
    """Regret per round after the log, in the order of `WAYS`."""
    world = World(kind, seed)
    warm = taught(world, n_rounds, weighted=False)
    counted = copy.deepcopy(warm)
    counted.agent.n_rounds = n_rounds
    live = graphcb.Learner(PROBLEM)
    regret_of(live, world, n_rounds, 0, seed)
    learners = (
        graphcb.Learner(PROBLEM), warm, taught(world, n_rounds, weighted=True), counted, live
    )  # fmt: skip
    return [regret_of(learner, world, n_rounds, 1, seed) for learner in learners]


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, nargs="+", default=[300, 2000])
    parser.add_argument("--seeds", type=int, default=20)
    options = parser.parse_args()
    print(f"Expected regret per round after the log, mean of {options.seeds} seeds (std. error).\n")
    print(f"| losses | rounds | {' | '.join(WAYS)} |")
    print(f"|---|---|{'---|' * len(WAYS)}")
    for kind in ("linear", "not linear"):
        for n_rounds in options.rounds:
            found = np.array([measure(kind, n_rounds, seed) for seed in range(options.seeds)])
            errors = found.std(axis=0, ddof=1) / np.sqrt(len(found))
            cells = [
                f"{mean:.4f} ({error:.4f})"
                for mean, error in zip(found.mean(axis=0), errors, strict=True)
            ]
            print(f"| {kind} | {n_rounds:,} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
