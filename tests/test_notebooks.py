"""The notebooks of the documentation run, from top to bottom and again, and hold no outputs."""

import ast
import asyncio
import json
from pathlib import Path

import pytest

import graphcb
from graphcb import FeedbackGraph, Policy, Problem, graphs
from graphcb.decisions import LogError, policy
from graphcb.graphs.drawing import as_svg
from graphcb.html import shares, table

NOTEBOOKS = sorted((Path(__file__).parents[1] / "docs" / "notebooks").glob("*.ipynb"))


def cells_of(path):
    content = json.loads(path.read_text(encoding="utf-8"))
    return [cell for cell in content["cells"] if cell["cell_type"] == "code"]


def run(source, space):
    """As a notebook does: the value of the last line, if it is one; `await` is allowed."""
    tree = ast.parse(source)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "cell", "exec"), space)
    if last is None:
        return None
    flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
    value = eval(compile(ast.Expression(last.value), "cell", "eval", flags=flags), space)
    return asyncio.run(value) if asyncio.iscoroutine(value) else value


@pytest.fixture
def notebook(monkeypatch):
    monkeypatch.setattr(policy, "is_in_notebook", lambda: True)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_and_each_cell_again(path, notebook, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    space, shown = {"__name__": "__main__"}, []
    for cell in cells_of(path):
        source = "".join(cell["source"])
        times = 1 if "close()" in source else 2
        for _ in range(times):
            value = run(source, space)
        if hasattr(value, "_repr_html_"):
            shown.append(type(value).__name__)
            html = value._repr_html_()
            assert html.startswith(("<table", "<pre", "<svg"))
            assert "nan" not in html
            assert html.count("<table") == html.count("</table")
    expected = {"Problem", "FeedbackGraph", "Decision", "Explanation", "LogSummary", "Evaluation"}
    assert set(shown) == expected


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_holds_no_outputs(path):
    assert all(not cell["outputs"] and cell["execution_count"] is None for cell in cells_of(path))


def test_a_cell_that_opens_a_log_is_run_again(notebook, tmp_path):
    problem = Problem(["a", "b"])
    first = Policy(tmp_path / "a.db", problem=problem, seed=0)
    made = first.decide(None)
    again = Policy(tmp_path / "a.db", problem=problem, seed=0)
    assert again.n_events == 1
    assert again.feedback(made.decision_id, {made.action: 0.5}).counted
    with pytest.raises(LogError, match="this policy is closed; open another"):
        first.decide(None)
    again.close()


def test_elsewhere_a_second_policy_is_refused(tmp_path):
    with Policy(tmp_path / "a.db", problem=Problem(["a", "b"]), seed=0) as first:
        with pytest.raises(LogError, match=r"give feedback beside it with graphcb\.Inbox"):
            Policy(tmp_path / "a.db")
        first.decide(None)


def test_an_event_loop_goes_on(tmp_path):
    async def main(policy):
        made = await asyncio.gather(*(policy.adecide({"x": float(k)}) for k in range(8)))
        for one in made:
            await policy.afeedback(one.decision_id, {one.action: 0.5})
        with pytest.raises(LookupError, match="must be one that"):
            await policy.afeedback("nothing", {})
        return made

    with Policy(tmp_path / "a.db", problem=Problem(["a", "b"]), seed=0) as policy:
        made = asyncio.run(main(policy))
        assert len({one.decision_id for one in made}) == 8
        assert (policy.n_events, policy.model_version) == (16, 8)


def test_graphs_are_drawn():
    drawn = as_svg(graphs.cops_and_robbers(4), ["<a>", "b", "c", "d"])
    assert (drawn.count("<circle"), drawn.count("<path")) == (4, 12)
    assert "&lt;a&gt;" in drawn
    assert 'fill="#ffffff"' in drawn  # no action shows its own loss
    pale = FeedbackGraph([[1.0, 0.25], [0.0, 0.5]])._repr_html_()
    assert 'stroke-opacity="0.25"' in pale
    assert 'fill-opacity="0.5"' in pale
    assert as_svg(graphs.bandit(1000)).startswith("<p>bandit")


def test_solutions_and_long_lists():
    solution = graphcb.solve_dec([0.1, 0.5, 0.9], graphs.bandit(3), 10.0)
    html = solution._repr_html_()
    assert html.count("<rect") == 3
    assert "optimum" in html
    assert "others" in shares("p", range(30), [1 / 30] * 30)
    assert table("x", [("<b>", 1 / 3)]).count("&lt;b&gt;") == 1


def test_problems_without_a_graph_show_themselves():
    assert "<svg" not in Problem("each round", range=(0, 1))._repr_html_()
    assert "<svg" in Problem(["a", "b"])._repr_html_()


def test_pictures(tmp_path):
    pytest.importorskip("matplotlib")
    with Policy(tmp_path / "a.db", graphcb.Uniform(), seed=0) as policy:
        for k in range(40):
            made = policy.decide(None, graphs.full_information(2))
            policy.feedback(made.decision_id, {0: 0.25, 1: (k % 3) / 2})
    with graphcb.DecisionLog(tmp_path / "a.db") as log:
        summary = graphcb.evaluation.summarize(log)
        judged = graphcb.evaluation.evaluate(log, graphcb.evaluation.constant(1))
    assert len(summary.plot(title="a").axes) == 3
    assert judged.plot(unit="loss").axes[0].get_xlabel().startswith("mean loss\nintervals: ")
