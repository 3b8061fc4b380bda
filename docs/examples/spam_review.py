"""Review and approval: only what you pay for shows the truth. Two cases of apple tasting.

A message is sent to review, which costs a little and shows whether it was spam, or delivered, which
costs nothing for ham, a lot for spam, and shows nothing. A loan is granted, which shows whether
it is paid back, or refused, which shows nothing and loses the interest of a good customer. In both
cases action 0 reveals all losses and action 1 none.

Greedy soon delivers and refuses everything, and learns nothing more. The learner that ignores the
graph is level on the real loans, and on the real messages it reviews less and costs less.

    python docs/examples/spam_review.py [figure.png]

Uses the SMS spam collection and credit card clients from GRAPHCB_DATA, or generated ones if that
is not set.
"""

import os
import sys
from pathlib import Path
from typing import Any

import numpy as np

from graphcb import EpsilonGreedy, Greedy, InformationDirected, graphs
from graphcb.datasets import DataNotFoundError, generate_messages, hash_words, load_sms_spam
from graphcb.environments import KnownLosses
from graphcb.experiments import run
from graphcb.figures.curves import draw_progress, save
from graphcb.oracles import DefaultOracle

GRAPH = graphs.apple_tasting()


class IgnoresGraph(InformationDirected):
    """Is told that each action shows its own loss; learns from what is seen."""

    def act(self, context, graph, actions=None):
        return super().act(context, graphs.bandit(graph.n_actions), actions)


def messages() -> tuple[str, Any, np.ndarray]:
    """Words as sparse contexts; losses (review, deliver)."""
    try:
        data, source = load_sms_spam(), "real messages"
    except DataNotFoundError:
        data, source = generate_messages(4000, np.random.default_rng(0)), "generated messages"
    losses = np.where(data.is_spam[:, None], [0.15, 1.0], [0.15, 0.0])
    return source, hash_words(data.texts, 2**18), losses


def loans() -> tuple[str, np.ndarray, np.ndarray]:
    """Amounts and payments as they are in the file; losses (grant, refuse)."""
    path = Path(os.environ.get("GRAPHCB_DATA", "")) / "streams" / "credit.csv.gz"
    if path.is_file():
        source, table = "real loans", np.loadtxt(path, delimiter=",", skiprows=1)
        contexts, defaults = table[:, :-1], table[:, -1] == 1.0
    else:
        source, rng = "generated loans", np.random.default_rng(0)
        contexts = np.column_stack((rng.normal(4e4, 1e4, 4000), rng.poisson(0.5, 4000)))
        score = 1.5 * contexts[:, 1] - 2.0 - (contexts[:, 0] - 4e4) / 1e4
        defaults = rng.random(4000) < 1.0 / (1.0 + np.exp(-score))
    return source, contexts, np.where(defaults[:, None], [1.0, 0.0], [0.0, 0.3])


def compare(
    source: str, contexts: Any, losses: np.ndarray, names: tuple[str, str], n_seeds: int
) -> dict[str, np.ndarray]:
    """The mean loss so far of each contender (n_seeds, n); prints a table."""
    print(f"{len(losses):,} {source}, {n_seeds} orders; {InformationDirected().explain(GRAPH)}")
    environment = KnownLosses(contexts, losses, GRAPH)
    contenders = {
        "information-directed": InformationDirected,
        "greedy": lambda: Greedy(DefaultOracle(2)),
        "epsilon-greedy, 5 %": lambda: EpsilonGreedy(DefaultOracle(2), epsilon=0.05),
        "ignores the graph": IgnoresGraph,
    }
    curves = {}
    for name, new_agent in contenders.items():
        runs = [list(run(new_agent(), environment, seed=seed)) for seed in range(n_seeds)]
        curves[name] = np.array([[row.mean_loss for row in rows] for rows in runs])
        shown = np.mean([row.action == 0 for rows in runs for row in rows])
        last = curves[name][:, -1]
        print(f"{name:20} {last.mean():.4f} +- {last.std():.4f} per case, {shown:.0%} shown")
    best = int(losses.mean(axis=0).argmin())
    constant = f"always {names[best]}"
    curves[constant] = np.full((1, len(losses)), losses[:, best].mean())
    print(f"{constant:20} {losses[:, best].mean():.4f}")
    final = {name: curve[:, -1] for name, curve in curves.items()}
    for name, theirs in list(final.items())[1:]:
        apart = (final["information-directed"] - theirs) / theirs.mean()
        error = apart.std() / np.sqrt(n_seeds)
        print(f"information-directed against {name}: {apart.mean():+.1%} +- {error:.1%}")
    return curves


def main(figure: Path | None = None, n_seeds: int = 10) -> dict[str, dict[str, float]]:
    costs = {}
    cases = (messages(), ("review", "deliver")), (loans(), ("grant", "refuse"))
    for (source, contexts, losses), names in cases:
        curves = compare(source, contexts, losses, names, n_seeds)
        costs[source] = {name: float(curve[:, -1].mean()) for name, curve in curves.items()}
        if figure is not None:
            path = figure.with_stem(f"{figure.stem}-{source.split()[1]}")
            drawn = draw_progress(range(1, len(losses) + 1), curves, f"Apple tasting: {source}")
            save(drawn, path, scripts=[Path(__file__)])
            print(f"figure: {path}")
    return costs


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else None)
