"""Which of two language models answers: quality against the share of calls of the dear one.

The RouteLLM benchmark (Ong and others, 2024) has 14,042 questions of MMLU with the answers of
Mixtral 8x7B and of GPT-4. Routers there are trained beforehand, and judged by how many right
answers they give for how many calls of GPT-4. Here the questions come one after the other, in an
order drawn from the seed, a router knows nothing at first, and sees only what its calls show. A
call of GPT-4 costs a price in units of wrong answers, or comes out of a budget; one run per price.

The performance gap recovered is the share of the way from Mixtral's answers to GPT-4's; its
average over the share of calls (APGR) is 0.5 for a router that tosses a coin. RouteLLM's own
routers, which were trained beforehand, reach 0.603 at best, 35.4 % of the calls for half of the
gap, and 54 % for 95 % of GPT-4's right answers, so table and picture have these points, too.

Five Llama models answered 5,533 other questions and said how sure they were, so there a threshold
on the confidence of the weak model is a rival.
"""

import argparse
import csv
import gzip
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray
from rich.progress import track

import graphcb
from graphcb.commands.panels import check_folder
from graphcb.datasets.location import find
from graphcb.figures.curves import save
from graphcb.files import atomic_write
from graphcb.rounds import learn_revealed, play_round
from studies.results import PICTURES, Rows, markdown_table, print_rows

NAME = "routing"
WEAK, STRONG, AUDIT = "weak", "strong", "audit"
PRICES = (0.01, 0.03, 0.06, 0.1, 0.15, 0.2, 0.25, 0.35)
BUDGETS = (0.1, 0.25, 0.4, 0.55, 0.7, 0.85)
AUDIT_PRICE = 0.05  # on top of a call of the strong model, for somebody who judges both answers
FOLDS = 5
ENOUGH = 0.95  # of the right answers of the strong model
GAPS = (0.5, 0.8)  # whose share of calls is told
# The best of four routers in each column, which were trained with labels of MMLU.
PUBLISHED, PUBLISHED_APGR, PUBLISHED_CALLS = "RouteLLM, as published", 0.603, (0.354, 0.703)

Floats = NDArray[np.float64]


class Pair(NamedTuple):
    """A file of questions, and the models that are chosen from."""

    file: str
    weak: str
    strong: str
    title: str


MMLU = Pair("routellm_mmlu.csv.gz", "mixtral-8x7b", "gpt-4", "Mixtral 8x7B or GPT-4")
LLAMA = Pair("llm_llama.csv.gz", "llama3.1-8b", "llama3.1-405b", "Llama 8b or 405b")


class Questions(NamedTuple):
    """Contexts, and whether each model answers them rightly: (n,) each.

    A context has the `question`, and the weak model's `confidence` if it is known.
    """

    contexts: list[dict[str, Any]]
    weak: Floats
    strong: Floats

    def ordered(self, places: NDArray[np.int64]) -> "Questions":
        """Those at these places."""
        contexts = [self.contexts[i] for i in places]
        return Questions(contexts, self.weak[places], self.strong[places])

    @property
    def gap(self) -> float:
        """Of which 95 % of the strong model's right answers need this share."""
        weak, strong = float(self.weak.mean()), float(self.strong.mean())
        return (ENOUGH * strong - weak) / (strong - weak)


class Point(NamedTuple):
    """A run: the share of calls of the strong model, and the share of right answers."""

    share: float
    right: float


class Router(NamedTuple):
    """What a call shows, and what the agent is; `settings` are prices, or budgets if `paced`."""

    reveals: Mapping[str, Any]
    greedy: bool = False
    paced: bool = False
    audits: bool = False


ROUTERS = {
    "cascade": Router({"all": [STRONG]}),
    "cascade, with a budget": Router({"all": [STRONG]}, paced=True),
    "each call shows itself": Router({"own": True}),
    "only audits show anything": Router({"all": [AUDIT]}, audits=True),
    "greedy, cascade": Router({"all": [STRONG]}, greedy=True),
}


def read(pair: Pair = MMLU) -> Questions:
    """All questions of a file."""
    path = find("streams", pair.file, "run another study")
    with gzip.open(path, "rt", newline="", encoding="utf-8") as lines:
        rows = list(csv.DictReader(lines))
    weak, strong = (
        np.array([float(row[f"correct_{model}"]) for row in rows])
        for model in (pair.weak, pair.strong)
    )
    contexts: list[dict[str, Any]] = [{"question": row["prompt"]} for row in rows]
    for context, row in zip(contexts, rows, strict=True):
        if f"confidence_{pair.weak}" in row:
            context["confidence"] = float(row[f"confidence_{pair.weak}"])
    return Questions(contexts, weak, strong)


def play(router: Router, setting: float, questions: Questions, seed: int) -> Point:
    """Route all questions once, learning from what the calls show."""
    learner, price = _learner(router, setting, questions), 0.0 if router.paced else setting
    problem = learner.problem
    actions, graph = problem.actions, problem.graph
    draws, n_strong, n_right = np.random.default_rng(seed), 0, 0.0
    for context, weak, strong in zip(*questions, strict=True):
        losses = np.array([1.0 - weak, 1.0 - strong + price, 1.0 - strong + price + AUDIT_PRICE])
        played = play_round(learner, context, graph, None, draws.random())
        is_strong = played.action > 0
        n_strong, n_right = n_strong + is_strong, n_right + (strong if is_strong else weak)
        (shown,) = np.nonzero(graph.row(played.action))
        learn_revealed(learner, played, [actions[i] for i in shown], losses[shown], indices=shown)
    n = len(questions.contexts)
    return Point(n_strong / n, n_right / n)


def _learner(router: Router, setting: float, questions: Questions) -> graphcb.Learner:
    actions = [WEAK, STRONG, *([AUDIT] if router.audits else [])]
    calls = dict.fromkeys(actions[1:], 1.0)
    problem = graphcb.Problem(
        actions,
        reveals=router.reveals,
        range=(0.0, 1.5),
        features={
            name: "text" if name == "question" else "number" for name in questions.contexts[0]
        },
        budgets=[graphcb.Budget("calls", calls, at_most=setting)] if router.paced else (),
    )
    return graphcb.Learner(problem, graphcb.Greedy() if router.greedy else None)


def recovered(points: Sequence[Point], questions: Questions) -> tuple[Floats, Floats]:
    """Shares of calls and gaps recovered, with both models alone at the ends."""
    low, high = questions.weak.mean(), questions.strong.mean()
    found = sorted((one.share, (one.right - low) / (high - low)) for one in points)
    shares, gaps = zip((0.0, 0.0), *found, (1.0, 1.0), strict=True)
    return np.array(shares), np.array(gaps)


def apgr(shares: Floats, gaps: Floats) -> float:
    """The average gap recovered over the share of calls, by straight lines between the runs."""
    return float(np.trapezoid(gaps, shares))


def calls_for(gap: float, shares: Floats, gaps: Floats) -> float:
    """The least share of calls that recovers so much of the gap."""
    for i in range(1, shares.size):
        if gaps[i] >= gap:
            rise = gaps[i] - gaps[i - 1]
            part = (gap - gaps[i - 1]) / rise if rise > 0.0 else 1.0
            return float(shares[i - 1] + part * (shares[i] - shares[i - 1]))
    return 1.0


def in_hindsight(questions: Questions) -> tuple[Floats, Floats]:
    """The best router that was trained on everything: words, both labels, other folds."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import KFold, cross_val_predict

    prompts = [context["question"] for context in questions.contexts]
    words = TfidfVectorizer(min_df=2).fit_transform(prompts)
    folds = KFold(FOLDS, shuffle=True, random_state=0)
    chances = [
        cross_val_predict(
            LogisticRegression(C=0.3, max_iter=300), words, right, cv=folds, method="predict_proba"
        )[:, 1]
        for right in (questions.weak, questions.strong)
    ]
    return _by_score(chances[0] - chances[1], questions)


def by_confidence(questions: Questions) -> tuple[Floats, Floats]:
    """The strong model answers where the weak one is less sure than a threshold."""
    return _by_score(np.array([one["confidence"] for one in questions.contexts]), questions)


def _by_score(scores: Floats, questions: Questions) -> tuple[Floats, Floats]:
    """Shares of calls and gaps recovered if the least scores are called first."""
    gains = np.cumsum((questions.strong - questions.weak)[np.argsort(scores, kind="stable")])
    return np.arange(gains.size + 1) / gains.size, np.concatenate([[0.0], gains / gains[-1]])


Curves = dict[str, list[tuple[Floats, Floats]]]


def curves(questions: Questions, n_seeds: int, routers: Mapping[str, Router] = ROUTERS) -> Curves:
    """For each router and seed, shares of calls and gaps recovered."""
    work = [
        (name, seed, setting)
        for name, router in routers.items()
        for seed in range(n_seeds)
        for setting in (BUDGETS if router.paced else PRICES)
    ]
    points: dict[tuple[str, int], list[Point]] = {}
    for name, seed, setting in track(work, description="routing"):
        order = np.random.default_rng([seed, 1]).permutation(len(questions.contexts))
        point = play(routers[name], setting, questions.ordered(order), seed)
        points.setdefault((name, seed), []).append(point)
    found: Curves = {}
    for (name, _), those in points.items():
        found.setdefault(name, []).append(recovered(those, questions))
    if "confidence" in questions.contexts[0]:
        found["a threshold on confidence"] = [by_confidence(questions)]
    found["in hindsight, all labels"] = [in_hindsight(questions)]
    half = np.linspace(0.0, 1.0, 3)
    found["a coin"] = [(half, half)]
    return found


def table(found: Curves, questions: Questions, pair: Pair) -> Rows:
    """One row for each router: means over the seeds, and their standard deviation."""
    body = []
    for name, those in found.items():
        averages = [apgr(*one) for one in those]
        spread = f" +- {np.std(averages, ddof=1):.3f}" if len(averages) > 1 else ""
        gaps = (*GAPS, questions.gap)
        calls = [np.mean([calls_for(gap, *one) for one in those]) for gap in gaps]
        body.append(
            (name, f"{np.mean(averages):.3f}{spread}", *(f"{share:.1%}" for share in calls))
        )
    if pair is MMLU:
        calls = [f"{share:.1%}" for share in PUBLISHED_CALLS]  # type: ignore[misc]  # as written
        body.append((PUBLISHED, f"{PUBLISHED_APGR:.3f}", *calls, ""))  # type: ignore[arg-type]
    head = (
        *("router", "average gap recovered", "calls for half of it", "for 80 % of it"),
        f"for {ENOUGH:.0%} of the strong one's right answers",
    )
    return Rows(f"routing: {pair.title}, {len(questions.contexts):,} questions", head, body)


COLOURS = {
    "cascade": "#009E73",  # as the same agents elsewhere
    "cascade, with a budget": "#56B4E9",
    "each call shows itself": "#0072B2",
    "only audits show anything": "#D55E00",
    "greedy, cascade": "#CC79A7",
    "in hindsight, all labels": "#444444",
    "a coin": "#999999",
}
GRID = np.linspace(0.0, 1.0, 101)
SAME = 0.01  # of the gap: lines that are drawn as one


def draw(found: Curves, questions: Questions) -> Figure:
    """Right answers over the share of calls, with a band of two standard errors."""
    figure = Figure(figsize=(8.0, 4.4), layout="constrained")
    axes = figure.add_subplot()
    low, high = 100.0 * questions.weak.mean(), 100.0 * questions.strong.mean()
    best_first = sorted(found, key=lambda name: -np.mean([apgr(*one) for one in found[name]]))
    for name in best_first:
        those = found[name]
        each = np.array([np.interp(GRID, *one) for one in those])
        right = low + (high - low) * each.mean(axis=0)
        style = "-" if name in ROUTERS else "--"
        label = f"{name}: {np.mean([apgr(*one) for one in those]):.3f}"
        if name != "a coin" and np.abs(each - GRID).max() < SAME:
            label += " (on the coin's line)"
        axes.plot(100.0 * GRID, right, style, color=COLOURS[name], linewidth=1.8, label=label)
        if len(those) > 1:
            wide = 2.0 * (high - low) * each.std(axis=0, ddof=1) / len(those) ** 0.5
            axes.fill_between(
                100.0 * GRID, right - wide, right + wide, color=COLOURS[name], alpha=0.15
            )
    axes.plot(
        [100.0 * share for share in PUBLISHED_CALLS],
        [low + (high - low) * gap for gap in GAPS],
        "kx", markersize=8, markeredgewidth=2.0, label=f"{PUBLISHED}: {PUBLISHED_APGR:.3f}",
    )  # fmt: skip
    axes.set(xlim=(0, 100), xlabel="calls of GPT-4, per cent", ylim=(low, None))
    axes.set_ylabel("right answers, per cent (not from 0)")
    n, seeds = len(questions.contexts), max(map(len, found.values()))
    axes.set_title(
        f"Mixtral 8x7B ({low:.1f} % right) or GPT-4 ({high:.1f} %)? Learned online\n"
        f"{n:,} questions, seeds: {seeds}, band: two standard errors",
        size=10,
    )
    axes.grid(alpha=0.3)
    figure.legend(
        loc="outside right center", fontsize=8, labelcolor="linecolor", frameon=False,
        title="average gap recovered", title_fontsize=8,
    )  # fmt: skip
    return figure


def run(options: argparse.Namespace) -> None:
    """Route, print, and write a report and a picture; `--quick`: a tenth, of one seed."""
    endings = {**dict.fromkeys(PICTURES, "picture"), ".md": "report"}
    check_folder(options, [(NAME, endings)])
    n_seeds = 1 if options.quick else options.seeds or 3
    questions = {pair: read(pair) for pair in (MMLU, LLAMA)}
    if options.quick:
        questions = {
            pair: those.ordered(np.arange(0, len(those.contexts), 10))
            for pair, those in questions.items()
        }
    found = {
        MMLU: curves(questions[MMLU], n_seeds),
        LLAMA: curves(questions[LLAMA], n_seeds, {"cascade": ROUTERS["cascade"]}),
    }
    tables = [table(found[pair], questions[pair], pair) for pair in found]
    options.out.mkdir(parents=True, exist_ok=True)
    path = options.out / NAME
    with atomic_write(path.with_suffix(".md"), text=True) as file:
        for rows in tables:
            file.write(f"# {rows.title}\n\n{markdown_table(rows.head, rows.body)}\n\n")
    for kind in PICTURES:
        drawn = draw(found[MMLU], questions[MMLU])
        save(drawn, path.with_suffix(kind), scripts=[Path(__file__)])
    print_rows(tables)
    print(f"figure: {path}.png, .pdf   report: .md")
