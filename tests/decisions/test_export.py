import json

import numpy as np
import pytest
from scipy.sparse import csr_array

import graphcb
from graphcb import DecisionLog, Policy, graphs
from graphcb.decisions.export import export_parquet

pq = pytest.importorskip("pyarrow.parquet", reason="needs the extra `experiments`")


def test_every_row_with_its_feedback(new_log, tmp_path):
    contexts = [[0.25, 0.5], ([1], [2.0]), csr_array([[0.0, 3.0]]), {"text": "hello"}, None]
    location = new_log()
    with Policy(location, graphcb.Uniform(), seed=0) as policy:
        made = [policy.decide(x, graphs.inventory(2), [10, 20]) for x in contexts]
        seen = {a: 0.05 * a for a in [10, 20][: made[1].action_index + 1]}
        policy.feedback(made[1].decision_id, seen)
    with DecisionLog(location) as log:
        assert export_parquet(log, tmp_path / "a.parquet") == 5
    table = pq.read_table(tmp_path / "a.parquet").to_pylist()
    assert [row["decision_id"] for row in table] == [d.decision_id for d in made]
    assert [json.loads(row["action_json"]) for row in table] == [d.action for d in made]
    assert [row["action_index"] for row in table] == [d.action_index for d in made]
    assert {d.action for d in made} == {10, 20}
    assert [row["context"] for row in table] == [[0.25, 0.5], [2.0], [3.0], None, None]
    assert [row["context_indices"] for row in table] == [None, [1], [1], None, None]
    assert [row["context_json"] for row in table] == [None, None, None, '{"text": "hello"}', None]
    assert table[0]["graph"] == '{"family": "inventory", "n_actions": 2}'
    assert table[0]["actions_json"] == "[10, 20]"
    assert table[0]["probabilities"] == [0.5, 0.5]
    assert table[0]["reveal_probabilities"] == [1.0, 0.5]
    assert json.loads(table[1]["feedback_actions_json"]) == list(seen)
    assert table[1]["feedback_action_indices"] == list(range(len(seen)))
    assert table[1]["feedback_losses"] == list(seen.values())
    assert table[1]["feedback_position"] == 6
    assert [row["feedback_at"] is None for row in table] == [True, False, True, True, True]
    with DecisionLog(location) as log:
        stamps = [row.made_at for row in log]
    exported = [row["made_at"].timestamp() for row in table]
    np.testing.assert_allclose(exported, stamps, rtol=0, atol=1e-6)


def test_many_rows_in_several_batches(tmp_path, monkeypatch):
    from graphcb.decisions import export, records

    monkeypatch.setattr(export, "ROWS_AT_A_TIME", 7)
    monkeypatch.setattr(records, "PAGE", 5)
    with Policy(tmp_path / "a.db", graphcb.Uniform(), seed=0) as policy:
        made = policy.decide_many([[0.1 * n] for n in range(40)], graphs.bandit(3))
        policy.feedback_many({d.decision_id: {d.action: 0.5} for d in made[::3]})
    with DecisionLog(tmp_path / "a.db") as log:
        assert export_parquet(log, tmp_path / "a.parquet") == 40
    table = pq.read_table(tmp_path / "a.parquet")
    assert table["context"].to_pylist() == [[0.1 * n] for n in range(40)]
    assert [p is not None for p in table["feedback_position"].to_pylist()] == [
        n % 3 == 0 for n in range(40)
    ]


def test_a_failed_export_leaves_what_was_there(tmp_path, monkeypatch):
    from graphcb.decisions import export

    with Policy(tmp_path / "a.db", graphcb.Uniform(), seed=0) as policy:
        policy.decide([0.5], graphs.bandit(2))
    (tmp_path / "a.parquet").write_text("before")
    monkeypatch.setattr(export, "_context_json", lambda context: 1 / 0)
    with DecisionLog(tmp_path / "a.db") as log, pytest.raises(ZeroDivisionError):
        export_parquet(log, tmp_path / "a.parquet")
    assert (tmp_path / "a.parquet").read_text() == "before"
    assert not list(tmp_path.glob("*.part"))


def test_names_and_rewards_of_a_problem(tmp_path):
    problem = graphcb.Problem(
        ["approve", "review"], reveals={"all": ["review"]}, feedback="rewards"
    )
    with Policy(tmp_path / "a.db", graphcb.Uniform(), problem=problem, seed=0) as policy:
        made = [policy.decide({"amount": 1.5}) for _ in range(4)]
        seen = {"approve": 0.25, "review": 1.0}
        shown = next(d for d in made if d.action == "review")
        policy.feedback(shown.decision_id, seen)
    with DecisionLog(tmp_path / "a.db") as log:
        export_parquet(log, tmp_path / "a.parquet")
    table = pq.read_table(tmp_path / "a.parquet")
    rows = table.to_pylist()
    assert [row["action"] for row in rows] == [d.action for d in made]
    assert rows[0]["context_json"] == '{"amount": 1.5}'
    assert "feedback_losses" not in rows[0]
    (told,) = (row for row in rows if row["decision_id"] == shown.decision_id)
    assert told["feedback_rewards"] == [0.25, 1.0]
    assert json.loads(told["feedback_actions_json"]) == ["approve", "review"]
    assert graphcb.Problem.from_toml(table.schema.metadata[b"problem"].decode()) == problem


def test_actions_with_features(tmp_path):
    items = {"x": {"price": 1.0}, "y": {"price": 2.0}}
    with Policy(tmp_path / "a.db", problem=graphcb.Problem("each round"), seed=0) as policy:
        decision = policy.decide({}, actions=items)
        policy.feedback(decision.decision_id, {decision.action: 0.5})
    with DecisionLog(tmp_path / "a.db") as log:
        export_parquet(log, tmp_path / "a.parquet")
    (row,) = pq.read_table(tmp_path / "a.parquet").to_pylist()
    assert json.loads(row["actions_json"]) == items
    assert json.loads(row["feedback_actions_json"]) == [decision.action]
    assert row["feedback_losses"] == [0.5]


def test_the_own_outcome_and_declared_features_have_columns(tmp_path):
    features = {"amount": "number?", "country": "category", "note": "text?", "tags": "category?"}
    problem = graphcb.Problem(
        ["approve", "review"], reveals={"all": ["review"], "own": False}, features=features
    )
    context = {"amount": 12, "country": "DE", "tags": ["new", "old"], "more": 3}
    with Policy(tmp_path / "a.db", graphcb.Uniform(), problem=problem, seed=0) as policy:
        made = [policy.decide(context) for _ in range(6)]
        shown = next(d for d in made if d.action == "review")
        silent = next(d for d in made if d.action == "approve")
        policy.feedback(shown.decision_id, {"approve": 0.25, "review": 1.0})
        policy.feedback(silent.decision_id, {})
    with DecisionLog(tmp_path / "a.db") as log:
        export_parquet(log, tmp_path / "a.parquet")
    table = pq.read_table(tmp_path / "a.parquet")
    rows = {row["decision_id"]: row for row in table.to_pylist()}
    assert rows[shown.decision_id]["loss"] == 1.0
    assert rows[silent.decision_id]["loss"] is None
    assert "reward" not in table.column_names
    first = rows[made[0].decision_id]
    assert (first["context.amount"], first["context.country"]) == (12.0, "DE")
    assert (first["context.note"], first["context.tags"]) == (None, '["new", "old"]')
    assert first["version"] == 1
    assert first["feedback_is_default"] in (None, False)


def test_losses_and_rewards_of_two_versions(tmp_path):
    first = graphcb.Problem(["a", "b"], features={"x": "number"})
    second = graphcb.Problem(["a", "b"], feedback="rewards", features={"x": "text", "y": "number"})
    with Policy(tmp_path / "a.db", problem=first, seed=0) as policy:
        one = policy.decide({"x": 1.5})
        policy.feedback(one.decision_id, {one.action: 0.25})
        policy.change(second)
        two = policy.decide({"x": "many", "y": 2.0})
        policy.feedback(two.decision_id, {two.action: 0.75})
    with DecisionLog(tmp_path / "a.db") as log:
        export_parquet(log, tmp_path / "a.parquet")
    table = pq.read_table(tmp_path / "a.parquet").to_pylist()
    assert [(row["loss"], row["reward"]) for row in table] == [(0.25, None), (None, 0.75)]
    assert [row["feedback_losses"] for row in table] == [[0.25], None]
    assert [row["feedback_rewards"] for row in table] == [None, [0.75]]
    assert [(row["context.x"], row["context.y"]) for row in table] == [("1.5", None), ("many", 2.0)]
    assert [row["version"] for row in table] == [1, 2]


def test_an_outcome_that_is_known_without_feedback(tmp_path):
    problem = graphcb.Problem(["a", "b"], known={"a": 0.25})
    with Policy(tmp_path / "a.db", graphcb.Uniform(), problem=problem, seed=0) as policy:
        made = policy.decide_many([{}] * 9)
    with DecisionLog(tmp_path / "a.db") as log:
        export_parquet(log, tmp_path / "a.parquet")
    found = pq.read_table(tmp_path / "a.parquet")["loss"].to_pylist()
    assert found == [0.25 if one.action == "a" else None for one in made]
    assert {0.25, None} == set(found)
