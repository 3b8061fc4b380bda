"""`graphcb run` on rows that bring their own actions, with features."""

import json

import numpy as np
import pytest

import graphcb
from graphcb.cli import main


def write(path, n_rows=400, *, outcome="rewards", seed=0):
    """Items come and go; one that fits the user's taste is worth 5, another 1."""
    rng = np.random.default_rng(seed)
    rows = []
    for _ in range(n_rows):
        taste = ("jazz", "rock")[rng.integers(2)]
        names = rng.choice(50, size=rng.integers(2, 5), replace=False)
        actions = {f"item-{k}": {"genre": ("jazz", "rock")[k % 2], "price": float(k)}
                   for k in names.tolist()}  # fmt: skip
        worth = {name: 5.0 if f["genre"] == taste else 1.0 for name, f in actions.items()}
        row = {"context": {"taste": taste, "age": int(rng.integers(20, 60))}, "actions": actions}
        if outcome == "rewards":
            row["rewards"] = worth
        elif outcome == "losses":
            row["losses"] = [5.0 - value for value in worth.values()]
        else:
            row["label"] = max(worth, key=worth.get)
        rows.append(json.dumps(row) + "\n")
    path.write_text("".join(rows))
    return rows


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def results(capsys, *arguments):
    assert main(["run", *arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_items_with_features_are_learned(folder, capsys):
    write(folder / "d.jsonl")
    assert main(["run", "d.jsonl", "--save", "m.npz", "--predictions", "p.csv"]) == 0
    text = capsys.readouterr().out
    assert "actions: they come with each row" in text
    assert "examples             = 400" in text
    found = results(capsys, "d.jsonl")
    assert f"average reward       = {found['average_reward']:.6f}" in text
    assert found["average_reward"] > found["random_actions"] + 0.4
    lines = (folder / "p.csv").read_text().splitlines()
    assert lines[0] == "line,action,probability"
    assert lines[1].split(",")[1].startswith("item-")
    learner = graphcb.load("m.npz")
    items = {"new-1": {"genre": "jazz", "price": 3.0}, "new-2": {"genre": "rock", "price": 3.0}}
    assert learner.act({"taste": "rock", "age": 30}, actions=items).argmax() == 1


def test_losses_in_a_list_are_rewards_turned_around(folder, capsys):
    write(folder / "r.jsonl", 100)
    write(folder / "l.jsonl", 100, outcome="losses")
    rewards = results(capsys, "r.jsonl", "--reward-range", "0,5")
    losses = results(capsys, "l.jsonl", "--loss-range", "0,5")
    assert rewards["average_reward"] == pytest.approx(5.0 - losses["average_loss"])
    write(folder / "y.jsonl", 100, outcome="label")
    assert 0.0 <= results(capsys, "y.jsonl")["average_loss"] <= 1.0


def test_the_table_has_the_best_action_beside_the_one_played(folder, capsys):
    rows = [{"context": {}, "actions": ["a", "b"], "rewards": [1.0, 2.0]}] * 8
    (folder / "d.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert main(["run", "d.jsonl"]) == 0
    lines = capsys.readouterr().out.splitlines()
    first = next(i for i, line in enumerate(lines) if line.startswith("reward   last"))
    assert lines[first].split()[2:] == ["counter", "label", "action", "actions"]
    table = [line.split() for line in lines[first + 1 : first + 5]]
    assert [line[2] for line in table] == ["1", "2", "4", "8"]
    assert {line[3] for line in table} == {"b"}
    assert {line[5] for line in table} == {"2"}


def test_several_seeds_have_draws_of_their_own(folder, capsys):
    write(folder / "d.jsonl", 100)
    alone = [results(capsys, "d.jsonl", "--seed", seed)["average_reward"] for seed in "345"]
    found = results(capsys, "d.jsonl", "--seed", "3", "--seeds", "3")
    assert found["by_seed"] == alone
    assert found["average_reward"] == pytest.approx(np.mean(alone))
    assert found["deviation"] == pytest.approx(np.std(alone, ddof=1))


def test_a_run_that_stops_and_goes_on(folder, capsys):
    rows = write(folder / "d.jsonl", 60)
    (folder / "one.jsonl").write_text("".join(rows[:35]))
    (folder / "two.jsonl").write_text("".join(rows[35:]))
    bounds = ["--loss-range", "1,5"]
    assert main(["run", "d.jsonl", *bounds, "--save", "all.npz"]) == 0
    assert main(["run", "one.jsonl", *bounds, "--save", "m.npz"]) == 0
    assert main(["run", "two.jsonl", "--load", "m.npz", "--save", "m.npz"]) == 0
    assert "35 examples so far" in capsys.readouterr().out
    assert (folder / "m.npz").read_bytes() == (folder / "all.npz").read_bytes()


def test_bad_rows_windows_and_a_shuffle(folder, capsys):
    rows = write(folder / "d.jsonl", 40)
    odd = ['{"actions": ["a"], "rewards": [1]}\n', '{"actions": ["a", "b"], "rewards": [1]}\n',
           '{"actions": ["a", "a"], "rewards": [1, 2]}\n', "none\n",
           '{"actions": ["a", "b"], "rewards": [1, true]}\n']  # fmt: skip
    (folder / "d.jsonl").write_text("".join(rows + odd))
    asked = ["d.jsonl", "--on-error", "skip", "--metric-window", "20", "--shuffle"]
    found = results(capsys, *asked)
    assert (found["examples"], found["rows_skipped"]) == (40, 5)
    assert [window["to"] for window in found["windows"]] == [20, 40]
    assert main(["run", "d.jsonl"]) == 2
    error = capsys.readouterr().err
    assert "d.jsonl, line 41: there must be at least two actions, got a" in error


PROBLEM = '[problem]\nactions = "each round"\nfeedback = "rewards"\nrange = [0.0, 5.0]\n'


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["--label", "y"], "`--label` must not be given with rows that bring their own actions"),
        (["--plot", "f.png"], "`--plot` must not be given with rows that bring their own"),
        (["--graph", "ring"], "`reveals.family` must be one of"),
        (["--reward-range", "2,5"], "must lie in the problem's range, 2 to 5, got 1"),
        (["--problem", "p.toml", "--graph", "bandit"], "`--graph` must not be given with --prob"),
        (["--load", "table.npz"], "table.npz: must be a model of rows that bring their own"),
        (["--load", "table.npz", "--seed", "1"], "`--seed` must not be given with --load"),
    ],
)  # fmt: skip
def test_mistakes_end_with_a_message_and_code_2(folder, capsys, arguments, text):
    write(folder / "d.jsonl", 20)
    (folder / "p.toml").write_text(PROBLEM)
    (folder / "t.csv").write_text("x,y\n1,a\n2,b\n")
    assert main(["run", "t.csv", "--label", "y", "--save", "table.npz"]) == 0
    capsys.readouterr()
    assert main(["run", "d.jsonl", *arguments]) == 2
    assert text in capsys.readouterr().err


def test_a_problem_and_models_of_the_other_kind(folder, capsys):
    write(folder / "d.jsonl", 20)
    (folder / "p.toml").write_text(PROBLEM)
    assert main(["run", "d.jsonl", "--problem", "p.toml", "--save", "m.npz"]) == 0
    assert graphcb.load("m.npz").problem == graphcb.Problem.read("p.toml")
    write(folder / "l.jsonl", 20, outcome="losses")
    assert main(["run", "l.jsonl", "--problem", "p.toml"]) == 2
    assert "l.jsonl: must have rewards, got losses" in capsys.readouterr().err
    (folder / "t.csv").write_text("x,y\n1,a\n2,b\n")
    for command in (["run", "t.csv", "--load", "m.npz"], ["predict", "m.npz", "t.csv"]):
        assert main(command) == 2
        assert "must be a model of the columns of a file, got one of" in capsys.readouterr().err
