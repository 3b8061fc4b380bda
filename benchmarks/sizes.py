"""How many bytes a decision and its feedback take on disk.

    python benchmarks/sizes.py [postgresql://user@host/database]

The default agent, actions a0, a1, ..., contexts of twenty numbers with six digits, and feedback for
what was played. Agents that are stored with the log are not counted. SQLite's file is compacted
first; PostgreSQL counts its tables with their indices.
"""

import argparse
import random
import shutil
import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path

from graphcb import Policy, Problem

SIZES = {10: 5000, 1000: 1000}  # actions, decisions
N_FEATURES, BATCH = 20, 100
AGENTS = ("log", "checkpoints", "versions", "graphs", "contents", "writer")


def fill(location: str, n_actions: int, n: int) -> None:
    rng = random.Random(0)
    problem = Problem(
        [f"a{i}" for i in range(n_actions)],
        features={f"f{j}": "number" for j in range(N_FEATURES)},
    )
    with Policy(location, problem=problem, seed=0, durability="process-kill") as policy:
        for _ in range(0, n, BATCH):
            contexts = [
                {f"f{j}": round(rng.random(), 6) for j in range(N_FEATURES)} for _ in range(BATCH)
            ]
            policy.feedback_many(
                {
                    one.decision_id: {one.action: float(rng.random() < 0.2 + 0.6 * (i > 0))}
                    for one in policy.decide_many(contexts)
                    for i in (one.action_index,)
                }
            )


def in_file(file: Path, *without: str) -> int:
    """The size of the file without some tables."""
    copy = file.with_name("copy.db")
    shutil.copy(file, copy)
    with closing(sqlite3.connect(copy, isolation_level=None)) as connection:
        for table in (*AGENTS, *without):
            connection.execute(f"DELETE FROM graphcb_{table}")
        connection.execute("VACUUM")
    return copy.stat().st_size


def in_server(url: str) -> tuple[int, int]:
    import psycopg

    sizes = []
    with psycopg.connect(url, autocommit=True) as connection:
        for table in ("decisions", "feedbacks"):
            connection.execute(f"VACUUM FULL graphcb_{table}".encode())
            sql = f"SELECT pg_total_relation_size('graphcb_{table}')".encode()
            sizes.append(int((connection.execute(sql).fetchone() or (0,))[0]))
    return sizes[0], sizes[1]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("url", nargs="?", metavar="URL", help="of a PostgreSQL database")
    given = parser.parse_args()
    print("| log | actions | bytes per decision | bytes per feedback |\n|---|---|---|---|")
    for n_actions, n in SIZES.items():
        with tempfile.TemporaryDirectory() as name:
            file = Path(name) / "log.db"
            fill(str(file), n_actions, n)
            alone = in_file(file, "feedbacks")
            both = in_file(file)
        print(f"| SQLite | {n_actions:,} | {alone / n:,.0f} | {(both - alone) / n:,.0f} |")
        if given.url is not None:
            import psycopg

            schema = f"sizes_{n_actions}"
            with psycopg.connect(given.url, autocommit=True) as connection:
                connection.execute(f"DROP SCHEMA IF EXISTS {schema} CASCADE".encode())
                connection.execute(f"CREATE SCHEMA {schema}".encode())
            url = f"{given.url}?options=-csearch_path%3D{schema}"
            fill(url, n_actions, n)
            decisions, feedbacks = in_server(url)
            each = f"{decisions / n:,.0f} | {feedbacks / n:,.0f}"
            print(f"| PostgreSQL | {n_actions:,} | {each} |")


if __name__ == "__main__":
    main()
