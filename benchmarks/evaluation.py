"""How right and how sharp off-policy estimates are, over many simulated logs.

    python benchmarks/evaluation.py [--logs 1000] [--decisions 1000]

Four kinds of contexts, ten actions, losses 0 or 1 with known means, so that the true loss of the
judged policy is known. Plain propensity weighting is given the loss of the played action also under
cops-and-robbers, which does not show it. The last table has the widths of anytime-valid intervals
for several floors under the terms around a guess, on logs that are twice as long.
"""

import argparse
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from graphcb import FeedbackGraph, graphs
from graphcb.estimates.means import AnytimeEnds, normalised_mean
from graphcb.estimates.terms import (
    FLOOR,
    Flags,
    Floats,
    Terms,
    doubly_robust_terms,
    graph_terms,
    terms_by_action,
)

N_KINDS = 4


class World(NamedTuple):
    """What is true: mean losses, what the log plays and what is judged, (N_KINDS, n_actions)."""

    means: Floats
    logged: Floats
    target: Floats

    @property
    def true_loss(self) -> float:
        return float((self.target * self.means).sum(axis=1).mean())


class Logs(NamedTuple):
    """Simulated logs: (n_logs, n_decisions, n_actions), and the kind of each context."""

    kinds: np.ndarray
    played: Flags
    revealed: Flags
    losses: Floats


def new_world(n_actions: int, rng: np.random.Generator, *, least: float = 0.02) -> World:
    """A log that mostly plays one action; a judged policy that mostly plays another."""
    means = rng.uniform(0.1, 0.9, (N_KINDS, n_actions))
    return World(means, _mostly(n_actions, rng, least), _mostly(n_actions, rng, 0.01))


def _mostly(n_actions: int, rng: np.random.Generator, least: float) -> Floats:
    probabilities = np.full((N_KINDS, n_actions), least)
    best = rng.integers(n_actions, size=N_KINDS)
    probabilities[np.arange(N_KINDS), best] = 1.0 - least * (n_actions - 1)
    return probabilities


def simulate(
    world: World, graph: FeedbackGraph, n_logs: int, n_decisions: int, rng: np.random.Generator
) -> Logs:
    kinds = rng.integers(N_KINDS, size=(n_logs, n_decisions))
    below = np.cumsum(world.logged, axis=1)[kinds]
    actions = (rng.random((n_logs, n_decisions, 1)) > below).sum(axis=-1)
    actions = np.minimum(actions, graph.n_actions - 1)
    shape = (n_logs, n_decisions, graph.n_actions)
    revealed = rng.random(shape) < graph.matrix[actions]
    losses = (rng.random(shape) < world.means[kinds]).astype(np.float64)
    return Logs(kinds, actions[..., None] == np.arange(graph.n_actions), revealed, losses)


class Found(NamedTuple):
    """Estimates of logs, (n_logs,), and what each decision adds to their error."""

    values: Floats
    errors: Floats


def estimates(world: World, graph: FeedbackGraph, logs: Logs) -> dict[str, Found]:
    """What each way of estimating finds."""
    reveal = np.array([graph.reveal_probabilities(p) for p in world.logged])[logs.kinds]
    target = world.target[logs.kinds]
    guess = np.clip(world.means + 0.1, 0.0, 1.0)[logs.kinds]  # an oracle that is off
    robust = doubly_robust_terms(target, reveal, logs.revealed, logs.losses, guess)
    return {
        "plain": normalised(target, world.logged[logs.kinds], logs.played, logs.losses),
        "graph": normalised(target, reveal, logs.revealed, logs.losses),
        "doubly robust": Found(robust.mean(axis=1), robust - robust.mean(axis=1, keepdims=True)),
    }


def normalised(target: Floats, propensities: Floats, seen: Flags, losses: Floats) -> Found:
    below = graph_terms(target, propensities, seen, losses)
    weights = graph_terms(target, propensities, seen, np.ones(losses.shape))
    values = normalised_mean(below.sum(axis=1), (weights - below).sum(axis=1))
    errors = (below - values[:, None] * weights) / weights.mean(axis=1, keepdims=True)
    return Found(values, errors)


def covered(found: Found, truth: float) -> float:
    """The share of logs whose normal 95 % interval holds the truth."""
    errors = found.errors.std(axis=1, ddof=1) / np.sqrt(found.errors.shape[1])
    return float((np.abs(found.values - truth) <= 1.959964 * errors).mean())


def running_means(revealed: Flags, losses: Floats) -> Floats:
    """The mean of the losses of each action that were revealed before, 0.5 at first."""
    seen, lost = revealed.astype(np.float64), np.where(revealed, losses, 0.0)
    counts = np.cumsum(seen, axis=-2) - seen
    return np.asarray((0.5 + np.cumsum(lost, axis=-2) - lost) / (1.0 + counts))


def terms_with_guesses(
    target: Floats, reveal: Floats, revealed: Flags, losses: Floats, floor: float = FLOOR
) -> Terms:
    guess = running_means(revealed, losses)
    return terms_by_action(reveal, revealed, losses, guess, floor=floor).of(target)


def always_covered(world: World, graph: FeedbackGraph, logs: Logs) -> tuple[float, Floats]:
    """The share of logs whose sequence holds the truth after every decision; widths at the end."""
    reveal = np.array([graph.reveal_probabilities(p) for p in world.logged])[logs.kinds]
    target = world.target[logs.kinds]
    terms = terms_with_guesses(target, reveal, logs.revealed, logs.losses)
    lower, upper = np.moveaxis(AnytimeEnds(0.05).add(terms), -1, 0)
    holds = (lower <= world.true_loss) & (world.true_loss <= upper)
    return float(holds.all(axis=1).mean()), upper[:, -1] - lower[:, -1]


def ever_peeked(world: World, graph: FeedbackGraph, logs: Logs, first: int = 30) -> float:
    """The share of logs whose normal interval holds the truth after every decision."""
    reveal = np.array([graph.reveal_probabilities(p) for p in world.logged])[logs.kinds]
    target = world.target[logs.kinds]
    x = graph_terms(target, reveal, logs.revealed, logs.losses)
    w = graph_terms(target, reveal, logs.revealed, np.ones(logs.losses.shape))
    n = np.arange(1, x.shape[1] + 1)
    weight = np.cumsum(w, axis=1)
    mean = np.cumsum(x, axis=1) / np.maximum(weight, 1e-9)
    squares = np.cumsum(x**2, axis=1) - 2.0 * mean * np.cumsum(x * w, axis=1)
    squares += mean**2 * np.cumsum(w**2, axis=1)
    errors = np.sqrt(np.maximum(squares, 0.0)) / np.maximum(weight, 1e-9)
    holds = np.abs(mean - world.true_loss) <= 1.959964 * errors
    return float(holds[:, np.minimum(first, n[-1] - 1) :].all(axis=1).mean())


FLOORS = (1.0, 2.0, 5.0, 10.0, 20.0)


def widths_by_floor(n_logs: int, n_decisions: int) -> None:
    """Print the mean width of the interval, for the policy of the log and for its worst action."""
    print("\n| log | of | " + " | ".join(f"floor {floor:g}" for floor in FLOORS) + " |")
    print("|---" * (2 + len(FLOORS)) + "|")
    forms = {
        "bandit": graphs.bandit(5),
        "cops-and-robbers": graphs.cops_and_robbers(5),
        "review": graphs.apple_tasting(),
    }
    totals = np.zeros(len(FLOORS))
    for name, graph in forms.items():
        for kind in ("fixed", "learning"):
            found = np.zeros((2, len(FLOORS), n_logs))
            for log in range(n_logs):
                rng = np.random.default_rng(log)
                p, revealed, losses, worst = _one_log(graph, kind, n_decisions, rng)
                reveal = p @ graph.matrix
                for place, floor in enumerate(FLOORS):
                    for row, target in enumerate((p, worst)):
                        terms = terms_with_guesses(target, reveal, revealed, losses, floor)
                        lower, upper = AnytimeEnds(0.05, floor=floor).add(terms)[-1]
                        found[row, place, log] = upper - lower
            for row, what in enumerate(("the policy", "the worst action")):
                means = found[row].mean(axis=1)
                totals += np.log(means)
                shown = " | ".join(f"{mean:.3f}" for mean in means)
                print(f"| {name}, {kind} | {what} | {shown} |", flush=True)
    shown = " | ".join(f"{mean:.3f}" for mean in np.exp(totals / 12))
    print(f"| geometric mean | | {shown} |")


def _one_log(
    graph: FeedbackGraph, kind: str, n: int, rng: np.random.Generator
) -> tuple[Floats, Flags, Floats, Floats]:
    """Probabilities, what was revealed, losses, and a policy that plays the worst action."""
    k = graph.n_actions
    means = rng.uniform(0.1, 0.9, k)
    sure = np.full(n, 0.8) if kind == "fixed" else np.linspace(0.0, 0.98, n)
    p = np.repeat((1.0 - sure)[:, None] / k, k, axis=1)
    p[:, means.argmin()] += sure
    actions = (rng.random((n, 1)) > np.cumsum(p, axis=1)).sum(axis=1).clip(0, k - 1)
    revealed = rng.random((n, k)) < graph.matrix[actions]
    losses = (rng.random((n, k)) < means).astype(np.float64)
    worst = np.tile(np.arange(k) == means.argmax(), (n, 1)).astype(np.float64)
    return p, revealed, losses, worst


def chunks(total: int, size: int = 100) -> Iterator[int]:
    for begin in range(0, total, size):
        yield min(size, total - begin)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--logs", type=int, default=1000)
    parser.add_argument("--decisions", type=int, default=1000)
    options = parser.parse_args()
    print("| graph | estimate | bias in standard errors | covered | variance, plain = 1 |")
    print("|---|---|---|---|---|")
    for graph in (graphs.bandit(10), graphs.cops_and_robbers(10), graphs.inventory(10)):
        rng = np.random.default_rng(0)
        world = new_world(10, rng)
        parts: dict[str, list[Found]] = {}
        always, peeked, widths = [], [], []
        for n_logs in chunks(options.logs):
            logs = simulate(world, graph, n_logs, options.decisions, rng)
            for name, found in estimates(world, graph, logs).items():
                parts.setdefault(name, []).append(found)
            held, width = always_covered(world, graph, logs)
            always.append(held)
            widths.append(width.mean())
            peeked.append(ever_peeked(world, graph, logs))
        truth = world.true_loss
        every = {
            name: Found(*(np.concatenate(part) for part in zip(*found, strict=True)))
            for name, found in parts.items()
        }
        plain = every["plain"].values.var()
        for name, found in every.items():
            means = found.values
            bias = (means.mean() - truth) / (means.std() / np.sqrt(len(means)))
            print(
                f"| {graph.family} | {name} | {bias:+.2f} | {covered(found, truth):.1%} | "
                f"1 / {plain / means.var():.1f} |"
            )
        normal = 2 * 1.96 * every["graph"].errors.std() / np.sqrt(options.decisions)
        print(
            f"| {graph.family} | graph, at every decision | | anytime {np.mean(always):.1%}, "
            f"normal {np.mean(peeked):.1%} | width {np.mean(widths):.3f}, normal {normal:.3f} |",
            flush=True,
        )
    widths_by_floor(max(1, options.logs // 40), 2 * options.decisions)


if __name__ == "__main__":
    main()
