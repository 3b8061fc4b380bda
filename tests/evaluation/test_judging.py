"""From a log to an estimate: what counts, what is left out, what cannot be told."""

import numpy as np
import pytest

import graphcb
from graphcb import DecisionLog, FeedbackGraph, Policy, SquareCBG, graphs
from graphcb.decisions import LoggedDecision, LoggedFeedback
from graphcb.evaluation import as_saved, constant, evaluate, greedy, logged, uniform
from graphcb.evaluation.targets import read_target
from graphcb.oracles import LinearOGD, LogisticOGD, OnlineRidge
from graphcb.saving import to_bytes

MEANS = np.array([[0.2, 0.7, 0.5], [0.8, 0.3, 0.6]])  # by kind of context
CONTEXTS = np.eye(2)


def row(graph, p, action, seen, position=1, context=None):
    """A decision as a log gives it; `seen` None for no feedback."""
    feedback = None
    if seen is not None:
        actions = np.array(sorted(seen), dtype=np.int64)
        losses = np.array([seen[a] for a in actions])
        feedback = LoggedFeedback(position + 1, 0.0, actions, actions, losses)
    return LoggedDecision(
        position, f"0badcafe-{position}", 0.0, context, graph, None, action, action, np.array(p),
        None, 0, feedback,
    )  # fmt: skip


def rows(graph, p, n, seed):
    """A simulated log with losses of 0 or 1."""
    rng = np.random.default_rng(seed)
    for position in range(1, n + 1):
        kind = rng.integers(2)
        action = int(rng.choice(3, p=p))
        losses = (rng.random(3) < MEANS[kind]).astype(float)
        seen = {int(a): losses[a] for a in graph.draw_revealed(action, rng)}
        yield row(graph, p, action, seen, position, CONTEXTS[kind])


def test_by_hand():
    graph = graphs.inventory(3)
    p = [0.5, 0.25, 0.25]  # revealed with 1, 0.5, 0.25
    made = [
        row(graph, p, 0, {0: 0.4}),
        row(graph, p, 2, {0: 0.2, 1: 0.6, 2: 0.8}),
    ]
    found = evaluate(made, uniform)
    losses = np.array([0.4 / 3, (0.2 / 1 + 0.6 / 0.5 + 0.8 / 0.25) / 3])
    weights = np.array([1 / 3, (1 / 1 + 1 / 0.5 + 1 / 0.25) / 3])
    mean = losses.sum() / weights.sum()
    errors = losses - mean * weights
    left = weights.sum() ** 2 - (weights**2).sum()
    assert found.graph.value == pytest.approx(mean)
    assert found.graph.standard_error == pytest.approx(np.sqrt((errors**2).sum() / left))
    assert found.plain.value == pytest.approx((0.4 / 0.5 + 0.8 / 0.25) / (1 / 0.5 + 1 / 0.25))
    assert found.doubly_robust is None
    assert (found.n_decisions, found.n_used) == (2, 2)


def test_a_range_of_losses_changes_the_scale_alone():
    graph, p = graphs.full_information(3), [0.2, 0.3, 0.5]
    here = [row(graph, p, 0, {0: 0.4, 1: 0.1, 2: 0.9}), row(graph, p, 1, {0: 0.2, 1: 0.3, 2: 1.0})]
    there = [
        row(graph, p, 0, {0: 14.0, 1: 11.0, 2: 19.0}),
        row(graph, p, 1, {0: 12.0, 1: 13.0, 2: 20.0}),
    ]
    first = evaluate(here, constant(2))
    second = evaluate(there, constant(2), loss_range=(10.0, 20.0))
    assert second.graph.value == pytest.approx(10.0 + 10.0 * first.graph.value)
    assert second.graph.anytime == pytest.approx([10.0 + 10.0 * e for e in first.graph.anytime])
    with pytest.raises(
        ValueError,
        match=r"must lie in loss_range \(0, 9\), got 14 in the feedback for decision 0badcafe-1",
    ):
        evaluate(there, constant(2), loss_range=(0.0, 9.0))
    with pytest.raises(ValueError, match=r"`loss_range` must be \(low, high\) with low < high"):
        evaluate(here, constant(2), loss_range=(1.0, 1.0))


@pytest.mark.parametrize("graph", [graphs.bandit(3), graphs.cops_and_robbers(3)], ids=repr)
def test_all_estimates_meet_on_a_long_log(graph):
    truth = MEANS[:, 1].mean()
    made = list(rows(graph, [0.5, 0.2, 0.3], 2000, seed=0))
    found = evaluate(made, constant(1), oracle=OnlineRidge(3, 2))
    estimates = [found.graph, found.doubly_robust]
    if graph == graphs.bandit(3):
        assert found.plain.value == found.graph.value
        assert found.plain.normal == found.graph.normal
    else:
        assert found.plain is None  # no action shows itself
        assert found.plain_unseen_share == 1.0
    for estimate in estimates:
        assert abs(estimate.value - truth) < 4 * estimate.standard_error
        lower, upper = estimate.anytime
        assert lower < truth < upper
        assert lower < estimate.normal.lower < estimate.normal.upper < upper
        assert upper - lower < 2.5 * (estimate.normal.upper - estimate.normal.lower)
    assert found.doubly_robust.standard_error < found.graph.standard_error
    own = evaluate(made, logged).graph
    assert own.value == pytest.approx(float(MEANS.mean(axis=0) @ [0.5, 0.2, 0.3]), abs=0.03)


def test_the_anytime_interval_of_the_doubly_robust_estimate_holds_at_every_length():
    truth, missed = MEANS[:, 0].mean(), 0
    for seed in range(60):
        made = list(rows(graphs.inventory(3), [0.6, 0.2, 0.2], 100, seed))
        for length in (10, 30, 100):
            found = evaluate(made[:length], constant(0), oracle=OnlineRidge(3, 2)).doubly_robust
            lower, upper = found.anytime
            missed += not lower <= truth <= upper
    assert missed <= 3  # at most 5 % of the logs


def test_the_oracle_predicts_before_it_learns_and_the_callers_stays_untrained():
    oracle = LinearOGD(3, 2)
    before = to_bytes(oracle)
    graph, p = graphs.full_information(3), [1.0, 0.0, 0.0]
    made = [row(graph, p, 0, {0: 1.0, 1: 1.0, 2: 1.0}, 1, CONTEXTS[0])]
    found = evaluate(made, constant(1), oracle=oracle)
    assert found.doubly_robust.value == 1.0
    assert to_bytes(oracle) == before


def test_what_is_left_out_and_what_is_not():
    graph, p = graphs.apple_tasting(), [0.5, 0.5]  # action 1 reveals nothing
    made = [
        row(graph, p, 0, {0: 0.5, 1: 1.0}),
        row(graph, p, 0, None),  # the feedback never came
        row(graph, p, 0, {0: 0.5}),  # but playing 0 shows both
        row(graph, p, 1, None),  # nothing to come
        row(graph, p, 1, {}),
    ]
    found = evaluate(made, constant(1))
    assert (found.n_decisions, found.n_without_feedback, found.n_incomplete) == (5, 1, 1)
    assert (found.n_used, found.n_silent) == (1, 2)  # the last two wait for one that reveals
    assert found.graph.value == pytest.approx(1.0)
    found = evaluate([*made, made[0]], constant(1))
    assert (found.n_used, found.n_silent) == (4, 0)
    found = evaluate([made[3], made[1], made[0]], constant(1))
    assert (found.n_used, found.n_silent) == (1, 1)  # it is left out with the next one
    with pytest.raises(ValueError, match="got 1 decisions, 1 of them without feedback, 0 with"):
        evaluate(made[1:2], uniform)
    with pytest.raises(ValueError, match="must have decisions with complete feedback, got 0"):
        evaluate([], uniform)


def test_play_that_could_not_have_been_seen():
    graph, p = graphs.inventory(3), [0.5, 0.5, 0.0]
    made = [row(graph, p, 1, {0: 0.2, 1: 0.4}, 1, CONTEXTS[0])] * 2
    half = lambda _: np.array([0.0, 0.5, 0.5])  # noqa: E731
    found = evaluate(made, half, oracle=LogisticOGD(3, 2))
    assert found.unseen_share == 0.5
    assert found.graph is found.plain is found.doubly_robust is None
    assert np.isfinite(found.guess)
    assert found.bounds.lower < 0.5 * 0.4
    assert found.bounds.upper > 0.5 * 0.4 + 0.5
    assert evaluate(made, constant(1)).graph.value == pytest.approx(0.4)


def test_a_target_that_is_no_distribution():
    made = [row(graphs.bandit(3), [0.2, 0.3, 0.5], 0, {0: 0.5})]
    with pytest.raises(ValueError, match="`probabilities` must sum to 1"):
        evaluate(made, lambda _: np.ones(3))
    with pytest.raises(ValueError, match=r"one of the actions decided on \(0, 1, 2\), got 3"):
        evaluate(made, constant(3))


def test_self_reveal_by_chance():
    graph = FeedbackGraph([[0.5, 1.0], [0.0, 1.0]])
    found = evaluate([row(graph, [0.5, 0.5], 0, {0: 0.4, 1: 0.2})], constant(0))
    assert found.plain.value == pytest.approx(0.4)
    rows = [
        row(graph, [0.5, 0.5], 0, {0: 0.4, 1: 0.2}),
        row(graph, [0.2, 0.8], 0, {0: 1.0, 1: 0.2}),
    ]
    assert evaluate(rows, constant(0)).plain.value == pytest.approx((0.4 / 0.25 + 1.0 / 0.1) / 14)


def test_through_a_real_log_with_a_learning_agent(tmp_path):
    """An adaptive log: the probabilities depend on what was seen before."""
    rng = np.random.default_rng(3)
    kinds = rng.integers(2, size=600)
    losses = (rng.random((600, 3)) < MEANS[kinds]).astype(float)
    agent = SquareCBG(LinearOGD(3, 2, learning_rate=0.1), gamma=20.0)
    location = tmp_path / "a.db"
    with Policy(location, agent, seed=0, durability="process-kill") as policy:
        for begin in range(0, 600, 50):
            made = policy.decide_many(CONTEXTS[kinds[begin : begin + 50]], graphs.bandit(3))
            seen = {
                d.decision_id: {d.action: losses[begin + i, d.action]} for i, d in enumerate(made)
            }
            policy.feedback_many(seen)
        graphcb.save(policy.agent, tmp_path / "model.npz")
    with DecisionLog(location) as log:
        found = evaluate(log, uniform, oracle=LinearOGD(3, 2, learning_rate=0.1))
        truth = losses.mean()
        assert found.n_used == 600
        for estimate in (found.graph, found.plain, found.doubly_robust):
            assert abs(estimate.value - truth) < 4 * estimate.standard_error
            assert estimate.anytime.lower < truth < estimate.anytime.upper
        best = evaluate(log, read_target(f"greedy:{tmp_path / 'model.npz'}"))
        assert best.graph.value < found.graph.value - 2 * best.graph.standard_error


class TestTargets:
    def test_a_saved_agent_neither_learns_nor_counts(self, tmp_path):
        agent = SquareCBG(LinearOGD(3, 2))
        agent.act(CONTEXTS[0], graphs.bandit(3))
        graphcb.save(agent, tmp_path / "m.npz")
        made = row(graphs.bandit(3), [0.2, 0.3, 0.5], 0, {0: 0.5}, 1, CONTEXTS[0])
        target = as_saved(agent)
        first, state = target(made), to_bytes(agent)
        np.testing.assert_array_equal(target(made), first)
        np.testing.assert_array_equal(read_target(str(tmp_path / "m.npz"))(made), first)
        assert to_bytes(agent) == state

    def test_greedy_takes_an_oracle_or_an_agent(self, tmp_path):
        oracle = LinearOGD(3, 2)
        oracle.update(CONTEXTS[0], [0, 1], [1.0, 1.0])
        graphcb.save(oracle, tmp_path / "o.npz")
        graphcb.save(SquareCBG(oracle), tmp_path / "a.npz")
        made = row(graphs.bandit(3), [0.2, 0.3, 0.5], 0, {0: 0.5}, 1, CONTEXTS[0])
        for target in (greedy(oracle), *(read_target(f"greedy:{tmp_path / n}.npz") for n in "oa")):
            np.testing.assert_array_equal(target(made), [0.0, 0.0, 1.0])

    def test_texts(self, tmp_path):
        made = row(graphs.bandit(3), [0.2, 0.3, 0.5], 0, {0: 0.5})
        np.testing.assert_array_equal(read_target("uniform")(made), np.full(3, 1 / 3))
        np.testing.assert_array_equal(read_target("logged")(made), [0.2, 0.3, 0.5])
        np.testing.assert_array_equal(read_target("constant:2")(made), [0, 0, 1])
        graphcb.save(LinearOGD(3, 2), tmp_path / "o.npz")
        with pytest.raises(ValueError, match=r"must contain an agent, got a LinearOGD; .* greedy:"):
            read_target(str(tmp_path / "o.npz"))
        for text in ("best", "constant:", "constant"):
            with pytest.raises(ValueError, match=r"`policy` must be uniform, logged, constant:A"):
                read_target(text)
        with pytest.raises(FileNotFoundError, match=r"name a model that exists, got 'no.npz'"):
            read_target("no.npz")

    @pytest.mark.parametrize("text", ["constant:2", "constant:0", "constant:1"])
    def test_a_constant_is_named_as_feedback_names_it(self, text, tmp_path):
        losses = {2: 0.9, 0: 0.1, 1: 0.5}
        with Policy(tmp_path / "a.db", graphcb.Uniform(), seed=0) as policy:
            for actions in ([2, 0, 1], None, [1, 2, 0]):
                made = policy.decide(None, graphs.full_information(3), actions)
                policy.feedback(made.decision_id, losses)
        action = int(text[-1])
        with DecisionLog(tmp_path / "a.db") as log:
            for target in (read_target(text), constant(action), constant(str(action))):
                assert evaluate(log, target).graph.value == pytest.approx(losses[action])

    def test_a_constant_stock_level_or_name(self):
        made = row(graphs.full_information(2), [0.5, 0.5], 0, {0: 0.25, 1: 0.75})
        for actions, text in (
            (np.array([0.0, 0.5]), "constant:0.5"),
            (["s", "a:b"], "constant:a:b"),
        ):
            named = made._replace(actions=actions)
            assert evaluate([named], read_target(text)).graph.value == 0.75
        with pytest.raises(ValueError, match=r"decided on \(0\.0, 0\.5\), got '1'"):
            evaluate([made._replace(actions=np.array([0.0, 0.5]))], read_target("constant:1"))

    def test_the_oracle_of_the_doubly_robust_estimate_learns_by_identifier(self, tmp_path):
        oracle = LinearOGD(3, 1, learning_rate=0.5)
        with Policy(tmp_path / "a.db", graphcb.Uniform(), seed=0) as policy:
            for _ in range(40):
                made = policy.decide([1.0], graphs.full_information(3), [2, 0, 1])
                policy.feedback(made.decision_id, {0: 0.0, 1: 0.5, 2: 1.0})
        with DecisionLog(tmp_path / "a.db") as log:
            found = evaluate(log, constant(2), oracle=oracle)
        assert found.doubly_robust.value == pytest.approx(1.0)
        assert found.graph.value == 1.0


def answered_unequally(seed):
    """Action 2 is answered half of the time, the others always."""
    rng = np.random.default_rng(seed)
    p = [0.4, 0.3, 0.3]
    for position in range(1, 601):
        action = int(rng.choice(3, p=p))
        loss = float(rng.random() < (0.2, 0.3, 0.9)[action])
        seen = None if action == 2 and rng.random() < 0.5 else {action: loss}
        yield row(graphs.bandit(3), p, action, seen, position)


def test_decisions_stand_for_those_of_the_same_action_whose_feedback_is_missing():
    truth = 0.4 * 0.2 + 0.3 * 0.3 + 0.3 * 0.9
    found = [evaluate(answered_unequally(seed), logged) for seed in range(40)]
    assert not any(one.answers_alike for one in found)
    assert all(one.graph.anytime is one.bounds is one.plain.anytime is None for one in found)
    held = sum(one.graph.normal.lower <= truth <= one.graph.normal.upper for one in found)
    assert held >= 35
    assert np.mean([one.graph.value for one in found]) == pytest.approx(truth, abs=0.01)


def test_a_difference_is_as_uncertain_as_the_weights_that_both_means_are_divided_by():
    """Reviews (action 0) of safe cases are rare: both means have less than half of the weight
    without any, and more than it all with two, although nearly all that differs was seen."""
    graph, n, missed = graphs.apple_tasting(2), 300, 0
    for seed in range(30):
        rng, made = np.random.default_rng(seed), []
        for position in range(1, n + 1):
            is_risky = rng.random() < 0.4
            p = [1.0, 0.0] if is_risky else [0.005, 0.995]
            action = int(rng.random() >= p[0])
            losses = {0: 0.1, 1: float(rng.random() < (0.8 if is_risky else 0.05))}
            made.append(row(graph, p, action, losses if action == 0 else None, position))
        risky = np.mean([one.probabilities[0] == 1.0 for one in made])
        truth = 0.7 * risky + (1.0 - risky) * 0.005 * (0.05 - 0.1)
        normal = evaluate(made, constant(1), against=logged).difference.normal
        assert normal.upper - normal.lower < 1.0  # of 2
        missed += not normal.lower <= truth <= normal.upper
    assert missed <= 4


def test_where_few_decisions_tell_policies_apart_their_difference_is_not_sure():
    """Three rare decisions have most of the weight, and happen to have one loss."""
    graph, common, rare = graphs.bandit(2), [0.5, 0.5], [0.99, 0.01]
    rng = np.random.default_rng(0)
    made = [row(graph, common, k % 2, {k % 2: float(rng.random() < 0.5)}, k + 1)
            for k in range(400)]  # fmt: skip
    made += [row(graph, rare, 1, {1: 0.5}, 401 + k) for k in range(3)]
    found = evaluate(made, constant(1), against=constant(0)).difference
    assert found.normal.upper - found.normal.lower > 2.0 * 2.0 * 1.96 * found.standard_error


def test_switch_leaves_heavy_weights_aside_and_only_those():
    oracle = OnlineRidge(3, 2)
    even = evaluate(rows(graphs.bandit(3), [0.4, 0.3, 0.3], 300, 0), uniform, oracle=oracle)
    assert even.estimates["switch"] == even.doubly_robust
    graph, common, rare = graphs.bandit(3), [0.4, 0.3, 0.3], [0.999, 0.0005, 0.0005]
    made = list(rows(graph, common, 300, 0))
    made.append(row(graph, rare, 1, {1: 1.0}, 301, CONTEXTS[0]))
    one = evaluate(made, uniform, oracle=oracle)
    switch = one.estimates["switch"]
    assert 0.0 < switch.bias < 1.0
    assert abs(switch.value - even.doubly_robust.value) < 0.05 < one.doubly_robust.value
    assert one.doubly_robust.value - switch.value > 0.5
