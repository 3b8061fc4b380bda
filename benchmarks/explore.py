"""What `explore = 0.01` costs on real streams, and what it is worth: benchmarks/explore.py.

    python benchmarks/explore.py [--quick] [--seeds N] [--streams NAME] [--cost-only]

Cost: the default learner plays every stream of the bake-off with and without it, in the same order
of rows. A loss is the mean of what each distribution is expected to lose, so that draws do not
blur it. `--streams unseen` plays those of unseen.toml.
Worth: intervals of other policies on the logs of both. Without `GRAPHCB_DATA`, or with --quick,
streams that are generated. All cores are used, but for the times of a processor at the end.
"""

import os
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed
from measure import part_arguments
from numpy.typing import NDArray
from seen import interval
from studies.bakeoff import study as bakeoff
from studies.prepared import prepare

from graphcb import DecisionLog, FeedbackGraph, InformationDirected, Policy, draw, graphs
from graphcb.evaluation import Target, constant, evaluate, greedy, uniform
from graphcb.experiments.progressive import Player
from graphcb.oracles import DefaultOracle

Floats = NDArray[np.float64]

SHARE = 0.01
WORTH = ("chess/bandit", "magic/bandit", "segment/cops", "magic/review", "credit/approve")
ROUNDS_IN_A_LOG = 4000


class Watched(InformationDirected):
    """The default learner; it keeps every distribution that it plays."""

    played: list[Floats]

    def act(self, *given: Any, **more: Any) -> Floats:
        """As the default learner."""
        p = super().act(*given, **more)
        self.played.append(p)
        return p


def expected_loss(spec: Mapping[str, Any], seed: int, explore: float) -> float:
    """The mean loss of a run in the units of the stream, in expectation over the draws."""
    stream = prepare(spec, seed)
    agent = Watched(DefaultOracle(stream.graph.n_actions), explore=explore)
    agent.played = []
    player = Player(agent, stream.graph, seed=seed, loss_range=stream.loss_range)
    for piece in stream.pieces:
        player.play(piece)
    losses = np.concatenate([piece.losses for piece in stream.pieces])
    return float((np.array(agent.played) * losses).sum(axis=1).mean())


def cost(streams: Mapping[str, Mapping[str, Any]], n_seeds: int) -> list[str]:
    """The ratio of losses by kind of feedback, and the largest ones."""
    work = [
        (name, seed, share) for name in streams for seed in range(n_seeds) for share in (0.0, SHARE)
    ]
    found = Parallel(n_jobs=os.cpu_count())(
        delayed(expected_loss)(streams[name], seed, share) for name, seed, share in work
    )
    losses: dict[tuple[str, float], float] = {}
    for (name, _, share), loss in zip(work, found, strict=True):
        losses[name, share] = losses.get((name, share), 0.0) + loss / n_seeds
    ratios = {name: losses[name, SHARE] / losses[name, 0.0] for name in streams}
    kinds: dict[str, list[str]] = {}
    for name in streams:
        kinds.setdefault(name.partition("/")[2].partition(" ")[0], []).append(name)
    lines = ["| feedback | streams | geometric mean | worst | all losses together |"]
    lines.append("|---|---|---|---|---|")
    for kind, names in {**kinds, "**all**": list(streams)}.items():
        together = sum(losses[n, SHARE] for n in names) / sum(losses[n, 0.0] for n in names)
        mean = np.exp(np.mean([np.log(ratios[n]) for n in names]))
        worst = max(ratios[n] for n in names)
        lines.append(f"| {kind} | {len(names)} | {mean:.3f} | {worst:.2f} | {together:.4f} |")
    most = sorted(streams, key=lambda name: -ratios[name])[:6]
    shown = ", ".join(
        f"{name} {losses[name, 0.0]:.4f} -> {losses[name, SHARE]:.4f}" for name in most
    )
    extra = [losses[name, SHARE] - losses[name, 0.0] for name in streams]
    logs = [float(np.log(ratios[name])) for name in streams]
    low, high = interval(logs, [str(spec["file"]) for spec in streams.values()])
    lines += [
        "",
        f"{n_seeds} seeds. The geometric mean is between {low:.3f} and {high:.3f} (95 % over "
        f"tables), the median {np.exp(median(logs)):.3f}. A decision loses {np.mean(extra):.4f} "
        f"more on average, {max(extra):.4f} at most. The largest ratios: {shown}.",
    ]
    return lines


class Logged(NamedTuple):
    """A log of the learner on a stream, and what nobody who reads it knows."""

    path: Path
    contexts: list[Any]
    losses: Floats


def worth(streams: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Intervals on the logs of the learner with and without `explore`."""
    lines = [
        "| stream | policy | truth | without: estimate, 95 % | with explore: estimate, 95 % |",
        "|---|---|---|---|---|",
    ]
    found = Parallel(n_jobs=os.cpu_count())(delayed(judged)(*one) for one in streams.items())
    return [*lines, *(line for some in found for line in some)]


def judged(name: str, spec: Mapping[str, Any]) -> list[str]:
    """A row for each policy on one stream."""
    lines = []
    with tempfile.TemporaryDirectory() as folder:
        logs = [logged(spec, share, Path(folder) / f"{share}.db") for share in (0.0, SHARE)]
        for policy in ("worst constant", "best constant", "uniform", "greedy"):
            truth, target = policy_of(policy, logs[0])
            cells = []
            for one in logs:
                with DecisionLog(one.path) as log:
                    cells.append(in_cells(evaluate(log, target)))
            lines.append(f"| {name} | {policy} | {truth:.3f} | {' | '.join(cells)} |")
    return lines


def logged(spec: Mapping[str, Any], explore: float, path: Path) -> Logged:
    """The first decisions of the learner on a stream."""
    stream = prepare(spec, 0)
    low, high = stream.loss_range
    contexts = [context for piece in stream.pieces for context in piece.contexts]
    losses = np.concatenate([(piece.losses - low) / (high - low) for piece in stream.pieces])
    made = Logged(path, contexts[:ROUNDS_IN_A_LOG], losses[:ROUNDS_IN_A_LOG])
    agent = InformationDirected(DefaultOracle(stream.graph.n_actions), explore=explore)
    with Policy(path, agent, seed=0, durability="process-kill") as policy:
        for context, row in zip(made.contexts, made.losses, strict=True):
            decision = policy.decide(context, stream.graph)
            seen = np.flatnonzero(stream.graph.row(decision.action_index))
            policy.feedback(decision.decision_id, {int(a): float(row[a]) for a in seen})
    return made


def policy_of(name: str, log: Logged) -> tuple[float, Target]:
    """What a policy really loses on the rows of a log, and the policy."""
    means = log.losses.mean(axis=0)
    if name == "uniform":
        return float(means.mean()), uniform
    if name == "greedy":
        oracle = trained_on(log.contexts, log.losses)
        best = [int(np.argmin(oracle.predict(context))) for context in log.contexts]
        return float(log.losses[np.arange(len(best)), best].mean()), greedy(oracle)
    action = int(means.argmax() if name == "worst constant" else means.argmin())
    return float(means[action]), constant(action)


def trained_on(contexts: list[Any], losses: Floats) -> DefaultOracle:
    """What another team might propose: an oracle that saw every loss of 200 rows."""
    oracle = DefaultOracle(losses.shape[1])
    for context, row in zip(contexts[:200], losses[:200], strict=True):
        oracle.update(context, np.arange(row.size), row)
    return oracle


def in_cells(result: Any) -> str:
    """The estimate with its normal interval, or the share that could not be seen."""
    estimate = result.graph
    if result.unseen_share > 0.0:
        return f"withheld: {result.unseen_share:.0%} never seen"
    if estimate is None or estimate.normal is None:
        return f"withheld: {result.warnings[0] if result.warnings else 'too few decisions'}"
    lower, upper = estimate.normal
    return f"{estimate.value:.3f} ({lower:.3f} to {upper:.3f})"


def times(n_rounds: int) -> list[str]:
    """Processor time of a decision with `explore`, as a ratio to one without, in turns."""
    lines = ["| K | bandit | cops and robbers | one reveals all |", "|---|---|---|---|"]
    for k in (2, 10, 200):
        cells = []
        for graph in (graphs.bandit(k), graphs.cops_and_robbers(k), graphs.apple_tasting(k)):
            pairs = [(seconds(graph, 0.0, n_rounds), seconds(graph, SHARE, n_rounds))
                     for _ in range(5)]  # fmt: skip
            ratio = median(after / before for before, after in pairs)
            cells.append(f"{ratio:.2f} of {median(b for b, _ in pairs) * 1e6:.0f} us")
        lines.append(f"| {k} | {' | '.join(cells)} |")
    return lines


def seconds(graph: FeedbackGraph, explore: float, n_rounds: int) -> float:
    """Processor time of one decision of an agent that has learned."""
    rng = np.random.default_rng(0)
    agent = InformationDirected(DefaultOracle(graph.n_actions), explore=explore)
    contexts = rng.normal(size=(n_rounds, 10))
    for context in contexts[:50]:
        p = agent.act(context, graph)
        agent.learn(context, np.arange(graph.n_actions), rng.random(graph.n_actions))
        draw(p, rng)
    start = time.process_time()
    for context in contexts:
        agent.act(context, graph)
    return (time.process_time() - start) / n_rounds


def main() -> None:
    """Print the section."""
    given = part_arguments(
        __doc__,
        ("--seeds", {"type": int, "default": 3}),
        ("--streams", {"default": bakeoff.NAME, "help": "the settings file that has them"}),
        ("--cost-only", {"action": "store_true"}),
    )
    whole, played = bakeoff.read(bakeoff.NAME), bakeoff.read(given.streams)
    if given.quick or "GRAPHCB_DATA" not in os.environ:
        streams = whole.quick["streams"]
        chosen, n_seeds, n_rounds = dict(list(streams.items())[:1]), 1, 50
    else:
        streams, n_seeds, n_rounds = played.streams, given.seeds, 1000
        chosen = {name: whole.streams[name] for name in WORTH}
    print(f"Loss with `explore = {SHARE}`, divided by the loss without. {played.seen_is}\n")
    print("\n".join(cost(streams, n_seeds)))
    if given.cost_only:
        return
    print(f"\nOther policies, judged on the first {ROUNDS_IN_A_LOG:,} decisions of the learner.\n")
    print("\n".join(worth(chosen)))
    print("\nProcessor time of `act` with `explore`, divided by that without.\n")
    print("\n".join(times(n_rounds)))


if __name__ == "__main__":
    main()
