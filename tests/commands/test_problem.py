"""`graphcb problem new`, as one calls it."""

import io
from pathlib import Path

import pytest

from graphcb import Problem
from graphcb.cli import main
from graphcb.commands.problem_facts import problem_facts


@pytest.fixture
def ask(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)

    def call(answers, *arguments, tty=False):
        stdin = io.StringIO(answers)
        stdin.isatty = lambda: tty
        monkeypatch.setattr("sys.stdin", stdin)
        code = main(["problem", "new", *arguments])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call


def test_five_answers_become_a_file(ask):
    answers = (
        "fraud review\napprove, review\nreview\nrewards -50 20\namount number, land category?\n"
    )
    code, out, err = ask(answers)
    assert (code, err) == (0, "")
    assert Problem.read("problem.toml") == Problem(
        ["approve", "review"],
        reveals={"all": ["review"]},
        feedback="rewards",
        range=(-50.0, 20.0),
        features={"amount": "number", "land": "category?"},
        name="fraud review",
        explore=0.01,
    )
    text = Path("problem.toml").read_text()
    assert "# Up to this share of every decision's probability goes to outcomes" in text
    assert "\nexplore = 0.01\n" in text
    for number in "12345":
        assert f"\n{number}. " in out
    assert "written: problem.toml" in out
    assert "next: graphcb inspect problem.toml" in out
    assert 'Policy("decisions.db", problem=graphcb.Problem.read("problem.toml"))' in out


def test_empty_answers_take_the_defaults(ask):
    assert ask("\na,b\n\n\n\n", "mine.toml")[0] == 0
    assert Problem.read("mine.toml") == Problem(["a", "b"], explore=0.01)


@pytest.mark.parametrize(
    ("answer", "reveals"),
    [
        ("own", "bandit"),
        ("everything", "full-information"),
        ("each round", "each round"),
        ("unknown", "unknown"),
        ("bids", {"unknown": "bids"}),
        ("inventory", "inventory"),
        ("a, b", {"all": ["a", "b"]}),
        ("graph.csv", {"edges": [("a", "a"), ("b", "b", 0.5)]}),
    ],
)
def test_what_is_revealed(ask, tmp_path, answer, reveals):
    (tmp_path / "graph.csv").write_text("1,0\n0,0.5\n")
    assert ask(f"\na,b\n{answer}\n\n\n")[0] == 0
    assert Problem.read("problem.toml") == Problem(["a", "b"], reveals=reveals, explore=0.01)


def test_actions_of_each_round(ask):
    assert ask("\neach round\n\nrewards\n\n")[0] == 0
    assert Problem.read("problem.toml") == Problem("each round", feedback="rewards", explore=0.01)


def test_the_columns_of_a_file_are_the_features(ask, tmp_path):
    rows = "\n".join(f"{n},{'DE' if n % 2 else 'FR'},{n % 3 if n else ''}" for n in range(30))
    (tmp_path / "data.csv").write_text(f"label,land,age\n{rows}\n")
    code, out, _ = ask("\na,b\n\n\nlabel\n", "--data", "data.csv")
    assert code == 0
    assert "   land: category" in out
    assert Problem.read("problem.toml").features == {"land": "category", "age": "number?"}


def test_the_features_of_json_lines(ask, tmp_path):
    row = '{"label": "a", "context": {"age": 31, "home": {"city": "Rome"}, "note": null}}'
    other = '{"label": "b", "context": {"age": 32, "home": {"city": "Oslo"}, "note": "call me"}}'
    (tmp_path / "data.jsonl").write_text(f"{row}\n{other}\n")
    assert ask("\na,b\n\n\n\n", "--data", "data.jsonl")[0] == 0
    features = {"age": "number", "home.city": "category", "note": "category?"}
    assert Problem.read("problem.toml").features == features


@pytest.mark.parametrize(
    ("answers", "message"),
    [
        ("\na,a\n", "`actions` must be distinct, got 'a' twice"),
        ("\n\n", "`actions` must have at least one name, got none"),
        ("\na,b\nbandits\n", "`reveals.family` must be one of"),
        ("\na,b\nnone.csv\n", "`graph` must name an existing file, got 'none.csv'"),
        ("\na,b\n\nreward 0 1\n", "`feedback` must be one of losses, rewards; got 'reward'; did"),
        ("\na,b\n\nlosses 0\n", "the answer must be a word and two numbers, such as losses 0 1"),
        ("\na,b\n\nlosses 0 x\n", "the answer must be a word and two numbers, such as losses 0 1"),
        ("\na,b\n\nlosses 1 0\n", "`range` must be (low, high) with low < high"),
        (
            "\na,b\n\n\nage\n",
            "each feature must be a name and a kind, such as age number; got 'age'",
        ),
        ("\na,b\n\n\nage numbr\n", "`features.age` must be one of number"),
        ("\na,b\n", "the answers must be five lines, but they ended at question 3"),
    ],
)
def test_a_wrong_answer_in_a_pipe_writes_nothing(ask, tmp_path, answers, message):
    code, _, err = ask(answers)
    assert code == 2
    assert message in err
    assert list(tmp_path.iterdir()) == []


def test_a_person_is_asked_again(ask):
    code, out, _ = ask("\na,a\na,b\n\n\n\n", tty=True)
    assert code == 0
    assert out.count("2. Which actions") == 2
    assert "`actions` must be distinct" in out


def test_no_file_is_overwritten(ask, tmp_path):
    (tmp_path / "problem.toml").write_text("mine")
    code, out, err = ask("\na,b\n\n\n\n")
    assert (code, out) == (2, "")
    assert "`FILE` must not exist yet, got 'problem.toml'" in err
    assert (tmp_path / "problem.toml").read_text() == "mine"
    assert "`FILE` must be in an existing folder" in ask("", "nowhere/p.toml")[2]


def test_data_that_is_no_table(ask, tmp_path):
    (tmp_path / "data.vw").write_text("1 | a\n")
    assert "`--data` must be CSV, Parquet or JSON lines, got vw" in ask("", "--data", "data.vw")[2]
    (tmp_path / "empty.csv").write_text("a,b\n")
    assert "`--data` must have rows, got none in 'empty.csv'" in ask("", "--data", "empty.csv")[2]


@pytest.mark.parametrize("actions", ["approve, look at it", "each round"])
def test_the_comments_become_guardrails_once_their_marks_are_taken_away(ask, actions):
    assert ask(f"\n{actions}\n\n\n\n")[0] == 0
    plain = Problem.read("problem.toml")
    assert (plain.limits, plain.budgets, plain.baseline) == (None, (), None)
    text, mark, comments = Path("problem.toml").read_text().partition("# What must hold")
    assert mark
    lines = [line.removeprefix("#").strip() for line in comments.splitlines()[1:]]
    full = Problem.from_toml("\n".join([text, *lines]))
    first, last = ("one name", "another name") if actions == "each round" else full.actions
    assert full.limits.floors == {first: 0.02}
    assert full.limits.caps == {last: 0.5}
    assert full.budgets[0].costs == {last: 1.0}
    assert (full.baseline.action, full.baseline.mode) == (first, "conservative")
    assert full.known == {last: 0.0}


def test_comments_say_what_else_a_problem_may_have(ask):
    assert ask("\na,b\n\n\n\n")[0] == 0
    text = Path("problem.toml").read_text()
    assert '# If feedback may not come, write answers = "learned" under [reveals]' in text
    assert ask("\na,b\nunknown\n\n\n", "two.toml")[0] == 0
    text = Path("two.toml").read_text()
    assert "# [limits]" in text
    assert "baseline" not in text  # there can be none
    assert "answers" not in text


@pytest.mark.parametrize(
    ("reveals", "words"),
    [
        ("unknown = true", ["nobody knows beforehand: it is learned", "is no graph beforehand"]),
        ('unknown = "bids"', ["what a hidden price decides: a lost auction shows", "its levels"]),
        ('own = true\nanswers = "learned"', ["may not come: how often it does is learned", "a"]),
    ],
)
def test_inspect_says_what_is_learned(tmp_path, monkeypatch, capsys, reveals, words):
    monkeypatch.chdir(tmp_path)
    Path("problem.toml").write_text(f'[problem]\nactions = ["a", "b"]\n[reveals]\n{reveals}\n')
    assert main(["inspect", "problem.toml", "--no-picture"]) == 0
    out = " ".join(capsys.readouterr().out.replace("│", " ").split())
    assert all(word in out for word in words)
    Path("data.csv").write_text("x,a,b\n1,0,1\n2,1,0\n")
    assert main(["run", "data.csv", "--problem", "problem.toml"]) != 0
    assert "must say what is revealed to be run on a file" in capsys.readouterr().err


def test_without_numbers_the_range_is_found(ask):
    assert ask("\na,b\n\nrewards\n\n")[0] == 0
    problem = Problem.read("problem.toml")
    said = dict(problem_facts(problem))["feedback"]
    assert said == "rewards, whose range is found as it comes; larger is better"
    said = dict(problem_facts(Problem(["a", "b"], baseline="a")))["feedback"]
    assert said == "losses from 0 to 1, as a baseline needs a range; smaller is better"
