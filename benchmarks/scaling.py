"""How features are best brought to one size, and which oracle learns from them without tuning.

Progressive loss under a bandit graph and under full information, mean of three orders of the rows,
for the table in docs/decisions/0016. Needs the extra `sklearn`.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer, load_digits, load_wine

from graphcb import SquareCBG, SquareRoot, graphs
from graphcb.contexts.scaling import NumberScales
from graphcb.environments import KnownLosses
from graphcb.experiments import run
from graphcb.oracles import LinearAdaGrad, LinearOGD, LogisticOGD, Oracle

Floats = NDArray[np.float64]
Labels = NDArray[np.int64]


def synthetic() -> tuple[Floats, Labels]:
    rng = np.random.default_rng(1)
    x = rng.normal(size=(10_000, 20))
    noise = 0.5 * rng.normal(size=(10_000, 5))
    return x, np.argmax(x @ rng.normal(size=(20, 5)) + noise, axis=1)


def datasets() -> dict[str, tuple[Floats, Labels]]:
    rng = np.random.default_rng(5)
    x, y = synthetic()
    sizes = 10.0 ** rng.integers(-4, 5, 20)
    return {
        "digits": load_digits(return_X_y=True),
        "cancer": load_breast_cancer(return_X_y=True),
        "wine": load_wine(return_X_y=True),
        "synthetic": (x, y),
        "bad": (x * sizes + 100.0 * sizes, y),
        "heavy": (x**3 * 10.0 ** rng.integers(-3, 4, 20), y),
    }


def as_they_are(x: Floats) -> Floats:
    return np.column_stack((x, np.ones(len(x))))


def by_largest(x: Floats) -> Floats:
    largest: Floats = np.maximum.accumulate(np.abs(x), axis=0)
    scaled: Floats = as_they_are(x / np.where(largest > 0, largest, 1.0))
    return scaled / float(np.sqrt(x.shape[1] + 1))


def standardised(x: Floats) -> Floats:
    rows, weight = x.astype(np.float64), 1.0 / np.sqrt(x.shape[1] + 1.0)
    NumberScales(x.shape[1]).scale_rows(rows)
    return np.column_stack((weight * rows, np.full(len(x), weight)))


def loss(x: Floats, y: Labels, oracle: Callable[[int, int], Oracle], *, full: bool) -> float:
    n_actions = int(y.max()) + 1
    graph = graphs.full_information(n_actions) if full else graphs.bandit(n_actions)
    losses = 1.0 - np.eye(n_actions)[y]
    agent = SquareCBG(
        oracle(n_actions, x.shape[1]), gamma=SquareRoot(32.0, graph.independence_number())
    )
    rows = list(run(agent, KnownLosses(x, losses, graph, shuffle=False), seed=0))
    return rows[-1].mean_loss


def main() -> None:
    ways: list[tuple[str, Callable[[Floats], Floats], type, float]] = [
        *(("standardised, logistic", standardised, LogisticOGD, r) for r in (1.0, 2.0, 4.0, 16.0)),
        ("standardised, linear", standardised, LinearOGD, 0.1),
        ("standardised, AdaGrad", standardised, LinearAdaGrad, 0.1),
        ("by the largest so far, logistic", by_largest, LogisticOGD, 4.0),
        ("as they are, AdaGrad", as_they_are, LinearAdaGrad, 0.25),
    ]
    data = datasets()
    print(f"{'':38}" + "".join(f"{name:>14}" for name in data))
    for name, scale, kind, rate in ways:
        line = f"{name} {rate:g}"
        print(f"{line:38}", end="")
        for x, y in data.values():
            found: dict[bool, list[float]] = {False: [], True: []}
            for seed in range(3):
                order = np.random.default_rng(seed).permutation(len(y))
                scaled = scale(x[order])
                for full, values in found.items():

                    def oracle(k: int, d: int, kind: type = kind, rate: float = rate) -> Oracle:
                        made: Oracle = kind(k, d, learning_rate=rate)
                        return made

                    values.append(loss(scaled, y[order], oracle, full=full))
            print(f"{np.mean(found[False]):8.3f}{np.mean(found[True]):6.3f}", end="", flush=True)
        print()


if __name__ == "__main__":
    main()
