"""How fast regret grows on the six worst-case graphs of weak feedback, with many seeds.

    python benchmarks/slopes.py [--quick] [--seeds N]

The panel `graphcb reproduce weak-feedback` with more seeds, of the default and of SquareCB.G with
the paper's gamma. A slope is that of the mean regret, with a 95 % interval over the seeds as in
claims about a panel. All cores are used.
"""

import os
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from measure import part_arguments, print_table

from graphcb import __version__
from graphcb.experiments import experiment as experiments
from graphcb.experiments.claims import difference
from graphcb.experiments.curves import Curve, summarise
from graphcb.experiments.experiment import Experiment
from graphcb.experiments.reproduction import finish
from graphcb.experiments.store import Store

AGENTS = ("information-directed", "SquareCB.G, TwoThirds")
RATE = 2.0 / 3.0  # of the worst case, which no policy beats


def panel(*, quick: bool, n_seeds: int) -> Experiment:
    whole = experiments.read("weak-feedback")
    lines = tuple(line for line in whole.lines if line.agent in AGENTS)
    chosen = replace(whole, lines=lines, claims=(), n_seeds=n_seeds)
    if not quick:
        return chosen
    few = chosen.grid._replace(cs=chosen.grid.cs[:1])
    return replace(chosen, n_rounds=128, n_seeds=2, grid=few)


def rows(curves: Sequence[Curve]) -> Iterator[tuple[object, ...]]:
    found = {(s.agent, s.line): s for s in summarise(curves)}
    for line in dict.fromkeys(line for _, line in found):
        ours, paper = (found[agent, line] for agent in AGENTS)
        _, low, high, *_ = difference(ours.slopes)
        _, below, above, *_ = difference(paper.slopes)
        yield (
            line,
            f"{ours.regret_curve[-1]:.0f}",
            f"{ours.slope:.2f} ({low:.2f} to {high:.2f})",
            "**yes**" if low > RATE else "no",
            f"{paper.regret_curve[-1]:.0f}",
            f"{paper.slope:.2f} ({below:.2f} to {above:.2f})",
        )


def main() -> None:
    given = part_arguments(__doc__, ("--seeds", {"type": int, "default": 20}))
    one = panel(quick=given.quick, n_seeds=given.seeds)
    with tempfile.TemporaryDirectory() as folder:
        store = Store(Path(folder) / f"{one.name}.jsonl", __version__)
        curves = finish(one, store, n_jobs=os.cpu_count() or 1)
    print(
        f"{one.n_rounds:,} rounds, {one.n_seeds} seeds. Slopes of the regret on logarithmic axes "
        "from T / 32 to T, with 95 % intervals over seeds. *Above* is significantly above 2/3. "
        "SquareCB.G has the best c of its grid.\n"
    )
    regret, slope = "regret, nothing set", "slope, nothing set"
    peer = "regret, SquareCB.G, `TwoThirds`", "slope, SquareCB.G, `TwoThirds`"
    print_table(("graph", regret, slope, "above 2/3", *peer), rows(curves))


if __name__ == "__main__":
    main()
