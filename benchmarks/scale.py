"""Time and memory against the number of actions K, of features d, and of rows; fitted exponents.

    python benchmarks/scale.py [--plots DIR]

An exponent b means that time grows like size^b. It is fitted by least squares on logarithms over
the larger half of the sizes, where the cost of a call no longer hides it. Memory is what one call
adds to the resident set of a forked process; it needs Linux, and is left empty elsewhere.
"""

import ctypes
import os
import re
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from measure import (
    exponent,
    in_words,
    name_lines,
    new_axes,
    part_arguments,
    print_table,
    save_plot,
    timed,
)

import graphcb
from graphcb import FeedbackGraph, SquareCBG, SquareRoot, graphs
from graphcb.environments import KnownLosses
from graphcb.experiments.trace import trace
from graphcb.exploration import closed_form_probabilities
from graphcb.oracles import LogisticOGD

GAMMA = 1e3
LONG = 0.5  # seconds; a longer call is measured once
MEGABYTE = 2**20
Work = Callable[[], object]


class Curve(NamedTuple):
    """`prepare(size)` gives the work to be measured; `remark` says something of its last answer."""

    what: str
    prepare: Callable[[int], Work]
    sizes: tuple[int, ...]
    remark: Callable[[Any], str] = lambda answer: ""


class Point(NamedTuple):
    size: int
    seconds: float
    bytes: float
    remark: str


# --- what is measured


def structured(family: Callable[[int], FeedbackGraph], name: str) -> Iterator[Curve]:
    sizes = (10, 100, 1000, 10_000, 100_000, 300_000, 1_000_000)

    def reveal(n: int) -> Work:
        return partial(family(n).reveal_probabilities, np.full(n, 1.0 / n))

    def closed(n: int) -> Work:
        return partial(closed_form_probabilities, losses_of(n), family(n), GAMMA)

    yield Curve(f"{name}: build", lambda n: partial(family, n), sizes)
    yield Curve(f"{name}: reveal_probabilities", reveal, sizes)
    if name != "one action reveals all":
        yield Curve(f"{name}: closed form", closed, sizes)
    yield Curve(f"{name}: solve_dec", partial(solving, family), sizes, proof)


def losses_of(n: int) -> Any:
    return np.random.default_rng(n).random(n)


def solving(family: Callable[[int], FeedbackGraph], n: int) -> Work:
    return partial(graphcb.solve_dec, losses_of(n), family(n), GAMMA)


def proof(solution: graphcb.Solution) -> str:
    """What to say of an answer without a proof."""
    gap = f"not proven at the largest: gap {GAMMA * solution.gap:.2g} on gamma * DEC"
    return "" if solution.is_certified else gap


def self_aware(n: int) -> FeedbackGraph:
    return graphs.random_self_aware(n, 0.75, np.random.default_rng(n))


def three_edges(n: int) -> FeedbackGraph:
    rng = np.random.default_rng(n)
    edges = {(i, int(j)) for i in range(n) for j in [i, *rng.integers(0, n, size=2)]}
    return FeedbackGraph.from_edges(n, sorted(edges))


def general() -> Iterator[Curve]:
    sizes = (10, 30, 100, 300, 1000, 2000)

    def build(n: int) -> Work:
        return partial(FeedbackGraph, self_aware(n).matrix.copy())

    yield Curve("self-aware 3/4: build", build, sizes)
    yield Curve("self-aware 3/4: solve_dec", partial(solving, self_aware), sizes, proof)
    yield Curve("three edges per row: build", lambda n: partial(three_edges, n), sizes)
    yield Curve("three edges per row: solve_dec", partial(solving, three_edges), sizes, proof)


def whole_rounds(n_rounds: int, n_features: int, n_actions: int, n_words: int | None) -> Work:
    """A run of the compiled loop over generated contexts, dense or with so many words each."""
    rng = np.random.default_rng([n_rounds, n_features, n_actions])
    if n_words is None:
        contexts: Any = rng.random((n_rounds, n_features)) / np.sqrt(n_features)
    else:
        from scipy.sparse import csr_array

        columns = rng.integers(0, n_features, size=(n_rounds, n_words))
        rows = np.repeat(np.arange(n_rounds), n_words)
        values = np.full(columns.size, n_words**-0.5)
        contexts = csr_array((values, (rows, columns.ravel())), shape=(n_rounds, n_features))
    losses = rng.random((n_rounds, n_actions))
    environment = KnownLosses(contexts, losses, graphs.bandit(n_actions))

    def work() -> None:
        oracle = LogisticOGD(n_actions, n_features, learning_rate=1.0)
        trace(SquareCBG(oracle, gamma=SquareRoot(8.0, n_actions)), environment, seed=0)

    return work


def streams() -> Iterator[Curve]:
    d, rows = "1,000 rounds against d", "rounds against their number"
    yield Curve(
        f"dense contexts, K = 10, {d}", lambda n: whole_rounds(1000, n, 10, None),
        (10, 30, 100, 300, 1000, 3000, 10_000),
    )  # fmt: skip
    yield Curve(
        f"80 words of d, K = 10, {d}", lambda n: whole_rounds(1000, n, 10, 80),
        (100, 1000, 10_000, 100_000, 1_000_000),
    )  # fmt: skip
    yield Curve(
        f"80 words of 10,000, K = 10, {rows}", lambda n: whole_rounds(n, 10_000, 10, 80),
        (100, 1000, 10_000, 100_000),
    )  # fmt: skip
    graph = self_aware(10)
    yield Curve(
        "solve_dec_batch, self-aware 3/4, K = 10, rows",
        lambda n: partial(
            graphcb.solve_dec_batch, np.random.default_rng(n).random((n, 10)), graph, GAMMA
        ),
        (10, 100, 1000, 10_000, 100_000),
    )


# --- measuring


def measure(curve: Curve, sizes: Iterable[int]) -> list[Point]:
    """Sizes from small to large, so that the long calls need none before them to compile."""
    print(curve.what, file=sys.stderr, flush=True)
    points: list[Point] = []
    for size in sizes:
        work = curve.prepare(size)
        start = time.perf_counter()
        answer = work()
        seconds = time.perf_counter() - start
        if seconds < LONG or not points:
            seconds = float(np.median(timed(work, 7, at_most=LONG)))
        points.append(Point(size, seconds, added_bytes(work), curve.remark(answer)))
    return points


def added_bytes(work: Work) -> float:
    """How far one call raises the peak of resident memory, in a fork; NaN where unknown."""
    library = ctypes.CDLL(None)
    if not Path("/proc/self/clear_refs").exists() or not hasattr(library, "malloc_trim"):
        return np.nan
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            library.malloc_trim(0)  # what was freed before must be asked for again
            Path("/proc/self/clear_refs").write_text("5")  # the peak starts anew
            before = peak_kilobytes()
            work()
            os.write(write, str(1024 * (peak_kilobytes() - before)).encode())
        finally:
            os._exit(0)
    os.close(write)
    with os.fdopen(read) as pipe:
        text = pipe.read()
    os.waitpid(child, 0)
    return float(text) if text else np.nan


def peak_kilobytes() -> int:
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    found = re.search(r"VmHWM:\s+(\d+)", status)
    return int(found.group(1)) if found else 0


def time_exponent(points: list[Point]) -> str:
    """Over the larger half of the sizes."""
    upper = points[min(len(points) // 2, len(points) - 2) :]
    return f"{exponent([p.size for p in upper], [p.seconds for p in upper]):.2f}"


def memory(points: list[Point]) -> tuple[str, str]:
    """At the largest size, and the exponent over all sizes that add more than a megabyte.

    What a fork copies for itself is seen at the smallest size, and taken off.
    """
    added = [(point.size, point.bytes - points[0].bytes) for point in points]
    large = [(size, count) for size, count in added if count >= MEGABYTE]
    fit = f"{exponent(*zip(*large, strict=True)):.2f}" if len(large) > 1 else ""
    if np.isnan(added[-1][1]):
        return "", ""
    return (f"{added[-1][1] / MEGABYTE:,.0f} MB" if large else "< 1 MB"), fit


def summary(what: str, points: list[Point]) -> tuple[str, ...]:
    first, last = points[0], points[-1]
    return (
        what, f"{first.size:,}", f"{last.size:,}", in_words(first.seconds), in_words(last.seconds),
        time_exponent(points), *memory(points), last.remark,
    )  # fmt: skip


STRUCTURED = (
    ("bandit", graphs.bandit),
    ("full information", graphs.full_information),
    ("cops and robbers", graphs.cops_and_robbers),
    ("inventory", graphs.inventory),
    ("one action reveals all", graphs.apple_tasting),
)
HEADERS = (
    "what", "from", "to", "time at first", "time at last", "exponent", "memory", "its exponent", "",
)  # fmt: skip


def main() -> None:
    given = part_arguments(__doc__)
    print(
        f"gamma = {GAMMA:.0e}, uniform losses, medians of seven calls (fewer where they are long). "
        "*Exponent* b: time grows like size^b over the larger half of the sizes; memory is what "
        "one call adds at its peak to what it adds at the smallest size, with the exponent over "
        "the sizes where that is above 1 MB.\n"
    )
    groups = {
        "Named families against K": [c for name, f in STRUCTURED for c in structured(f, name)],
        "General graphs against K": list(general()),
        "Rounds and rows": list(streams()),
    }
    shown = {}
    for title, curves in groups.items():
        print(f"### {title}\n")
        rows = []
        for curve in curves:
            points = measure(curve, curve.sizes[:2] if given.quick else curve.sizes)
            shown[curve.what] = points
            rows.append(summary(curve.what, points))
        print_table(HEADERS, rows)
    if given.plots:
        plot(shown, given.plots)


def plot(shown: dict[str, list[Point]], folder: Path) -> None:
    title = "seconds of solve_dec, and how they grow with K"
    figure, axes = new_axes("actions K", "seconds of solve_dec", title)
    for what, points in shown.items():
        if what.endswith(": solve_dec"):
            label = f"{what.removesuffix(': solve_dec')}, exponent {time_exponent(points)}"
            sizes, times = [p.size for p in points], [p.seconds for p in points]
            axes.plot(sizes, times, marker="o", label=label)
    name_lines(axes)
    save_plot(figure, folder, "scale", "Seconds of solve_dec against K, log-log")


if __name__ == "__main__":
    main()
