"""The examples under docs/examples run, and show what they say."""

import importlib.util
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[1] / "docs" / "examples"


def load(name):
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_spam_review(tmp_path, monkeypatch, capsys):
    monkeypatch.delenv("GRAPHCB_DATA", raising=False)
    costs = load("spam_review").main(tmp_path / "spam.png")
    assert costs["SquareCB.G"] < 0.95 * costs["epsilon-greedy, 10 %"]
    assert costs["SquareCB.G"] < 0.6 * costs["always review"]
    assert (tmp_path / "spam.png").stat().st_size > 10_000
    assert "generated messages: 5,000 messages" in capsys.readouterr().out


def test_stock_levels(tmp_path, monkeypatch, capsys):
    monkeypatch.delenv("GRAPHCB_DATA", raising=False)
    costs = load("stock_levels").main(tmp_path / "stock.png")
    assert costs["SquareCB.G"] < costs["sees only its own level"]
    assert costs["SquareCB.G"] < 0.8 * costs["always 0.8 of usual"]
    assert (tmp_path / "stock.png").stat().st_size > 10_000
    out = capsys.readouterr().out
    assert "generated bakery: 19,620 decisions after 365 days of history" in out
    assert f"SquareCB.G: {costs['SquareCB.G']:.4f} per day" in out


def test_llm_cascade(tmp_path, capsys):
    costs = load("llm_cascade").main(tmp_path / "cascade.png", n_questions=8000)
    always = min(costs[f"always {model}"] for model in ("large", "medium", "small"))
    assert costs["SquareCB.G"] < 0.85 * always
    assert costs["SquareCB.G"] < costs["epsilon-greedy, 10 %"]
    assert costs["knows the expected losses"] < costs["SquareCB.G"]
    assert (tmp_path / "cascade.png").stat().st_size > 10_000
    out = capsys.readouterr().out
    assert "8,000 questions; the optimum in closed form, exact to rounding: one action" in out
    assert f"SquareCB.G: {costs['SquareCB.G']:.4f} per question (large " in out


def test_sklearn_pipeline(tmp_path, capsys):
    pytest.importorskip("sklearn", reason="extra `sklearn` not installed")
    misread = load("sklearn_pipeline").main(tmp_path / "digits.png")
    assert misread["scaled pixels"] < 0.25
    assert misread["and random features"] < 0.75 * misread["scaled pixels"]
    assert misread["pixels as they are"] > 0.5
    assert (tmp_path / "digits.png").stat().st_size > 10_000
    assert f"scaled pixels: {misread['scaled pixels']:.4f} of" in capsys.readouterr().out
