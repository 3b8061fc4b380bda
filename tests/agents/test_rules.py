import numpy as np
import pytest
from scipy.sparse import csr_array

from graphcb import (
    FeedbackGraph,
    InformationDirected,
    Limits,
    SquareCBG,
    dec,
    graphs,
    load,
    oracles,
    save,
    solve_dec,
)
from graphcb.agents import EpsilonGreedy, Greedy, Rules, SquareCB
from graphcb.agents.names import names_of
from graphcb.agents.rules import learnable_dec, unlearnable

REVIEW = Limits(caps={"review": 0.05})


class Table:
    def __init__(self, *losses):
        self.losses = np.array(losses)

    def predict(self, context, actions):
        return self.losses if actions is None else self.losses[: len(actions)]

    def update(self, context, actions, losses):
        pass


@pytest.mark.parametrize(
    ("actions", "names", "called"),
    [
        (None, None, range(2)),
        (None, ["a", "b"], ("a", "b")),
        (np.array([3, 5]), None, (3, 5)),
        (np.array([0.5, 1.0]), None, (0.5, 1.0)),
        (["x", "y"], None, ("x", "y")),
        (["x", "y"], ["a", "b"], ("a", "b")),
        (np.eye(2), None, range(2)),
        ([[1.0, 0.0], [0.0, 1.0]], None, range(2)),
        ([np.ones(2), np.ones(2)], None, range(2)),
        ([([0], [1.0]), ([1], [2.0])], None, range(2)),
        (csr_array(np.eye(2)), None, range(2)),
    ],
)
def test_what_the_actions_of_a_round_are_called(actions, names, called):
    assert names_of(2, actions, names) == called


def test_names_must_be_as_many_as_the_actions():
    rules = Rules.of(REVIEW)
    with pytest.raises(ValueError, match="`names` must have one name for each of the 3 actions of"):
        rules.box(3, names=["review"])
    with pytest.raises(ValueError, match="`actions` must have one name for each of the 3 actions"):
        rules.box(3, actions=["review"])
    for wrong in (5, [["review"], ["b"], ["c"]], np.eye(3)):
        with pytest.raises(TypeError, match="`names` must be a sequence of names, one for each"):
            rules.box(3, names=wrong)


def test_limits_and_rounds_must_speak_of_the_same():
    agent = Greedy(Table(0.1, 0.2), limits=REVIEW)
    text = r"`names` must call the actions what `limits` calls them, as in 'review'; got 0, 1, so"
    for actions in (None, np.eye(2), [0, 1]):
        with pytest.raises(ValueError, match=text):
            agent.act(None, graphs.bandit(2), actions)
    assert agent.n_rounds == 0
    by_index = Greedy(Table(0.1, 0.2), limits=Limits(caps={0: 0.05}))
    with pytest.raises(ValueError, match="as in 0; got 'review', 'approve', so that no limit"):
        by_index.act(None, graphs.bandit(2), names=["review", "approve"])
    by_level = Greedy(Table(0.1, 0.2), limits=Limits(caps={0.5: 0.05}))
    with pytest.raises(ValueError, match=r"as in 0\.5; got 0, 1"):
        by_level.act(None, graphs.bandit(2))
    np.testing.assert_allclose(by_level.act(None, graphs.bandit(2), [0.5, 1.0]), [0.05, 0.95])
    np.testing.assert_allclose(
        agent.act(None, graphs.bandit(2), names=["review", "approve"]), [0.05, 0.95]
    )


def test_a_name_that_is_not_offered_is_ignored_today():
    agent = Greedy(Table(0.1, 0.2), limits=Limits(caps={"review": 0.05, "call": 0.5}))
    np.testing.assert_array_equal(agent.act(None, graphs.bandit(2), ["a", "b"]), [1, 0])
    np.testing.assert_array_equal(agent.act(None, graphs.bandit(2), ["call", "b"]), [0.5, 0.5])


@pytest.mark.parametrize("agent", [Greedy, EpsilonGreedy, SquareCB, SquareCBG])
def test_what_is_no_limits_is_refused(agent):
    with pytest.raises(TypeError, match=r"`limits` must be a graphcb.Limits, got dict; write Lim"):
        agent(Table(0.1, 0.2), limits={"caps": 0.5})


@pytest.mark.parametrize("agent", [Greedy, EpsilonGreedy, SquareCB, SquareCBG])
def test_limits_that_clash_in_a_round_are_refused_and_nothing_changes(agent):
    learner = agent(Table(0.1, 0.2), limits=Limits(floors={0: 0.7, 1: 0.6}))
    before = repr(vars(learner))
    with pytest.raises(ValueError, match=r"floors of 0 \(0.7\) and 1 \(0.6\) add up to 1.3"):
        learner.act(None, graphs.bandit(2))
    assert repr(vars(learner)) == before
    assert learner.act(None, graphs.bandit(2), [0, 7])[0] >= 0.7


def test_closed_forms_know_no_limits():
    text = '`method` must be "auto" or "solver" with `limits` or `budgets`, got "closed-form"'
    with pytest.raises(ValueError, match=text):
        SquareCBG(Table(0.1, 0.2), gamma=10.0, method="closed-form", limits=REVIEW)
    agent = SquareCBG(Table(0.1, 0.2), gamma=10.0, limits=Limits(caps={0: 0.4}))
    assert agent.closed_form(graphs.bandit(2)) is None
    assert SquareCBG(Table(0.1, 0.2), gamma=10.0).closed_form(graphs.bandit(2)) is not None


def test_agents_without_limits_do_what_they_did(tmp_path):
    for agent in (Greedy, EpsilonGreedy, SquareCB, SquareCBG):
        plain = agent(Table(0.1, 0.2))
        assert plain.limits is None
        p = plain.act(None, graphs.bandit(2))
        again = agent(Table(0.1, 0.2)).act(None, graphs.bandit(2), names=["a", "b"])
        np.testing.assert_array_equal(p, again)


def test_what_is_played_within_limits():
    limits, graph = Limits(floors=0.02, caps={1: 0.5}), graphs.cops_and_robbers(3)
    table, f = Table(0.3, 0.1, 0.6), np.array([0.3, 0.1, 0.6])
    np.testing.assert_allclose(Greedy(table, limits=limits).act(None, graph), [0.48, 0.5, 0.02])
    p = EpsilonGreedy(table, epsilon=0.3, limits=limits).act(None, graph)
    # In turn, each is played most: 0.96, then 0.48 and 0.5, then 0.02 and 0.96 of the last.
    best = np.array([0.48, 0.5, 0.02])
    turns = np.array([[0.96, 0.02, 0.02], best, [0.02, 0.02, 0.96]])
    np.testing.assert_allclose(p, 0.7 * best + 0.3 * turns.mean(axis=0))
    p = SquareCB(table, gamma=10.0, limits=limits).act(None, graph)
    expected = solve_dec(f, graphs.bandit(3), 10.0, limits=limits).probabilities
    np.testing.assert_array_equal(p, expected)
    p = SquareCBG(table, gamma=10.0, limits=limits).act(None, graph)
    expected = solve_dec(f, graph, 10.0, limits=limits).probabilities
    np.testing.assert_array_equal(p, expected)


def test_explain_says_what_the_limits_cost():
    oracle, limits = oracles.OnlineRidge(3, 1), Limits(floors={0: 0.9})
    graph = graphs.bandit(3)
    agent = SquareCBG(oracle, gamma=10.0, limits=limits)
    within = solve_dec(np.zeros(3), graph, 1.0, limits=limits).value
    text = f"limits: gamma * DEC at equal predictions {within:.4g} instead of 2"
    assert (
        agent.explain(graph) == f"SquareCB.G by convex program: closed forms know no limits; {text}"
    )
    informed = InformationDirected(oracle, limits=limits).explain(graph)
    assert informed.startswith("information-directed: ")
    assert informed.endswith(text)


def test_explain_says_what_exploring_costs():
    cost = (
        "; explore: every outcome is seen with a probability of at least 0.01, for at most 0.03 of "
        "the range of losses per decision"
    )
    graph, limits = graphs.bandit(3), Limits(floors={0: 0.9})
    assert SquareCBG(gamma=10.0, explore=0.03).explain(graph) == (
        SquareCBG(gamma=10.0).explain(graph) + cost
    )
    assert InformationDirected(explore=0.03).explain(graph).endswith(cost)
    limited = InformationDirected(limits=limits, explore=0.03).explain(graph)
    assert limited == (
        InformationDirected(limits=limits).explain(graph)
        + cost
        + ", as far as limits and budgets allow"
    )


def test_explain_names_what_can_no_longer_be_learned():
    limits = Limits(caps={"review": 0.0})
    graph = graphs.apple_tasting(3, revealing_action=2)
    agent = SquareCBG(oracles.OnlineRidge(3, 1), gamma=10.0, limits=limits)
    text = agent.explain(graph, names=["approve", "block", "review"])
    assert text.endswith(
        "limits: no loss of 'approve', 'block', 'review' can be revealed within them, so none "
        "is learned"
    )
    assert agent.explain(graph, names=["a", "b", "c"]).endswith("none of them is on this round")
    hidden = FeedbackGraph([[1, 0], [1, 0]])
    assert agent.explain(hidden, names=["a", "b"]) == "refused: no action reveals action 1"


def test_what_nothing_within_the_limits_reveals():
    box = Limits(caps={0: 0.0}, linear=[{"actions": [1, 2], "at_most": 0.0}]).on(range(4))
    assert unlearnable(graphs.bandit(4), box) == [0, 1, 2]
    assert unlearnable(graphs.full_information(4), box) == []
    assert unlearnable(graphs.bandit(4), Limits(caps=0.4).on(range(4))) == []
    full = Limits(floors={0: 0.4, 3: 0.6}, caps={1: 0.0}).on(range(4))  # nothing is left for 2
    assert unlearnable(graphs.bandit(4), full) == [1, 2]
    assert unlearnable(graphs.inventory(4), full) == []


def test_the_dec_of_what_can_be_learned_is_the_dec_if_all_can():
    rng = np.random.default_rng(0)
    for _ in range(20):
        graph = graphs.random_self_aware(5, 0.3, rng)
        p, f = rng.dirichlet(np.ones(5)), rng.random(5)
        assert learnable_dec(p, f, graph, 7.0) == pytest.approx(dec(p, f, graph, 7.0))
    blind = np.array([0.0, 1.0, 0.0])
    assert learnable_dec(blind, np.zeros(3), graphs.bandit(3), 10.0) == 0.0


def test_a_schedule_goes_on_where_something_cannot_be_learned():
    limits = Limits(caps={2: 0.0})
    agent = SquareCBG(oracles.LinearOGD(3, 1), certify=True, gamma=None, limits=limits)
    for _ in range(20):
        p = agent.act([1.0], graphs.bandit(3))
        agent.learn([1.0], [0], [0.5])
        assert p[2] == 0.0
    assert agent.certificate.exploration < 1.0  # nor is it regretted
    assert agent.gamma < 1e4


def test_rules_are_saved_and_loaded(tmp_path):
    limits = Limits(
        floors={"a": 0.1}, linear=[{"actions": ["b", "c"], "at_most": 0.3, "name": "few"}]
    )
    for agent in (
        Greedy(oracles.LinearOGD(3, 1), limits=limits),
        EpsilonGreedy(oracles.LinearOGD(3, 1), limits=limits),
        SquareCB(oracles.LinearOGD(3, 1), limits=limits),
        InformationDirected(limits=limits),
    ):
        save(agent, tmp_path / "agent.npz")
        again = load(tmp_path / "agent.npz")
        assert again.limits == limits
        assert repr(again) == repr(agent)
        assert f"limits={limits!r}" in repr(agent)
