"""Routing between two models, learned online."""

import csv
import gzip

import numpy as np
import pytest
from studies import routing
from study import main


def write(folder, *, n=4000, seed=0):
    """Questions of two kinds: the weak model knows all of the easy ones and few of the hard.

    Of the second file, the weak model is a little less sure of those that it does not know.
    """
    rng = np.random.default_rng(seed)
    (folder / "streams").mkdir()
    path = folder / "streams" / "routellm_mmlu.csv.gz"
    with gzip.open(path, "wt", newline="") as lines:
        rows = csv.writer(lines)
        rows.writerow(["subject", "prompt", "correct_mixtral-8x7b", "correct_gpt-4"])
        for _ in range(n):
            is_hard = rng.random() < 0.5
            prompt = f"{'prove' if is_hard else 'name'} number {rng.integers(100)}"
            weak = rng.random() < (0.2 if is_hard else 0.95)
            rows.writerow(["", prompt, int(weak), int(rng.random() < 0.9)])
    path = folder / "streams" / "llm_llama.csv.gz"
    with gzip.open(path, "wt", newline="") as lines:
        rows = csv.writer(lines)
        names = ("correct_llama3.1-8b", "confidence_llama3.1-8b", "correct_llama3.1-405b")
        rows.writerow(["prompt", *names])
        for _ in range(n // 4):
            weak = rng.random() < 0.5
            confidence = -rng.random() - 0.5 * (not weak)
            rows.writerow(["name it", int(weak), confidence, int(rng.random() < 0.95)])


@pytest.fixture
def questions(tmp_path, monkeypatch):
    write(tmp_path)
    monkeypatch.setenv("GRAPHCB_DATA", str(tmp_path))
    return routing.read()


def test_hard_questions_go_to_the_strong_model_once_that_is_learned(questions):
    point = routing.play(routing.ROUTERS["cascade"], 0.2, questions, seed=0)
    assert 0.4 < point.share < 0.6
    (_, gap, _) = routing.recovered([point], questions)[1]
    assert gap > 0.85  # a coin recovers half
    stuck = routing.play(routing.ROUTERS["greedy, cascade"], 0.2, questions, seed=0)
    assert routing.recovered([stuck], questions)[1][1] < 0.6


def test_a_budget_is_kept(questions):
    point = routing.play(routing.ROUTERS["cascade, with a budget"], 0.3, questions, seed=0)
    assert point.share <= 0.31
    assert routing.recovered([point], questions)[1][1] > point.share + 0.15


def test_averages_and_calls_are_by_straight_lines():
    shares, gaps = np.array([0.0, 0.5, 1.0]), np.array([0.0, 0.8, 1.0])
    assert routing.apgr(shares, gaps) == pytest.approx(0.65)
    assert routing.calls_for(0.4, shares, gaps) == pytest.approx(0.25)
    assert routing.calls_for(0.9, shares, gaps) == pytest.approx(0.75)
    assert routing.apgr(shares, shares) == pytest.approx(0.5)


def test_a_threshold_on_confidence_calls_first_where_it_is_least(questions):
    sure = routing.read(routing.LLAMA)
    shares, gaps = routing.by_confidence(sure)
    assert 0.6 < routing.apgr(shares, gaps) < 0.9
    assert (shares[0], gaps[0], shares[-1], gaps[-1]) == (0.0, 0.0, 1.0, 1.0)
    weak, strong = sure.weak.mean(), sure.strong.mean()
    assert weak + sure.gap * (strong - weak) == pytest.approx(0.95 * strong)
    assert "confidence" not in questions.contexts[0]


def test_in_hindsight_everything_is_known(questions):
    assert routing.apgr(*routing.in_hindsight(questions)) > 0.7


def test_it_writes_a_report_and_a_picture(questions, tmp_path, capsys):
    assert main(["routing", "--quick", "--out", str(tmp_path / "out")]) == 0
    printed = capsys.readouterr().out
    assert "average gap recovered" in printed
    assert "a threshold on confidence" in printed
    for ending in (".md", ".png", ".pdf"):
        assert (tmp_path / "out" / f"routing{ending}").stat().st_size > 0


def test_without_the_data_it_is_said_where_to_put_it(monkeypatch, capsys):
    monkeypatch.delenv("GRAPHCB_DATA", raising=False)
    assert main(["routing"]) == 2
    assert "set GRAPHCB_DATA to the folder that holds streams/routellm" in capsys.readouterr().err
