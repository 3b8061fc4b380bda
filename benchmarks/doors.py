"""The same rows as dicts through `Policy` and as a CSV file: does every door lead to one learner?

    python benchmarks/doors.py [--quick] [--study unseen] [--seeds N]

With the same draws the losses must be the same in every round; with draws of its own each door has
its own luck, and a file played again with other draws says how much that is. The streams are those
of the bake-off; without `GRAPHCB_DATA`, or with --quick, generated ones. A column is a number where
all of its cells are, as in a file. All cores are used.
"""

import os
import tempfile
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed
from measure import part_arguments, print_table
from numpy.typing import NDArray
from studies.bakeoff import study as bakeoff
from studies.bakeoff.ratios import feedback, geometric_mean
from studies.prepared import prepare
from studies.streams import Decisions, load_stream

from graphcb import InformationDirected, Policy, Problem
from graphcb.decisions.transition import uniform_at
from graphcb.experiments.progressive import Player
from graphcb.oracles import DefaultOracle
from graphcb.streams.cells import is_number

Floats = NDArray[np.float64]
FAR = 1.1  # a stream is named whose doors differ by more, one way or the other


class Played(NamedTuple):
    """Mean losses of a stream in the order of one seed, and rounds in which doors differ.

    `same` is the file with the draws of the dicts, `file` with draws of its own.
    """

    dicts: float
    same: float
    file: float
    n_different: int


class Given:
    """Draws that were made before, in place of a generator: nothing is revealed by chance here."""

    def __init__(self, values: Iterable[float]) -> None:
        self.random = iter(values).__next__


def play(spec: Mapping[str, Any], seed: int) -> Played:
    """Both doors, and the file twice."""
    dicts, draws = as_dicts(spec, seed)
    same, own = as_file(spec, seed, draws), as_file(spec, seed)
    n_different = int((dicts != same).sum())
    return Played(float(dicts.mean()), float(same.mean()), float(own.mean()), n_different)


def as_file(spec: Mapping[str, Any], seed: int, draws: Iterable[float] | None = None) -> Floats:
    """The losses of the default where rows come from a file."""
    stream = prepare(spec, seed)
    agent = InformationDirected(DefaultOracle(stream.graph.n_actions))
    player = Player(agent, stream.graph, seed=seed, loss_range=stream.loss_range)
    if draws is not None:
        player.draws = Given(draws)  # type: ignore[assignment]  # it has what is asked of it here
    return np.concatenate([player.play(piece).losses for piece in stream.pieces])


def as_dicts(spec: Mapping[str, Any], seed: int) -> tuple[Floats, list[float]]:
    """The losses of the default where each row is a dict of named features, and its draws.

    Losses have six digits, as in the file.
    """
    stream = load_stream(spec, seed)
    names, matrix = stream.actions, stream.graph.matrix
    edges = [[names[i], names[j]] for i, j in np.argwhere(matrix)]
    problem = Problem(list(names), reveals={"edges": edges}, range=(0.0, stream.largest_loss))
    lost, draws, position = [], [], 0
    with (
        tempfile.TemporaryDirectory() as folder,
        Policy(f"{folder}/log.db", problem=problem, seed=seed, durability="process-kill") as policy,
    ):
        for context, row in zip(dicts(stream), stream.losses.tolist(), strict=True):
            losses = [float(f"{loss:.6g}") for loss in row]
            position += 1
            draws.append(uniform_at(seed, position))
            decision = policy.decide(context)
            played = decision.action_index
            lost.append(losses[played])
            shown = {names[j]: losses[j] for j in np.flatnonzero(matrix[played])}
            if shown:
                position += 1
                policy.feedback(decision.decision_id, shown)
    return np.array(lost), draws


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
    """Print what differs with the same draws, and ratios with others."""
    given = part_arguments(
        __doc__,
        ("--study", {"default": bakeoff.NAME, "help": "the settings file without .toml"}),
        ("--seeds", {"type": int, "default": 3}),
    )
    whole = bakeoff.read(given.study)
    quick = given.quick or "GRAPHCB_DATA" not in os.environ
    streams = whole.quick["streams"] if quick else whole.streams
    work = [(name, seed) for name in streams for seed in range(given.seeds)]
    found = Parallel(n_jobs=os.cpu_count())(
        delayed(play)(streams[name], seed) for name, seed in work
    )
    runs: dict[str, list[Played]] = {}
    for (name, _), one in zip(work, found, strict=True):
        runs.setdefault(name, []).append(one)
    n_different = sum(one.n_different > 0 for one in found)
    print(
        f"{len(streams)} streams, orders of rows of {given.seeds} seeds. With the same draws the "
        f"losses differ in a round of {n_different} of {len(found)} runs. The rest of this section "
        "is with other draws: the loss with dicts through `Policy`, divided by that with a file, "
        "each with draws of its own.\n"
    )
    ratios = {name: [one.dicts / one.file for one in some] for name, some in runs.items()}
    means = {name: geometric_mean(some) for name, some in ratios.items()}
    kinds: dict[str, list[float]] = {}
    for name, ratio in means.items():
        kinds.setdefault(feedback(name), []).append(ratio)
    print_table(
        ("feedback", "streams", "geometric mean", "smallest", "largest"),
        (
            (kind, len(some), f"{geometric_mean(some):.3f}", f"{min(some):.2f}", f"{max(some):.2f}")
            for kind, some in {**kinds, "**all**": list(means.values())}.items()
        ),
    )
    far = [name for name in means if not 1.0 / FAR <= means[name] <= FAR]
    print(
        f"Streams whose mean is above {FAR:g} or below {1.0 / FAR:.2f}, with standard errors over "
        "seeds; beside them a file with the draws of the dicts, divided by the same file with its "
        "own.\n"
    )
    print_table(
        ("stream", "dicts / file", "file / file with other draws", "rounds that differ"),
        (
            (
                name,
                with_error(ratios[name]),
                with_error([one.same / one.file for one in runs[name]]),
                sum(one.n_different for one in runs[name]),
            )
            for name in sorted(far, key=lambda name: -means[name])
        ),
    )


def with_error(ratios: list[float]) -> str:
    """The geometric mean, and its standard error by that of the logarithms."""
    mean, logarithms = geometric_mean(ratios), np.log(ratios)
    if len(ratios) == 1:
        return f"{mean:.2f}"
    return f"{mean:.2f} ({mean * logarithms.std(ddof=1) / len(ratios) ** 0.5:.2f})"


if __name__ == "__main__":
    main()
