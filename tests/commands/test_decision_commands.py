"""`graphcb replay`, `graphcb log export` and `graphcb evaluate`, as one calls them."""

import json
import re
import sqlite3
from contextlib import closing

import numpy as np
import pytest

import graphcb
from graphcb import Policy, SquareCBG, graphs
from graphcb.cli import main
from graphcb.oracles import LinearOGD
from graphcb.saving import to_bytes


@pytest.fixture
def log(tmp_path):
    path = tmp_path / "decisions.db"
    agent = SquareCBG(LinearOGD(3, 1, learning_rate=0.2), gamma=5.0)
    with Policy(path, agent, seed=0, durability="process-kill") as policy:
        for n in range(80):
            decision = policy.decide([1.0], graphs.inventory(3))
            if n % 8:
                seen = {a: (0.5, 0.3, 0.9)[a] for a in range(decision.action + 1)}
                policy.feedback(decision.decision_id, seen)
        state = to_bytes(policy.agent)
    return path, state


def run(capsys, *arguments):
    code = main([str(argument) for argument in arguments])
    captured = capsys.readouterr()
    return code, " ".join(captured.out.replace("│", " ").split()), captured.err


def test_replay_rebuilds_the_model(log, tmp_path, capsys):
    path, state = log
    code, out, _ = run(capsys, "replay", path, "--save", tmp_path / "model.npz")
    assert code == 0
    assert "80 decisions and 70 feedbacks in" in out
    assert "every decision is the same as in the log, bit for bit" in out
    assert "the checkpoint contains the same model" in out
    assert to_bytes(graphcb.load(tmp_path / "model.npz")) == state


def test_replay_tells_of_damage_and_of_a_wrong_checkpoint(log, capsys):
    path, _ = log
    with closing(sqlite3.connect(path)) as database:
        database.execute("DELETE FROM graphcb_checkpoints")
        database.commit()
    other = graphcb.Uniform()
    from graphcb.decisions.storage import open_storage, transaction
    from graphcb.decisions.tables import CheckpointRow, insert

    storage = open_storage(str(path), writes=True)
    with transaction(storage):
        insert(storage, [CheckpointRow(150, 70, to_bytes(other), b"")])
    storage.close()
    code, _, error = run(capsys, "replay", path)
    assert code == 2
    assert "the checkpoint at event 150 differs from what the log leads to" in error
    with closing(sqlite3.connect(path)) as database:
        database.execute("UPDATE graphcb_decisions SET gamma = 6.0 WHERE position = 1")
        database.commit()
    code, _, error = run(capsys, "replay", path)
    assert code == 2
    assert "damaged: the checksum of graphcb_decisions, position 1, does not match" in error


def test_export(log, tmp_path, capsys):
    parquet = pytest.importorskip("pyarrow.parquet", reason="needs the extra `experiments`")
    path, _ = log
    code, out, _ = run(capsys, "log", "export", path, "--parquet", tmp_path / "rows.parquet")
    assert (code, out) == (0, f"80 decisions: {tmp_path / 'rows.parquet'}")
    assert parquet.read_table(tmp_path / "rows.parquet").num_rows == 80


def test_verify(log, capsys):
    path, _ = log
    code, out, _ = run(capsys, "log", "verify", path)
    assert code == 0
    assert out == "150 events: nothing is damaged or missing, and every decision comes out the same"
    code, out, _ = run(capsys, "log", "verify", path, "--no-replay")
    assert (code, out) == (0, "150 events: nothing is damaged or missing")
    with closing(sqlite3.connect(path)) as database:
        database.execute("DELETE FROM graphcb_decisions WHERE position = 5")
        database.execute("UPDATE graphcb_decisions SET gamma = 6.0 WHERE position = 1")
        database.commit()
    code, out, _ = run(capsys, "log", "verify", path)
    assert code == 1
    assert "the checksum of graphcb_decisions, position 1, does not match" in out
    code, out, error = run(capsys, "log", "verify", path.parent / "none.db")
    assert code == 2
    assert "a log must be a file that exists" in error


def test_backup(log, tmp_path, capsys):
    path, state = log
    copy = tmp_path / "copy.db"
    code, out, _ = run(capsys, "log", "backup", path, copy)
    assert (code, out) == (0, f"150 events: {copy}")
    with Policy(copy) as policy:
        assert to_bytes(policy.agent) == state
    code, _, error = run(capsys, "log", "backup", path, copy)
    assert code == 2
    assert "a backup must be a new file, got" in error


def test_evaluate(log, tmp_path, capsys):
    path, _ = log
    code, out, _ = run(capsys, "evaluate", path, "--policy", "constant:1")
    assert code == 0
    assert "mean loss of constant:1" in out
    assert "normal 95 %" in out
    assert "70 of 80 decisions; left out: 10 without feedback, 0 with part of it" in out
    mean = float(out.split("with the graph ")[1].split()[0])
    assert mean == pytest.approx(0.3, abs=0.15)
    code, out, _ = run(capsys, "evaluate", path, "--policy", "uniform", "--after", 100)
    assert code == 0
    later = int(out.split(" decisions; left out")[0].split()[-1])
    assert 20 < later < 30
    run(capsys, "replay", path, "--save", tmp_path / "m.npz")
    code, out, _ = run(
        capsys, "evaluate", path, "--policy", f"greedy:{tmp_path / 'm.npz'}", "--confidence", "0.9"
    )
    assert code == 0
    assert "anytime-valid 90 %" in out


def test_evaluate_says_what_the_log_cannot_tell(tmp_path, capsys):
    path = tmp_path / "a.db"
    with Policy(path, graphcb.Greedy(LinearOGD(2, 1)), seed=0) as policy:
        decision = policy.decide([1.0], graphs.bandit(2))
        policy.feedback(decision.decision_id, {decision.action: 0.5})
    code, out, _ = run(capsys, "evaluate", path, "--policy", "uniform")
    assert code == 0
    assert (
        "50.0% of this policy's play is on actions whose loss could not have been revealed" in out
    )
    path = tmp_path / "b.db"
    with Policy(path, graphcb.Uniform(), seed=0) as policy:
        decision = policy.decide([1.0], graphs.cops_and_robbers(2))
        policy.feedback(decision.decision_id, {1 - decision.action: 0.5})
    code, out, _ = run(capsys, "evaluate", path, "--policy", "uniform")
    assert code == 0
    assert "plain: 100.0% of this policy's play is on actions that do not reveal their own" in out
    assert "doubly robust: the agent of this log has no oracle that graphcb can read" in out
    path = tmp_path / "c.db"
    with Policy(path, graphcb.Greedy(LinearOGD(3, 1)), seed=0) as policy:
        decision = policy.decide([1.0], graphs.full_information(3))
        policy.feedback(decision.decision_id, {0: 0.5, 1: 0.5, 2: 0.5})
    code, out, _ = run(capsys, "evaluate", path, "--policy", "uniform")
    assert code == 0
    assert "66.7% of this policy's play is on actions that the logged policy never played" in out
    assert "do not reveal" not in out  # before: it said that these do not reveal their own loss


class Mine(graphcb.Uniform):
    """An agent from outside graphcb."""


def test_evaluate_a_log_of_somebody_elses_agent(tmp_path, capsys):
    path = tmp_path / "a.db"
    with Policy(path, Mine(), seed=0, classes=[Mine]) as policy:
        decision = policy.decide([1.0], graphs.full_information(2))
        policy.feedback(decision.decision_id, {0: 0.5, 1: 0.25})
    code, out, _ = run(capsys, "evaluate", path, "--policy", "constant:1")
    assert code == 0
    assert "with the graph 0.2500" in out
    assert "no oracle that graphcb can read" in out


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["replay", "no.db"], "a log must be a file that exists, got 'no.db'"),
        (["log", "export", "no.db", "--parquet", "a"], "a log must be a file that exists"),
        (["evaluate", "no.db", "--policy", "uniform"], "a log must be a file that exists"),
        (["evaluate", "no.db", "--policy", "best"], "`policy` must be uniform, logged, constant:A"),
        (["replay", "mysql://x"], "must be a file or a URL postgresql://user@host/database"),
    ],
)
def test_mistakes_end_with_a_message_and_code_2(arguments, text, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, _, error = run(capsys, *arguments)
    assert code == 2
    assert error.startswith("graphcb: ")
    assert text in error


def test_a_range_that_is_too_narrow(log, capsys):
    path, _ = log
    code, _, error = run(
        capsys, "evaluate", path, "--policy", "uniform", "--loss-range", "0", "0.4"
    )
    assert code == 2
    assert "losses must lie in loss_range (0, 0.4), got 0.5 in the feedback for decision" in error
    for both in (["-1", "3"], ["-1,3"]):
        code, out, _ = run(capsys, "evaluate", path, "--policy", "uniform", "--loss-range", *both)
        assert code == 0
    assert np.isfinite(float(out.split("with the graph ")[1].split()[0]))


def test_evaluate_a_shadow(tmp_path, capsys):
    path = tmp_path / "shadow.db"
    agent = graphcb.Shadow(graphcb.InformationDirected(), 0)
    with graphcb.Policy(path, agent, seed=0, durability="process-kill") as policy:
        for _ in range(100):
            made = policy.decide([1.0], graphcb.graphs.full_information(2))
            policy.feedback(made.decision_id, {0: 0.75, 1: 0.25})
    code, out, _ = run(capsys, "evaluate", path, "--policy", "shadow")
    assert code == 0
    assert "mean loss of shadow" in out
    text = (
        r"gain on what was played: 0\.49\d\d per decision \(normal 95 %: 0\.\d+ to 0\.\d+; anytime"
    )
    assert re.search(text, out)


def test_evaluate_a_shadow_whose_baseline_shows_nothing(tmp_path, capsys):
    path, hidden = tmp_path / "shadow.db", graphcb.FeedbackGraph([[0, 0], [1, 1]])
    agent = graphcb.Shadow(graphcb.Uniform(), 0)
    with graphcb.Policy(path, agent, seed=0, durability="process-kill") as policy:
        for _ in range(5):
            policy.decide([1.0], hidden)
        policy.decide([1.0], graphcb.graphs.bandit(2))
    code, _, err = run(capsys, "evaluate", path, "--policy", "shadow")
    assert code == 2
    assert "got 6 decisions, 1 of them without feedback, 0 with part of it and 5 that" in err
    with graphcb.Policy(path) as policy:
        policy.feedback(policy.decide([1.0], graphcb.graphs.bandit(2)).decision_id, {0: 0.5})
    code, out, _ = run(capsys, "evaluate", path, "--policy", "shadow")
    assert code == 0
    assert "not known: 50.0% of this policy's play is on actions whose loss could not" in out
    assert "gain on what was played: cannot be estimated from what was revealed" in out


@pytest.fixture
def judged(tmp_path):
    """A log of half and half, where action 1 is better by 0.5."""
    path = tmp_path / "judged.db"
    rng = np.random.default_rng(0)
    with Policy(path, graphcb.Uniform(), seed=0, durability="process-kill") as policy:
        for _ in range(200):
            made = policy.decide(None, graphs.bandit(2))
            loss = 0.75 * rng.random() * (1.0 - 0.8 * made.action)
            policy.feedback(made.decision_id, {made.action: loss})
    return path


def test_evaluate_compares_policies_side_by_side(judged, tmp_path, capsys):
    table, picture = tmp_path / "e.csv", tmp_path / "e.png"
    policies = ["--policy", "constant:0", "--policy", "constant:1", "--policy", "uniform"]
    code, out, _ = run(capsys, "evaluate", judged, *policies, "--csv", table, "--plot", picture)
    assert code == 0
    assert "gain of constant:1 on constant:0: 0." in out
    assert "gain of uniform on constant:0: 0." in out
    lines = table.read_text().splitlines()
    assert len(lines) == 4
    assert lines[0].startswith("policy,estimate,best,mean,standard_error,bias,normal_lower")
    assert lines[2].startswith("constant:1,with the graph,")
    assert picture.stat().st_size > 1000
    # a table that graphcb wrote may be written again, any other may not
    assert run(capsys, "evaluate", judged, *policies, "--csv", table)[0] == 0
    table.write_text("mine\n")
    code, _, err = run(capsys, "evaluate", judged, *policies, "--csv", table)
    assert code == 2
    assert "no table of estimates that graphcb wrote" in err


def test_evaluate_shows_every_estimate_and_marks_the_best(judged, capsys):
    code, out, _ = run(capsys, "evaluate", judged, "--policy", "constant:1", "--all")
    assert code == 0
    names = ("with the graph", "clipped", "plain", "inverse propensity", "log smoothing")
    assert [name for name in names if name.split()[0] not in out] == []  # cells may be broken
    assert out.count("best)") == 1
    code, out, _ = run(
        capsys, "evaluate", judged, "--policy", "constant:1", "--json", "--estimator", "best"
    )
    found = json.loads(out)
    assert [one["best"] for one in found["estimates"]] == [True]
    assert found["policies"]["constant:1"]["best"] == found["estimates"][0]["estimate"]
    assert found["estimates"][0]["normal_lower"] < found["estimates"][0]["mean"]


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["--estimator", "median"], "`--estimator` must be best, with the graph, clipped"),
        (["--estimator", "best", "--all"], "`--estimator` must not be given with --all"),
        (["--plot", "e.gif"], "`--plot` must end in"),
    ],
)
def test_evaluate_refuses_what_it_cannot_show(judged, capsys, arguments, text):
    code, _, err = run(capsys, "evaluate", judged, "--policy", "constant:1", *arguments)
    assert code == 2
    assert text in err


def test_a_guess_is_shown_when_it_is_asked_for(tmp_path, capsys):
    path = tmp_path / "g.db"
    problem = graphcb.Problem(["a", "b"], baseline={"action": "a", "mode": "shadow"})
    with Policy(path, problem=problem, seed=0, durability="process-kill") as policy:
        for _ in range(60):
            made = policy.decide({"x": 1.0})  # never b
            policy.feedback(made.decision_id, {made.action: 0.2})
    asked = ("evaluate", path, "--policy", "constant:b")
    _, out, _ = run(capsys, *asked)
    assert "constant:b: not known" in out
    assert "a guess" not in out
    assert "a guess, by what the oracle predicts" in run(capsys, *asked, "--guess")[1]
    assert json.loads(run(capsys, *asked, "--json")[1])["policies"]["constant:b"]["guess"] is None
