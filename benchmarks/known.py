"""Losses that a problem knows without feedback: what the default learner makes of them.

Each stream has one action whose loss is the same every time. "not stated" learns it like any other;
"stated" is what `[known]` does; "exact" puts the exact loss beside predictions instead; "no width"
has no width for what was seldom seen either. Streams that need `GRAPHCB_DATA` are left out without
it. The mean loss over seeds, its standard error, and the worst seed. All cores are used.
"""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed
from measure import part_arguments, print_table

from graphcb import InformationDirected, Problem, graphs
from graphcb.agents import prediction
from graphcb.datasets import hash_words, load_digits, load_sms_spam
from graphcb.environments import KnownLosses
from graphcb.experiments import run
from graphcb.problems.knowing import Knowing

STATED = prediction._with_known
WITHOUT_END = 1e300  # times seen


class Stream(NamedTuple):
    """Contexts and losses (n, K); the action `known` has the same loss in every row."""

    name: str
    contexts: Any
    losses: Any
    graph: Any
    known: int
    n_seeds: int = 10


def exact(forecast: Any, known: Any) -> list[Any]:
    return [np.where(np.isnan(known), forecast[0], known), *STATED(forecast, known)[1:]]


def no_width(forecast: Any, known: Any) -> list[Any]:
    losses, deviations, gains, counts, *range_ = STATED(forecast, known)
    return [losses, deviations, gains, np.where(np.isnan(known), counts, WITHOUT_END), *range_]


WAYS: dict[str, Callable[..., list[Any]] | None] = {
    "not stated": None, "exact": exact, "stated": STATED, "no width": no_width,
}  # fmt: skip


def payments(n: int, *, fraud: float, review: float, least: float, risky: float) -> Any:
    """Payments as in the README and the tutorial: losses between 0 and 1 of approve and review."""
    rng = np.random.default_rng(0)
    amount, country = rng.lognormal(3.0, 1.0, n), rng.integers(0, 3, n)
    is_risky = (country == 2) & (amount > least)
    is_fraud = rng.random(n) < np.where(is_risky, risky, 0.01)
    earned = np.column_stack((np.where(is_fraud, -fraud, 1.0), np.full(n, -review)))
    one_hot = (country[:, None] == np.arange(3)).astype(float)
    return np.column_stack((amount, one_hot)), (1.0 - earned) / (1.0 + fraud)


def streams(*, quick: bool) -> Iterator[Stream]:
    seeds, n = (1, 200) if quick else (10, 10**9)
    shows_all = graphs.apple_tasting(2, revealing_action=1)
    readme = payments(1000, fraud=50.0, review=2.0, least=0.0, risky=0.5)
    yield Stream("payments, README", readme[0][:n], readme[1][:n], shows_all, 1, 3 * seeds)
    tutorial = payments(1500, fraud=20.0, review=1.0, least=20.0, risky=0.6)
    yield Stream("payments, tutorial", tutorial[0][:n], tutorial[1][:n], shows_all, 1, 3 * seeds)
    digits = load_digits()
    dear = np.column_stack((digits.losses, np.full(len(digits.losses), 0.3)))[:n]
    yield Stream("digits, review 0.3", digits.contexts[:n], dear,
                 graphs.apple_tasting(11, revealing_action=10), 10, seeds)  # fmt: skip
    yield Stream(
        "digits, bandit, refuse 0.3", digits.contexts[:n], dear, graphs.bandit(11), 10, seeds
    )
    if (folder := os.environ.get("GRAPHCB_DATA")) is None or quick:
        return
    sms = load_sms_spam()
    losses = np.where(sms.is_spam[:, None], [0.15, 1.0], [0.15, 0.0])
    yield Stream("messages, review 0.15", hash_words(sms.texts, 2**18), losses,
                 graphs.apple_tasting(), 0, 4)  # fmt: skip
    table = np.loadtxt(Path(folder) / "streams" / "credit.csv.gz", delimiter=",", skiprows=1)[:4000]
    losses = np.where(table[:, -1:] == 1.0, [1.0, 0.3], [0.0, 0.3])
    yield Stream("loans, bandit, refuse 0.3", table[:, :-1], losses, graphs.bandit(2), 1)


def mean_loss(stream: Stream, way: str, seed: int) -> float:
    agent: Any = InformationDirected()
    names = [f"action {k}" for k in range(stream.graph.n_actions)]
    if WAYS[way] is not None:
        known = {names[stream.known]: float(stream.losses[0, stream.known])}
        agent = Knowing(agent, Problem(names, reveals=stream.graph, known=known))
        vars(prediction)["_with_known"] = WAYS[way]
    environment = KnownLosses(stream.contexts, stream.losses, stream.graph)
    *_, last = run(agent, environment, seed=seed)
    vars(prediction)["_with_known"] = STATED
    return float(last.mean_loss)


def row_of(stream: Stream) -> list[str]:
    cells = [stream.name, str(stream.n_seeds)]
    work = [(way, seed) for way in WAYS for seed in range(stream.n_seeds)]
    played = Parallel(n_jobs=os.cpu_count())(delayed(mean_loss)(stream, *one) for one in work)
    for found in np.reshape(played, (len(WAYS), stream.n_seeds)):
        error = found.std(ddof=1) / np.sqrt(found.size) if found.size > 1 else np.nan
        cells.append(f"{found.mean():.4f} ({error:.4f}; {found.max():.3f})")
    return cells


def main() -> None:
    quick = part_arguments(__doc__ or "").quick
    print("Mean loss (standard error; worst seed); `Knowing` around `InformationDirected`.\n")
    print_table(["stream", "seeds", *WAYS], map(row_of, streams(quick=quick)))


if __name__ == "__main__":
    main()
