"""Policies that decide without a graph: what feedback means, and replay bit for bit."""

import json

import numpy as np
import pytest

from graphcb import DecisionLog, Policy, Problem, SquareCBUG, graph_oracles, graphs
from graphcb.decisions import back_up, replay, verify
from graphcb.decisions.export import export_parquet
from graphcb.evaluation import constant, evaluate, summarize
from graphcb.saving import to_bytes

BIDS = ("0.2", "0.4", "0.6", "0.8")
LEVELS = np.array([0.2, 0.4, 0.6, 0.8])
AUCTION_TERMS = {
    "actions": BIDS,
    "reveals": {"unknown": "bids"},
    "feedback": "rewards",
    "range": (-1, 1),
    "features": {"v": "number"},
}
AUCTION = Problem(**AUCTION_TERMS)
PLAIN = Problem(BIDS, reveals="unknown")
ANSWERS = Problem(BIDS, reveals={"family": "inventory", "answers": "learned"})


def play(policy, first, last, *, seed=0):
    made = []
    for t in range(first, last):
        rng = np.random.default_rng((seed, t))
        value, price = rng.random(2)
        decision = policy.decide({"v": value})
        made.append((decision.action, decision.probabilities))
        lost = decision.action_index if LEVELS[decision.action_index] > price else 0
        if t % 5:  # some never hear of it
            seen = range(lost, 4)
            if policy.problem == ANSWERS:
                seen = [i for i in range(decision.action_index + 1) if rng.random() < 0.7]
            losses = {BIDS[i]: float(LEVELS[i] > price) for i in seen}
            policy.feedback(decision.decision_id, losses)
    return made


@pytest.fixture(params=[AUCTION, PLAIN, ANSWERS], ids=["bids", "unknown", "answers"])
def problem(request):
    return request.param


def test_live_is_replayed_bit_for_bit_and_after_a_kill(tmp_path, problem):
    with Policy(tmp_path / "whole.db", problem=problem, seed=3) as policy:
        whole = play(policy, 0, 60)
        state = to_bytes(policy.agent)
    stopped = Policy(tmp_path / "log.db", problem=problem, seed=3, checkpoint_every=7)
    first = play(stopped, 0, 33)
    back_up(tmp_path / "log.db", tmp_path / "killed.db")  # as a kill leaves it
    stopped.close()
    with Policy(tmp_path / "killed.db") as policy:
        assert policy.problem == problem
        assert first + play(policy, 33, 60) == whole
        assert to_bytes(policy.agent) == state
    with DecisionLog(tmp_path / "killed.db") as log:
        assert to_bytes(replay(log).agent) == state
        assert not log.informed
        assert all(not row.informed for row in log)
        assert all(row.graph == problem.graph for row in log)
    assert verify(tmp_path / "killed.db") == []


def test_nobody_may_give_a_graph(tmp_path, problem):
    with Policy(tmp_path / "log.db", problem=problem, seed=0) as policy:
        with pytest.raises(ValueError, match="`graph` must not be given: in this problem"):
            policy.decide({"v": 1.0}, graphs.bandit(4))
        assert policy.n_events == 0


def test_what_is_not_revealed_teaches_too(tmp_path):
    with Policy(tmp_path / "log.db", problem=PLAIN, seed=0) as policy:
        for _ in range(20):
            decision = policy.decide({"v": 1.0}, actions=["0.4"])
            assert policy.feedback(decision.decision_id, {}).counted
        row = policy.agent.predicted_graph({"v": 1.0}).row(1)
    assert row[1] < 0.05
    assert np.all(row[[0, 2, 3]] == 0.5)  # were not there


def test_feedback_comes_in_one_part(tmp_path):
    with Policy(tmp_path / "log.db", problem=PLAIN, seed=0) as policy:
        name = policy.decide({"v": 1.0}).decision_id
        assert policy.feedback(name, {"0.2": 0.5, "0.4": 0.25}).counted
        state = to_bytes(policy.agent)
        receipt = policy.feedback(name, {"0.4": 0.25, "0.2": 0.5})
        assert not receipt.counted
        assert "changes nothing" in receipt.message
        with pytest.raises(ValueError, match="must come in one part where the graph") as e:
            policy.feedback(name, {"0.2": 0.5, "0.6": 0.0})
        assert "(event 2), which said that '0.2', '0.4' was revealed, and no other" in str(e.value)
        assert "got '0.2', '0.6'" in str(e.value)
        with pytest.raises(ValueError, match="and no other action; got nothing"):
            policy.feedback(name, {})
        with pytest.raises(ValueError, match="must agree with what is known"):
            policy.feedback(name, {"0.2": 0.75, "0.4": 0.25})
        silent = policy.decide({"v": 1.0}).decision_id
        assert policy.feedback(silent, {}).counted
        assert not policy.feedback(silent, {}).counted
        with pytest.raises(ValueError, match="said that nothing was revealed"):
            policy.feedback(silent, {"0.2": 0.5})
        assert policy.n_events == 4
        assert to_bytes(policy.agent) != state
    assert verify(tmp_path / "log.db") == []


def test_what_is_ruled_out_is_refused_and_changes_nothing(tmp_path):
    own = Problem(BIDS, reveals={"own": True, "answers": "learned"})
    cases = [
        (AUCTION, lambda made: {}, "must hold the played action"),
        (AUCTION, lambda made: {made.action: 0.0}, "must hold every higher level"),
        (own, lambda made: dict.fromkeys(BIDS, 0.0), "must be of actions that playing"),
    ]
    for number, (problem, wrong, message) in enumerate(cases):
        with Policy(tmp_path / f"{number}.db", problem=problem, seed=0) as policy:
            right = policy.decide({"v": 0.5}, actions=["0.8"])
            decision = policy.decide({"v": 0.5}, actions=["0.2", "0.4", "0.6"])
            while decision.action == "0.6":  # none of the round is higher
                decision = policy.decide({"v": 0.5}, actions=["0.2", "0.4", "0.6"])
            state, n_events = to_bytes(policy.agent), policy.n_events
            with pytest.raises(ValueError, match=message):
                policy.feedback(decision.decision_id, wrong(decision))
            both = {right.decision_id: {"0.8": 0.5}, decision.decision_id: wrong(decision)}
            with pytest.raises(ValueError, match=message):
                policy.feedback_many(both)
            assert policy.n_events == n_events
            assert to_bytes(policy.agent) == state
        assert verify(tmp_path / f"{number}.db") == []


def test_an_agent_without_a_problem_hears_of_one_part_too(tmp_path):
    agent = SquareCBUG(graph_oracle=graph_oracles.EdgeCounts(2))
    with Policy(tmp_path / "log.db", agent, seed=0) as policy:
        name = policy.decide([1.0], graphs.full_information(2)).decision_id
        policy.feedback(name, {0: 0.5})
        with pytest.raises(ValueError, match="must come in one part"):
            policy.feedback(name, {1: 0.5})
    with DecisionLog(tmp_path / "log.db") as log:
        assert not log.informed


def test_an_export_has_no_reveal_probabilities(tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    with Policy(tmp_path / "log.db", problem=AUCTION, seed=3) as policy:
        play(policy, 0, 10)
    with DecisionLog(tmp_path / "log.db") as log:
        assert export_parquet(log, tmp_path / "log.parquet") == 10
    table = parquet.read_table(tmp_path / "log.parquet")
    assert table["reveal_probabilities"].null_count == 10
    assert json.loads(table["graph"][0].as_py())["family"] == "full_information"
    assert b'unknown = "bids"' in table.schema.metadata[b"problem"]


def test_versions_may_know_or_learn_what_is_revealed(tmp_path):
    known = Problem(BIDS, feedback="rewards", range=(-1, 1), features={"v": "number"})
    with Policy(tmp_path / "log.db", problem=known, seed=1) as policy:
        for t in range(20):
            made = policy.decide({"v": t / 20})
            policy.feedback(made.decision_id, {made.action: 0.5})
        waiting = policy.decide({"v": 0.5})
        change = policy.change(AUCTION)
        assert change.said[0].startswith("learning starts anew, as what the actions reveal")
        assert not change.version.informed
        before = to_bytes(policy.agent)
        policy.feedback(waiting.decision_id, {waiting.action: 0.5})
        assert to_bytes(policy.agent) == before  # its silence on others means something else
        play(policy, 0, 20)
        capped = Problem(**AUCTION_TERMS, limits={"caps": {"0.8": 0.5}})
        assert policy.change(capped).said == ("what was learned is kept",)
        play(policy, 20, 30)
        state = to_bytes(policy.agent)
    with DecisionLog(tmp_path / "log.db") as log:
        assert [version.informed for version in log.versions] == [True, False, False]
        assert [row.informed for row in log] == [True] * 21 + [False] * 30
        assert to_bytes(replay(log).agent) == state
        assert summarize(log).weights == "certain"
        assert evaluate(log, constant("0.2")).weights == "certain"
    assert verify(tmp_path / "log.db") == []


def test_a_default_after_waiting_would_say_that_nothing_was_revealed():
    with pytest.raises(ValueError, match=r"`defaults\.waiting` must be left out where it is not"):
        Problem(BIDS, reveals="unknown", defaults={"waiting": 10.0, "loss": 1.0})
    kept = Problem(BIDS, reveals="unknown", defaults={"keep_days": 10.0})
    assert kept.defaults.keep_days == 10.0
