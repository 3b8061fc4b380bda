"""What limits on the probabilities cost: `solve_dec` with and without, in turn in one process.

    python benchmarks/limits.py

Each number is the median over programs of the ratio of the times of the same program with and
without limits. Limits are drawn around a random distribution, so that most of them bind.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial

import numpy as np
from measure import in_words, part_arguments, print_table
from programs import three_edges_per_row

import graphcb
from graphcb import FeedbackGraph, Limits, graphs

Rng = np.random.Generator
Build = Callable[[int, Rng], FeedbackGraph]

SIZES = (10, 50, 100, 200)
GAMMAS = (30.0, 1e4)
GRAPHS: dict[str, Build] = {
    "self-aware 1/2": lambda n, rng: graphs.random_self_aware(n, 0.5, rng),
    "self-aware 1/10": lambda n, rng: graphs.random_self_aware(n, 0.1, rng),
    "three edges per row": three_edges_per_row,
    "inventory": lambda n, _: graphs.inventory(n),
    "cops and robbers": lambda n, _: graphs.cops_and_robbers(n),
}


def floors_and_caps(n: int, rng: Rng) -> Limits:
    """A floor for every action, and caps on a third of them."""
    capped = rng.permutation(n)[: max(1, n // 3)]
    return Limits(floors=0.1 / n, caps={int(i): 0.3 for i in capped})


def five_linear(n: int, rng: Rng) -> Limits:
    """Five groups of a fifth of the actions: three of them rarely, two often enough."""
    inside = rng.dirichlet(np.ones(n))
    limits = []
    for number in range(5):
        group = np.sort(rng.permutation(n)[: max(2, n // 5)])
        held = float(inside[group].sum())
        bound = {"at_most": 1.1 * held} if number < 3 else {"at_least": 0.9 * held}
        limits.append({"actions": group.tolist(), **bound})
    return Limits(linear=limits)


KINDS = {"floors and caps": floors_and_caps, "five linear limits": five_linear}


def seconds(work: Callable[[], object], repeats: int) -> float:
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def main() -> None:
    given = part_arguments(__doc__)
    programs, repeats = (2, 1) if given.quick else (6, 9)
    sizes = (10,) if given.quick else SIZES
    print(
        "`solve_dec` with limits, relative to the same program without: the median over "
        f"{programs} programs for each gamma (30 and 10,000), the best of {repeats} calls each, in "
        "turn. *Floors and caps*: a floor of 0.1 / K for every action, a cap of 0.3 on a third. "
        "*Five linear limits*: three groups of a fifth of the actions at most, two at least, 10 % "
        "from a random distribution.\n"
    )

    def rows() -> Iterator[Sequence[object]]:
        for name, build in GRAPHS.items():
            for n in sizes:
                rng = np.random.default_rng([n, len(name)])
                plain: list[float] = []
                ratios: dict[str, list[float]] = {kind: [] for kind in KINDS}
                unproven = 0
                for number in range(programs * len(GAMMAS)):
                    graph, losses = build(n, rng), rng.random(n)
                    gamma = GAMMAS[number % len(GAMMAS)]
                    solve = partial(graphcb.solve_dec, losses, graph, gamma)
                    solve()
                    free = seconds(solve, repeats)
                    plain.append(free)
                    for kind, draw in KINDS.items():
                        limits = draw(n, rng)
                        unproven += not solve(limits=limits).is_certified
                        bound = seconds(partial(solve, limits=limits), repeats)
                        ratios[kind].append(bound / free)
                yield (
                    name, n, in_words(float(np.median(plain))),
                    *(f"{np.median(one):.2f}" for one in ratios.values()), unproven,
                )  # fmt: skip

    print_table(("graph", "K", "without", *KINDS, "not proven"), rows())
    big = 1000 if given.quick else 1_000_000
    losses = np.random.default_rng(0).random(big)
    limits = Limits(floors=0.01 / big, caps=0.2)
    bandit = graphs.bandit(big)
    for one in (None, limits):
        graphcb.solve_dec(losses, bandit, float(big), limits=one)
    free = seconds(lambda: graphcb.solve_dec(losses, bandit, float(big)), 2)
    bound = seconds(lambda: graphcb.solve_dec(losses, bandit, float(big), limits=limits), 2)
    print(
        f"A bandit with {big:,} actions, floors and caps on all of them: {in_words(bound)}, and "
        f"{in_words(free)} without. It keeps its exact solution."
    )


if __name__ == "__main__":
    main()
