"""An LLM cascade: which of five models should answer a question?

Each question goes to the smallest model first; the topic, the length and that model's confidence
are the context. Then one of the models answers. Its answer is judged, and then it is also known
whether the smaller models, which cost little to ask, would have been right. So a model reveals
its own loss and those of all smaller ones. A wrong answer costs 0.7, and a call to the largest
model costs 0.3 on average.

The learner with the graph stands beside greedy, epsilon-greedy and itself without the graph.

    python docs/examples/llm_cascade.py [figure.png]

Uses the answers of five Llama models from GRAPHCB_DATA, or simulated ones if that is not set.
"""

import csv
import gzip
import os
import sys
from pathlib import Path

import numpy as np

from graphcb import EpsilonGreedy, Greedy, InformationDirected, graphs
from graphcb.environments import KnownLosses
from graphcb.experiments import run
from graphcb.figures.curves import draw_progress, save
from graphcb.oracles import DefaultOracle

MODELS = ("llama3.2-1b", "llama3.2-3b", "llama3.1-8b", "llama3.1-70b", "llama3.1-405b")
WRONG, LARGEST_CALL = 0.7, 0.3


def read(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Contexts (n, 7) and losses (n, 5) of real questions."""
    with gzip.open(path, "rt", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    topics = sorted({row["source"] for row in rows})
    numbers = ("input_tokens", f"confidence_{MODELS[0]}")
    contexts = [
        [row["source"] == t for t in topics] + [float(row[n]) for n in numbers] for row in rows
    ]
    wrong = 1.0 - np.array([[float(row[f"correct_{model}"]) for model in MODELS] for row in rows])
    prices = np.array([[float(row[f"cost_{model}"]) for model in MODELS] for row in rows])
    return np.array(contexts, dtype=float), losses_of(wrong, prices)


def simulate(n: int) -> tuple[np.ndarray, np.ndarray]:
    """The same for generated questions on four topics, some of them harder than others."""
    rng = np.random.default_rng(0)
    topic, length = rng.integers(0, 4, size=n), rng.normal(size=n)
    difficulty = np.array([-2.0, 0.0, 1.5, 3.0])[topic] + length + 0.5 * rng.normal(size=n)
    skills = np.array([-1.0, 0.5, 2.0, 3.5, 5.0])
    wrong = rng.random((n, 5)) < 1.0 / (1.0 + np.exp(2.0 * (skills - difficulty[:, None])))
    confidence = -difficulty + rng.normal(size=n)
    contexts = np.column_stack((np.eye(4)[topic], 100.0 + 30.0 * length, confidence))
    return contexts, losses_of(wrong, np.tile([0.01, 0.02, 0.07, 0.3, 1.0], (n, 1)))


def losses_of(wrong: np.ndarray, prices: np.ndarray) -> np.ndarray:
    return np.minimum(WRONG * wrong + LARGEST_CALL * prices / prices[:, -1].mean(), 1.0)


def main(figure: Path | None = None, n_seeds: int = 10) -> dict[str, float]:
    path = Path(os.environ.get("GRAPHCB_DATA", "")) / "streams" / "llm_llama.csv.gz"
    source = "real questions" if path.is_file() else "simulated questions"
    contexts, losses = read(path) if path.is_file() else simulate(5000)
    n, n_models = losses.shape
    cascade, alone = graphs.inventory(n_models), graphs.bandit(n_models)
    contenders = {
        "information-directed": (InformationDirected, cascade),
        "greedy": (lambda: Greedy(DefaultOracle(n_models)), cascade),
        "epsilon-greedy, 5 %": (
            lambda: EpsilonGreedy(DefaultOracle(n_models), epsilon=0.05),
            cascade,
        ),
        "ignores the graph": (InformationDirected, alone),
    }
    print(f"{n:,} {source}, {n_seeds} orders; {InformationDirected().explain(cascade)}")
    curves = {}
    for name, (new_agent, graph) in contenders.items():
        environment = KnownLosses(contexts, losses, graph)
        runs = [list(run(new_agent(), environment, seed=seed)) for seed in range(n_seeds)]
        curves[name] = np.array([[row.mean_loss for row in rows] for rows in runs])
        asked = np.bincount([row.action for rows in runs for row in rows], minlength=n_models)
        calls = ", ".join(f"{share:.0%}" for share in asked / asked.sum())
        last = curves[name][:, -1]
        print(f"{name:20} {last.mean():.4f} +- {last.std():.4f} per question (calls {calls})")
    best = int(losses.mean(axis=0).argmin())
    constant = f"always {MODELS[best]}"
    curves[constant] = np.full((1, n), losses[:, best].mean())
    print(f"{constant:20} {losses[:, best].mean():.4f}")
    final = {name: curve[:, -1] for name, curve in curves.items()}
    for name, theirs in list(final.items())[1:]:
        apart = (final["information-directed"] - theirs) / theirs.mean()
        error = apart.std() / np.sqrt(n_seeds)
        print(f"information-directed against {name}: {apart.mean():+.1%} +- {error:.1%}")
    if figure is not None:
        drawn = draw_progress(range(1, n + 1), curves, f"Which model answers? ({source})")
        save(drawn, figure, scripts=[Path(__file__)])
        print(f"figure: {figure}")
    return {name: float(costs.mean()) for name, costs in final.items()}


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else None)
