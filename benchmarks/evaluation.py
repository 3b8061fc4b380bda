"""How right and how sharp off-policy estimates are, over many simulated logs.

    python benchmarks/evaluation.py [--logs 1000] [--decisions 1000]

Four kinds of contexts, ten actions, losses 0 or 1 with known means, so that the true loss of the
judged policy is known. Plain propensity weighting is given the loss of the played action also under
cops-and-robbers, which does not show it.
"""

import argparse
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from graphcb import FeedbackGraph, graphs
from graphcb.estimates.intervals import confidence_sequence
from graphcb.estimates.terms import Flags, Floats, doubly_robust_terms, graph_terms

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


def estimates(world: World, graph: FeedbackGraph, logs: Logs) -> dict[str, Floats]:
    """The terms of each way of estimating: (n_logs, n_decisions)."""
    reveal = np.array([graph.reveal_probabilities(p) for p in world.logged])[logs.kinds]
    target = world.target[logs.kinds]
    guess = np.clip(world.means + 0.1, 0.0, 1.0)[logs.kinds]  # an oracle that is off
    return {
        "plain": graph_terms(target, world.logged[logs.kinds], logs.played, logs.losses),
        "graph": graph_terms(target, reveal, logs.revealed, logs.losses),
        "doubly robust": doubly_robust_terms(target, reveal, logs.revealed, logs.losses, guess),
    }


def covered(terms: Floats, truth: float) -> float:
    """The share of logs whose normal 95 % interval holds the truth."""
    errors = terms.std(axis=1, ddof=1) / np.sqrt(terms.shape[1])
    return float((np.abs(terms.mean(axis=1) - truth) <= 1.959964 * errors).mean())


def always_covered(world: World, graph: FeedbackGraph, logs: Logs) -> tuple[float, Floats]:
    """The share of logs whose sequence holds the truth after every decision; widths at the end."""
    reveal = np.array([graph.reveal_probabilities(p) for p in world.logged])[logs.kinds]
    target = world.target[logs.kinds]
    below = graph_terms(target, reveal, logs.revealed, logs.losses)
    above = graph_terms(target, reveal, logs.revealed, 1.0 - logs.losses)
    lower, upper = confidence_sequence(below, above)
    holds = (lower <= world.true_loss) & (world.true_loss <= upper)
    return float(holds.all(axis=1).mean()), upper[:, -1] - lower[:, -1]


def ever_peeked(terms: Floats, truth: float, first: int = 30) -> float:
    """The share of logs whose normal interval holds the truth after every decision."""
    n = np.arange(1, terms.shape[1] + 1)
    mean = np.cumsum(terms, axis=1) / n
    variance = np.maximum(np.cumsum(terms**2, axis=1) / n - mean**2, 0.0)
    holds = np.abs(mean - truth) <= 1.959964 * np.sqrt(variance / n)
    return float(holds[:, first:].all(axis=1).mean())


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
        terms: dict[str, list[Floats]] = {}
        always, peeked, widths = [], [], []
        for n_logs in chunks(options.logs):
            logs = simulate(world, graph, n_logs, options.decisions, rng)
            for name, found in estimates(world, graph, logs).items():
                terms.setdefault(name, []).append(found)
            held, width = always_covered(world, graph, logs)
            always.append(held)
            widths.append(width.mean())
            peeked.append(ever_peeked(terms["graph"][-1], world.true_loss))
        truth = world.true_loss
        plain = np.concatenate(terms["plain"]).mean(axis=1).var()
        for name, parts in terms.items():
            found = np.concatenate(parts)
            means = found.mean(axis=1)
            bias = (means.mean() - truth) / (means.std() / np.sqrt(len(means)))
            share = covered(found, truth)
            print(
                f"| {graph.family} | {name} | {bias:+.2f} | {share:.1%} | "
                f"1 / {plain / means.var():.1f} |"
            )
        normal = 2 * 1.96 * np.concatenate(terms["graph"]).std() / np.sqrt(options.decisions)
        print(
            f"| {graph.family} | graph, at every decision | | anytime {np.mean(always):.1%}, "
            f"normal {np.mean(peeked):.1%} | width {np.mean(widths):.3f}, normal {normal:.3f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
