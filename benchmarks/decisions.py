"""What a decision and a feedback cost through the log, for each durability and in batches.

    python benchmarks/decisions.py [postgresql://user@host/database]

Ten actions, cops-and-robbers, twenty features, a linear oracle. The agent alone is measured too.
"""

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from graphcb import Policy, SquareCBG, SquareRoot, draw, graphs
from graphcb.decisions import DecisionLog, replay
from graphcb.decisions.storage import Durability
from graphcb.oracles import LinearOGD

N_ACTIONS, N_FEATURES = 10, 20
GRAPH = graphs.cops_and_robbers(N_ACTIONS)
CHUNK = 500
LOSSES = {a: {b: 0.1 * b for b in range(N_ACTIONS) if b != a} for a in range(N_ACTIONS)}


def agent() -> SquareCBG:
    oracle = LinearOGD(N_ACTIONS, N_FEATURES, learning_rate=0.05)
    return SquareCBG(oracle, gamma=SquareRoot(32.0, 1.0))


def contexts() -> list[np.ndarray]:
    return list(np.random.default_rng(0).random((CHUNK, N_FEATURES)))


def per_second(work: Callable[[], None], chunks: int) -> float:
    """Median over chunks, after one that may compile."""
    rates = []
    for _ in range(chunks):
        start = time.perf_counter()
        work()
        rates.append(CHUNK / (time.perf_counter() - start))
    return statistics.median(rates[1:])


def bare(chunks: int) -> tuple[float, float]:
    learner, rows, rng = agent(), contexts(), np.random.default_rng(1)
    seen = np.arange(1, N_ACTIONS)
    losses = np.linspace(0.0, 1.0, N_ACTIONS - 1)

    def decide() -> None:
        for x in rows:
            draw(learner.act(x, GRAPH), rng)

    def learn() -> None:
        for x in rows:
            learner.learn(x, seen, losses)

    return per_second(decide, chunks), per_second(learn, chunks)


def logged(location: str, durability: Durability, batch: int, chunks: int) -> tuple[float, float]:
    rows = contexts()
    waiting: list[list[tuple[str, int]]] = []
    with Policy(location, agent(), seed=0, durability=durability) as policy:

        def decide() -> None:
            for begin in range(0, CHUNK, batch):
                made = policy.decide_many(rows[begin : begin + batch], GRAPH)
                waiting.append([(d.decision_id, d.action_index) for d in made])

        def learn() -> None:
            for _ in range(CHUNK // batch):
                policy.feedback_many({name: LOSSES[action] for name, action in waiting.pop(0)})

        return per_second(decide, chunks), per_second(learn, chunks)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("urls", nargs="*", metavar="URL", help="of PostgreSQL databases")
    parser.add_argument("--quick", action="store_true", help="three chunks instead of nine")
    given = parser.parse_args()
    chunks = 3 if given.quick else 9
    print("| log | durability | batch | decisions per second | feedbacks per second |")
    print("|---|---|---|---|---|")
    decides, learns = bare(chunks)
    print(f"| none: the agent alone | | | {decides:,.0f} | {learns:,.0f} |")
    durabilities: tuple[Durability, ...] = ("power-loss", "process-kill")
    with tempfile.TemporaryDirectory() as folder:
        for durability in durabilities:
            for batch in (1, 100):
                file = Path(folder) / f"{durability}-{batch}.db"
                decides, learns = logged(str(file), durability, batch, chunks)
                print(f"| SQLite | {durability} | {batch} | {decides:,.0f} | {learns:,.0f} |")
        start = time.perf_counter()
        with DecisionLog(file) as log:
            position = replay(log).position
        rate = position / (time.perf_counter() - start)
        print(f"| replay, every decision checked | | | {rate:,.0f} events | |")
    for url in given.urls:
        import psycopg

        for durability in durabilities:
            for batch in (1, 100):
                schema = f"bench_{durability.replace('-', '_')}_{batch}"
                with psycopg.connect(url, autocommit=True) as connection:
                    connection.execute(f"DROP SCHEMA IF EXISTS {schema} CASCADE".encode())
                    connection.execute(f"CREATE SCHEMA {schema}".encode())
                decides, learns = logged(
                    f"{url}?options=-csearch_path%3D{schema}", durability, batch, chunks
                )
                print(f"| PostgreSQL | {durability} | {batch} | {decides:,.0f} | {learns:,.0f} |")


if __name__ == "__main__":
    main()
