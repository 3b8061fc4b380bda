import json

import pytest

import graphcb
from graphcb import graphs
from graphcb.cli import main
from graphcb.commands import tables

CB = "1:0.2:0.5 | rainy\n2:0.8:0.25 | sunny\n3:1:0.25 | sunny\n"


@pytest.fixture
def log(tmp_path):
    path = tmp_path / "log.db"
    problem = graphcb.Problem(["approve", "review"], reveals="bandit")
    with graphcb.Policy(path, problem=problem, seed=0, durability="process-kill") as policy:
        for t in range(30):
            made = policy.decide({"amount": float(t)})
            if t % 2:
                policy.feedback(made.decision_id, {made.action: 0.25})
    return path


def test_summary_speaks_of_names(log, capsys):
    assert main(["log", "summary", str(log), "--windows", "3"]) == 0
    out = capsys.readouterr().out
    for text in ("15 (50.0%)", "mean loss", "0.2500", "11 to 20", "approve", "review", "median"):
        assert text in out


def test_summary_without_rich_is_plain_text(log, capsys, monkeypatch):
    monkeypatch.setattr(tables, "missing", lambda package: package == "rich")
    assert main(["log", "summary", str(log)]) == 0
    out = capsys.readouterr().out
    assert "with feedback       15 (50.0%)" in out
    assert "│" not in out


def test_summary_as_json_and_as_a_picture(log, capsys, tmp_path):
    picture = tmp_path / "summary.svg"
    assert main(["log", "summary", str(log), "--json", "--plot", str(picture)]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["n_decisions"] == 30
    assert found["unit"] == "loss"
    assert "approve" in picture.read_text()


def test_summary_never_overwrites_the_log(log, capsys):
    before = log.read_bytes()
    assert main(["log", "summary", str(log), "--plot", str(log)]) != 0
    assert "must not be the file that is read" in capsys.readouterr().err
    assert log.read_bytes() == before


def test_summary_of_an_agent_without_a_problem(tmp_path, capsys):
    agent = graphcb.Uniform()
    with graphcb.Policy(tmp_path / "log.db", agent, seed=0, durability="process-kill") as policy:
        policy.decide([1.0], graphs.bandit(2))
    assert main(["log", "summary", str(tmp_path / "log.db")]) == 0
    assert "0 (0.0%)" in capsys.readouterr().out


def test_import_says_what_it_found_and_assumed(tmp_path, capsys):
    file, log = tmp_path / "log.vw", tmp_path / "log.db"
    file.write_text(f"{CB}junk\n")
    assert main(["log", "import", str(file), str(log)]) != 0
    assert "line 4: a line must have features after a `|`" in capsys.readouterr().err
    assert not log.exists()
    assert main(["log", "import", str(file), str(log), "--on-error", "skip"]) == 0
    out = capsys.readouterr().out
    for text in (
        "3 decisions of the format cb",
        "actions: 1, 2, 3",
        "losses between 0 and 1",
        "left out: 1 lines that cannot be read",
        "probability of the chosen action alone",
        "no times",
    ):
        assert text in out
    for policy in ("uniform", "logged", "constant:2"):
        assert main(["evaluate", str(log), "--policy", policy]) == 0
    out = capsys.readouterr().out
    assert "3 of 3 decisions" in out
    assert "doubly robust: this log was imported without the probabilities of all" in out
    assert main(["log", "verify", str(log)]) == 0
    text = "6 events: nothing is damaged or missing, and 3 imported decisions are not made again\n"
    assert capsys.readouterr().out == text
    assert main(["log", "summary", str(log)]) == 0
    assert "none recorded" in capsys.readouterr().out
    assert main(["replay", str(log)]) == 0
    assert capsys.readouterr().out.rstrip().endswith("3 were imported and are not made again")


def test_import_refuses_a_log_that_exists(log, tmp_path, capsys):
    (tmp_path / "log.vw").write_text(CB)
    before = log.read_bytes()
    assert main(["log", "import", str(tmp_path / "log.vw"), str(log)]) != 0
    assert "must not exist yet" in capsys.readouterr().err
    assert log.read_bytes() == before


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("log.vw", CB),
        ("log.vw", "ca 1:0:0.5 'tag| x\n"),
        ("log.ldf", "shared | s\n0:1:0.5 | x\n| y\n"),
        ("log.json", '{"_label_cost": 0, "c": {"_multi": []}}\n'),
    ],
)
def test_a_run_on_decisions_is_refused(tmp_path, capsys, name, text):
    (tmp_path / name).write_text(text)
    assert main(["run", str(tmp_path / name)]) != 0
    assert "each with the outcome of the chosen action alone" in capsys.readouterr().err


def test_a_run_on_costs_of_all_actions_is_not(tmp_path, capsys):
    (tmp_path / "costs.vw").write_text("1:0.5 2:0.1 | x\n1:0.2 2:0.9 | y\n" * 5)
    assert main(["run", str(tmp_path / "costs.vw")]) == 0
    assert "average loss" in capsys.readouterr().out


def test_import_of_a_table_and_what_continues_it(tmp_path, capsys):
    file, log, problem = tmp_path / "shop.csv", tmp_path / "log.db", tmp_path / "problem.toml"
    file.write_text("item,p,click,age\na,0.5,1,30\nb,0.5,0,40\na,0.5,,50\n")
    problem.write_text('[problem]\nactions = ["a", "b", "c"]\nfeedback = "rewards"\n')
    asked = ["log", "import", str(file), str(log), "--action", "item", "--reward", "click"]
    assert main(asked) != 0
    assert "`--probability` must name the column" in capsys.readouterr().err
    asked += ["--probability", "p"]
    assert main([*asked, "--continue", str(problem)]) == 0
    out = capsys.readouterr().out
    for text in (
        "3 decisions of the format csv",
        "actions: a, b\n",
        "rewards between 0 and 1",
        "features: age (number)",
        "1 decisions have no outcome",
        f"continued with {problem}:\n- learned from 2 imported decisions\n- 1 imported decisions",
    ):
        assert text in out
    assert main(["log", "verify", str(log)]) == 0
    assert "3 imported decisions are not made again, and every other" in capsys.readouterr().out
    assert main(["replay", str(log)]) == 0
    text = "3 were imported and are not made again; every other decision is the same"
    assert text in capsys.readouterr().out
    assert main(["log", "versions", str(log)]) == 0
    assert "continues" in capsys.readouterr().out
    with graphcb.Policy(log) as policy:
        made = policy.decide({"age": 30})
        policy.feedback(made.decision_id, {made.action: 1.0})
    assert main(["log", "summary", str(log)]) == 0
    assert "of these imported" in capsys.readouterr().out
    assert main(["evaluate", str(log), "--policy", "logged"]) == 0
    out = capsys.readouterr().out
    assert "3 of the decisions were imported from shop.csv; --version 1 uses these alone" in out
    assert "doubly robust: this log was imported without the probabilities of all" in out
    assert main(["evaluate", str(log), "--policy", "logged", "--version", "2"]) == 0
    assert "imported" not in capsys.readouterr().out


def test_options_of_tables_without_a_table(tmp_path, capsys):
    (tmp_path / "log.vw").write_text(CB)
    asked = ["log", "import", str(tmp_path / "log.vw"), str(tmp_path / "log.db")]
    assert main([*asked, "--reward", "x"]) != 0
    assert "`--reward` is for a table" in capsys.readouterr().err
    assert main([*asked, "--actions", "a,b"]) != 0
    assert "`--actions` must be the number of actions of a cb file" in capsys.readouterr().err


def test_an_imported_log_is_promoted(tmp_path, capsys):
    file, log, problem = tmp_path / "log.vw", tmp_path / "log.db", tmp_path / "problem.toml"
    file.write_text(CB)
    problem.write_text('[problem]\nactions = ["1", "2", "3"]\n')
    assert main(["log", "import", str(file), str(log)]) == 0
    assert main(["log", "promote", str(log), str(problem)]) == 0
    assert "- learned from 3 imported decisions" in capsys.readouterr().out
    assert main(["log", "promote", str(log), str(problem)]) != 0
    assert "must differ from the problem that the log has" in capsys.readouterr().err


def test_export_to_a_folder(log, tmp_path, capsys):
    pytest.importorskip("pyarrow")
    with pytest.raises(SystemExit):
        main(["log", "export", str(log)])
    assert "one of the arguments --parquet --folder is required" in capsys.readouterr().err
    for text in (" new decisions, and new feedback for 0 earlier ones, in 1 files", "0 new"):
        assert main(["log", "export", str(log), "--folder", str(tmp_path / "out")]) == 0
        assert text in capsys.readouterr().out
    assert len(list((tmp_path / "out").glob("*.parquet"))) == 1


def test_explain_says_why(log, capsys):
    with graphcb.DecisionLog(log) as read:
        name = [row.decision_id for row in read][-1]
    assert main(["log", "explain", str(log), name]) == 0
    said = capsys.readouterr().out
    assert said.startswith("Played ")
    assert "with an expected loss of" in said
    assert "approve (probability" in said
    assert main(["log", "explain", str(log), name, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [one["action"] for one in found["actions"]] == ["approve", "review"]
    assert main(["log", "explain", str(log), "nothing"]) != 0
    assert "must be one that `decide` returned" in capsys.readouterr().err
