"""An LLM cascade: which of three models should answer a question?

Every question goes to the small model first, which is nearly free. Asking the large one costs most,
and its answer shows whether the smaller ones were right. An answer given without it shows nothing.
So action 0 (large) reveals all losses, and the others reveal none. A wrong answer costs 1, and
each call has its price. Questions and models are simulated. Hard questions go to the large model
anyway, which teaches the agent at no extra cost, so greedy does best here.

The costs, the features and the oracle were chosen after trying others. With topic, length and
confidence as plain columns and LogisticOGD at a rate of 1, SquareCB.G lost to epsilon-greedy
(0.2827 to 0.2741). This example illustrates the graph; it does not compare agents.

    python docs/examples/llm_cascade.py [figure.png]
"""

import sys
from pathlib import Path

import numpy as np

from graphcb import EpsilonGreedy, Greedy, SquareCBG, graphs
from graphcb.environments import KnownLosses
from graphcb.experiments import run
from graphcb.figures.curves import draw_progress, save
from graphcb.oracles import OnlineRidge

MODELS = ("large", "medium", "small")
CALL_COSTS = np.array([0.40, 0.08, 0.01])
SKILLS = np.array([5.0, 2.5, 0.5])  # a question is answered if the skill beats its difficulty
TOPICS = ("chat", "facts", "code", "maths")
TOPIC_DIFFICULTY = np.array([-2.0, 0.0, 1.5, 3.0])


def simulate(n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Contexts (n, 12), losses (n, 3), and expected losses (n, 3)."""
    topic = rng.integers(0, len(TOPICS), size=n)
    length = rng.normal(size=n)
    difficulty = TOPIC_DIFFICULTY[topic] + length + 0.5 * rng.normal(size=n)
    wrong = 1.0 / (1.0 + np.exp(2.0 * (SKILLS - difficulty[:, None])))
    confidence = -difficulty + rng.normal(size=n)  # as stated by the small model
    topics = np.eye(len(TOPICS))[topic]
    contexts = np.column_stack((topics, topics * length[:, None], topics * confidence[:, None]))
    losses = CALL_COSTS + (rng.random((n, 3)) < wrong)
    return contexts, losses, CALL_COSTS + wrong


def main(figure: Path | None = None, n_questions: int = 20_000) -> dict[str, float]:
    contexts, losses, expected = simulate(n_questions, np.random.default_rng(0))
    graph = graphs.apple_tasting(len(MODELS))  # action 0 reveals all, the others nothing
    environment = KnownLosses(contexts, losses, graph, shuffle=False)
    rounds = np.arange(1, n_questions + 1)

    def oracle() -> OnlineRidge:
        return OnlineRidge(len(MODELS), contexts.shape[1])

    agents = {
        "SquareCB.G": SquareCBG(oracle()),
        "epsilon-greedy, 10 %": EpsilonGreedy(oracle(), epsilon=0.1),
        "greedy": Greedy(oracle()),
    }
    print(f"{n_questions:,} questions; {agents['SquareCB.G'].explain(graph)}")
    curves, asked = {}, {}
    for name, agent in agents.items():
        rows = list(run(agent, environment, seed=0))
        curves[name] = np.array([row.mean_loss for row in rows])
        asked[name] = np.bincount([row.action for row in rows], minlength=3) / n_questions
    for action, model in enumerate(MODELS):
        curves[f"always {model}"] = np.cumsum(losses[:, action]) / rounds
    best = losses[np.arange(n_questions), expected.argmin(axis=1)]
    curves["knows the expected losses"] = np.cumsum(best) / rounds
    for name, curve in curves.items():
        calls = ", ".join(f"{m} {s:.0%}" for m, s in zip(MODELS, asked.get(name, ()), strict=False))
        print(f"{name}: {curve[-1]:.4f} per question{f' ({calls})' if calls else ''}")
    if figure is not None:
        save(draw_progress(rounds.tolist(), curves, "Which model answers? (simulated)"), figure)
        print(f"figure: {figure}")
    return {name: float(curve[-1]) for name, curve in curves.items()}


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else None)
