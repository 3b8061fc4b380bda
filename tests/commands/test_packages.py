"""With the core alone: what works in plain text, and what says beforehand what it needs."""

import json
import subprocess
import sys

import pytest

from graphcb import Policy, SquareCBG, graphs
from graphcb.oracles import LinearOGD

EXTRAS = ("rich", "matplotlib", "networkx", "pyarrow", "joblib", "sklearn", "psycopg", "pandas")
EXTRAS += ("msgspec", "uvicorn", "prometheus_client")
BLOCKED = f"""
import contextlib, io, json, os, sys
for name in {EXTRAS}:
    sys.modules[name] = None
from graphcb.cli import main
found = []
for arguments in json.loads(sys.argv[1]):
    before, out, error = set(os.listdir()), io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(error):
        code = main(arguments)
    found.append([code, out.getvalue(), error.getvalue(), sorted(set(os.listdir()) - before)])
print(json.dumps(found))
"""
WORKS = (
    ("run", "data.csv", "--label", "y", "--save", "m.npz"),
    ("inspect", "apple-tasting:4"),
    ("evaluate", "a.db", "--policy", "constant:1"),
    ("replay", "a.db"),
)
NEEDS = {
    ("run", "data.csv", "--label", "y", "--plot", "f.png", "--save", "n.npz"): (
        "`--plot` needs matplotlib: pip install 'graphcb[experiments]'"
    ),
    ("inspect", "bandit:3", "--out", "g.png"): (
        "`--out` needs matplotlib: pip install 'graphcb[experiments]'"
    ),
    ("log", "export", "a.db", "--parquet", "a.parquet"): (
        "`--parquet` needs pyarrow: pip install 'graphcb[parquet]'"
    ),
    ("reproduce", "inventory-fixed", "--quick"): (
        "`graphcb reproduce` needs joblib: pip install 'graphcb[experiments]'"
    ),
    ("serve", "problem.toml"): "`graphcb serve` needs msgspec: pip install 'graphcb[serve]'",
    ("serve-keys", "add", "keys.json", "shop"): (
        "`graphcb serve-keys` needs msgspec: pip install 'graphcb[serve]'"
    ),
    ("run", "data.parquet", "--label", "y"): (
        "data.parquet: reading Parquet needs pyarrow: pip install 'graphcb[parquet]'"
    ),
}


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """Exit code, output, errors and new files of each command, all in one process."""
    folder = tmp_path_factory.mktemp("core")
    (folder / "data.csv").write_text("x,y\n" + "".join(f"{i},{'ab'[i % 2]}\n" for i in range(9)))
    (folder / "data.parquet").write_bytes(b"PAR1")
    agent = SquareCBG(LinearOGD(2, 1), gamma=5.0)
    with Policy(folder / "a.db", agent, seed=0, durability="process-kill") as policy:
        decision = policy.decide([1.0], graphs.full_information(2))
        policy.feedback(decision.decision_id, {0: 0.5, 1: 0.25})
    commands = [*WORKS, *NEEDS]
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", BLOCKED, json.dumps(commands)],
        capture_output=True, text=True, cwd=folder, check=True,
    )  # fmt: skip
    return dict(zip(commands, map(tuple, json.loads(done.stdout)), strict=True))


def test_commands_that_need_the_core_alone(results):
    run, inspect, evaluate, replay = (results[command] for command in WORKS)
    for code, _, error, _ in (run, inspect, evaluate, replay):
        assert (code, error) == (0, "")
    assert "average loss         = " in run[1]
    lines = inspect[1].splitlines()
    assert lines[0] == "apple-tasting:4"
    assert "weak domination number     1" in lines
    assert lines[-1] == (
        "no picture: it needs matplotlib and networkx: pip install 'graphcb[experiments]'"
    )
    assert "graph.png" not in inspect[3]
    lines = evaluate[1].splitlines()
    assert lines[0] == "mean loss of constant:1"
    assert lines[1].split("  ")[0] == "estimate"
    assert lines[2].split()[:4] == ["with", "the", "graph", "0.2500"]
    assert replay[1].startswith("1 decisions and 1 feedbacks")


@pytest.mark.parametrize("command", NEEDS, ids=" ".join)
def test_what_is_missing_is_said_before_any_work(results, command):
    assert results[command] == (2, "", f"graphcb: {NEEDS[command]}\n", [])
