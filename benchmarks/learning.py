"""The same streams to graphcb and to its peers: progressive validation loss and rounds per second.

    python benchmarks/learning.py [--plots DIR]

Every learner meets the same rounds in the same order, one by one from Python, and is told what its
graph reveals. Each has a small grid; its best setting on a few seeds is then run on others, which
are what is reported. Contexts are there in the learner's own format beforehand. RCV1 and the spam
messages come from GRAPHCB_DATA; where they are absent the table says what is used instead.
"""

import sys
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np
from contenders import CS, VALUES, WIDEST, Contender, Data, Floats, contenders, rivals
from measure import name_lines, new_axes, part_arguments, print_table, save_plot, three_digits

from graphcb import FeedbackGraph, datasets, graphs

SEEDS = (1, 2, 3)
TRIAL_SEEDS = (0, 10, 20)
REVIEW_COST = 0.15
N_WORDS = 4096


class Line(NamedTuple):
    """What is reported of a contender."""

    name: str
    graph: str
    mean: float
    deviation: float  # NaN for one seed
    per_second: float
    best: str
    curve: Floats


def rcv1() -> Data | None:
    try:
        data = datasets.load_rcv1(10)
    except datasets.DataNotFoundError:
        return None
    return Data("RCV1, K = 10", data.contexts, data.losses, 5000, 1500, 750)


def digits() -> Data:
    data = datasets.load_digits()
    return Data("digits, K = 10", data.contexts, data.losses, len(data.losses), 900, 400)


def spam() -> Data:
    try:
        messages, name = datasets.load_sms_spam(), "spam review, K = 2"
    except datasets.DataNotFoundError:
        messages = datasets.generate_messages(3000, np.random.default_rng(0))
        name = "generated spam review (the SMS collection is absent), K = 2"
    losses = np.where(messages.is_spam[:, None], [REVIEW_COST, 1.0], [REVIEW_COST, 0.0])
    return Data(name, datasets.hash_words(messages.texts, N_WORDS), losses, 3000, 3000, 600)


def report(contender: Contender, data: Data, seeds: tuple[int, ...]) -> Line:
    """The setting that is best on the trial seeds, run on the others."""
    print(f"{data.name}: {contender.name}, {contender.graph}", file=sys.stderr, flush=True)
    n = data.n_short if contender.is_slow else data.n_trial

    def trial(setting: str) -> float:
        return sum(float(contender.play(setting, seed, n).losses.mean()) for seed in TRIAL_SEEDS)

    best = min(contender.grid, key=trial)
    results = [contender.play(best, seed, data.n_rounds) for seed in seeds]
    means = [float(one.losses.mean()) for one in results]
    deviation = float(np.std(means)) if len(means) > 1 else np.nan
    curve = np.cumsum(results[0].losses) / np.arange(1, data.n_rounds + 1)
    return Line(
        contender.name, contender.graph, float(np.mean(means)), deviation,
        data.n_rounds / float(np.median([one.seconds for one in results])), best, curve,
    )  # fmt: skip


def seeds_for(contender: Contender, quick: bool) -> tuple[int, ...]:
    very_slow = contender.name == "coba LinUCBLearner"
    return SEEDS[:1] if quick or very_slow else SEEDS


def show(data: Data, graphs_here: dict[str, FeedbackGraph], given: Any) -> None:
    if given.quick:
        data = data._replace(n_rounds=30, n_trial=10, n_short=10)
        graphs_here = dict(list(graphs_here.items())[:1])
    learners = list(contenders(data, graphs_here))
    if given.quick:
        learners = [
            one._replace(grid=one.grid[:1]) for one in learners if one.name.startswith("graphcb")
        ]
    lines = [report(one, data, seeds_for(one, given.quick)) for one in learners]
    lines.sort(key=lambda line: line.mean)
    print(f"### {data.name}, {data.n_rounds:,} rounds\n")
    print_table(
        ("learner", "feedback", "mean loss", "rounds per second", "best setting of", "chosen"),
        (
            (
                line.name, line.graph, with_deviation(line.mean, line.deviation),
                three_digits(line.per_second), f"{n}", f"`{line.best}`",
            )
            for line in lines for n in [grid_size(learners, line)]
        ),
    )  # fmt: skip
    print(verdict(lines) + "\n")
    if given.plots:
        plot(data, lines, given.plots)


def with_deviation(mean: float, deviation: float) -> str:
    return f"{mean:.4f}" if np.isnan(deviation) else f"{mean:.4f} +- {deviation:.4f}"


def grid_size(learners: list[Contender], line: Line) -> int:
    return next(len(c.grid) for c in learners if (c.name, c.graph) == (line.name, line.graph))


def verdict(lines: list[Line]) -> str:
    """The best learner with the feedback that all of them have."""
    others = [line for line in lines if not line.name.startswith("graphcb")]
    if not others:
        return "No rival took part."
    same = [x for x in lines if x.name.startswith("graphcb") and x.graph == others[0].graph]
    ours, theirs = min(same, key=lambda x: x.mean), min(others, key=lambda x: x.mean)
    apart, noise = abs(ours.mean - theirs.mean), np.fmax(ours.deviation, theirs.deviation)
    first, second = (ours, theirs) if ours.mean <= theirs.mean else (theirs, ours)
    close = " (within one standard deviation)" if apart <= noise else ""
    return (
        f"With the same feedback ({ours.graph}) the best is **{first.name}**, {first.mean:.4f} "
        f"against {second.mean:.4f} of {second.name}{close}."
    )


def plot(data: Data, lines: list[Line], folder: Any) -> None:
    from graphcb.figures.lines import OTHERS

    title = f"{data.name}: mean loss so far in one run of {data.n_rounds:,} rounds"
    title += ", dashed: other packages"
    figure, axes = new_axes("round", "mean loss so far", title)
    colours = {"-": iter(OTHERS), "--": iter(OTHERS)}
    for line in lines:
        if line.name.endswith("gamma = c sqrt(alpha t)"):
            continue
        style = "-" if line.name.startswith("graphcb") else "--"
        step = np.unique(np.geomspace(10, data.n_rounds, 200).astype(int)) - 1
        name = f"{line.name}, {line.graph}"
        axes.plot(step + 1, line.curve[step], style, color=next(colours[style]), label=name)
    name_lines(axes)
    name = f"learning-{data.name.split(',')[0].split()[0].lower()}"
    save_plot(figure, folder, name, f"Mean loss so far, {data.name}")


def main() -> None:
    given = part_arguments(__doc__)
    print(
        "Mean loss over the whole stream (progressive validation; smaller is better), mean and "
        f"standard deviation over seeds {SEEDS[0]} to {SEEDS[-1]} (coba's LinUCB: one seed), for "
        f"the setting that was best on seeds {', '.join(map(str, TRIAL_SEEDS))} over the first "
        "rounds (RCV1 1,500, digits 900, spam all; half or fewer for slow learners). Rounds a "
        "second are one by one from Python, with contexts prepared beforehand; compiled loops are "
        "in *A whole round*. Rivals that cannot use a graph have bandit feedback; graphcb also has "
        "richer feedback, to show what the graph is worth. "
        f"graphcb has the oracles LogisticOGD, learning rates {VALUES['logistic']}, and, up to "
        f"{WIDEST} features, OnlineRidge, penalties {VALUES['ridge']}; gamma is left out, or "
        f"c is in {CS}. The grids of the rivals, where they take part:\n"
    )
    for name, _, _, choices, _ in rivals(graphs.bandit(2), n_actions=2, is_narrow=True):
        print(f"- {name}: `{choices}`")
    print()
    missing = [name for name in ("vowpalwabbit", "coba", "river") if not find_spec(name)]
    if missing:
        print(f"Not installed and left out: {', '.join(missing)}.\n")

    feedback = {
        "bandit": graphs.bandit(10),
        "cops and robbers": graphs.cops_and_robbers(10),
        "full information": graphs.full_information(10),
    }
    documents = None if given.quick else rcv1()
    if documents is not None:
        show(documents, feedback, given)
    elif not given.quick:
        print("RCV1 is absent (set GRAPHCB_DATA) and left out.\n")
    show(digits(), feedback, given)
    show(spam(), {"apple tasting": graphs.apple_tasting()}, given)
    print(
        "Left out: LinUCB and LinTS beyond 100 features, where they keep a dense square matrix of "
        "that size (47,236 for RCV1); coba's LinTS, which takes 0.4 s per round on digits; "
        "`--graph_feedback` at K = 10, which takes 0.3 s per round. In the spam review every "
        "rival is told both losses after a review, with the probability of reviewing, and nothing "
        "after a delivery: what the played action alone shows would never tell the loss of "
        "delivering before it is delivered."
    )


if __name__ == "__main__":
    main()
