"""A whole run at once: compiled where there is a kernel for it, else by the run loop.

A compiled run mirrors `experiments.loop.run`: the same rounds, draws and bits.
"""

from itertools import islice
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphcb.agents import Agent, SquareCBG
from graphcb.environments import CostlyLooks, Environment, KnownLosses, OffLinear
from graphcb.environments.stock import StockProblem
from graphcb.experiments.kernels import ledger, linear, rules, stock, table
from graphcb.experiments.loop import play, streams
from graphcb.graphs.structure import Floats

LINEAR = (CostlyLooks, OffLinear)


class Trace(NamedTuple):
    """What happened in a run, one entry per round, and how long its parts took.

    `seconds` are those spent in the oracle, in the exploration and in the rest of the compiled
    rounds, of which there are `n_compiled`.
    """

    actions: NDArray[np.int64]
    probabilities: Floats
    losses: Floats
    n_revealed: NDArray[np.int64]
    seconds: tuple[float, float, float]
    n_compiled: int


def trace(
    agent: Agent,
    environment: Environment,
    *,
    seed: int,
    draw_seed: int | None = None,
    compiled: bool = True,
) -> Trace:
    """Run the agent through the environment; the same as `run`, bit for bit, but all at once.

    SquareCB.G in a closed form, SquareCB and the greedy agents go through compiled loops, at a few
    microseconds per round: over stock levels, tables of known losses and linear losses, with the
    oracles that the experiments have for them. So does the convex program on a new graph each
    round. Everything else, agents with `certify=True` or with limits, and all runs with
    `compiled=False` go through `loop.play`. The agent ends in the same state either way.
    `draw_seed` keeps the world of `seed` and draws the actions from another seed.

    >>> import graphcb
    >>> from graphcb.environments import SyntheticInventory
    >>> oracle = graphcb.oracles.NewsvendorOGD(100, learning_rate=0.5)
    >>> agent = graphcb.SquareCBG(oracle, gamma=graphcb.SquareRoot(c=4.0, alpha=1.0))
    >>> trace(agent, SyntheticInventory(n_rounds=20), seed=0).losses.shape
    (20,)
    """
    n_rounds = environment.n_rounds
    book = ledger.room_for(n_rounds)
    seeds = seed, seed if draw_seed is None else draw_seed
    done = _play_compiled(agent, environment, seeds, book) if compiled else 0
    world, draws = streams(seeds[0])[0], streams(seeds[1])[1]
    draws.random(done)
    rows = play(agent, environment, islice(environment.rounds(world), done, None), draws)
    for t, row in enumerate(rows if done < n_rounds else (), start=done):
        ledger.write_down(book, t, row.action, row.probability, row.loss, row.n_revealed)
    seconds = tuple((book.spent * 1e-9).tolist())
    return Trace(*book[:-1], seconds, done)


def _play_compiled(
    agent: Agent, environment: Environment, seeds: tuple[int, int], book: ledger.Ledger
) -> int:
    """How many rounds a kernel has played."""
    if not rules.has_kernel(agent):
        return 0
    if isinstance(agent, SquareCBG) and agent.certify:  # the kernels do not compute the DEC
        return 0
    world, draws = streams(seeds[0])[0], streams(seeds[1])[1]
    uniforms = draws.random(environment.n_rounds)
    if isinstance(environment, StockProblem) and environment.is_plain():
        return stock.play(agent, environment, world, uniforms, book)
    if type(environment) is KnownLosses:
        return table.play(agent, environment, world, uniforms, book)
    if isinstance(environment, CostlyLooks | OffLinear) and type(environment) in LINEAR:
        return linear.play(agent, environment, world, uniforms, book)
    return 0
