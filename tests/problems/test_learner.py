import copy

import numpy as np
import pytest

import graphcb
from graphcb import (
    Encoder,
    Greedy,
    InformationDirected,
    Learner,
    Problem,
    SquareCBG,
    Uniform,
    graphs,
    load,
    oracles,
    save,
)
from graphcb.environments import KnownLosses
from graphcb.experiments.loop import play
from graphcb.files import FileError
from graphcb.saving import from_bytes, to_bytes

REVIEW = Problem(
    ["approve", "review"],
    reveals={"all": ["review"]},
    feedback="rewards",
    range=(-50.0, 20.0),
    features={"amount": "number", "country": "category"},
)
PLAIN = Problem(["a", "b", "c"], reveals="full-information")
ITEMS = Problem("each round", feedback="rewards")


def contexts(n, seed=0):
    rng = np.random.default_rng(seed)
    for _ in range(n):
        yield {
            "amount": float(rng.normal(50.0, 20.0)),
            "country": "DE" if rng.random() < 0.5 else "FR",
        }


def rewards(context):
    return [15.0 if context["country"] == "DE" else -40.0, 5.0]


def taught(n=30, problem=REVIEW, agent=None):
    learner = Learner(problem, agent)
    for context in contexts(n):
        learner.act(context)
        learner.learn(context, ["approve", "review"], rewards(context))
    return learner


def test_it_is_the_agent_inside_with_names_units_and_contexts_translated():
    learner, encoder, agent = Learner(REVIEW), Encoder(REVIEW.features), InformationDirected()
    rng = np.random.default_rng(1)
    for context in contexts(60):
        row = encoder.encode(context)
        expected = agent.act(row, REVIEW.graph)
        np.testing.assert_array_equal(learner.act(context), expected)
        seen = [0, 1] if rng.random() < 0.7 else []
        values = np.array(rewards(context))[seen]
        learner.learn(context, [REVIEW.actions[i] for i in seen], values)
        agent.learn(encoder.encode(context), np.array(seen, dtype=int), (20.0 - values) / 70.0)
        encoder.learn(context)
    predicted = 20.0 - 70.0 * agent.oracle.predict(encoder.encode(context), [0, 1])
    np.testing.assert_array_equal(learner.predict(context), predicted)


def test_it_learns():
    learner = taught(60)
    german, french = {"amount": 50.0, "country": "DE"}, {"amount": 50.0, "country": "FR"}
    assert learner.act(german)[0] > 0.9
    assert learner.act(french)[1] > 0.9
    assert learner.predict(german)[0] > 5.0 > -10.0 > learner.predict(french)[0]
    assert learner.predict(german, ["review"]).shape == (1,)


def test_losses_between_0_and_1_keep_their_bits():
    learner, agent = Learner(PLAIN), InformationDirected()
    rng = np.random.default_rng(2)
    for _ in range(40):
        x, losses = rng.normal(size=3), rng.random(3)
        np.testing.assert_array_equal(learner.act(x), agent.act(x, PLAIN.graph))
        learner.learn(x, PLAIN.actions, losses)
        agent.learn(x, [0, 1, 2], losses)


def test_some_of_the_actions():
    learner, agent = Learner(PLAIN), InformationDirected()
    x = [1.0, 2.0]
    expected = agent.act(x, graphs.full_information(2), [2, 0])
    np.testing.assert_array_equal(learner.act(x, None, ["c", "a"]), expected)
    learner.learn(x, ["c", "a"], [0.1, 0.9])
    agent.learn(x, [2, 0], [0.1, 0.9])
    expected = agent.act(x, graphs.full_information(3))
    np.testing.assert_array_equal(learner.act(x), expected)
    expected = agent.act(x, graphs.bandit(2), [1, 2])
    np.testing.assert_array_equal(learner.act(x, graphs.bandit(2), ["b", "c"]), expected)


def test_it_plays_rounds_like_any_agent():
    rng = np.random.default_rng(3)
    x, losses = rng.normal(size=(50, 2)), rng.random((50, 3))

    def rows(agent):
        world = KnownLosses(x, losses, graphs.inventory(3))
        draws = np.random.default_rng(0)
        return list(play(agent, world, world.rounds(np.random.default_rng(0)), draws))

    problem = Problem(["low", "middle", "high"], reveals="inventory")
    assert rows(Learner(problem)) == rows(InformationDirected())


def test_any_agent_can_be_inside():
    gamma = Learner(REVIEW, SquareCBG(gamma=10.0))
    assert gamma.gamma is None
    gamma.act({})
    assert gamma.gamma == 10.0
    uniform = Learner(REVIEW, Uniform())
    np.testing.assert_array_equal(uniform.act({}), [0.5, 0.5])
    uniform.learn({}, ["review"], [1.0])
    assert uniform.oracle is None
    with pytest.raises(TypeError, match="Uniform has no oracle to predict with"):
        uniform.predict({})
    assert repr(uniform) == f"Learner({REVIEW!r}, Uniform())"
    agent = InformationDirected()
    Learner(REVIEW, agent).learn({}, ["review"], [1.0])
    assert agent.oracle is None  # the user's own object is left alone


def test_what_is_learned_before_the_first_round_has_room_for_every_action():
    learner = Learner(PLAIN)
    learner.learn([1.0], ["a"], [0.5])
    learner.learn([1.0], ["c"], [0.5])
    assert learner.predict([1.0]).shape == (3,)


def test_greedy_plays_what_looks_best_also_for_rewards():
    learner = taught(60)
    greedy = learner.greedy()
    np.testing.assert_array_equal(greedy.act({"amount": 50.0, "country": "DE"}), [1.0, 0.0])
    np.testing.assert_array_equal(greedy.act({"amount": 50.0, "country": "FR"}), [0.0, 1.0])
    assert isinstance(greedy.agent, Greedy)
    assert isinstance(learner.agent, InformationDirected)


def test_a_copy_can_play_without_changing_the_original():
    learner = taught()
    before = to_bytes(learner)
    copy.copy(learner).act({"amount": 1.0, "country": "DE"})
    assert to_bytes(learner) == before


@pytest.mark.parametrize("problem", [REVIEW, PLAIN, ITEMS])
def test_saved_and_loaded_it_goes_on_bit_for_bit(tmp_path, problem):
    learner = Learner(problem)

    def play(learner, rounds):
        out = []
        for k, context in enumerate(rounds):
            actions = problem.actions
            if problem is ITEMS:
                actions = {
                    f"item-{k + i}": {"price": float(i), "kind": "xy"[i % 2]} for i in range(3)
                }
            out.append(learner.act(context, None, None if problem is not ITEMS else actions))
            low, high = problem.scale
            learner.learn(context, actions, np.linspace(low, high, len(actions)))
        return out

    play(learner, contexts(20))
    save(learner, tmp_path / "learner.npz")
    loaded = load(tmp_path / "learner.npz")
    assert loaded.problem == problem
    assert to_bytes(loaded) == to_bytes(learner)
    for one, other in zip(
        play(learner, contexts(20, 5)), play(loaded, contexts(20, 5)), strict=True
    ):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(
    ("context", "actions", "values", "kind", "message"),
    [
        (
            {},
            ["review"],
            [20.5],
            ValueError,
            "`rewards` must lie in the problem's range, -50 to 20",
        ),
        ({}, ["review"], [1.0, 2.0], ValueError, r"`rewards` must have shape \(1,\), one for each"),
        ({}, ["reveiw"], [1.0], ValueError, "`action` must be one of approve, review; got 'revei"),
        ({}, [7], [1.0], IndexError, "`action` must be between 0 and 1"),
        ({}, {"review": {}}, [1.0], ValueError, "must be names in a problem with fixed actions"),
        ({"amount": np.inf}, ["review"], [1.0], ValueError, "amount"),
        ({"amount": 1.0}, ["review"], ["x"], TypeError, "`rewards` must be an array of real"),
    ],
)
def test_a_refused_lesson_changes_nothing(context, actions, values, kind, message):
    learner = taught()
    before = to_bytes(learner)
    with pytest.raises(kind, match=message):
        learner.learn(context, actions, values)
    assert to_bytes(learner) == before


def test_what_cannot_be_a_learner():
    with pytest.raises(
        TypeError, match=r"`problem` must be a graphcb.Problem, got str; Problem.re"
    ):
        Learner("problem.toml")
    with pytest.raises(
        TypeError, match="`features` must be a function of a context, a name and th"
    ):
        Learner(ITEMS, features={"price": "number"})
    with pytest.raises(ValueError, match="`actions` must be given: in this problem they come with"):
        Learner(ITEMS).act({})
    with pytest.raises(TypeError, match="`actions` must be a list of names, got 'item-7'"):
        Learner(ITEMS).act({}, None, "item-7")
    with pytest.raises(TypeError, match=r"`actions\[0\]` must be a text, got 7"):
        Learner(ITEMS).act({}, None, [7])
    with pytest.raises(
        ValueError, match="`graph` must be given: in this problem it comes with eac"
    ):
        Learner(Problem(["a", "b"], reveals="each round")).act({})


def shop(learner, n_rounds, seed=0):
    """Cheap items sell, jazz sells to Ann; every round has new items."""
    rng = np.random.default_rng(seed)
    total = 0.0
    for t in range(n_rounds):
        context = {"user": ("Ann", "Bob")[int(rng.integers(2))]}
        items = {
            f"item-{4 * t + i}": {
                "price": float(rng.uniform(1, 9)),
                "genre": ("jazz", "pop")[i % 2],
            }
            for i in range(4)
        }
        worth = {
            name: 0.8 * (item["genre"] == ("jazz" if context["user"] == "Ann" else "pop"))
            + 0.02 * (9 - item["price"])
            for name, item in items.items()
        }
        probabilities = learner.act(context, None, items)
        name = list(items)[int(rng.choice(4, p=probabilities))]
        learner.learn(context, {name: items[name]}, [worth[name]])
        total += worth[name]
    return total / n_rounds


def test_actions_that_are_never_the_same_are_learned_by_their_features():
    learner = Learner(ITEMS)
    assert isinstance(learner.agent.oracle, oracles.ActionFeatureOracle)
    shop(learner, 300)
    assert shop(learner, 200, seed=1) > 0.8  # half the items are worth 0.8 less


def test_names_alone_tell_actions_apart():
    learner = Learner(ITEMS)
    for _ in range(40):
        learner.learn({}, ["good", "bad"], [0.9, 0.1])
    good, bad = learner.predict({}, ["good", "bad"])
    assert good > 0.7 > 0.3 > bad
    assert learner.action_encoder.missing == {}  # no features are not missing features


def cheapness(context, name, features):
    return {"cheap": 10.0 - features["price"], "same": features["genre"] + context["user"]}


class Cheapness:
    def __init__(self, most):
        self.most = most

    def __call__(self, context, name, features):
        return {"cheap": self.most - features["price"], "same": features["genre"] + context["user"]}


def test_features_of_your_own():
    learner = Learner(ITEMS, features=cheapness)
    shop(learner, 200)
    assert shop(learner, 200, seed=1) > 0.8
    own = Learner(ITEMS, features=Cheapness(10.0))
    shop(own, 400, seed=0)
    fixed = Learner(
        Problem(["a", "b"]), features=lambda x, name, features: [float(name == "a"), *x]
    )
    fixed.learn([1.0], ["a", "b"], [0.0, 1.0])
    assert fixed.predict([1.0]).argmin() == 0


def test_features_of_your_own_are_asked_for_once():
    asked = []

    def features(context, name, given):
        asked.append((context, name, given))
        return [1.0]

    learner = Learner(ITEMS, features=features)
    learner.act({"user": "Ann"}, None, {"x": {"price": 1.0}, "y": None})
    assert asked == [({"user": "Ann"}, "x", {"price": 1.0}), ({"user": "Ann"}, "y", None)]
    learner.learn({"user": "Ann"}, ["x"], [0.5])
    assert len(asked) == 3


def test_a_function_says_what_it_needs_to_be_saved(tmp_path):
    with pytest.raises(
        TypeError,
        match=r"`Learner.features` must be made of numbers, .* got the function cheapness; make it "
        r"an object of a class of your own with __call__, and name the class on load",
    ):
        save(Learner(ITEMS, features=cheapness), tmp_path / "own.npz")
    learner = Learner(ITEMS, features=Cheapness(10.0))
    shop(learner, 20)
    save(learner, tmp_path / "own.npz")
    with pytest.raises(ValueError, match=r"holds a Cheapness, .* load\(path, classes=\[...\]\)"):
        load(tmp_path / "own.npz")
    loaded = load(tmp_path / "own.npz", classes=[Cheapness])
    assert shop(loaded, 20, seed=1) == shop(learner, 20, seed=1)


def test_content_that_does_not_fit_is_refused():
    problem = from_bytes(to_bytes(REVIEW), where="a file")
    object.__setattr__(problem, "range", [1.0, 0.0])
    with pytest.raises(FileError, match="`range` must be"):
        from_bytes(to_bytes(problem), where="a file")
    learner = Learner(REVIEW)
    learner.encoder = Encoder()
    with pytest.raises(FileError, match="encoder has other features than its problem"):
        from_bytes(to_bytes(learner), where="a file")
    learner.encoder = "an encoder"
    with pytest.raises(FileError, match="`encoder` must be a Encoder, got 'an encoder'"):
        from_bytes(to_bytes(learner), where="a file")


def test_it_is_exported():
    assert graphcb.Learner is Learner


def rent(k):
    """A context without features, and rewards far from 0 to 1."""
    return {"flat": 900.0 + 40.0 * (k % 5), "house": 1500.0 - 30.0 * (k % 3)}


def test_without_a_range_it_is_found():
    learner = Learner(Problem(["flat", "house"], feedback="rewards"))
    assert learner.needs_range is None
    for k in range(40):
        learner.learn({"rooms": float(k % 4)}, ["flat", "house"], list(rent(k).values()))
    np.testing.assert_allclose(learner.predict({"rooms": 2.0}), [980.0, 1470.0], rtol=0.1)
    assert learner.act({"rooms": 2.0}).tolist() == [0.0, 1.0]
    before = to_bytes(learner)
    with pytest.raises(ValueError, match="`rewards` must be finite and within"):
        learner.learn({"rooms": 2.0}, ["flat"], [1e60])
    assert to_bytes(learner) == before


@pytest.mark.parametrize(
    ("agent", "why"),
    [
        (SquareCBG(gamma=10.0), "SquareCBG needs"),
        (InformationDirected(oracles.OnlineRidge(2, 2)), "OnlineRidge needs"),
        (InformationDirected(oracles.DefaultOracle(2)), "DefaultOracle needs"),
    ],
)
def test_an_agent_that_needs_a_range_gets_values_between_0_and_1(agent, why):
    learner = Learner(Problem(["flat", "house"], features={"rooms": "number"}), agent)
    learner.learn({"rooms": 1.0}, ["flat"], [0.5])
    before = to_bytes(learner)
    for values in ([2.0], [-0.1]):
        with pytest.raises(ValueError, match=f"must lie between 0 and 1, .* which {why}: write"):
            learner.learn({"rooms": 1.0}, ["flat"], values)
    assert to_bytes(learner) == before
    assert Learner(Problem(["flat", "house"]), Uniform()).needs_range is None
