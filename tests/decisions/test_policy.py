"""Decisions, late feedback and restarts, on SQLite and PostgreSQL alike."""

import json
import os
import threading
from collections import Counter
from dataclasses import FrozenInstanceError, asdict

import numpy as np
import pytest
from scipy.sparse import csr_array, random_array

import graphcb
from graphcb import (
    Decision,
    DecisionLog,
    FeedbackGraph,
    InformationDirected,
    Policy,
    SquareCBG,
    graphs,
)
from graphcb.decisions import LogError, ReplayError, replay
from graphcb.decisions.transition import uniform_at
from graphcb.oracles import (
    LinearOGD,
    LogisticOGD,
    NewsvendorOGD,
    OnlineRidge,
    SharedLinearOGD,
    VovkAggregation,
)
from graphcb.saving import to_bytes

COPS = graphs.cops_and_robbers(4)
MIXED = (COPS, graphs.bandit(4), graphs.random_self_aware(4, 0.5, np.random.default_rng(0)))


def new_agent(gamma=None):
    return SquareCBG(LinearOGD(4, 3, learning_rate=0.1), gamma=gamma)


def context(number):
    return np.random.default_rng(number).random(3)


def losses(graph, action, number):
    values = np.random.default_rng(1000 + number).random(graph.n_actions)
    return {int(a): float(values[a]) for a in np.flatnonzero(graph.row(action))}


def play(policy, numbers, waiting):
    """Decide on each number; feedback comes three rounds late and newest first."""
    made = []
    for number in numbers:
        graph = MIXED[number % 3]
        decision = policy.decide(context(number), graph)
        made.append((decision.action, decision.probabilities, decision.gamma))
        waiting.append((number, decision))
        if len(waiting) == 4:
            for late, old in reversed(waiting[:3]):
                seen = losses(MIXED[late % 3], old.action, late)
                assert policy.feedback(old.decision_id, seen).counted
            del waiting[:3]
    return made


class TestDecision:
    def test_says_all_that_is_needed_to_judge_it(self, new_log):
        with Policy(new_log(), new_agent(graphcb.SquareRoot(5.0, 1.0)), seed=1) as policy:
            twin = new_agent(graphcb.SquareRoot(5.0, 1.0))
            for number in range(5):
                decision = policy.decide(context(number), COPS)
                np.testing.assert_array_equal(
                    decision.probabilities, twin.act(context(number), COPS)
                )
                assert decision.gamma == 5.0 * np.sqrt(number + 1)
                assert decision.probability == decision.probabilities[decision.action_index]
                assert decision.model_version == number
                seen = losses(COPS, decision.action, number)
                policy.feedback(decision.decision_id, seen)
                twin.learn(context(number), list(seen), list(seen.values()))

    def test_is_frozen_and_goes_through_json(self, tmp_path):
        with Policy(tmp_path / "a.db", new_agent()) as policy:
            decision = policy.decide(context(0), COPS)
        with pytest.raises(FrozenInstanceError):
            decision.action = 2
        assert json.loads(json.dumps(asdict(decision)))["action"] == decision.action
        assert Decision.from_json(decision.to_json()) == decision
        with pytest.raises(ValueError, match="`text` must be a decision in JSON with decision_id"):
            Decision.from_json('{"action": 1}')

    def test_an_agent_without_gamma_has_none(self, tmp_path):
        with Policy(tmp_path / "a.db", graphcb.Uniform()) as policy:
            assert policy.decide(None, COPS).gamma is None

    def test_actions_are_drawn_with_their_probabilities(self, tmp_path):
        agent = graphcb.EpsilonGreedy(LinearOGD(4, 3), epsilon=0.4)
        with Policy(tmp_path / "a.db", agent, seed=3) as policy:
            made = policy.decide_many([context(0)] * 4000, COPS)
        counts = Counter(decision.action for decision in made)
        expected = np.array([0.7, 0.1, 0.1, 0.1]) * 4000
        observed = np.array([counts[a] for a in range(4)])
        assert ((observed - expected) ** 2 / expected).sum() < 16.27  # chi-squared, 3 df, 0.1 %

    def test_the_uniform_numbers_are_uniform_and_differ_by_seed_and_event(self):
        values = np.array([[uniform_at(seed, i) for i in range(1, 2001)] for seed in (0, 1)])
        assert values.min() >= 0.0
        assert values.max() < 1.0
        assert np.unique(values).size == 4000
        for row in values:
            steps = np.arange(1, 2001) / 2000
            assert np.abs(np.sort(row) - steps).max() < 1.95 / np.sqrt(2000)  # Kolmogorov, 0.1 %
        assert abs(np.corrcoef(values)[0, 1]) < 0.08


class TestFeedback:
    def test_a_second_one_changes_nothing_and_says_so(self, new_log):
        with Policy(new_log(), new_agent(), seed=0) as policy:
            decision = policy.decide(context(0), COPS)
            seen = losses(COPS, decision.action, 0)
            first = policy.feedback(decision.decision_id, seen)
            assert (first.counted, first.message) == (True, "counted")
            state, events = to_bytes(policy.agent), policy.n_events
            again = policy.feedback(decision.decision_id, seen)
            assert not again.counted
            assert "already has its feedback (event 2), with the same losses" in again.message
            text = r"must agree with what is known .* has loss 0\.\d+ \(event 2\), got 0\.0"
            with pytest.raises(ValueError, match=text):
                policy.feedback(decision.decision_id, dict.fromkeys(seen, 0.0))
            assert (to_bytes(policy.agent), policy.n_events) == (state, events)

    def test_nothing_revealed_is_a_feedback(self, tmp_path):
        with Policy(tmp_path / "a.db", graphcb.Uniform()) as policy:
            decision = policy.decide(None, COPS)
            assert policy.feedback(decision.decision_id, {}).counted
        with DecisionLog(tmp_path / "a.db") as log:
            (row,) = log
        assert row.feedback.actions.size == 0

    def test_the_order_within_one_feedback_does_not_matter(self, tmp_path):
        states = []
        for name, order in (("a.db", (1, 2, 3)), ("b.db", (3, 1, 2))):
            agent = graphcb.EpsilonGreedy(LinearOGD(4, 3), epsilon=0.0)
            with Policy(tmp_path / name, agent, seed=0) as policy:
                decision = policy.decide(context(0), COPS)
                policy.feedback(decision.decision_id, {a: 0.1 * a for a in order})
                states.append(to_bytes(policy.agent))
        assert states[0] == states[1]

    @pytest.mark.parametrize(
        ("seen", "kind", "text"),
        [
            ({0: 0.5}, ValueError, r"actions that playing 0 can reveal \(1, 2, 3\), got action 0"),
            (
                {4: 0.5},
                ValueError,
                r"`action in losses` must be one of the actions decided on \(0, 1, 2, 3\), got 4",
            ),
            ({"one": 0.5}, ValueError, r"decided on \(0, 1, 2, 3\), got 'one'"),
            ({None: 0.5}, ValueError, r"decided on \(0, 1, 2, 3\), got None"),
            ({1: 0.5, "1": 0.5}, ValueError, "`losses` must name each action once, got 1 twice"),
            ({1: float("nan")}, ValueError, "`losses` must be finite, got nan for action 1"),
            ({1: "high"}, TypeError, "`losses` must be numbers, got 'high' for action 1"),
            ([0.5], TypeError, r"`losses` must be a mapping \{action: loss, ...\}, got list"),
        ],
    )
    def test_bad_losses_change_nothing(self, tmp_path, seen, kind, text):
        with Policy(tmp_path / "a.db", graphcb.Greedy(LinearOGD(4, 3))) as policy:
            decision = policy.decide(context(0), COPS)
            state = to_bytes(policy.agent)
            with pytest.raises(kind, match=text):
                policy.feedback(decision.decision_id, seen)
            good = policy.decide(context(1), COPS)
            with pytest.raises(kind, match=text):  # nor does the good half of a batch
                policy.feedback_many({good.decision_id: {1: 0.5}, decision.decision_id: seen})
            assert policy.model_version == 0
            assert policy.feedback(decision.decision_id, {1: 0.5}).counted
        assert state != policy_state(tmp_path / "a.db")

    def test_an_action_that_reveals_nothing_says_none(self, tmp_path):
        with Policy(tmp_path / "a.db", graphcb.Uniform(), seed=1) as policy:
            while (decision := policy.decide(None, graphs.apple_tasting())).action != 1:
                pass
            with pytest.raises(ValueError, match=r"playing 1 can reveal \(none\), got action 0"):
                policy.feedback(decision.decision_id, {0: 0.5})

    def test_unknown_identifiers(self, new_log):
        with Policy(new_log(), graphcb.Uniform()) as policy:
            made = policy.decide(None, COPS).decision_id
            name, _, token = made.split("-")
            beyond = f"decision '{name}-2-{token}' is not in the log .*, which ends at event 1: it"
            with pytest.raises(LookupError, match=beyond):
                policy.feedback(f"{name}-2-{token}", {})
            other = f"00000000-1-{token}"
            with pytest.raises(LookupError, match=f"decision '{other}' is from another log"):
                policy.feedback(other, {})
            example = f"such as '{name}-7-0123456789abcdef'"
            for wrong in ("seven", f"{name}-1", f"{name}-07-{token}", f"{made} ", 1, None):
                with pytest.raises(LookupError, match=f"{example}, got {wrong!r}"):
                    policy.feedback(wrong, {})
            with pytest.raises(LookupError, match="where event 1 is another one: the log was"):
                policy.feedback(f"{name}-1-{'0' * 16}", {})
            assert policy.feedback(made, {}).counted
            with pytest.raises(LookupError, match="where event 2 is another one"):
                policy.feedback(f"{name}-2-{token}", {})  # event 2 is a feedback


def policy_state(location):
    with DecisionLog(location) as log:
        return to_bytes(replay(log).agent)


class TestRestart:
    @pytest.mark.parametrize("checkpoint_every", [7, 10_000])
    def test_as_if_it_had_never_stopped(self, new_log, checkpoint_every):
        whole, parts = [], []
        with Policy(new_log(), new_agent(), seed=5) as policy:
            whole += play(policy, range(40), [])
            state = to_bytes(policy.agent)
        location, waiting = new_log(), []
        for begin in range(0, 40, 8):
            with Policy(location, new_agent(), seed=5, checkpoint_every=checkpoint_every) as policy:
                parts += play(policy, range(begin, begin + 8), waiting)
                if begin % 16 == 0:
                    policy._log._checkpoint = lambda *_: None  # as if it had been killed
        assert parts == whole
        with DecisionLog(location) as log:
            assert to_bytes(replay(log).agent) == state
            assert to_bytes(replay(log, from_checkpoint=True).agent) == state
            assert (log.n_events, log.n_decisions, log.n_feedbacks) == (79, 40, 39)

    def test_a_log_of_many_pages(self, tmp_path, monkeypatch):
        monkeypatch.setattr("graphcb.decisions.records.PAGE", 7)
        with Policy(tmp_path / "a.db", new_agent(), seed=5) as policy:
            play(policy, range(40), [])
            state = to_bytes(policy.agent)
        assert policy_state(tmp_path / "a.db") == state

    @pytest.mark.parametrize(
        "gamma", [None, 10.0, graphcb.Doubling(60, 3.0), graphcb.FromTheory(50, 2.0, 3)]
    )
    def test_with_every_schedule(self, tmp_path, gamma):
        with Policy(tmp_path / "a.db", new_agent(gamma), seed=5) as policy:
            play(policy, range(40), [])
            state = to_bytes(policy.agent)
        assert policy_state(tmp_path / "a.db") == state

    def test_batches_are_singles_made_durable_together(self, new_log):
        made = []
        for batch in (1, 5):
            with Policy(new_log(), new_agent(), seed=2) as policy:
                for begin in range(0, 20, 5):
                    rows = [context(n) for n in range(begin, begin + 5)]
                    decisions = []
                    for start in range(0, 5, batch):
                        decisions += policy.decide_many(rows[start : start + batch], COPS)
                    seen = {d.decision_id: losses(COPS, d.action, begin) for d in decisions}
                    if batch == 1:
                        receipts = [policy.feedback(*item) for item in seen.items()]
                    else:
                        receipts = policy.feedback_many(seen)
                    assert all(receipt.counted for receipt in receipts)
                    made += [d.probabilities for d in decisions]
                state = to_bytes(policy.agent)
        assert made[:20] == made[20:]
        assert policy_state(policy.location) == state
        with Policy(policy.location) as policy:
            assert policy.decide_many([], COPS) == []
            assert policy.feedback_many({}) == []

    def test_the_agent_and_the_seed_of_a_log_are_those_it_began_with(self, new_log):
        location = new_log()
        with Policy(location, new_agent(), seed=4) as policy:
            play(policy, range(5), [])
        with Policy(location) as policy:
            assert policy.n_events == 8
        other = SquareCBG(LinearOGD(4, 3, learning_rate=0.2))
        text = "`agent` must be as it was when the log was created, or left out, got one that"
        with pytest.raises(ValueError, match=text):
            Policy(location, other)
        with pytest.raises(ValueError, match="`seed` must be 4, with which the log was created"):
            Policy(location, seed=5)
        with Policy(location, new_agent(), seed=4):
            pass

    def test_a_new_log_needs_an_agent_that_can_be_saved(self, new_log, tmp_path):
        with pytest.raises(ValueError, match="`agent` must be given to create a log, or a problem"):
            Policy(new_log())
        oracle = SharedLinearOGD(1, lambda context, actions: np.ones((len(actions), 1)))
        with pytest.raises(TypeError, match=r"`Greedy.oracle.features` must be made of numbers"):
            Policy(tmp_path / "a.db", graphcb.Greedy(oracle))
        assert list(tmp_path.iterdir()) == []

    def test_the_agent_handed_in_stays_as_it_was(self, tmp_path):
        agent = new_agent()
        before = to_bytes(agent)
        with Policy(tmp_path / "a.db", agent) as policy:
            play(policy, range(10), [])
        assert to_bytes(agent) == before

    def test_a_damaged_checkpoint_is_passed_over(self, tmp_path):
        import sqlite3

        with Policy(tmp_path / "a.db", new_agent(), seed=5) as policy:
            whole = play(policy, range(20), waiting := [])
        del waiting[:]
        database = sqlite3.connect(tmp_path / "a.db")
        database.execute("UPDATE graphcb_checkpoints SET agent = x'00'")
        database.commit()
        database.close()
        with Policy(tmp_path / "a.db") as policy:
            assert policy.n_events == 20 + 18
        assert len(whole) == 20

    def test_a_log_that_does_not_come_out_the_same_is_refused(self, tmp_path, monkeypatch):
        with Policy(tmp_path / "a.db", new_agent(), seed=5) as policy:
            policy._log._checkpoint = lambda *_: None
            play(policy, range(10), [])
        monkeypatch.setattr(LinearOGD, "update", lambda *_: None)  # another version, say
        text = r"decision \d+ differs from the log when replayed .*differ by up to 0\.\d+.*graphcb"
        with pytest.raises(ReplayError, match=text):
            Policy(tmp_path / "a.db")
        with Policy(tmp_path / "a.db", check_replay=False) as policy:
            assert policy.n_events == 19


class Words:
    """An agent from outside graphcb, on contexts that are no numbers."""

    def __init__(self):
        self.seen = []

    def act(self, context, graph, actions=None):
        weights = np.array([1.0 + len(context["text"]) * (a == "b") for a in actions])
        return weights / weights.sum()

    def learn(self, context, actions, losses):
        self.seen.append((context["text"], actions, losses.tolist()))


class TestForms:
    def test_contexts_in_every_form(self, new_log):
        rows = [
            np.array([0.5, 0.0, 0.25]),
            [0.5, 0, 0.25],
            np.array([1, 0, 2]),
            np.array([0.5, 0.0, 0.25], dtype=np.float32),
            ([0, 2], [0.5, 0.25]),
            (np.array([], dtype=int), []),
            csr_array([[0.5, 0.0, 0.25]]),
        ]
        agent = SquareCBG(LogisticOGD(4, 3))
        twin = SquareCBG(LogisticOGD(4, 3))
        with Policy(new_log(), agent, seed=0) as policy:
            for row in rows:
                decision = policy.decide(row, COPS)
                np.testing.assert_array_equal(decision.probabilities, twin.act(row, COPS))
                policy.feedback(decision.decision_id, losses(COPS, decision.action, 0))
                seen = losses(COPS, decision.action, 0)
                twin.learn(row, list(seen), list(seen.values()))
            state = to_bytes(policy.agent)
        assert policy_state(policy.location) == state
        with DecisionLog(policy.location) as log:
            read = [row.context for row in log]
        np.testing.assert_array_equal(read[1], rows[0])
        np.testing.assert_array_equal(read[4][0], [0, 2])
        np.testing.assert_array_equal(read[6].toarray(), rows[6].toarray())

    def test_identifiers_that_are_stock_levels(self, tmp_path):
        levels = np.linspace(0.0, 1.0, 6)
        agent = SquareCBG(NewsvendorOGD(1, learning_rate=0.1))
        twin = SquareCBG(NewsvendorOGD(1, learning_rate=0.1))
        with Policy(tmp_path / "a.db", agent, seed=0) as policy:
            for day in range(10):
                decision = policy.decide([0.1 * day], graphs.inventory(6), levels)
                p = twin.act([0.1 * day], graphs.inventory(6), levels)
                np.testing.assert_array_equal(decision.probabilities, p)
                sold = levels[: decision.action_index + 1]
                seen = {level: abs(level - 0.4) for level in sold}
                assert decision.action == sold[-1]
                policy.feedback(decision.decision_id, seen)
                twin.learn([0.1 * day], sold, list(seen.values()))
            assert to_bytes(policy.agent) == to_bytes(twin)

    def test_an_agent_of_ones_own_on_texts(self, tmp_path):
        with Policy(tmp_path / "a.db", Words(), seed=0, classes=[Words]) as policy:
            decision = policy.decide({"text": "hello"}, graphs.bandit(2), ["a", "b"])
            assert decision.probabilities == (1 / 7, 6 / 7)
            policy.feedback(decision.decision_id, {decision.action: 0.5})
            state = to_bytes(policy.agent)
        with Policy(tmp_path / "a.db", classes=[Words]) as policy:
            assert to_bytes(policy.agent) == state
        with pytest.raises(ValueError, match="a Words, which is not a class of graphcb"):
            Policy(tmp_path / "a.db")

    def test_graphs_in_every_form_act_as_they_will_when_read(self, new_log):
        rng = np.random.default_rng(0)
        dense = (rng.random((30, 30)) < 0.3) * rng.random((30, 30))
        np.fill_diagonal(dense, 1.0)
        large = random_array((600, 600), density=0.01, rng=rng).tolil()
        large.setdiag(1.0)
        forms = [
            FeedbackGraph(dense),
            FeedbackGraph(csr_array(dense)),  # read as a dense matrix
            FeedbackGraph(large.tocsr()),
            FeedbackGraph.from_structure(Rule()),
            graphs.disjoint_cliques([2, 3]),
        ]
        with Policy(new_log(), InformationDirected(OnlineRidge(600, 2)), seed=0) as policy:
            for graph in forms * 2:
                identifiers = np.arange(graph.n_actions)
                decision = policy.decide([0.3, 0.4], graph, identifiers)
                seen = {int(a): 0.1 * (a % 7) for a in np.flatnonzero(graph.row(decision.action))}
                policy.feedback(decision.decision_id, seen)
            state = to_bytes(policy.agent)
        assert policy_state(policy.location) == state
        with DecisionLog(policy.location) as log:
            assert [row.graph for row in log] == forms * 2
            (count,) = log.storage.execute("SELECT count(*) FROM graphcb_graphs")[0]
            assert count == 4  # the first two have the same entries

    @pytest.mark.parametrize(
        ("value", "kind", "text"),
        [
            ((1.0, 2.0, 3.0), ValueError, r"`context` as a tuple must be a pair .*got \(1.0, 2.0"),
            (([0.5], [1.0]), ValueError, "whole numbers first"),
            (
                object(),
                TypeError,
                "`context` must be a row of numbers, .* to be logged, got object",
            ),
            (
                csr_array((2, 3)),
                ValueError,
                r"must be one row, got a sparse array of shape \(2, 3\)",
            ),
            ([0.5, 0.5], ValueError, r"`context` must have shape \(3,\)"),
            ([0.5, np.nan, 0.5], ValueError, "`context` must be finite"),
        ],
    )
    def test_bad_contexts_change_nothing(self, tmp_path, value, kind, text):
        with Policy(tmp_path / "a.db", new_agent(graphcb.Doubling(60, 3.0)), seed=5) as policy:
            play(policy, range(10), [])
            state, events = to_bytes(policy.agent), policy.n_events
            with pytest.raises(kind, match=text):
                policy.decide(value, COPS)
            with pytest.raises(kind, match=text):
                policy.decide_many([context(1), value], COPS)
            assert (to_bytes(policy.agent), policy.n_events) == (state, events)
            with pytest.raises(TypeError, match="`graph` must be a FeedbackGraph, got list"):
                policy.decide(context(1), [[1, 0], [0, 1]])

    def test_a_feedback_that_the_oracle_refuses_changes_nothing(self, tmp_path):
        oracle = VovkAggregation([LinearOGD(4, 3), OnlineRidge(4, 3)])
        with Policy(tmp_path / "a.db", SquareCBG(oracle), seed=5) as policy:
            play(policy, range(10), waiting := [])
            state, events = to_bytes(policy.agent), policy.n_events
            number, decision = waiting[0]
            seen = losses(MIXED[number % 3], decision.action, number)
            with pytest.raises(ValueError, match="`losses` must lie in loss_range"):
                policy.feedback(decision.decision_id, dict.fromkeys(seen, 5.0))
            assert (to_bytes(policy.agent), policy.n_events) == (state, events)
            assert policy.feedback(decision.decision_id, seen).counted


class Rule(graphs.Structure):
    """Everybody reveals itself and action 0: a structure that graphcb does not know."""

    family = "mine"
    n_actions = 5

    def __eq__(self, other):
        return isinstance(other, Rule)

    __hash__ = None

    def arguments(self):
        return {}

    def dense(self):
        matrix = np.eye(5)
        matrix[:, 0] = 1.0
        return matrix

    def row(self, action):
        return self.dense()[action]

    def reveal_probabilities(self, probabilities):
        return probabilities @ self.dense()

    def self_loops(self):
        return np.ones(5, dtype=bool)

    def in_degrees(self):
        return np.array([5, 1, 1, 1, 1])

    def is_deterministic(self):
        return True

    def is_symmetric(self):
        return False

    def subgraph(self, actions):
        return None

    def numbers(self):
        return None


class TestProcess:
    def test_threads_share_a_policy(self, new_log):
        made, problems = [], []

        def run(policy, number):
            try:
                for i in range(15):
                    decision = policy.decide(context(100 * number + i), COPS)
                    policy.feedback(decision.decision_id, losses(COPS, decision.action, i))
                    made.append(decision.decision_id)
            except Exception as problem:
                problems.append(problem)

        with Policy(new_log(), new_agent()) as policy:
            threads = [threading.Thread(target=run, args=(policy, n)) for n in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            state = to_bytes(policy.agent)
        assert problems == []
        assert len(set(made)) == 60
        assert policy_state(policy.location) == state

    @pytest.mark.parametrize("moment", ["before", "after"])
    def test_an_interrupt_around_the_commit_leaves_memory_and_log_as_one(self, tmp_path, moment):
        with Policy(tmp_path / "a.db", new_agent(), seed=5) as policy:
            waiting = []
            play(policy, range(5), waiting)
            plain = policy._log.storage.execute

            def execute(sql, parameters=()):
                if sql == "COMMIT" and moment == "before":
                    raise KeyboardInterrupt
                rows = plain(sql, parameters)
                if sql == "COMMIT":
                    raise KeyboardInterrupt
                return rows

            policy._log.storage.execute = execute
            number, decision = waiting[0]
            seen = losses(MIXED[number % 3], decision.action, number)
            events = policy.n_events
            with pytest.raises(KeyboardInterrupt):
                policy.feedback(decision.decision_id, seen)
            policy._log.storage.execute = plain
            assert policy.n_events == events + (moment == "after")
            assert policy.feedback(decision.decision_id, seen).counted == (moment == "before")
            state = to_bytes(policy.agent)
        assert policy_state(tmp_path / "a.db") == state

    def test_a_forked_child_may_not_write(self, tmp_path):
        with Policy(tmp_path / "a.db", new_agent()) as policy:
            policy._log._process = os.getpid() + 1  # as a child finds it
            with pytest.raises(LogError, match=r"belongs to process \d+, not to this one"):
                policy.decide(context(0), COPS)
            policy._log._process = os.getpid()
            policy.decide(context(0), COPS)

    def test_closed_is_closed(self, tmp_path):
        policy = Policy(tmp_path / "a.db", new_agent())
        policy.close()
        policy.close()
        with pytest.raises(LogError, match="this policy is closed; open another"):
            policy.decide(context(0), COPS)

    @pytest.mark.parametrize(
        ("arguments", "kind", "text"),
        [
            ({"seed": -1}, ValueError, "`seed` must be at least 0, got -1"),
            ({"seed": 2**63}, ValueError, r"`seed` must be below 2\*\*63"),
            ({"durability": "none"}, ValueError, '`durability` must be "power-loss" or'),
            ({"checkpoint_every": 0}, ValueError, "`checkpoint_every` must be at least 1"),
        ],
    )
    def test_bad_arguments(self, tmp_path, arguments, kind, text):
        with pytest.raises(kind, match=text):
            Policy(tmp_path / "a.db", new_agent(), **arguments)
        with Policy(tmp_path / "a.db", new_agent()):  # nothing stands in the way
            pass

    def test_a_url_of_another_kind(self):
        with pytest.raises(
            ValueError, match=r"must be a file or a URL postgresql://.* got 'mysql:"
        ):
            Policy("mysql://localhost/a", new_agent())
