"""With the core alone: what works in plain text, and what says beforehand what it needs."""

import subprocess
import sys

import pytest

from graphcb import Policy, SquareCBG, graphs
from graphcb.oracles import LinearOGD

EXTRAS = ("rich", "matplotlib", "networkx", "pyarrow", "joblib", "sklearn", "psycopg", "pandas")
EXTRAS += ("msgspec", "uvicorn", "prometheus_client")
BLOCKED = f"""
import sys
for name in {EXTRAS}:
    sys.modules[name] = None
from graphcb.cli import main
sys.exit(main(sys.argv[1:]))
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "data.csv").write_text("x,y\n" + "".join(f"{i},{'ab'[i % 2]}\n" for i in range(9)))
    agent = SquareCBG(LinearOGD(2, 1), gamma=5.0)
    with Policy(tmp_path / "a.db", agent, seed=0, durability="process-kill") as policy:
        decision = policy.decide([1.0], graphs.full_information(2))
        policy.feedback(decision.decision_id, {0: 0.5, 1: 0.25})
    return tmp_path


def run(folder, *arguments):
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", BLOCKED, *arguments],
        capture_output=True, text=True, cwd=folder,
    )  # fmt: skip
    return done.returncode, done.stdout, done.stderr


def test_run(folder):
    code, out, error = run(folder, "run", "data.csv", "--label", "y", "--save", "m.npz")
    assert (code, error) == (0, "")
    assert "average loss         = " in out


def test_inspect(folder):
    code, out, error = run(folder, "inspect", "apple-tasting:4")
    assert (code, error) == (0, "")
    lines = out.splitlines()
    assert lines[0] == "apple-tasting:4"
    assert "weak domination number     1" in lines
    assert lines[-1] == (
        "no picture: it needs matplotlib and networkx: pip install 'graphcb[experiments]'"
    )
    assert not (folder / "graph.png").exists()


def test_evaluate(folder):
    code, out, error = run(folder, "evaluate", "a.db", "--policy", "constant:1")
    assert (code, error) == (0, "")
    lines = out.splitlines()
    assert lines[0] == "mean loss of constant:1"
    assert lines[1].split("  ")[0] == "estimate"
    assert lines[2].split()[:4] == ["with", "the", "graph", "0.2500"]


def test_replay(folder):
    code, out, error = run(folder, "replay", "a.db")
    assert (code, error) == (0, "")
    assert out.startswith("1 decisions and 1 feedbacks")


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (
            ["run", "data.csv", "--label", "y", "--plot", "f.png", "--save", "m.npz"],
            "`--plot` needs matplotlib: pip install 'graphcb[experiments]'",
        ),
        (
            ["inspect", "bandit:3", "--out", "g.png"],
            "`--out` needs matplotlib: pip install 'graphcb[experiments]'",
        ),
        (
            ["log", "export", "a.db", "--parquet", "a.parquet"],
            "`--parquet` needs pyarrow: pip install 'graphcb[parquet]'",
        ),
        (
            ["reproduce", "inventory-fixed", "--quick"],
            "`graphcb reproduce` needs joblib: pip install 'graphcb[experiments]'",
        ),
        (
            ["serve", "problem.toml"],
            "`graphcb serve` needs msgspec: pip install 'graphcb[serve]'",
        ),
        (
            ["serve-keys", "add", "keys.json", "shop"],
            "`graphcb serve-keys` needs msgspec: pip install 'graphcb[serve]'",
        ),
        (
            ["run", "data.parquet", "--label", "y"],
            "data.parquet: reading Parquet needs pyarrow: pip install 'graphcb[parquet]'",
        ),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_what_is_missing_is_said_before_any_work(folder, arguments, text):
    (folder / "data.parquet").write_bytes(b"PAR1")
    before = sorted(folder.iterdir())
    assert run(folder, *arguments) == (2, "", f"graphcb: {text}\n")
    assert sorted(folder.iterdir()) == before
