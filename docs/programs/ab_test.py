"""How many A/B tests end on the worse page, how many visitors see it, and when one can stop.

python ab_test.py [RUNS]
"""

import sys
import tempfile
from pathlib import Path

import numpy as np

import graphcb
from graphcb.evaluation import constant, evaluate
from graphcb.rounds import learn_revealed, play_round

N = 20_000  # visitors of a test
BANDIT = graphcb.graphs.bandit(2)


def default(sells: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    agent, shown = graphcb.InformationDirected(), np.empty(len(sells), dtype=int)
    for k, sold in enumerate(sells):
        played = play_round(agent, [1.0], BANDIT, None, rng.random())
        learn_revealed(agent, played, [played.action], [1.0 - sold[played.action]])
        shown[k] = played.action
    return shown


def thompson(sells: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    counts, shown = np.ones((2, 2)), np.empty(len(sells), dtype=int)  # sold and not, by page
    for k, sold in enumerate(sells):
        shown[k] = page = rng.beta(*counts).argmax()
        counts[int(not sold[page]), page] += 1.0
    return shown


def even_split(sells: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Half of the visitors see each page until the last tenth, which sees the better one so far."""
    shown, end = rng.integers(2, size=len(sells)), len(sells) * 9 // 10
    means = [sells[:end][shown[:end] == page, page].mean() for page in (0, 1)]
    shown[end:] = np.argmax(means)
    return shown


def results(play, rates: tuple[float, float], runs: int, n: int = N) -> tuple[float, float]:
    """The share of runs whose last tenth saw the worse page for the most part; of visitors too."""
    worse = np.empty((runs, n), dtype=bool)
    for seed in range(runs):
        rng = np.random.default_rng(seed)
        pages = np.array(rates) if seed % 2 else np.array(rates)[::-1]
        worse[seed] = play(rng.random((n, 2)) < pages, rng) == pages.argmin()
    return float((worse[:, -n // 10 :].mean(axis=1) > 0.5).mean()), float(worse.mean())


def until_certain(rates: tuple[float, float], explore: float, seed: int, n: int = 20_000) -> int:
    """Visitors until an interval that holds at any time says which page is better."""
    problem = graphcb.Problem(["old", "new"], feedback="rewards", range=(0, 1), explore=explore)
    rng, pages = np.random.default_rng(seed), dict(zip(problem.actions, rates, strict=True))
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "log.db"
        with graphcb.Policy(log, problem=problem, seed=seed, durability="process-kill") as policy:
            while policy.model_version < n:
                made = policy.decide_many([{}] * 2000)
                sold = rng.random(2000) < [pages[one.action] for one in made]
                pairs = zip(made, sold.tolist(), strict=True)
                policy.feedback_many({one.decision_id: {one.action: yes} for one, yes in pairs})
                with graphcb.DecisionLog(log) as rows:
                    gain = evaluate(rows, constant("new"), against=constant("old")).difference
                if gain is not None and not gain.anytime.lower <= 0.0 <= gain.anytime.upper:
                    break
            return policy.model_version


if __name__ == "__main__":
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    for rates in ((0.10, 0.12), (0.50, 0.52)):
        for play in (default, thompson, even_split):
            lost, seen = results(play, rates, runs)
            print(
                f"{rates[0]:.2f} or {rates[1]:.2f}  {play.__name__:<10}  {lost:5.1%}  {seen:5.1%}"
            )
    for explore in (0.1, 0.2, 0.5):
        stops = [until_certain((0.10, 0.14), explore, seed) for seed in range(runs // 5)]
        print(f"0.10 or 0.14  explore = {explore:g}: {np.median(stops):,.0f} visitors")
