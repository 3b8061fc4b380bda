"""Never worse than the baseline, on real streams: python benchmarks/baseline.py [--quick].

`Conservative(InformationDirected(), baseline, epsilon=...)` plays each stream with its baseline.
The streams are those of the bake-off; without `GRAPHCB_DATA`, or with --quick, one that is
generated. All cores are used.
"""

import argparse
import os
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from studies.bakeoff.study import chosen_on
from studies.bakeoff.tables import MARK
from studies.prepared import prepare

from graphcb import Conservative, InformationDirected
from graphcb.experiments.loop import play, streams
from graphcb.experiments.progressive import ExampleRounds

Floats = NDArray[np.float64]

ROUTE = {
    "file": "llm_llama.csv.gz",
    "kind": "route",
    "models": ["llama3.2-1b", "llama3.2-3b", "llama3.1-8b", "llama3.1-70b", "llama3.1-405b"],
    "weight": 0.5,
    "largest": 1.5,
    "price": 0.6,
    "rows": 5533,
}
APPROVE = {"kind": "approve", "target": "default", "value": "1", "rows": 12000}
# The name, the stream, and the index of the baseline, from the end.
STREAMS: tuple[tuple[str, Mapping[str, Any], int], ...] = (
    ("mushroom, review", {"file": "mushroom.csv.gz", "kind": "review", "price": 0.3}, -1),
    ("magic, review", {"file": "magic.csv.gz", "kind": "review", "price": 0.3}, -1),
    ("splice, review", {"file": "splice.csv.gz", "kind": "review", "price": 0.3}, -1),
    ("credit, approve", {"file": "credit.csv.gz", **APPROVE, "act": [1, 0], "let_go": [0, 0.3]}, 0),
    ("routing, cascade", {**ROUTE, "feedback": "cascade"}, -1),
    ("routing, cascade (weakest model)", {**ROUTE, "feedback": "cascade"}, 0),
    ("routing, audit", {**ROUTE, "feedback": "audit"}, -1),
    ("routing, bandit", {**ROUTE, "feedback": "bandit"}, 3),
)
GENERATED = (("generated", {"file": "generated", "kind": "review", "price": 0.3}, -1),)


class Outcome(NamedTuple):
    """Mean losses, the largest ratio at any time, and the share of deviations in the last part."""

    loss: float
    baseline: float
    ratio: float
    deviations: float


def run(spec: Mapping[str, Any], place: int, epsilon: float | None, seed: int) -> Outcome:
    """One run; without epsilon, the agent decides from the start."""
    stream = prepare(spec, seed)
    baseline = place % stream.graph.n_actions
    agent: Any = InformationDirected()
    if epsilon is not None:
        agent = Conservative(agent, baseline, epsilon=epsilon)
    draws = streams(seed)[1]
    lost: list[float] = []
    counts: list[int] = []
    theirs: list[Floats] = []
    for piece in stream.pieces:
        world = ExampleRounds(piece, stream.graph, stream.loss_range)
        theirs.append(piece.losses[:, baseline])
        for row in play(agent, world, world.rounds(draws), draws):
            lost.append(row.loss)
            counts.append(getattr(agent, "n_deviations", 0))
    sums, allowed = np.cumsum(lost), np.cumsum(np.concatenate(theirs))
    counted = allowed > stream.loss_range[1]  # before, a ratio says little
    late = 3 * len(lost) // 4
    return Outcome(
        float(sums[-1] / len(lost)),
        float(allowed[-1] / len(lost)),
        float((sums[counted] / allowed[counted]).max()),
        (counts[-1] - counts[late]) / (len(lost) - 1 - late),
    )


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--seeds", type=int, default=3)
    options = parser.parse_args()
    quick = options.quick or "GRAPHCB_DATA" not in os.environ
    n_seeds = 1 if quick else options.seeds
    print(
        f"Mean losses of {n_seeds} seeds (their standard error); the largest ratio of all seeds, "
        "and the share of deviations in the last quarter. "
        f"{MARK} Constants of the agent were chosen on this table.\n"
    )
    print(
        "| stream | epsilon | baseline | agent alone | conservative | largest ratio | late share |"
    )
    print("|---|---|---|---|---|---|---|")
    epsilons = (None, 0.1) if quick else (None, 0.02, 0.05, 0.1, 0.2)
    for name, spec, place in GENERATED if quick else STREAMS:
        work = [(epsilon, seed) for epsilon in epsilons for seed in range(n_seeds)]
        played = Parallel(n_jobs=os.cpu_count())(delayed(run)(spec, place, *one) for one in work)
        found = {e: [one for one, (of, _) in zip(played, work, strict=True) if of == e]
                 for e in epsilons}  # fmt: skip
        alone = with_error([one.loss for one in found[None]])
        mark = f" {MARK}" if chosen_on(spec) else ""
        for epsilon in epsilons[1:]:
            losses, baselines, ratios, late = zip(*found[epsilon], strict=True)
            print(
                f"| {name}{mark} | {epsilon:g} | {np.mean(baselines):.4f} | {alone} | "
                f"{with_error(losses)} | {max(ratios):.3f} | {np.mean(late):.0%} |",
                flush=True,
            )


def with_error(losses: Sequence[float]) -> str:
    """The mean, and its standard error if there are several."""
    error = f" ({np.std(losses, ddof=1) / len(losses) ** 0.5:.4f})" if len(losses) > 1 else ""
    return f"{np.mean(losses):.4f}{error}"


if __name__ == "__main__":
    main()
