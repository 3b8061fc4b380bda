import argparse
import csv
import subprocess
import sys
from dataclasses import replace

import pytest

from graphcb import __version__
from graphcb.cli import _parser, main
from graphcb.experiments import experiment as experiments


def test_inspect_a_family(tmp_path, capsys):
    out = tmp_path / "picture.png"
    assert main(["inspect", "apple-tasting:4", "--out", str(out)]) == 0
    text = " ".join(capsys.readouterr().out.replace("│", " ").split())
    assert "observability weak, because of actions 1, 2, 3" in text
    assert "independence number 3" in text
    assert "weak domination number 1" in text
    assert "the optimum in closed form, exact to rounding: one action reveals everything" in text
    assert out.read_bytes().startswith(b"\x89PNG")


def test_inspect_takes_name_and_size_apart_too(capsys):
    assert main(["inspect", "inventory", "1000000", "--no-picture"]) == 0
    text = " ".join(capsys.readouterr().out.replace("│", " ").split())
    assert "actions 1,000,000" in text
    assert "closed form cover_levels" in text


def test_inspect_several_graphs(tmp_path, capsys, monkeypatch):
    """Before, the arguments were glued together to `bandit:3:inventory:4`."""
    pytest.importorskip("matplotlib")
    monkeypatch.chdir(tmp_path)
    assert main(["inspect", "bandit:3", "inventory", "4"]) == 0
    text = " ".join(capsys.readouterr().out.replace("│", " ").split())
    assert "family bandit(n_actions=3)" in text
    assert "family inventory(n_actions=4)" in text
    assert (tmp_path / "graph-1.png").exists()
    assert (tmp_path / "graph-2.png").exists()
    assert main(["inspect", "bandit:3", "bandit:4", "--out", "g.png"]) == 2
    assert "`--out` must not be given with several graphs, got 2" in capsys.readouterr().err
    assert main(["inspect", "bandit:3", "--no-picture", "--out", "g.png"]) == 2
    assert "`--out` must not be given with --no-picture" in capsys.readouterr().err


def test_inspect_recognises_a_file(tmp_path, capsys):
    (tmp_path / "g.csv").write_text("0,1,1\n1,0,1\n1,1,0\n")
    out = tmp_path / "g.svg"
    assert main(["inspect", str(tmp_path / "g.csv"), "--out", str(out)]) == 0
    text = " ".join(capsys.readouterr().out.replace("│", " ").split())
    assert "family cops_and_robbers(n_actions=3)" in text
    assert "<svg" in out.read_text()


def test_inspect_says_what_random_edges_do_to_the_numbers(tmp_path, capsys):
    (tmp_path / "rare.csv").write_text(5 * "0.01,0.01,0.01,0.01,0.01\n")
    assert main(["inspect", str(tmp_path / "rare.csv"), "--no-picture"]) == 0
    text = " ".join(capsys.readouterr().out.replace("│", " ").split())
    assert "independence number 1 (as if every edge were certain)" in text
    assert "effective independence number at most 100 (divided by" in text
    assert "gamma * DEC 80, before anything is known, at any gamma" in text
    (tmp_path / "weak.csv").write_text("1,0.5,1\n0,0,0\n0,0,0\n")
    assert main(["inspect", str(tmp_path / "weak.csv"), "--no-picture"]) == 0
    assert "effective weak domination number" in capsys.readouterr().out
    assert main(["inspect", "bandit:3", "--no-picture"]) == 0
    certain = capsys.readouterr().out
    assert "effective" not in certain
    assert "as if every edge" not in certain


def test_inspect_an_unobservable_graph(tmp_path, capsys):
    (tmp_path / "g.csv").write_text("1,0\n1,0\n")
    assert main(["inspect", str(tmp_path / "g.csv"), "--no-picture"]) == 0
    text = " ".join(capsys.readouterr().out.replace("│", " ").split())
    assert "unobservable: nothing reveals action 1" in text
    assert "weak domination" not in text
    assert "explored by refused: no action reveals action 1" in text


def test_inspect_prints_bounds_when_time_runs_out(capsys):
    assert (
        main(["inspect", "random-self-aware:150,0.05", "--no-picture", "--time-limit", "0.01"]) == 0
    )
    text = " ".join(capsys.readouterr().out.replace("│", " ").split())
    assert "between" in text
    assert "(time ran out)" in text


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["inspect", "ring:4"], "graphcb: `graph` must be a family with its size"),
        (["inspect", "no.csv"], "graphcb: `graph` must name an existing file, got 'no.csv'"),
        (["inspect", "cops-and-robbers:1"], "`n_actions` must be at least 2, got 1"),
        (["reproduce", "spam", "--quick", "--seeds", "0"], "`--seeds` must be at least 1, got 0"),
        (["reproduce", "figure-9"], "`FIGURE` must be one of rcv1-graphs, rcv1-random"),
    ],
)
def test_mistakes_end_with_a_message_and_code_2(arguments, text, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(arguments) == 2
    assert text in capsys.readouterr().err


SHORT = """
title = "Short"
seeds = 2
n_rounds = 300
[grid]
learning_rate = [0.05]
c = [2.0, 4.0]
[wide]
c = [8.0]
[problem]
kind = "synthetic-inventory"
levels = 11
[[lines]]
agent = "SquareCB.G"
name = "11 levels"
alpha = 1.0
[[lines]]
agent = "SquareCB"
name = "11 levels"
alpha = "n_actions"
[[claims]]
text = "SquareCB.G is better"
kind = "increasing"
lines = ["SquareCB.G, 11 levels", "SquareCB, 11 levels"]
[[claims]]
text = "SquareCB is better"
kind = "increasing"
lines = ["SquareCB, 11 levels", "SquareCB.G, 11 levels"]
"""


@pytest.fixture
def short(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("one", "two"):
        (tmp_path / f"{name}.toml").write_text(SHORT)
    return tmp_path


def test_reproduce_writes_a_table_a_figure_and_what_holds(short, capsys):
    assert main(["reproduce", "one.toml", "two.toml", "--out", "new", "--jobs", "1"]) == 0
    out = capsys.readouterr().out
    assert "\nShort\n" in out
    text = " ".join(out.split())
    for name in ("one", "two"):
        assert f"{name}: progressive validation loss" in text
        with (short / "new" / f"{name}.csv").open() as file:
            lines = list(csv.DictReader(file))
        assert max(int(line["round"]) for line in lines) == 300
        assert {line["version"] for line in lines} == {__version__}
        assert {line["data"] for line in lines} == {"drawn from the seed"}
    for name in ("one", "two", "panels"):
        assert (short / "new" / f"{name}.png").read_bytes().startswith(b"\x89PNG")
        assert (short / "new" / f"{name}.pdf").read_bytes().startswith(b"%PDF")
    assert "holds: SquareCB.G is better" in text
    assert "DOES NOT HOLD: SquareCB is better" in text
    assert "16 runs, 4,800 rounds" in text
    assert "* at the end of the grid: a value beyond it may be better; try --wide" in text


@pytest.mark.parametrize(
    ("name", "said"),
    [
        pytest.param(
            "weak-feedback",
            "weak-feedback: regret with the best setting of each line",
            marks=pytest.mark.slow,  # six graphs
        ),
        ("misspecified", "the default: losses off by epsilon add less than epsilon * T"),
    ],
)
def test_reproduce_draws_regret(name, said, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    full = experiments.read(name)
    one = replace(full.made_quick(), n_rounds=60, n_seeds=1)
    monkeypatch.setattr(experiments, "read", lambda name: one)
    assert main(["reproduce", name, "--out", "new", "--jobs", "1"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert said in text
    assert ("slope" in text) == (name != "misspecified")
    assert (tmp_path / "new" / f"{name}.png").read_bytes().startswith(b"\x89PNG")


def test_reproduce_says_how_much_of_the_spread_is_due_to_what(short, capsys):
    (short / "one.toml").write_text("spread = true\n" + SHORT)
    assert main(["reproduce", "one.toml", "--out", "new", "--jobs", "1"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "of the order" in text
    assert "of the draws" in text
    assert "12 runs" in text  # 8 of the grid, and two more for each of two lines
    assert main(["reproduce", "two.toml", "--out", "new", "--jobs", "1"]) == 0
    assert "of the draws" not in capsys.readouterr().out


def test_reproduce_goes_on_and_widens(short, capsys):
    arguments = ["reproduce", "one.toml", "--out", "new", "--jobs", "1"]
    assert main(arguments) == 0
    capsys.readouterr()
    assert main([*arguments, "--wide", "--seeds", "3"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "one: 8 runs were already finished" in text
    assert "18 runs" in text


def test_missing_data_is_said_with_both_ways_before_anything_runs(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("GRAPHCB_DATA", str(tmp_path / "nowhere"))
    arguments = ["reproduce", "inventory-fixed", "rcv1-graphs", "--out", str(tmp_path / "new")]
    assert main(arguments) == 2
    message = capsys.readouterr().err
    assert "which does not contain rcv1/rcv1_28k_X.npz" in message
    assert "fetch_rcv1" in message
    assert "--quick" in message
    assert not (tmp_path / "new").exists()


def test_the_command_is_installed():
    done = subprocess.run(
        [sys.executable, "-m", "graphcb", "--version"], capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("graphcb ")


def _commands(parser=None):
    parser = _parser() if parser is None else parser
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for command in action.choices.values():
                yield command
                yield from _commands(command)


def test_every_option_has_help():
    without = [
        f"{command.prog} {action.dest}"
        for command in _commands()
        for action in command._actions
        if not isinstance(action, argparse._SubParsersAction) and not action.help
    ]
    assert without == []
    for command in _commands():
        assert command.format_help()  # no stray percent sign


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["dance"],
        ["run"],
        ["run", "a.csv", "--gamma", "x"],
        ["run", "a.csv", "--seeds", "many"],
        ["run", "a.csv", "--on-error", "weep"],
        ["evaluate", "a.db", "--policy", "uniform", "--loss-range", "0"],
    ],
    ids=" ".join,
)
def test_bad_values_get_one_line(arguments, capsys):
    with pytest.raises(SystemExit) as stopped:
        main(arguments)
    error = capsys.readouterr().err
    assert stopped.value.code == 2
    assert len(error.splitlines()) == 1
    assert error.startswith("graphcb")
    assert "--help)" in error


def _through_head(arguments, folder):
    """The exit code and the errors of graphcb before `| head -1`."""
    command = [sys.executable, "-m", "graphcb", *arguments]
    graphcb = subprocess.Popen(
        command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    graphcb.stdout.readline()
    graphcb.stdout.close()
    error = graphcb.stderr.read()
    graphcb.stderr.close()
    return graphcb.wait(), error


def test_a_closed_pipe_is_no_error(tmp_path):
    """Before: `graphcb: [Errno 32] Broken pipe` and code 2."""
    rows = "".join(f"{i % 7},{'ab'[i % 2]}\n" for i in range(5_000))
    (tmp_path / "data.csv").write_text("x,y\n" + rows)
    assert _through_head(["inspect", "bandit:3", "--no-picture"], tmp_path) == (0, "")
    arguments = ["run", "data.csv", "--label", "y", "--save", "m.npz", "--predictions", "p.csv"]
    assert _through_head(arguments, tmp_path) == (0, "")
    assert len((tmp_path / "p.csv").read_text().splitlines()) == 5_001  # what was asked for
    assert (tmp_path / "m.npz").exists()


def test_quick_reproductions_say_what_they_run_on():
    """Before, the figure of handwritten digits was called "News stories, 50 topics"."""
    for name in experiments.names():
        full = experiments.read(name)
        quick = full.made_quick()
        if quick.problem["kind"] != full.problem["kind"]:
            assert quick.title != full.title
        if quick.problem["kind"] == "digits":
            assert "Digits" in quick.title
            assert "News" not in quick.title


FRAUD = """
[problem]
name = "fraud review"
actions = ["approve", "review", "reject"]
feedback = "rewards"
range = [-50, 20]
[reveals]
all = ["review"]
edges = [["reject", "reject", 0.5]]
[features]
amount = "number"
country = "category?"
"""


def test_inspect_shows_a_problem_by_name_with_its_picture(tmp_path, capsys):
    (tmp_path / "problem.toml").write_text(FRAUD)
    out = tmp_path / "problem.svg"
    assert main(["inspect", str(tmp_path / "problem.toml"), "--plot", str(out)]) == 0
    text = " ".join(capsys.readouterr().out.replace("│", " ").split())
    assert "actions 3: approve, review, reject" in text
    assert "feedback rewards from -50 to 20; larger is better" in text
    assert "features amount (number), country (category, may be missing)" in text
    assert "approve reveals nothing" in text
    assert "review reveals everything" in text
    assert "reject reveals reject (0.5 of the time)" in text
    assert "observability weak, because of approve: seen by some actions only" in text
    assert "weak domination number 1" in text
    assert "explored by information-directed" in text
    assert out.read_text().count("<!-- approve -->") == 3  # at its dot and at both axes


def test_inspect_a_problem_without_a_graph_of_its_own(tmp_path, capsys):
    file = tmp_path / "problem.toml"
    file.write_text('[problem]\nactions = "each round"\n')
    assert main(["inspect", str(file), "--no-picture"]) == 0
    text = " ".join(capsys.readouterr().out.replace("│", " ").split())
    assert "actions come with each round" in text
    assert "an action reveals as in bandit" in text
    assert "features noted as they come" in text
    assert "no picture: there is no graph before a round comes" in text
    file.write_text("[problem]\n")
    assert main(["inspect", str(file)]) == 2
    assert "problem.toml: [problem] must have actions" in capsys.readouterr().err
