"""Actions that come with features: average losses beside other learners, and what a round costs.

Classes: real tables from `GRAPHCB_DATA`/streams, where the action is the class and its only feature
its name; the default oracle, which has weights of its own for each action, is the measure. Items:
made by a logistic model of (context, item), with ten items offered in each round. Everyone sees the
loss of what it played, and meets the same rounds. Curves: items whose losses need products of
features. The second table compares ways to explore, with the oracle held fixed.
"""

import functools
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from measure import in_words, part_arguments, print_table
from studies.bakeoff.peers import as_pair, installed
from studies.prepared import prepare

from graphcb import FeedbackGraph, InformationDirected, SquareCBG, graphs, oracles
from graphcb.agents import EpsilonGreedy, Greedy, Uniform

STREAMS = ("contraceptive", "german", "led7digit", "magic", "mushroom", "optdigits", "phoneme",
           "segment", "splice", "vehicle")  # fmt: skip
OFFERED = 10


class Offer(NamedTuple):
    """One round: a context, the items, their features as pairs, and their mean losses."""

    context: Any
    items: Any
    rows: list[Any]
    losses: Any
    graph: Any = None  # what is revealed, if not the loss of what was played


def classes(name: str, seed: int, n_rounds: int) -> Iterator[Offer]:
    file = "generated" if name == "generated" else f"{name}.csv.gz"
    spec = {"file": file, "kind": "label", "graph": "bandit", "rows": n_rounds}
    stream = prepare(spec, seed)
    numbers = np.arange(stream.graph.n_actions)
    rows = [(np.array([k]), np.ones(1)) for k in numbers]
    for piece in stream.pieces:
        for context, losses in zip(piece.contexts, piece.losses, strict=True):
            yield Offer(context, numbers, rows, losses)


def items(
    seed: int, n_rounds: int, *, pool: int = 40, features: int = 6, life: float = np.inf,
    own: float = 0.5, n_context: int = 10, offered: int = OFFERED, kinds: int = 0,
) -> Iterator[Offer]:  # fmt: skip
    """Items with numbers (or `kinds` of categories) and a name; `own` is what only the name tells.

    Each round an item is replaced with probability pool / life.
    """
    rng = np.random.default_rng(seed)
    common = rng.normal(size=features) / np.sqrt(max(features, 1))
    crossed = rng.normal(size=(features, n_context)) / np.sqrt(max(features * n_context, 1))

    def new() -> Any:
        if kinds:
            return np.eye(kinds)[rng.integers(kinds, size=features // kinds)].ravel() * 1.5
        return rng.normal(size=features)

    values = np.array([new() for _ in range(pool)])
    names = np.arange(pool)
    effects = own * rng.normal(size=(pool, n_context + 1)) / np.sqrt(n_context + 1)
    for _ in range(n_rounds):
        if rng.random() < pool / life:
            k = rng.integers(pool)
            values[k], names[k] = new(), names.max() + 1
            effects[k] = own * rng.normal(size=n_context + 1) / np.sqrt(n_context + 1)
        x = rng.normal(size=n_context)
        chosen = rng.choice(pool, size=offered, replace=False)
        z = values[chosen] @ common + values[chosen] @ crossed @ x * 1.5
        z += 1.5 * effects[chosen] @ np.append(x, 1.0)
        places = np.arange(features)
        rows = [
            (np.append(places[v != 0.0], 1000 + name), np.append(v[v != 0.0], 1.0))
            for v, name in zip(values[chosen], names[chosen], strict=True)
        ]
        yield Offer(x, names[chosen], rows, 1.0 / (1.0 + np.exp(-1.5 * z)))


def coins(seed: int, n_rounds: int) -> Iterator[Offer]:
    """Ten items that only differ in their mean loss, and contexts that tell nothing."""
    rng = np.random.default_rng(seed)
    losses = rng.permutation(np.append(np.full(9, 0.5), 0.4))
    rows = [(np.array([1000 + k]), np.ones(1)) for k in range(10)]
    for _ in range(n_rounds):
        yield Offer(rng.normal(size=3), np.arange(10), rows, losses)


def curves(
    seed: int, n_rounds: int, *, truth: Callable[..., Any], offered: int = OFFERED, pool: int = 0,
    features: int = 3, n_context: int = 4,
) -> Iterator[Offer]:  # fmt: skip
    """New items each round, or out of a pool, whose mean losses are a function of both sides."""
    rng = np.random.default_rng(seed)
    weights = rng.normal(size=(features, n_context)) / np.sqrt(n_context)
    known = rng.normal(size=(pool, features))
    for _ in range(n_rounds):
        x = rng.normal(size=n_context)
        values = rng.normal(size=(offered, features))
        if pool:
            values = known[rng.choice(pool, size=offered, replace=False)]
        yield Offer(x, np.arange(offered), list(values), truth(x, values, weights))


def ideal_point(x: Any, values: Any, weights: Any) -> Any:
    return np.minimum(1.0, ((values - weights @ x) ** 2).sum(axis=1) / 6.0)


def xor_of_contexts(x: Any, values: Any, weights: Any) -> Any:
    return 1.0 / (1.0 + np.exp(-2.5 * x[0] * x[1] * values[:, 0]))


def xor_of_items(x: Any, values: Any, weights: Any) -> Any:
    return 1.0 / (1.0 + np.exp(-2.0 * values[:, 0] * values[:, 1] - values[:, 2] * x[0]))


def straight(x: Any, values: Any, weights: Any) -> Any:
    return 1.0 / (1.0 + np.exp(-1.5 * values @ (weights @ x + weights[:, 0])))


def cold_start(seed: int, n_rounds: int) -> Iterator[Offer]:
    """Two items, known by name and one weak feature; a new one joins every 100 rounds."""
    rng = np.random.default_rng(seed)
    values, effects = rng.normal(size=100), rng.normal(size=(100, 4))
    for t in range(n_rounds):
        n, x = min(100, 2 + t // 100), rng.normal(size=3)
        z = 0.3 * values[:n] + effects[:n] @ np.append(0.5 * x, 1.0)
        rows = [(np.array([0, 1000 + k]), np.array([values[k], 1.0])) for k in range(n)]
        yield Offer(x, np.arange(n), rows, 1.0 / (1.0 + np.exp(-z)))


def paid_look(seed: int, n_rounds: int) -> Iterator[Offer]:
    """Nothing is seen of what is played, unless one pays for a look at all items."""
    reveals = np.zeros((OFFERED + 1, OFFERED + 1))
    reveals[OFFERED] = 1.0
    graph = FeedbackGraph(reveals)
    for offer in curves(seed, n_rounds, truth=straight):
        rows = [np.append(row, 0.0) for row in offer.rows] + [np.array([0.0, 0.0, 0.0, 1.0])]
        yield Offer(
            offer.context, np.arange(OFFERED + 1), rows, np.append(offer.losses, 0.9), graph
        )


PROBLEMS: dict[str, Callable[[int, int], Iterator[Offer]]] = {
    **{f"classes: {name}": functools.partial(classes, name) for name in STREAMS},
    "40 items": items,
    "40 items, all in their features": functools.partial(items, own=0.0),
    "items of categories": functools.partial(items, features=12, kinds=4),
    "20 items, names alone": functools.partial(items, pool=20, features=0, own=1.5),
    "10 coins": coins,
    "items that live 400 rounds": functools.partial(items, life=400.0),
    "items that live 100 rounds": functools.partial(items, life=100.0, own=0.3),
    "new items each round": functools.partial(items, life=10.0, pool=10, own=0.0),
    "100 of 100 items": functools.partial(items, pool=100, offered=100),
    "ideal points": functools.partial(curves, truth=ideal_point),
    "XOR of contexts": functools.partial(curves, truth=xor_of_contexts),
    "XOR of items": functools.partial(curves, truth=xor_of_items),
}
NO_NUMBERS = ("ideal points", "XOR of contexts", "XOR of items")  # new items in every round
WORLDS: dict[str, Callable[[int, int], Iterator[Offer]]] = {
    "10 new items": functools.partial(curves, truth=straight),
    "100 new items": functools.partial(curves, truth=straight, offered=100),
    "10 ideal points": functools.partial(curves, truth=ideal_point),
    "100 ideal points": functools.partial(curves, truth=ideal_point, offered=100),
    "40 ideal points, 10 offered": functools.partial(curves, truth=ideal_point, pool=40),
    "XOR of contexts": functools.partial(curves, truth=xor_of_contexts),
    "XOR of items": functools.partial(curves, truth=xor_of_items),
    "items that live 100 rounds": functools.partial(items, life=100.0, own=0.3),
    "cold start": cold_start,
    "10 coins": coins,
    "a paid look": paid_look,
}


class VowpalWabbitAdf:
    """Vowpal Wabbit with `--cb_explore_adf` and the products of context and action features."""

    def __init__(self, options: str, seed: int) -> None:
        from vowpalwabbit import Workspace

        self.workspace = Workspace(f"--quiet --cb_explore_adf -q sa --random_seed {seed} {options}")

    def act(self, context: Any, graph: Any, actions: Any = None) -> Any:
        self.lines = [f"shared |s {_named(context)}", *(f"|a {_named(row)}" for row in actions)]
        answer = np.array(self.workspace.predict(self.lines), dtype=np.float64)
        self.probabilities = answer / answer.sum()
        self.rows = actions
        return self.probabilities

    def learn(self, context: Any, actions: Any, losses: Any) -> None:
        for row, loss in zip(actions, losses, strict=True):
            k = next(k for k, known in enumerate(self.rows) if known is row)
            label = f"0:{loss}:{self.probabilities[k]} "
            lines = [*self.lines]
            lines[k + 1] = label + lines[k + 1]
            self.workspace.learn(lines)


def _named(row: Any) -> str:
    return " ".join(f"f{i}:{value:.6g}" for i, value in zip(*as_pair(row), strict=True))


class ByNumber:
    """The default learner with the number of the item as the action: no features."""

    def __init__(self) -> None:
        self.agent = InformationDirected()

    def act(self, context: Any, graph: Any, actions: Any = None) -> Any:
        numbers = [int(row[0][-1]) for row in actions]
        return self.agent.act(context, graph, [n - 1000 * (n >= 1000) for n in numbers])

    def learn(self, context: Any, actions: Any, losses: Any) -> None:
        numbers = [int(row[0][-1]) for row in actions]
        self.agent.learn(context, [n - 1000 * (n >= 1000) for n in numbers], losses)


def _oracle() -> oracles.ActionFeatureOracle:
    return oracles.ActionFeatureOracle()


class Thompson:
    """The best of a sample of each expected loss, from its forecast alone."""

    def __init__(self, seed: int) -> None:
        self.oracle, self.rng = _oracle(), np.random.default_rng(seed)

    def act(self, context: Any, graph: Any, actions: Any = None) -> Any:
        forecast = self.oracle.forecast(context, actions)
        sample = forecast.losses + forecast.deviations * self.rng.normal(size=len(actions))
        return (np.arange(len(actions)) == sample.argmin()).astype(float)

    def learn(self, context: Any, actions: Any, losses: Any) -> None:
        self.oracle.update(context, actions, losses)


def _squarecbg(gamma: float, seed: int) -> SquareCBG:
    return SquareCBG(_oracle(), gamma=float(gamma))


EXPLORERS: dict[str, Callable[[int], Any]] = {
    "information-directed": lambda seed: InformationDirected(_oracle()),
    "greedy": lambda seed: Greedy(_oracle()),
    "epsilon 0.05": lambda seed: EpsilonGreedy(_oracle(), epsilon=0.05),
    **{
        f"SquareCB.G {gamma}": functools.partial(_squarecbg, gamma)
        for gamma in (30, 100, 300, 1000)
    },
    "Thompson": Thompson,
}
CONTENDERS: dict[str, Callable[[int], Any]] = {
    "information-directed": lambda seed: InformationDirected(_oracle()),
    "greedy": lambda seed: Greedy(_oracle()),
    "epsilon 0.05": lambda seed: EpsilonGreedy(_oracle(), epsilon=0.05),
    "default by number": lambda seed: ByNumber(),
    "VW squarecb": lambda seed: VowpalWabbitAdf("--squarecb", seed),
    "VW epsilon 0.05": lambda seed: VowpalWabbitAdf("--epsilon 0.05", seed),
    "VW regcb": lambda seed: VowpalWabbitAdf("--regcb", seed),
    "uniform": lambda seed: Uniform(),
}


def average_loss(agent: Any, rounds: Iterator[Offer], seed: int) -> tuple[float, float]:
    """The mean of the expected losses, and of the smallest ones."""
    rng, total, least, n = np.random.default_rng(1000 + seed), 0.0, 0.0, 0
    for offer in rounds:
        graph = offer.graph or graphs.bandit(len(offer.losses))
        p = agent.act(offer.context, graph, offer.rows)
        played = rng.choice(len(p), p=p)
        shown = np.flatnonzero(graph.row(played) > 0.0)
        losses = (rng.random(shown.size) < offer.losses[shown]).astype(float)
        if shown.size:
            agent.learn(offer.context, [offer.rows[k] for k in shown], losses)
        total += float(offer.losses[played])
        least += float(offer.losses.min())
        n += 1
    return total / n, least / n


def compare(names: list[str], contenders: list[str], seeds: int, n_rounds: int) -> None:
    def rows() -> Iterator[list[str]]:
        for name in names:
            cells, least = [], 0.0
            for contender in contenders:
                found = []
                if contender == "default by number" and name in NO_NUMBERS:
                    cells.append("-")
                    continue
                for seed in range(seeds):
                    rounds = PROBLEMS[name](seed, n_rounds)
                    loss, least = average_loss(CONTENDERS[contender](seed), rounds, seed)
                    found.append(loss)
                cells.append(f"{statistics.mean(found):.3f}")
            print(name, *cells, file=sys.stderr)
            yield [name, *cells, f"{least:.3f}"]

    print_table(["problem", *contenders, "best"], rows())


def explore(names: list[str], explorers: list[str], seeds: int, n_rounds: int) -> None:
    """Mean losses, and in brackets runs that lost more than half of what uniform play loses."""

    def rows() -> Iterator[list[str]]:
        for name in names:
            cells, best, losses = [], 0.0, {}
            uniform = [average_loss(Uniform(), WORLDS[name](s, n_rounds), s) for s in range(seeds)]
            for explorer in explorers:
                make = EXPLORERS[explorer]
                found = [average_loss(make(s), WORLDS[name](s, n_rounds), s) for s in range(seeds)]
                lost = sum(
                    loss - least > 0.5 * (chance - least)
                    for (loss, least), (chance, _) in zip(found, uniform, strict=True)
                )
                losses[explorer] = np.array([loss for loss, _ in found])
                cells.append(f"{losses[explorer].mean():.3f} ({lost})")
                best = statistics.mean(least for _, least in found)
            print(name, *cells, file=sys.stderr)
            apart = losses[explorers[0]] - losses[explorers[-1]]
            error = apart.std() / max(seeds - 1, 1) ** 0.5
            yield [name, *cells, f"{best:.3f}", f"{apart.mean():+.4f} ({error:.4f})"]

    print(
        f"Ways to explore with the same oracle, {n_rounds:,} rounds, {seeds} draws: average loss, "
        "and how many runs lost more than half of what uniform play loses. *Apart* is the mean "
        f"difference between {explorers[0]} and {explorers[-1]} over draws, with its standard "
        "error.\n"
    )
    print_table(["world", *explorers, "best", "apart"], rows())


def cost(n_rounds: int) -> None:
    """10 actions with 10 features each, 20 features of the context."""
    rng, agent, graph = np.random.default_rng(0), InformationDirected(_oracle()), graphs.bandit(10)
    acts, learns = [], []
    for _ in range(n_rounds):
        x, rows = rng.normal(size=20), rng.normal(size=(10, 10))
        start = time.perf_counter()
        p = agent.act(x, graph, rows)
        middle = time.perf_counter()
        played = rng.choice(10, p=p)
        loss = [float(rng.random() < 0.5)]
        again = time.perf_counter()
        agent.learn(x, rows[[played]], loss)
        acts.append(middle - start)
        learns.append(time.perf_counter() - again)
    half = n_rounds // 2
    act, learn = statistics.median(acts[half:]), statistics.median(learns[half:])
    print(f"A round with 10 actions of 10 features and a context of 20, all dense: act "
          f"{in_words(act)}, learn {in_words(learn)} (medians).\n")  # fmt: skip


def main() -> int:
    options = part_arguments(
        __doc__,
        ("--only", {"nargs": "*", "help": "problems whose name contains one of these"}),
        ("--contenders", {"nargs": "*", "help": "names, all by default"}),
        ("--seeds", {"type": int, "default": 3}),
        ("--draws", {"type": int, "default": 10, "help": "of the second table"}),
        ("--rounds", {"type": int, "default": 1000, "help": "of the second table"}),
    )
    if options.quick:
        PROBLEMS.clear()
        PROBLEMS["classes: generated"] = functools.partial(classes, "generated")
        PROBLEMS["40 items"] = items
        for world in list(WORLDS)[1:]:
            del WORLDS[world]
    names = [n for n in PROBLEMS if not options.only or any(o in n for o in options.only)]
    contenders = options.contenders or [
        c for c in CONTENDERS if installed("vowpalwabbit") or not c.startswith("VW")
    ]
    seeds, draws = (1, 1) if options.quick else (options.seeds, options.draws)
    cost(100 if options.quick else 2000)
    compare(names, contenders, seeds, 100 if options.quick else 3000)
    worlds = [n for n in WORLDS if not options.only or any(o in n for o in options.only)]
    explorers = [e for e in EXPLORERS if not options.contenders or e in options.contenders]
    explorers.append(explorers.pop(explorers.index("greedy")))
    explore(worlds, explorers, draws, 100 if options.quick else options.rounds)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
