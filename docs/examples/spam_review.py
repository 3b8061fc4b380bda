"""Spam review: only a message that is sent to review shows whether it was spam.

Action 0 sends a message to review, which costs a little and reveals the truth. Action 1 delivers
it, which costs nothing for ham, a lot for spam, and reveals nothing. This is apple tasting.

    python docs/examples/spam_review.py [figure.png]

Uses the SMS spam collection from GRAPHCB_DATA, or generated messages if that is not set.
"""

import sys
from pathlib import Path

import numpy as np

from graphcb import EpsilonGreedy, SquareCBG, Uniform, graphs
from graphcb.agents import Agent
from graphcb.datasets import DataNotFoundError, generate_messages, hash_words, load_sms_spam
from graphcb.environments import KnownLosses
from graphcb.experiments import run
from graphcb.oracles import LogisticOGD

REVIEW, DELIVER = 0, 1
REVIEW_COST = 0.15
N_FEATURES = 4096


class AlwaysReview(Uniform):
    """Sends every message to review."""

    def act(self, context, graph, actions=None):
        return np.array([1.0, 0.0])


def agents() -> dict[str, Agent]:
    def oracle() -> LogisticOGD:
        return LogisticOGD(2, N_FEATURES, learning_rate=4.0)

    return {
        "always review": AlwaysReview(),
        "epsilon-greedy, 10 %": EpsilonGreedy(oracle(), epsilon=0.1),
        "SquareCB.G": SquareCBG(oracle()),
    }


def main(figure: Path | None = None) -> dict[str, float]:
    try:
        messages, source = load_sms_spam(), "SMS spam collection"
    except DataNotFoundError:
        messages, source = generate_messages(5000, np.random.default_rng(0)), "generated messages"
    losses = np.where(messages.is_spam[:, None], [REVIEW_COST, 1.0], [REVIEW_COST, 0.0])
    contexts = hash_words(messages.texts, N_FEATURES)
    environment = KnownLosses(contexts, losses, graphs.apple_tasting())
    print(f"{source}: {len(losses):,} messages, {messages.is_spam.mean():.1%} spam")
    print(f"deliver everything: {messages.is_spam.mean():.4f} per message")
    curves = {}
    for name, agent in agents().items():
        rows = list(run(agent, environment, seed=0))
        curves[name] = [row.mean_loss for row in rows]
        reviewed = np.mean([row.action == REVIEW for row in rows])
        print(f"{name}: {curves[name][-1]:.4f} per message, {reviewed:.1%} reviewed")
    if figure is not None:
        draw(curves, source, figure)
    return {name: curve[-1] for name, curve in curves.items()}


def draw(curves: dict[str, list[float]], source: str, path: Path) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.0, 4.0), layout="constrained")
    axes = figure.add_subplot()
    for name, curve in curves.items():
        axes.plot(np.arange(1, len(curve) + 1), curve, label=f"{name}: {curve[-1]:.3f}")
    axes.set_ylim(0.0, 1.5 * REVIEW_COST)
    axes.set_xlim(0, None)
    axes.set_xlabel("message")
    axes.set_ylabel("mean cost so far")
    axes.set_title(f"Review or deliver: {source}", size=10)
    axes.grid(alpha=0.3)
    axes.legend()
    figure.savefig(path, dpi=160)
    print(f"figure: {path}")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else None)
