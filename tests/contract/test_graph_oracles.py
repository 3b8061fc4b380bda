"""Every graph oracle, found by reflection, keeps the contract of its role."""

import copy
import inspect
import pickle

import numpy as np
import pytest

import graphcb
from graphcb import FeedbackGraph, graph_oracles, graphs, load, save
from graphcb.graph_oracles import Answers, EdgeCounts, LogisticEdges, Thresholds
from graphcb.loaded import is_rebuilt
from graphcb.saving import to_bytes

FEATURES, ACTIONS = 3, 4
LEVELS = [0.0, 0.5, 1.0, 2.0]
WITHIN = graphs.inventory(ACTIONS)


def full(shown):
    return FeedbackGraph(np.asarray(shown, dtype=float))


def bids(price):
    """What the played bid reveals if the market stands at `price`, for each bid."""
    return full([[1.0 if j >= i or price > i else 0.0 for j in range(ACTIONS)] for i in range(4)])


def stock(demand):
    return full(bids(3 - demand).matrix[::-1, ::-1])


def prices(value):
    lower = np.tri(ACTIONS)
    return full(np.where(np.arange(4)[:, None] <= value, lower, lower.T))


def any_graph(number):
    return full(np.random.default_rng(number).random((4, 4)) < 0.5)


def within(number):
    return full(any_graph(number).matrix * WITHIN.matrix)


# How to build one, and a graph that may be seen, for each whole number.
EXAMPLES = {
    EdgeCounts: [(lambda: EdgeCounts(4), any_graph)],
    LogisticEdges: [
        (lambda: LogisticEdges(4, FEATURES), any_graph),
        (lambda: LogisticEdges(4, FEATURES, loss="squared"), any_graph),
    ],
    Thresholds: [
        (lambda: Thresholds(LEVELS, kind="bids", n_features=FEATURES), bids),
        (lambda: Thresholds(LEVELS, kind="stock", n_features=FEATURES), stock),
        (lambda: Thresholds(LEVELS, kind="prices", n_features=FEATURES, loss="squared"), prices),
        (lambda: Thresholds(LEVELS), bids),
    ],
    Answers: [
        (lambda: Answers(WITHIN), within),
        (lambda: Answers(WITHIN, n_features=FEATURES), within),
    ],
}
CASES = [
    pytest.param(*case, id=f"{kind.__name__}-{number}")
    for kind, cases in EXAMPLES.items()
    for number, case in enumerate(cases)
]


def train(oracle, seen, n_rounds=20, seed=0, shown=False):
    """Rounds with all actions, and the graph that is predicted after each."""
    rng = np.random.default_rng(seed)
    predicted = []
    for _ in range(n_rounds):
        x, graph, played = rng.normal(size=FEATURES), seen(rng.integers(5)), rng.integers(4)
        if shown:
            oracle.update_full(x, graph)
        else:
            oracle.update(x, played, np.flatnonzero(graph.row(played)))
        predicted.append(oracle.predict(x).matrix)
    return np.array(predicted)


def through_a_file(oracle, folder):
    save(oracle, folder / "oracle.npz")
    return load(folder / "oracle.npz")


def test_every_graph_oracle_has_an_example_here():
    found = {
        value
        for value in vars(graph_oracles).values()
        if inspect.isclass(value) and hasattr(value, "update_full")
    } - {graph_oracles.GraphOracle}
    assert found == set(EXAMPLES)
    for kind in found:
        assert is_rebuilt(kind)


@pytest.mark.parametrize(("build", "seen"), CASES)
class TestGraphOracle:
    @pytest.mark.parametrize("shown", [False, True], ids=["played row", "shown in full"])
    def test_predicts_an_observable_graph_within_the_margins(self, build, seen, shown):
        oracle = build()
        start = oracle.predict(np.ones(FEATURES)).matrix
        predicted = train(oracle, seen, 60, shown=shown)
        for n, matrix in enumerate([start, *predicted]):
            graph = FeedbackGraph(matrix)
            assert graph.observability != "unobservable"
            learned = matrix[(matrix != 0.0) & (matrix != 1.0)]
            margin = 0.5 / (n + 1)
            assert (learned >= margin - 1e-12).all()
            assert (learned <= 1.0 - margin + 1e-12).all()

    def test_shows_itself_as_the_call_that_makes_it(self, build, seen):
        oracle = build()
        train(oracle, seen, 3)
        again = eval(repr(oracle), {**vars(graph_oracles), **vars(graphs)})
        assert repr(again) == repr(build()) == repr(oracle)
        np.testing.assert_array_equal(train(again, seen, 5), train(build(), seen, 5))

    @pytest.mark.parametrize("shown", [False, True], ids=["played row", "shown in full"])
    @pytest.mark.parametrize(
        "store",
        [
            lambda o, _: copy.deepcopy(o),
            lambda o, _: pickle.loads(pickle.dumps(o)),
            through_a_file,
        ],
        ids=["copied", "pickled", "saved"],
    )
    def test_a_stored_oracle_goes_on(self, build, seen, store, shown, tmp_path):
        oracle = build()
        train(oracle, seen, 15, shown=shown)
        stored = store(oracle, tmp_path)
        expected = train(oracle, seen, 15, seed=1, shown=shown)
        np.testing.assert_array_equal(train(stored, seen, 15, seed=1, shown=shown), expected)

    def test_predicting_and_checking_change_nothing(self, build, seen):
        oracle = build()
        train(oracle, seen, 5)
        before = to_bytes(oracle)
        oracle.predict(np.ones(FEATURES))
        oracle.predict(np.ones(FEATURES), [2, 0])
        oracle.check_update(np.ones(FEATURES), 1, np.flatnonzero(seen(1).row(1)))
        oracle.check_update_full(np.ones(FEATURES), seen(1))
        assert to_bytes(oracle) == before

    def test_changes_no_input(self, build, seen):
        x, revealed, actions = np.ones(FEATURES), np.flatnonzero(seen(1).row(1)), np.arange(4)
        oracle = build()
        oracle.predict(x, actions)
        oracle.update(x, 1, revealed, actions)
        oracle.update_full(x, seen(1), actions)
        np.testing.assert_array_equal(x, 1.0)
        np.testing.assert_array_equal(revealed, np.flatnonzero(seen(1).row(1)))
        np.testing.assert_array_equal(actions, np.arange(4))

    def test_some_of_the_actions_are_a_part_of_the_graph(self, build, seen):
        oracle, x = build(), np.full(FEATURES, 0.5)
        train(oracle, seen, 20)
        whole = oracle.predict(x).matrix
        for actions in ([1, 3], [3, 1, 0], [2, 0, 3], [2]):
            part = whole[np.ix_(actions, actions)]
            if isinstance(oracle, Answers) and not part.any(axis=0).all():
                continue
            np.testing.assert_allclose(oracle.predict(x, actions).matrix, part, rtol=1e-12)

    @pytest.mark.parametrize("shown", [False, True], ids=["played row", "shown in full"])
    def test_learns_from_some_of_the_actions_what_it_learns_in_another_order(
        self, build, seen, shown
    ):
        one, other = build(), build()
        rng = np.random.default_rng(3)
        for _ in range(10):
            x, graph, order = rng.normal(size=FEATURES), seen(rng.integers(5)), rng.permutation(4)
            turned = graph.subgraph(order)
            if shown:
                one.update_full(x, graph)
                other.update_full(x, turned, order)
            else:
                played = int(rng.integers(4))
                one.update(x, order[played], np.flatnonzero(graph.row(order[played])))
                other.update(x, played, np.flatnonzero(turned.row(played)), order)
        assert np.allclose(one.predict(x).matrix, other.predict(x).matrix)

    @pytest.mark.parametrize(
        ("arguments", "error", "text"),
        [
            ((1, [1, 9]), IndexError, r"`revealed` must be between 0 and 3 .*got 9 at index 1"),
            ((1, [-1]), IndexError, "`revealed` must be between 0 and 3 .*got -1 at index 0"),
            ((1, [1, 1]), ValueError, "`revealed` must be distinct, got 1 again at index 1; give"),
            ((1, [0.5]), TypeError, "`revealed` must be whole numbers, got float64"),
            ((1, [[1]]), ValueError, r"`revealed` must be a list of indices, got shape \(1, 1\)"),
            ((4, [1]), IndexError, "`played` must be between 0 and 3 .the round has 4.*got 4"),
            (("a", [1]), TypeError, "`played` must be a whole number, got 'a'"),
            ((2, [0], [0, 1]), IndexError, "`played` must be between 0 and 1 .*got 2"),
            ((0, [0], [0, 7]), IndexError, "`actions` must be between 0 and 3 .*got 7"),
        ],
    )
    def test_bad_rows_get_an_error_and_change_nothing(self, build, seen, arguments, error, text):
        oracle = build()
        train(oracle, seen, 5)
        before = to_bytes(oracle)
        for call in (oracle.update, oracle.check_update):
            with pytest.raises(error, match=text):
                call(np.ones(FEATURES), *arguments)
        assert to_bytes(oracle) == before

    def test_bad_graphs_and_contexts_get_an_error_and_change_nothing(self, build, seen):
        oracle = build()
        train(oracle, seen, 5)
        before = to_bytes(oracle)
        for call in (oracle.update_full, oracle.check_update_full):
            with pytest.raises(ValueError, match="`graph` must have 4 actions, as the round has"):
                call(np.ones(FEATURES), graphs.bandit(3))
            with pytest.raises(TypeError, match="must be a FeedbackGraph, got an array"):
                call(np.ones(FEATURES), np.eye(4))
        if getattr(oracle, "n_features", 0):
            for x, text in ((np.ones(2), "must have shape"), (np.full(3, np.nan), "be finite")):
                for call in (oracle.update, oracle.check_update):
                    with pytest.raises(ValueError, match=f"`context` must.*{text}|{text}"):
                        call(x, 0, np.flatnonzero(seen(1).row(0)))
                with pytest.raises(ValueError, match=text):
                    oracle.predict(x)
                with pytest.raises(ValueError, match=text):
                    oracle.update_full(x, seen(1))
        assert to_bytes(oracle) == before

    @pytest.mark.parametrize("scale", [1e-320, 1e-160, 1e20, 1e49])
    def test_stays_finite_at_the_extremes(self, build, seen, scale):
        oracle = build()
        for n in range(8):
            oracle.update(np.full(FEATURES, scale), 1, np.flatnonzero(seen(n % 4).row(1)))
            oracle.update_full(np.full(FEATURES, -scale), seen(n % 4))
        for x in (np.ones(FEATURES), np.full(FEATURES, scale)):
            assert np.isfinite(oracle.predict(x).matrix).all()
        graphcb.saving.from_bytes(to_bytes(oracle), where="kept")
