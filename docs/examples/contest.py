"""The contest of an example: the default agent beside greedy and itself without the graph."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from graphcb import EpsilonGreedy, FeedbackGraph, Greedy, InformationDirected
from graphcb.agents import Agent
from graphcb.environments import KnownLosses
from graphcb.experiments import run
from graphcb.figures.curves import draw_progress, save
from graphcb.oracles import DefaultOracle

Curves = dict[str, np.ndarray]


class IgnoresGraph(InformationDirected):
    """Is told another graph than the true one; learns from what is seen."""

    def __init__(self, believed: FeedbackGraph) -> None:
        super().__init__()
        self.believed = believed

    def act(self, context: Any, graph: FeedbackGraph, actions: Any = None) -> np.ndarray:
        return super().act(context, self.believed, actions)


def contest(
    contexts: Any,
    losses: np.ndarray,
    graph: FeedbackGraph,
    believed: FeedbackGraph,
    names: tuple[str, ...],
    *,
    n_seeds: int,
    shuffle: bool = True,
) -> Curves:
    """The mean loss so far of each contender (n_seeds, n); prints a table.

    The last contender sees what the graph shows and explores as if it were `believed`.
    """
    n, n_actions = losses.shape
    contenders: dict[str, Callable[[], Agent]] = {
        "information-directed": InformationDirected,
        "greedy": lambda: Greedy(DefaultOracle(n_actions)),
        "epsilon-greedy, 5 %": lambda: EpsilonGreedy(DefaultOracle(n_actions), epsilon=0.05),
        "ignores the graph": lambda: IgnoresGraph(believed),
    }
    environment = KnownLosses(contexts, losses, graph, shuffle=shuffle)
    curves: Curves = {}
    for name, new_agent in contenders.items():
        runs = [list(run(new_agent(), environment, seed=seed)) for seed in range(n_seeds)]
        curves[name] = np.array([[row.mean_loss for row in rows] for rows in runs])
        played = np.bincount([row.action for rows in runs for row in rows], minlength=n_actions)
        most = np.argsort(-played)[:3]
        shares = ", ".join(f"{names[a]} {played[a] / played.sum():.0%}" for a in most)
        print(f"{name:20} {_shown(curves[name][:, -1])} ({shares})")
    best = int(losses.mean(axis=0).argmin())
    constant = f"always {names[best]}"
    curves[constant] = np.cumsum(losses[:, best])[None] / np.arange(1, n + 1)
    print(f"{constant:20} {curves[constant][0, -1]:.4f}")
    ours = curves["information-directed"][:, -1]
    for name, curve in list(curves.items())[1:]:
        theirs = curve[:, -1]
        apart = (ours - theirs) / theirs.mean()
        error = apart.std() / np.sqrt(n_seeds)
        print(f"information-directed against {name}: {apart.mean():+.1%} +- {error:.1%}")
    return curves


def final(curves: Curves) -> dict[str, float]:
    """The mean loss of each contender at the end."""
    return {name: float(curve[:, -1].mean()) for name, curve in curves.items()}


def draw(curves: Curves, title: str, figure: Path | None) -> None:
    """Save the picture, if there is a name for it."""
    if figure is not None:
        n = next(iter(curves.values())).shape[1]
        scripts = [Path(__file__), Path(sys.argv[0])]
        save(draw_progress(range(1, n + 1), curves, title), figure, scripts=scripts)
        print(f"figure: {figure}")


def _shown(last: np.ndarray) -> str:
    return f"{last.mean():.4f} +- {last.std():.4f}"
