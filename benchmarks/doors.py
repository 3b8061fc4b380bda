"""The same rows as dicts through `Policy` and as a CSV file: does every door lead to one learner?

    python benchmarks/doors.py [--quick] [--study unseen] [--seeds N]

The streams are those of the bake-off; without `GRAPHCB_DATA`, or with --quick, generated ones. A
column is a number where all of its cells are, as in a file. All cores are used.
"""

import os
import tempfile
from collections.abc import Mapping
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from measure import part_arguments, print_table
from studies.bakeoff import study as bakeoff
from studies.bakeoff.ratios import feedback, geometric_mean
from studies.prepared import prepare
from studies.streams import Decisions, load_stream

from graphcb import InformationDirected, Policy, Problem
from graphcb.experiments.progressive import Player
from graphcb.oracles import DefaultOracle
from graphcb.streams.cells import is_number


def as_file(spec: Mapping[str, Any], seed: int) -> float:
    """The mean loss of the default where rows come from a file."""
    stream = prepare(spec, seed)
    agent = InformationDirected(DefaultOracle(stream.graph.n_actions))
    player = Player(agent, stream.graph, seed=seed, loss_range=stream.loss_range)
    return float(np.concatenate([player.play(piece).losses for piece in stream.pieces]).mean())


def as_dicts(spec: Mapping[str, Any], seed: int) -> float:
    """The mean loss of the default where each row is a dict of named features."""
    stream = load_stream(spec, seed)
    names, matrix = stream.actions, stream.graph.matrix
    edges = [[names[i], names[j]] for i, j in np.argwhere(matrix)]
    problem = Problem(list(names), reveals={"edges": edges}, range=(0.0, stream.largest_loss))
    lost = []
    with (
        tempfile.TemporaryDirectory() as folder,
        Policy(f"{folder}/log.db", problem=problem, seed=seed, durability="process-kill") as policy,
    ):
        for context, row in zip(dicts(stream), stream.losses.tolist(), strict=True):
            decision = policy.decide(context)
            played = decision.action_index
            lost.append(row[played])
            shown = {names[j]: row[j] for j in np.flatnonzero(matrix[played])}
            if shown:
                policy.feedback(decision.decision_id, shown)
    return float(np.mean(lost))


def dicts(stream: Decisions) -> list[dict[str, Any]]:
    """The rows by name; words stay words."""
    names = stream.feature_names
    columns = zip(*stream.features, strict=True)
    read = [float if all(map(is_number, column)) else str for column in columns]
    return [
        {name: as_type(cell) for name, as_type, cell in zip(names, read, row, strict=True)}
        for row in stream.features
    ]


def main() -> None:
    """Print the ratios by kind of feedback, and the largest."""
    given = part_arguments(
        __doc__,
        ("--study", {"default": bakeoff.NAME, "help": "the settings file without .toml"}),
        ("--seeds", {"type": int, "default": 1}),
    )
    whole = bakeoff.read(given.study)
    quick = given.quick or "GRAPHCB_DATA" not in os.environ
    streams = whole.quick["streams"] if quick else whole.streams
    work = [(play, name, seed) for name in streams for seed in range(given.seeds)
            for play in (as_file, as_dicts)]  # fmt: skip
    found = Parallel(n_jobs=os.cpu_count())(
        delayed(play)(streams[name], seed) for play, name, seed in work
    )
    losses: dict[tuple[str, Any], float] = {}
    for (play, name, _), loss in zip(work, found, strict=True):
        losses[name, play] = losses.get((name, play), 0.0) + loss / given.seeds
    ratios = {name: losses[name, as_dicts] / losses[name, as_file] for name in streams}
    kinds: dict[str, list[float]] = {}
    for name, ratio in ratios.items():
        kinds.setdefault(feedback(name), []).append(ratio)
    print(f"Loss with dicts through `Policy`, divided by that with a file. Seeds: {given.seeds}.\n")
    print_table(
        ("feedback", "streams", "geometric mean", "smallest", "largest"),
        (
            (kind, len(some), f"{geometric_mean(some):.3f}", f"{min(some):.2f}", f"{max(some):.2f}")
            for kind, some in {**kinds, "**all**": list(ratios.values())}.items()
        ),
    )
    most = sorted(ratios, key=lambda name: -ratios[name])[:5]
    shown = [f"{name} {losses[name, as_file]:.4f} -> {losses[name, as_dicts]:.4f}" for name in most]
    print(f"The largest: {', '.join(shown)}.")


if __name__ == "__main__":
    main()
