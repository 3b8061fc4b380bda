"""The examples under docs/examples run, and show what they say."""

import importlib.util
from pathlib import Path

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
