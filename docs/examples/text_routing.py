"""Text routing: which team should get a message, and when is a person worth asking?

A message goes to one of eight teams. A wrong team sends it back: that costs 1 and shows only that
it was wrong. A person at the desk costs 0.3, always finds the right team, and so shows what every
team would have cost. The contexts are the words.

Greedy asks the desk often while nothing is known of the teams, and so it learns, too: on the real
stories it costs 4 % more, and the learner that ignores the graph costs 14 % more.

    python docs/examples/text_routing.py [figure.png]

Uses news stories of RCV1 from GRAPHCB_DATA, one topic each, or generated messages if that is not
set.
"""

import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
from contest import contest, draw, final

from graphcb import FeedbackGraph, InformationDirected, graphs
from graphcb.datasets import hash_words, load_rcv1

N_TEAMS, DESK = 8, 0.3


def read(n: int) -> tuple[Any, np.ndarray]:
    """Word counts of real stories and the one of eight topics that each has."""
    data = load_rcv1(N_TEAMS)
    alone = np.flatnonzero((data.losses == 0.0).sum(axis=1) == 1)[:n]
    return data.contexts[alone], data.losses[alone].argmin(axis=1)


def generate(n: int) -> tuple[Any, np.ndarray]:
    """Messages of generated words, of which some are typical of a team."""
    rng = np.random.default_rng(0)
    teams = rng.choice(N_TEAMS, size=n, p=np.arange(N_TEAMS, 0, -1) / 36.0)
    texts = []
    for team in teams:
        common = rng.zipf(1.5, size=rng.integers(5, 20)) % 2000
        typical = rng.integers(0, 40, size=rng.integers(1, 4)) + 3000 + 100 * team
        texts.append(" ".join(f"w{word}" for word in [*common, *typical]))
    return hash_words(texts, 2**18), teams


def main(figure: Path | None = None, n_seeds: int = 3) -> dict[str, float]:
    has_data = (Path(os.environ.get("GRAPHCB_DATA", "")) / "rcv1").is_dir()
    source = "real stories" if has_data else "generated messages"
    contexts, teams = read(6000) if has_data else generate(4000)
    losses = np.ones((len(teams), N_TEAMS + 1))
    losses[np.arange(len(teams)), teams] = 0.0
    losses[:, -1] = DESK
    matrix = np.eye(N_TEAMS + 1)
    matrix[:, -1] = 1.0  # what the desk costs is always known
    matrix[-1] = 1.0  # and the desk shows everything
    graph, alone = FeedbackGraph(matrix), graphs.bandit(N_TEAMS + 1)
    print(f"{len(teams):,} {source}, {n_seeds} orders; {InformationDirected().explain(graph)}")
    names = (*(f"team {team + 1}" for team in range(N_TEAMS)), "desk")
    curves = contest(contexts, losses, graph, alone, names, n_seeds=n_seeds)
    draw(curves, f"Text routing: {source}", figure)
    return final(curves)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else None)
