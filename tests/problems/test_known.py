"""What a problem knows without feedback: read, written, predicted, learned along."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphcb import (
    Budget,
    EpsilonGreedy,
    FeedbackGraph,
    Greedy,
    InformationDirected,
    Learner,
    Problem,
    SquareCB,
    SquareCBG,
    Uniform,
    graphs,
)
from graphcb.problems import succeed
from graphcb.problems.wording import guardrails_in_words
from graphcb.rounds import learn_revealed, play_round
from graphcb.saving import from_bytes, to_bytes

AGENTS = [InformationDirected, SquareCBG, SquareCB, Greedy, EpsilonGreedy]
ROWS = [{"amount": float(k % 7), "country": "DE" if k % 2 else "FR"} for k in range(40)]


def fraud(known={"review": -2.0}, **more):  # noqa: B006 - it is not changed
    settings = {"reveals": {"all": ["review"]}, "feedback": "rewards", "range": (-50.0, 1.0)}
    return Problem(["approve", "review"], known=known, **{**settings, **more})


# As a file ------------------------------------------------------------------------------------


def test_a_file_says_it_in_a_table():
    text = '[problem]\nactions = ["approve", "review"]\nrange = [-50, 1]\n\n[known]\nreview = -2\n'
    problem = Problem.from_toml(text)
    assert problem.known == {"review": -2.0}
    assert problem.to_toml().endswith("[known]\nreview = -2.0\n")
    assert Problem.from_toml(problem.to_toml()) == problem
    assert eval(repr(problem), {"Problem": Problem}) == problem
    assert "known={'review': -2.0}" in repr(problem)
    assert problem != Problem(["approve", "review"], range=(-50, 1))
    assert problem.differences(Problem(["approve", "review"], range=(-50, 1))) == [
        "known: {'review': -2.0}, not None"
    ]
    assert fraud({}) == fraud(None)
    assert fraud({}).known is None


@given(st.dictionaries(st.sampled_from("abc"), st.floats(0, 1) | st.just("fee"), min_size=1))
def test_any_round_trip(known):
    problem = Problem(list("abc"), known=known, features={"fee": "number"})
    assert Problem.from_toml(problem.to_toml()) == problem
    assert problem.known == {name: known[name] for name in "abc" if name in known}


@pytest.mark.parametrize(
    ("known", "message"),
    [
        (["review"], "`known` must be a mapping from actions to numbers or features, such as "),
        ({"reviw": -2.0}, r"`known` must be one of approve, review; got 'reviw'; did you mean 're"),
        ({"review": -51.0}, "`rewards` must lie in the problem's range, -50 to 1, got -51 for act"),
        ({"review": float("nan")}, "`known.review` must be finite, got nan"),
        ({"review": True}, "`known.review` must be a number, got True"),
        ({"review": ""}, "`known.review` must not be empty, got ''"),
        ({3: -2.0}, "`known` must be a text, got 3"),
    ],
)
def test_what_cannot_be_known_is_refused(known, message):
    with pytest.raises((ValueError, TypeError), match=message):
        fraud(known)


def test_a_feature_that_is_no_number_is_refused():
    features = {"fee": "number", "country": "category"}
    assert fraud({"review": "fee"}, features=features).known == {"review": "fee"}
    with pytest.raises(ValueError, match=r"`known.review` must be a feature that is a number, got"):
        fraud({"review": "country"}, features=features)
    with pytest.raises(ValueError, match=r"`known.review` must be one of fee, country; got 'cost'"):
        fraud({"review": "cost"}, features=features)


@pytest.mark.parametrize(
    "reveals", ["unknown", {"unknown": "bids"}, {"family": "bandit", "answers": "learned"}]
)
def test_a_graph_that_is_learned_has_nothing_known(reveals):
    with pytest.raises(ValueError, match="`known` must be left out where what is revealed is lear"):
        Problem(["a", "b"], reveals=reveals, known={"a": 0.5})


def test_what_nobody_reveals_may_be_known():
    with pytest.raises(
        ValueError, match=r"but nothing reveals 'b'; .*, or say in known what it is"
    ):
        Problem(["a", "b"], reveals={"edges": [("a", "a")]})
    problem = Problem(["a", "b"], reveals={"edges": [("a", "a")]}, known={"b": 0.3})
    for agent in AGENTS:
        learner = Learner(problem, agent())
        assert learner.act(ROWS[0]).sum() == pytest.approx(1.0)


def test_it_is_said_in_words():
    (one,) = guardrails_in_words(fraud())
    assert one == ("known", "the reward of review is -2; needs no feedback")
    (one,) = guardrails_in_words(fraud({"review": "fee", "approve": 0.5}))
    assert one.says == (
        "the reward of approve is 0.5, the reward of review is the feature fee; needs no feedback"
    )
    rules = {"baseline": {"action": "approve"}}
    assert "can never be left" in guardrails_in_words(fraud(**rules))[0].says
    assert "can never be left" not in guardrails_in_words(fraud({"approve": 1.0}, **rules))[0].says


# In a learner ---------------------------------------------------------------------------------


def trained(problem, agent, n=40):
    learner, draws = Learner(problem, agent), np.random.default_rng(0)
    for k, row in enumerate(ROWS[:n]):
        played = play_round(learner, row, problem.graph, None, draws.random())
        if problem.actions[played.action] == "review":
            learn_revealed(learner, played, ["approve"], [-50.0 if k % 5 == 0 else 1.0])
    return learner


@pytest.mark.parametrize("agent", AGENTS)
def test_it_is_predicted_exactly_before_and_after_anything_is_learned(agent):
    for n in (0, 40):
        learner = trained(fraud(), agent(), n)
        assert learner.predict(ROWS[3])[1] == -2.0
        assert learner.predict(ROWS[3], ["review"]).tolist() == [-2.0]
        assert learner.greedy().predict(ROWS[3])[1] == -2.0
    by_feature = trained(fraud({"review": "amount"}, range=(-50.0, 10.0)), agent())
    assert by_feature.predict({"amount": 3.25, "country": "DE"})[1] == 3.25


@pytest.mark.parametrize("agent", AGENTS)
def test_where_all_is_known_the_best_is_played_at_once(agent):
    problem = Problem(["a", "b", "c"], known={"a": 0.51, "b": 0.5, "c": 0.52})
    learner = Learner(problem, agent())
    for row in ROWS[:5]:
        assert learner.act(row).tolist() == [0.0, 1.0, 0.0]
    capped = Problem(["a", "b"], known={"a": 0.1, "b": 0.9}, limits={"caps": {"a": 0.75}})
    assert Learner(capped, agent()).act(ROWS[0]).tolist() == [0.75, 0.25]


@pytest.mark.parametrize("agent", [InformationDirected, Greedy])
def test_nothing_is_played_to_see_what_is_known(agent):
    """A dear action that would tell much is left alone once the cheaper one is known."""
    problem = Problem(["good", "dear"], reveals="bandit", known={"dear": 1.0, "good": 0.0})
    assert Learner(problem, agent()).act(ROWS[0]).tolist() == [1.0, 0.0]
    problem = Problem(list("abc"), known={"a": 0.2, "b": 0.9})
    learner, draws, actions = Learner(problem, agent()), np.random.default_rng(0), []
    for row in ROWS:
        played = play_round(learner, row, problem.graph, None, draws.random())
        actions.append(played.action)
        assert played.probabilities[1] == 0.0
        if played.action == 2:
            learn_revealed(learner, played, ["c"], [0.5])
    assert actions.count(0) > 0.5 * len(ROWS)


def test_the_agent_inside_plays_on_a_graph_in_which_all_reveal_it():
    entered = Learner(fraud()).enter(ROWS[0], None, None)
    assert entered.graph == FeedbackGraph([[0, 1], [1, 1]])
    assert entered.given["known"].tolist()[1] == pytest.approx(3 / 51)
    assert np.isnan(entered.given["known"][0])
    plain = Learner(fraud(None)).enter(ROWS[0], None, None)
    assert plain.graph == graphs.apple_tasting(2, revealing_action=1)
    assert dict(plain.given) == {}


def test_feedback_need_not_name_it_and_teaches_the_same():
    short, long = (Learner(fraud()) for _ in range(2))
    for row in ROWS[:9]:
        short.learn(row, ["approve"], [1.0])
        long.learn(row, ["review", "approve"], [-2.0, 1.0])
    assert to_bytes(short) == to_bytes(long)
    assert short.agent.oracle.predict(short.encoder.encode(ROWS[0]))[1] < 0.3  # 0.5 at first
    counts = short.agent.oracle.blend.counts[0].tolist()
    short.learn(ROWS[0], ["review"], [-2.0])  # nothing new
    assert short.agent.oracle.blend.counts[0].tolist() == counts == [9.0, 9.0]


@given(st.floats(-50.0, 1.0))
def test_feedback_that_disagrees_is_refused_and_changes_nothing(value):
    learner = trained(fraud(), InformationDirected(), 5)
    before = to_bytes(learner)
    if abs(value + 2.0) <= 51e-9:
        learner.learn(ROWS[0], ["review"], [value])
        return
    with pytest.raises(ValueError, match="`rewards` must agree with what the problem knows: actio"):
        learner.learn(ROWS[0], ["approve", "review"], [1.0, value])
    assert to_bytes(learner) == before


@pytest.mark.parametrize(
    ("context", "message"),
    [
        (
            {"amount": 1.0},
            "`context` must have the feature 'fee', which says the reward of 'review",
        ),
        ({"fee": None}, "`context` must have the feature 'fee'"),
        ({"fee": "low"}, r"`context\['fee'\]` must be a number, got 'low'"),
        (
            {"fee": 2.0},
            r"`context\['fee'\]` must lie in the problem's range, -50 to 1, as it is the",
        ),
        ([1.0, 2.0], "`context` must have the feature 'fee'"),
    ],
)
def test_a_feature_has_to_be_in_every_context(context, message):
    learner = Learner(fraud({"review": "fee"}))
    for call in (learner.act, learner.predict):
        with pytest.raises((ValueError, TypeError), match=message):
            call(context)
    assert learner.act({"fee": np.float64(-3.0)}).sum() == pytest.approx(1.0)


def test_actions_that_come_with_each_round():
    problem = Problem("each round", known={"nothing": 0.25}, reveals="bandit")
    learner, draws = Learner(problem), np.random.default_rng(0)
    for k in range(30):
        names = ["x", "nothing"] if k % 2 else ["y", "z"]
        graph = graphs.bandit(2)
        played = play_round(learner, ROWS[k // 2], graph, names, draws.random())
        seen = [names[played.action]]
        if seen == ["nothing"]:
            continue
        learn_revealed(learner, played, seen, [0.1 if seen == ["x"] else 0.9])
    assert learner.predict(ROWS[0], ["nothing", "x"])[0] == 0.25
    assert learner.act(ROWS[0], graph, ["nothing", "x"])[1] > 0.5


def test_the_known_ones_of_a_round_are_learned_with_the_others():
    problem = Problem("each round", known={"nothing": 0.25}, reveals="bandit")
    twins = [Learner(problem) for _ in range(2)]
    names, graph = ["x", "nothing"], graphs.bandit(2)
    played = play_round(twins[0], ROWS[0], graph, names, 0.0)
    twins[1].act(ROWS[0], graph, names)
    learn_revealed(twins[0], played, ["x"], [0.5])
    twins[1].learn(ROWS[0], names, [0.5, 0.25])
    twins[1].watched = twins[0].watched  # which hears of draws alone
    assert to_bytes(twins[0]) == to_bytes(twins[1])


def test_an_agent_has_to_take_it():
    class Own:
        def act(self, context, graph, actions=None):
            return np.full(graph.n_actions, 1.0 / graph.n_actions)

        def learn(self, context, actions, losses):
            pass

    class Taking(Own):
        def act(self, context, graph, actions=None, **given):
            self.known = given["known"]
            return super().act(context, graph, actions)

    with pytest.raises(TypeError, match="`agent` must take `known` in `act`, as the problem says"):
        Learner(fraud(), Own())
    taking = Taking()
    Learner(fraud(), taking).act(ROWS[0])
    assert np.isnan(taking.known).tolist() == [True, False]
    assert Learner(fraud(), Uniform()).act(ROWS[0]).tolist() == [0.5, 0.5]


@pytest.mark.parametrize("known", [[0.1], [0.1, 0.2, 0.3], [0.1, np.inf]])
def test_an_agent_refuses_what_does_not_fit_the_graph(known):
    with pytest.raises(
        ValueError, match="`known` must have one finite number for each of the 2 ac"
    ):
        SquareCBG().act([1.0], graphs.bandit(2), known=known)


def test_budgets_are_kept_with_it():
    budget = Budget("reviews", {"review": 1.0}, at_most=0.1)
    problem = Problem(
        ["approve", "review"], reveals={"all": ["review"]}, known={"review": 0.0}, budgets=[budget]
    )
    learner, draws, n = Learner(problem), np.random.default_rng(0), 0
    for k in range(200):
        played = play_round(learner, ROWS[k % 40], problem.graph, None, draws.random())
        if played.action == 1:
            n += 1
            learn_revealed(learner, played, ["approve"], [float(k % 2)])
    assert 10 <= n <= 30


# Saved, and followed by another version -------------------------------------------------------


@pytest.mark.parametrize("agent", AGENTS)
def test_a_saved_learner_goes_on_bit_for_bit(agent):
    learner = trained(fraud(), agent(), 20)
    again = from_bytes(to_bytes(learner), where="test")
    assert again.problem == learner.problem
    for one in (learner, again):
        one.act(ROWS[1])
        one.learn(ROWS[1], ["approve"], [1.0])
    assert to_bytes(learner) == to_bytes(again)


def test_another_version_keeps_what_was_learned():
    learner = trained(fraud(None), InformationDirected())
    following, said = succeed(learner, fraud())
    assert said == [
        "what was learned is kept",
        "the reward of 'review' is known from now on",
    ]
    assert following.predict(ROWS[0])[0] == learner.predict(ROWS[0])[0]
    assert following.predict(ROWS[0])[1] == -2.0
    back, said = succeed(following, fraud(None))
    assert said[-1] == "the reward of 'review' is no longer known, and learned"
    assert back.predict(ROWS[0]).tolist() == learner.predict(ROWS[0]).tolist()


def test_a_baseline_that_is_known_is_left_as_soon_as_that_is_proven():
    """Nothing reveals the baseline's loss but the problem."""
    settings = {
        "reveals": {"edges": [("new", "new")]},
        "baseline": {"action": "old", "epsilon": 0.2},
    }
    problem = Problem(["old", "new"], known={"old": 0.5}, **settings)
    learner, draws, n_new = Learner(problem), np.random.default_rng(0), 0
    for k in range(200):
        played = play_round(learner, ROWS[k % 40], problem.graph, None, draws.random())
        if played.action == 1:
            n_new += 1
            learn_revealed(learner, played, [1], [0.1])
    assert n_new > 100
    lost = 0.1 * n_new + 0.5 * (200 - n_new)
    proven = learner.agent.proven
    assert 0.0 < proven <= 1.2 * 0.5 * 200 - lost + 1e-9
