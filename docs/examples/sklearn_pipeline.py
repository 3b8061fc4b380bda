"""Contexts from a scikit-learn pipeline that is fitted once and then used in every round.

The task is to read handwritten digits, and only the guess that was made is judged (a bandit). A
pipeline scales the pixels and adds random features, so that a linear oracle can tell shapes apart.
It is fitted on a first batch without labels, as it would be on yesterday's log. After that it
transforms one context at a time.

    python docs/examples/sklearn_pipeline.py [figure.png]

Needs the extra `sklearn`.
"""

import sys
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits
from sklearn.kernel_approximation import RBFSampler
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, Normalizer, StandardScaler

from graphcb import SquareCBG, draw, graphs
from graphcb.figures.curves import draw_progress, save
from graphcb.oracles import LogisticOGD

N_FITTED = 200
N_PASSES = 2  # there are few digits, so each is shown twice


def read_digits(pipeline: Pipeline, figures: np.ndarray, digits: np.ndarray) -> np.ndarray:
    """The mean loss after each round, of an untrained agent behind a fitted pipeline."""
    graph = graphs.bandit(10)
    n_features = pipeline.transform(figures[:1]).shape[1]
    agent = SquareCBG(LogisticOGD(10, n_features, learning_rate=8.0))
    draws = np.random.default_rng(0)
    losses = []
    for figure, digit in zip(figures, digits.tolist(), strict=True):
        context = pipeline.transform(figure[None])[0]
        guess = draw(agent.act(context, graph), draws)
        losses.append(float(guess != digit))
        agent.learn(context, [guess], [losses[-1]])
    return np.cumsum(losses) / np.arange(1, len(losses) + 1)


def main(figure: Path | None = None) -> dict[str, float]:
    figures, digits = load_digits(return_X_y=True)
    pipelines = {
        "scaled pixels": make_pipeline(StandardScaler(), Normalizer()),
        "and random features": make_pipeline(
            StandardScaler(),
            Normalizer(),
            RBFSampler(gamma=1.0, n_components=500, random_state=0),
        ),
        "pixels as they are": make_pipeline(FunctionTransformer()),
    }
    rng = np.random.default_rng(0)
    order = np.concatenate(
        [N_FITTED + rng.permutation(len(digits) - N_FITTED) for _ in range(N_PASSES)]
    )
    curves = {}
    for name, pipeline in pipelines.items():
        pipeline.fit(figures[:N_FITTED])
        curves[name] = read_digits(pipeline, figures[order], digits[order])
        print(f"{name}: {curves[name][-1]:.4f} of the digits misread")
    if figure is not None:
        rounds = list(range(1, len(order) + 1))
        save(draw_progress(rounds, curves, "Digits, one guess each"), figure)
        print(f"figure: {figure}")
    return {name: float(curve[-1]) for name, curve in curves.items()}


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else None)
