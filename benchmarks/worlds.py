"""Small worlds with a known answer: the default, beside other exploration with the same oracle.

    python benchmarks/worlds.py [--quick] [--only TEXT] [--seeds N] [--others N] [--jobs N]

All contenders see the same contexts and losses; of arms without contexts the same first loss of an
action, the same second one, and so on. The regret of a run is in the units of the losses.
A run is lost if its regret is more than half of the worst, that of the worst action in every round;
where the first rounds mislead, in every round after them. All cores are used.
"""

import os
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed
from measure import part_arguments, print_table
from numpy.typing import NDArray
from studies.small_worlds import BETA, THOMPSON, WORLDS, WORST, World
from studies.thompson import Thompson

from graphcb import EpsilonGreedy, FeedbackGraph, Greedy, InformationDirected, SquareCBG
from graphcb.exploration import SquareRoot
from graphcb.oracles import DefaultOracle
from graphcb.rounds import learn_revealed, play_round

Floats = NDArray[np.float64]

FIRST_SEED = 1000  # no setting was chosen on these
ASKED = """\
The default, and what is asked of it. *Lost* are runs with more than half of the worst regret. The
reference is other exploration in this world, or the default in another world. *Apart* is the mean
difference in regret from other exploration on the same seeds, with its standard error.
"""
HELD = """\
Exploration, the oracle held fixed: all learn with `DefaultOracle`. Mean regret, and the share of
lost runs where there are any. SquareCB.G has gamma = c sqrt(K t). *Worst* is the worst regret.
"""
OURS = "default"


class Runs(NamedTuple):
    """Regrets, one per seed; those of the worst action and of uniform choice."""

    regrets: Floats
    worst: Floats
    uniform: Floats

    @property
    def lost(self) -> float:
        return float((self.regrets > 0.5 * self.worst).mean())

    @property
    def gain(self) -> float:
        return float(1.0 - self.regrets.mean() / self.uniform.mean())


class BetaThompson:
    """The textbook's Thompson sampling for arms without contexts."""

    def __init__(self, n_actions: int, seed: int) -> None:
        self.counts, self.rng = np.ones((2, n_actions)), np.random.default_rng((1, seed))

    def act(self, context: Any, graph: FeedbackGraph, actions: Any = None) -> Floats:
        drawn = self.rng.beta(self.counts[0], self.counts[1])
        best: Floats = np.eye(graph.n_actions)[drawn.argmin()]
        return best

    def learn(self, context: Any, actions: Any, losses: Any) -> None:
        self.counts[:, actions] += [losses, 1.0 - losses]


def squarecbg(c: float, n_actions: int, seed: int) -> SquareCBG:
    return SquareCBG(DefaultOracle(n_actions), gamma=SquareRoot(c, n_actions))


EXPLORATIONS: Mapping[str, Callable[[int, int], Any]] = {
    OURS: lambda k, seed: InformationDirected(DefaultOracle(k)),
    "greedy": lambda k, seed: Greedy(DefaultOracle(k)),
    "epsilon-greedy, 0.1": lambda k, seed: EpsilonGreedy(DefaultOracle(k), epsilon=0.1),
    **{f"SquareCB.G, {c}": partial(squarecbg, c) for c in (2, 8, 32, 128)},
    THOMPSON: lambda k, seed: Thompson(DefaultOracle(k), seed),
    BETA: BetaThompson,
}


def play(world: World, agent: Any, seed: int) -> tuple[float, float, float]:
    """The regret of a run, that of the worst action, and that of uniform choice."""
    n_rounds = world.n_rounds
    contexts, means, losses = world.drawn(np.random.default_rng(seed), n_rounds)
    uniforms = np.random.default_rng((2, seed)).random(n_rounds)
    comes = np.random.default_rng((3, seed)).random(losses.shape)  # below its chance, if it does
    due: deque[tuple[int, Any]] = deque()
    actions, plays = (
        np.empty(n_rounds, dtype=np.intp),
        np.zeros(world.graph.n_actions, dtype=np.intp),
    )
    for t in range(n_rounds):
        played = play_round(agent, contexts[t], world.graph, None, uniforms[t])
        actions[t] = played.action
        due.append((t, played))
        while (t + 1) % world.batch == 0 and due and due[0][0] + world.delay <= t:
            past, answered = due.popleft()
            seen = np.flatnonzero(comes[past] < world.graph.matrix[answered.action])
            row = plays[answered.action] if world.by_play else past
            plays[answered.action] += 1
            learn_revealed(agent, answered, seen, losses[row, seen])
    best = means.min(axis=1)
    regret = (means[np.arange(n_rounds), actions] - best).sum()
    worst = (means.max(axis=1) - best)[world.misled :].sum()
    return float(regret), float(worst), float((means.mean(axis=1) - best).sum())


def play_all(worlds: Mapping[str, World], given: Any) -> dict[tuple[str, str], Runs]:
    """The runs of every contender in every world."""
    work = [
        (name, label, FIRST_SEED + seed)
        for name, world in worlds.items()
        for label in EXPLORATIONS
        if label != BETA or world.reference == BETA
        for seed in range(n_seeds(world, label, given))
    ]
    found = Parallel(n_jobs=given.jobs)(
        delayed(one)(name, label, seed, quick=given.quick) for name, label, seed in work
    )
    grouped: dict[tuple[str, str], list[tuple[float, float, float]]] = {}
    for (name, label, _), numbers in zip(work, found, strict=True):
        grouped.setdefault((name, label), []).append(numbers)
    return {key: Runs(*np.array(numbers).T) for key, numbers in grouped.items()}


def n_seeds(world: World, label: str, given: Any) -> int:
    """How many runs a contender has."""
    most = 1 if given.quick else int(given.seeds or world.n_seeds)
    is_asked = label in (OURS, world.reference)
    return min(most, int(given.others)) if given.others and not is_asked else most


def one(name: str, label: str, seed: int, *, quick: bool) -> tuple[float, float, float]:
    """A run by its names."""
    world = WORLDS[name]
    if quick:
        world = world._replace(n_rounds=world.misled + 60)
    return play(world, EXPLORATIONS[label](world.graph.n_actions, seed), seed)


def asked(
    worlds: Mapping[str, World], found: Mapping[tuple[str, str], Runs]
) -> Iterator[tuple[object, ...]]:
    """A row per world: the default, its reference, and whether what is asked is met."""
    for name, world in worlds.items():
        ours = found[name, OURS]
        own = f"{ours.regrets.mean():,.1f}", f"{ours.regrets.max():,.1f}", f"{ours.lost:.0%}"
        there = found.get((name, world.reference)) or found.get((world.reference, OURS))
        if world.reference == WORST:
            there = Runs(ours.worst, ours.worst, ours.uniform)
        if there is None:
            yield name, *own, "", "", "", "", "", ""
            continue
        if world.of_gain:
            ratio, limit = ours.gain / there.gain, f"gain, at least {world.most:.2f}"
            met = ratio >= world.most
        else:
            ratio, limit = ours.regrets.mean() / there.regrets.mean(), f"at most {world.most:.2f}"
            met = ratio <= world.most
        if world.reference == BETA:
            met = met and ours.lost <= there.lost
        apart = paired(ours, there) if world.reference in EXPLORATIONS else ""
        cells = f"{there.regrets.mean():,.1f}", apart, f"{ratio:.2f}", limit
        yield name, *own, world.reference, *cells, "yes" if met else "**no**"


def paired(ours: Runs, there: Runs) -> str:
    """The mean difference in regret on the same seeds, and its standard error."""
    apart = ours.regrets - there.regrets
    return (
        f"{apart.mean():+,.1f} ± {apart.std(ddof=1) / len(apart) ** 0.5:,.1f}"
        if len(apart) > 1
        else ""
    )


def main() -> None:
    """Print both tables."""
    given = part_arguments(
        __doc__,
        ("--only", {"default": "", "help": "part of the names of the worlds"}),
        ("--seeds", {"type": int, "help": "of every world, in place of 20 to 100 for arms and 8"}),
        ("--others", {"type": int, "help": "at most so many where no ask is about a contender"}),
        ("--jobs", {"type": int, "default": os.cpu_count()}),
    )
    worlds = {name: world for name, world in WORLDS.items() if given.only in name}
    found = play_all(worlds, given)
    print(ASKED)
    head = "world", "regret", "worst run", "lost", "reference", "its regret", "apart"
    print_table((*head, "ratio", "asked", "met"), asked(worlds, found))
    print(HELD + (f"Contenders without an ask: {given.others} seeds.\n" if given.others else ""))
    labels = [label for label in EXPLORATIONS if label != BETA]
    print_table(
        ("world", "rounds", "seeds", "worst", *labels),
        (
            (
                name,
                f"{world.n_rounds:,}",
                len(found[name, OURS].regrets),
                f"{found[name, OURS].worst.mean():,.0f}",
                *(in_cell(found[name, label]) for label in labels),
            )
            for name, world in worlds.items()
        ),
    )


def in_cell(runs: Runs) -> str:
    return f"{runs.regrets.mean():,.0f}" + (f" ({runs.lost:.0%} lost)" if runs.lost else "")


if __name__ == "__main__":
    main()
