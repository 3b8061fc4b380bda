"""Oracles around other packages: for real where those are installed, skipped by name where not."""

import copy
import pickle

import numpy as np
import pytest

from graphcb import FileError, SquareCBG, graphs, load, save
from graphcb.environments import Observation, Round
from graphcb.experiments import run
from graphcb.oracles import SklearnRegressor, TorchNetwork, VowpalWabbit


def sklearn_oracle(**options):
    linear = pytest.importorskip("sklearn.linear_model", reason="extra `sklearn` not installed")
    regressor = linear.SGDRegressor(random_state=0, learning_rate="constant", eta0=0.05)
    return SklearnRegressor(regressor, 3, 4, **options)


def vw_oracle():
    pytest.importorskip("vowpalwabbit", reason="extra `vw` not installed")
    return VowpalWabbit(3, 4, arguments="--learning_rate 0.5")


def torch_oracle():
    pytest.importorskip("torch", reason="extra `torch` not installed")
    return TorchNetwork(3, 4, hidden=(16,), seed=1)


def sparse_sklearn_oracle():
    return sklearn_oracle(sparse=True)


BUILD = [sklearn_oracle, sparse_sklearn_oracle, vw_oracle, torch_oracle]


class Linear:
    """Three actions, losses linear in the context."""

    n_rounds = 600

    def rounds(self, rng):
        for _ in range(self.n_rounds):
            x = np.append(rng.uniform(-1, 1, size=3), 1.0)
            yield Round(x, graphs.cops_and_robbers(3), None, 0.5 + 0.4 * x[:3])

    def reveal(self, round, action, rng):
        seen = round.graph.draw_revealed(action, rng)
        return Observation(seen, round.hidden[seen])

    def loss(self, round, action):
        return float(round.hidden[action])


@pytest.mark.parametrize("build", BUILD)
def test_squarecbg_learns_with_it(build):
    rows = list(run(SquareCBG(build(), gamma=100.0), Linear(), seed=0))
    assert np.mean([row.loss for row in rows[:30]]) > 0.35
    assert np.mean([row.loss for row in rows[-200:]]) < 0.34  # the best possible is 0.3


@pytest.mark.parametrize("build", BUILD)
def test_only_revealed_actions_learn_and_sparse_rows_count_the_same(build):
    dense, sparse = build(), build()
    for _ in range(30):
        dense.update([0.0, 1.0, 0.0, 2.0], [2], [1.5])
        sparse.update(([1, 3], [1.0, 2.0]), [2], [1.5])
    probe = np.array([0.0, 1.0, 0.0, 2.0])
    np.testing.assert_allclose(dense.predict(probe), sparse.predict(probe), rtol=1e-6, atol=1e-7)
    assert dense.predict(probe, [2])[0] == pytest.approx(1.5, abs=0.3)
    if not isinstance(dense, TorchNetwork):  # whose actions share the hidden layer
        np.testing.assert_allclose(dense.predict(probe, [0, 1]), 0.0, atol=1e-7)


def through_a_file(oracle, folder):
    save(oracle, folder / "oracle.npz")
    if isinstance(oracle, VowpalWabbit):
        with pytest.raises(FileError, match=r"oracle.npz: the file holds a VowpalWabbit, whose mod"):
            load(folder / "oracle.npz")
    return load(folder / "oracle.npz", classes=[VowpalWabbit])


@pytest.mark.parametrize("build", [vw_oracle, torch_oracle])
@pytest.mark.parametrize(
    "store",
    [lambda o, _: copy.deepcopy(o), lambda o, _: pickle.loads(pickle.dumps(o)), through_a_file],
    ids=["copied", "pickled", "saved"],
)
def test_a_stored_oracle_goes_on_as_if_it_had_never_stopped(build, store, tmp_path):
    rng = np.random.default_rng(0)
    oracle = build()
    for _ in range(20):
        oracle.update(rng.normal(size=4), [0, 2], rng.random(2))
    stored = store(oracle, tmp_path)
    for _ in range(20):
        x, losses = rng.normal(size=4), rng.random(2)
        np.testing.assert_array_equal(oracle.predict(x), stored.predict(x))
        for learner in (oracle, stored):
            learner.update(x, [1, 2], losses)


@pytest.mark.parametrize("build", BUILD)
@pytest.mark.parametrize(
    ("context", "actions", "losses", "error", "text"),
    [
        (np.ones(3), [0], [1.0], ValueError, "`context` must have shape"),
        (np.full(4, np.nan), [0], [1.0], ValueError, "`context` must be finite, got nan"),
        (np.ones(4), [3], [1.0], IndexError, "`actions` must be between 0 and 2"),
        (np.ones(4), [0, 0], [1.0, 1.0], ValueError, "`actions` must be distinct"),
        (np.ones(4), [0], [np.inf], ValueError, "`losses` must be finite, got inf"),
        (np.ones(4), [0], [1.0, 2.0], ValueError, "`losses` must have shape"),
    ],
)
def test_bad_input_gets_an_error_and_changes_nothing(build, context, actions, losses, error, text):
    oracle = build()
    before = oracle.predict(np.ones(4))
    with pytest.raises(error, match=text):
        oracle.update(context, actions, losses)
    np.testing.assert_array_equal(oracle.predict(np.ones(4)), before)


def test_a_regressor_that_cannot_learn_in_steps_is_refused():
    with pytest.raises(TypeError, match="`regressor` must have partial_fit and predict"):
        SklearnRegressor(object(), 2, 2)
