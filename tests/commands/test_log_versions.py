"""`graphcb log versions|promote|rollback`, and a log with versions in the other commands."""

import json

import pytest

from graphcb import DecisionLog, Policy, Problem
from graphcb.cli import main
from graphcb.evaluation import candidate, evaluate, summarize

FEATURES = {"amount": "number"}
FIRST = Problem(
    ["approve", "review"], reveals="full_information", feedback="rewards", range=(0.0, 2.0),
    features=FEATURES, limits={"floors": 0.25},
)  # fmt: skip
SECOND = Problem(
    ["review", "call"], reveals="full_information", feedback="rewards", features=FEATURES,
    limits={"floors": {"call": 0.5}},
)  # fmt: skip
VALUES = {"approve": 0.5, "review": 1.0, "call": 0.0}


def play(policy, n):
    for k in range(n):
        made = policy.decide({"amount": float(k)})
        policy.feedback(made.decision_id, {name: VALUES[name] for name in made.actions})


@pytest.fixture
def log(tmp_path):
    """The path of a log with two versions of 40 decisions each."""
    path = tmp_path / "log.db"
    with Policy(path, problem=FIRST, seed=2) as policy:
        play(policy, 40)
        policy.change(SECOND, note="calls begin")
        play(policy, 40)
    return path


def test_versions_are_listed_promoted_and_rolled_back(log, tmp_path, capsys):
    third = Problem(["review", "call", "wait"], reveals="full_information", feedback="rewards",
                    features=FEATURES)  # fmt: skip
    file = tmp_path / "third.toml"
    third.write(file)
    assert main(["log", "promote", str(log), str(file), "--note", "waiting"]) == 0
    assert capsys.readouterr().out == (
        "version 3, event 162\n- what was learned of 'review', 'call' is kept\n"
        "- 'wait' is new and starts unknown\n"
    )
    assert main(["log", "rollback", str(log), "1"]) == 0
    assert (
        "version 4, event 163\n- all is as it was when version 1 ended" in capsys.readouterr().out
    )
    assert main(["log", "versions", str(log)]) == 0
    out = capsys.readouterr().out
    for words in ("1 to 80", "82 to 161", "calls begin", "waiting", "back to version", "to now"):
        assert words in out
    assert main(["log", "versions", str(log), "--toml", "3"]) == 0
    assert capsys.readouterr().out == third.to_toml()
    with Policy(log, problem=FIRST) as policy:
        play(policy, 1)


@pytest.mark.parametrize(
    ("command", "text"),
    [
        (["rollback", "LOG", "2"], "`version` must be an earlier one, got 2, which decides now"),
        (["versions", "LOG", "--toml", "7"], "`version` must be between 1 and 2, got 7"),
        (["promote", "LOG", "same.toml"], "must differ from the problem that the log has"),
        (["promote", "none.db", "same.toml"], "a log must be a file that exists, got 'none.db'"),
        (["rollback", "none.db", "1"], "a log must be a file that exists, got 'none.db'"),
    ],
)
def test_what_is_refused_changes_nothing(log, monkeypatch, capsys, command, text):
    monkeypatch.chdir(log.parent)
    SECOND.write("same.toml")
    assert main(["log", *(str(log) if word == "LOG" else word for word in command)]) != 0
    assert text in capsys.readouterr().err
    with DecisionLog(log) as reader:
        assert (reader.n_events, len(reader.versions)) == (161, 2)


def test_a_summary_and_an_evaluation_read_each_decision_with_its_problem(log, capsys):
    with DecisionLog(log) as reader:
        found = summarize(reader, n_windows=2)
        assert found.kept.n_broken == 0  # each within the limits of its own version
        assert found.windows[0].shares.keys() == {"approve", "review"}
        assert found.windows[1].shares.keys() == {"review", "call"}
        rows = list(reader)
    assert found.mean == pytest.approx(
        sum(sum(p * VALUES[a] for p, a in zip(r.probabilities, r.actions, strict=True))
            for r in rows) / 80
    )  # fmt: skip
    assert main(["evaluate", str(log), "--policy", "constant:review"]) == 0
    out = capsys.readouterr().out
    assert "80 of 80 decisions" in out
    assert "doubly robust" in out
    assert out.count("1.0000") >= 2
    assert main(["evaluate", str(log), "--policy", "constant:call", "--version", "2"]) == 0
    assert "40 of 40 decisions" in capsys.readouterr().out
    assert main(["replay", str(log)]) == 0
    assert "80 decisions and 80 feedbacks, 2 versions in" in capsys.readouterr().out
    assert main(["log", "summary", str(log), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["n_decisions"] == 80


def test_versions_in_other_units_are_not_mixed(log, capsys):
    with Policy(log) as policy:
        policy.change(Problem(["review", "call"], reveals="full_information", features=FEATURES))
        play(policy, 10)
    with DecisionLog(log) as reader:
        found = summarize(reader)
    assert (found.unit, found.n_decisions, found.n_used) == ("loss", 90, 10)
    assert main(["evaluate", str(log), "--policy", "uniform"]) != 0
    assert "must have rewards or losses, got versions with both" in capsys.readouterr().err
    assert main(["evaluate", str(log), "--policy", "uniform", "--version", "3"]) == 0


def test_a_candidate_is_judged_on_the_log_before_it_is_promoted(log, capsys):
    file = log.with_name("next.toml")
    file.write_text(
        '[problem]\nactions = ["review", "call", "wait"]\nfeedback = "rewards"\n'
        '[reveals]\nfamily = "full_information"\n[limits]\ncaps = { review = 0.75 }\n'
    )
    assert main(["evaluate", str(log), "--policy", str(file), "--version", "2"]) == 0
    assert "40 of 40 decisions" in capsys.readouterr().out
    with DecisionLog(log) as reader:
        later = [row for row in reader if row.version == 2]
        target = candidate(Problem.read(file))
        found = evaluate(later, target)
        played = candidate(Problem.read(file))
        assert all(played(row)[0] <= 0.75 + 1e-9 for row in later)
    assert 0.6 < found.graph.value <= 0.75
    others = candidate(Problem(["x", "y"]))
    with pytest.raises(ValueError, match=r"`problem` must have an action of decision .*'review'"):
        others(later[0])


def test_an_export_says_which_version_a_decision_is_of(log):
    pq = pytest.importorskip("pyarrow.parquet")
    from graphcb.decisions.export import export_parquet

    with DecisionLog(log) as reader:
        assert export_parquet(reader, log.with_suffix(".parquet")) == 80
    table = pq.read_table(log.with_suffix(".parquet"))
    assert table["version"].to_pylist() == [1] * 40 + [2] * 40
    assert table.schema.metadata[b"problem 1"].decode() == FIRST.to_toml()
    assert table.schema.metadata[b"problem"].decode() == SECOND.to_toml()
