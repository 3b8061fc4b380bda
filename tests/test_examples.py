"""The examples under docs/examples run, and show what they say."""

import gzip
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
    costs = load("spam_review").main(tmp_path / "review.png", n_seeds=2)
    spam, loans = costs["generated messages"], costs["generated loans"]
    assert spam["information-directed"] < 0.7 * spam["greedy"]
    assert spam["information-directed"] < 0.5 * spam["always deliver"]
    assert loans["information-directed"] < loans["greedy"]
    assert loans["information-directed"] < 0.8 * loans["always refuse"]
    for name in ("review-messages.png", "review-loans.png"):
        assert (tmp_path / name).stat().st_size > 10_000
    out = capsys.readouterr().out
    assert "4,000 generated messages, 2 orders; information-directed: " in out
    assert "4,000 generated loans, 2 orders; information-directed: " in out
    assert out.count("information-directed against ignores the graph: ") == 2


def test_stock_levels(tmp_path, monkeypatch, capsys):
    monkeypatch.delenv("GRAPHCB_DATA", raising=False)
    costs = load("stock_levels").main(tmp_path / "stock.png", n_seeds=1)
    assert costs["information-directed"] < 0.5 * costs["greedy"]
    assert costs["information-directed"] < costs["epsilon-greedy, 5 %"]
    assert costs["information-directed"] < 0.95 * costs["ignores the graph"]
    assert costs["information-directed"] < costs["always 35%"]
    assert (tmp_path / "stock.png").stat().st_size > 10_000
    out = capsys.readouterr().out
    assert "6,000 generated hours, 1 seeds; information-directed: " in out
    assert f"information-directed {costs['information-directed']:.4f} +- " in out
    assert "information-directed against always 35%: " in out


def test_llm_cascade(tmp_path, monkeypatch, capsys):
    monkeypatch.delenv("GRAPHCB_DATA", raising=False)
    costs = load("llm_cascade").main(tmp_path / "cascade.png", n_seeds=4)
    assert costs["information-directed"] < costs["greedy"]
    assert costs["information-directed"] < 0.95 * costs["ignores the graph"]
    assert costs["information-directed"] < 0.85 * costs["always llama3.1-70b"]
    assert (tmp_path / "cascade.png").stat().st_size > 10_000
    out = capsys.readouterr().out
    assert "5,000 simulated questions, 4 orders; information-directed: " in out
    assert f"information-directed {costs['information-directed']:.4f} +- " in out


def test_prices(tmp_path, monkeypatch, capsys):
    monkeypatch.delenv("GRAPHCB_DATA", raising=False)
    monkeypatch.syspath_prepend(EXAMPLES)
    monkeypatch.setattr("sys.argv", [str(EXAMPLES / "prices.py")])
    costs = load("prices").main(tmp_path / "prices.png", n_seeds=1)
    assert costs["information-directed"] < 0.98 * costs["always 80"]
    assert costs["information-directed"] < 1.002 * costs["greedy"]
    assert costs["information-directed"] < costs["epsilon-greedy, 5 %"]
    assert (tmp_path / "prices.png").stat().st_size > 10_000
    assert "6,000 generated auctions, 1 seeds; information-directed: " in capsys.readouterr().out


def test_text_routing(tmp_path, monkeypatch, capsys):
    monkeypatch.delenv("GRAPHCB_DATA", raising=False)
    monkeypatch.syspath_prepend(EXAMPLES)
    monkeypatch.setattr("sys.argv", [str(EXAMPLES / "text_routing.py")])
    costs = load("text_routing").main(tmp_path / "routing.png", n_seeds=1)
    assert costs["information-directed"] < 0.5 * costs["always desk"]
    assert costs["information-directed"] < 1.05 * costs["greedy"]
    assert costs["information-directed"] < 0.9 * costs["epsilon-greedy, 5 %"]
    assert (tmp_path / "routing.png").stat().st_size > 10_000
    assert "4,000 generated messages, 1 orders; " in capsys.readouterr().out


def test_examples_say_when_the_data_is_real(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("GRAPHCB_DATA", str(tmp_path))
    (tmp_path / "streams").mkdir()
    hours = ["hour,temp,cnt", *(f"{i % 24},{i % 7},{10 * (i % 24)}" for i in range(50))]
    with gzip.open(tmp_path / "streams" / "bike.csv.gz", "wt") as file:
        file.write("\n".join(hours))
    load("stock_levels").main(n_seeds=1)
    assert "50 real hours, 1 seeds; " in capsys.readouterr().out
    models = load("llm_cascade").MODELS
    names = [f"{what}_{model}" for model in models for what in ("correct", "cost", "confidence")]
    rows = [f"maths,{i},{','.join(['1,0.1,-0.5'] * len(models))}" for i in range(30)]
    with gzip.open(tmp_path / "streams" / "llm_llama.csv.gz", "wt") as file:
        file.write("\n".join([f"source,input_tokens,{','.join(names)}", *rows]))
    load("llm_cascade").main(n_seeds=1)
    assert "30 real questions, 1 orders; " in capsys.readouterr().out


@pytest.mark.slow
def test_sklearn_pipeline(tmp_path, capsys):
    pytest.importorskip("sklearn", reason="extra `sklearn` not installed")
    misread = load("sklearn_pipeline").main(tmp_path / "digits.png")
    assert misread["scaled pixels"] < 0.25
    assert misread["and random features"] < 0.75 * misread["scaled pixels"]
    assert misread["pixels as they are"] > 0.5
    assert (tmp_path / "digits.png").stat().st_size > 10_000
    assert f"scaled pixels: {misread['scaled pixels']:.4f} of" in capsys.readouterr().out
