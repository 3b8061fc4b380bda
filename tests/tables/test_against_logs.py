"""A table exported from a decision log gives what `evaluation.evaluate` finds in the log."""

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import graphcb
from graphcb import evaluate_table, evaluation
from graphcb.decisions.export import export_parquet
from graphcb.imports import DecisionColumns, import_log
from tests.tables.shop import shop


@pytest.fixture(params=["explores", "is often certain"])
def exported(tmp_path, request):
    """A log of a bandit, and its export with the one loss of each row in a column."""
    draws = np.random.default_rng(5)
    log, path = tmp_path / "decisions.db", tmp_path / "log.parquet"
    names = ["a", "b", "c"]
    agent = None
    if request.param == "explores":
        agent = graphcb.EpsilonGreedy(graphcb.oracles.DefaultOracle(3), epsilon=0.3)
    learner = graphcb.Learner(graphcb.Problem(names), agent)
    with graphcb.Policy(log, learner, seed=1) as policy:
        for _ in range(300):
            made = policy.decide({"x": float(draws.normal())})
            loss = float(draws.random() < 0.1 + 0.4 * names.index(made.action))
            policy.feedback(made.decision_id, {made.action: loss})
    with graphcb.DecisionLog(log) as opened:
        export_parquet(opened, path)
    return log, pq.read_table(path), names, request.param


@pytest.mark.parametrize("policy", ["uniform", "logged", "constant:b"])
def test_one_value_has_one_number(exported, policy):
    log, table, names, how = exported
    target = {"uniform": evaluation.uniform, "logged": evaluation.logged}.get(policy)
    with graphcb.DecisionLog(log) as opened:
        expected = evaluation.evaluate(opened, target or evaluation.constant("b"))
    found = evaluate_table(
        table, action="action", probability="probabilities", actions=names, loss="loss",
        policy=policy, value_range=(0.0, 1.0),
    )[policy]  # fmt: skip
    assert found.unseen_share == pytest.approx(expected.unseen_share, abs=1e-9)
    if how == "is often certain" and policy != "logged":
        assert expected.graph is None
        assert found.unseen_share > 0.1
        assert found.estimates == {}
        return
    mine = found.estimates["self-normalised"]
    assert mine.value == pytest.approx(expected.graph.value, rel=1e-12)
    assert mine.standard_error == pytest.approx(expected.graph.standard_error, rel=1e-9)


def test_with_the_graph(tmp_path):
    """Playing c reveals all three: list columns of losses become a column for each action."""
    draws = np.random.default_rng(5)
    log, path, names = tmp_path / "decisions.db", tmp_path / "log.parquet", ["a", "b", "c"]
    graph = graphcb.FeedbackGraph([[1, 0, 0], [0, 1, 0], [1, 1, 1]])
    with graphcb.Policy(log, graphcb.Uniform(), seed=1) as policy:
        for _ in range(200):
            made = policy.decide(None, graph, names)
            losses = dict(zip(names, draws.random(3).tolist(), strict=True))
            shown = losses if made.action == "c" else {made.action: losses[made.action]}
            policy.feedback(made.decision_id, shown)
    with graphcb.DecisionLog(log) as opened:
        expected = evaluation.evaluate(opened, evaluation.constant("b")).graph
        export_parquet(opened, path)
    rows = pq.read_table(path).to_pylist()
    columns = {"item": [names[row["action_index"]] for row in rows],
               "ps": [row["probabilities"] for row in rows]}  # fmt: skip
    for k, name in enumerate(names):
        columns[f"l_{name}"] = pa.array([
            dict(zip(row["feedback_action_indices"], row["feedback_losses"], strict=True)).get(k)
            for row in rows
        ])  # fmt: skip
    found = evaluate_table(
        columns, action="item", probability="ps", reveals="l_*", policy="constant:b",
        graph={"all": ["c"], "own": True}, value_range=(0.0, 1.0),
    )  # fmt: skip
    mine = found["constant:b"].estimates["self-normalised"]
    assert mine.value == pytest.approx(expected.value, rel=1e-12)


@pytest.mark.parametrize("probability", ["p", "p_*"])
@pytest.mark.parametrize("policy", ["uniform", "constant:c"])
def test_a_table_that_is_imported_says_the_same(tmp_path, probability, policy):
    """`imports` and `tables` read such tables on their own; this holds them together."""
    path, log = tmp_path / "shop.csv", tmp_path / "shop.db"
    pyarrow.csv.write_csv(shop(300).drop_columns(["shares"]), path)
    asked = {"action": "item", "probability": probability, "reward": "click"}
    import_log(path, log, columns=DecisionColumns(**asked, features=("x",)))
    names = {"actions": ["a", "b", "c", "d"]} if probability == "p" else {}
    found = evaluate_table(path, **asked, **names, policy=policy, value_range=(0.0, 1.0))
    target = evaluation.uniform if policy == "uniform" else evaluation.constant("c")
    with graphcb.DecisionLog(log) as opened:
        expected = evaluation.evaluate(opened, target).plain
    mine = found[policy].estimates["self-normalised"]
    assert mine.value == pytest.approx(expected.value, rel=1e-12)
    assert mine.standard_error == pytest.approx(expected.standard_error, rel=1e-9)
