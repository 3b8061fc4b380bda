"""Every oracle, found by reflection, keeps the contract of its role."""

import copy
import inspect
import pickle

import numpy as np
import pytest

import graphcb
import graphcb.oracles
from graphcb.decisions import replay
from graphcb.oracles import (
    ActionFeatureOracle,
    BayesianLogistic,
    DefaultOracle,
    LinearAdaGrad,
    LinearOGD,
    LogisticOGD,
    NewsvendorOGD,
    OnlineRidge,
    SharedLinearOGD,
    SklearnRegressor,
    TorchNetwork,
    VovkAggregation,
    VowpalWabbit,
)
from graphcb.saving import to_bytes

FEATURES = 4
LEVELS = np.array([0.0, 0.25, 0.5, 1.0])
NUMBERS = np.arange(4)
ROWS = NUMBERS[:, None].astype(float)  # one feature per action


def crossed(context, actions):
    """Each feature of the context, by itself and times the number of the action."""
    if not np.isfinite(context).all():
        raise ValueError("`context` must be finite")
    if np.shape(context) != (FEATURES,):
        raise ValueError("`context` must have shape (4,)")
    return np.array([np.append(context, action * context) for action in actions])


# How to build one, and its actions in its own terms.
EXAMPLES = {
    ActionFeatureOracle: (ActionFeatureOracle, ROWS),
    BayesianLogistic: (lambda: BayesianLogistic(4, FEATURES), NUMBERS),
    DefaultOracle: (lambda: DefaultOracle(4), NUMBERS),
    LinearAdaGrad: (lambda: LinearAdaGrad(4, FEATURES), NUMBERS),
    LinearOGD: (lambda: LinearOGD(4, FEATURES, learning_rate=0.05), NUMBERS),
    LogisticOGD: (lambda: LogisticOGD(4, FEATURES, learning_rate=0.5), NUMBERS),
    NewsvendorOGD: (lambda: NewsvendorOGD(FEATURES, learning_rate=0.05), LEVELS),
    OnlineRidge: (lambda: OnlineRidge(4, FEATURES), NUMBERS),
    SharedLinearOGD: (lambda: SharedLinearOGD(8, crossed, learning_rate=0.05), NUMBERS),
    VovkAggregation: (
        lambda: VovkAggregation(
            [LinearOGD(4, FEATURES, learning_rate=0.1), OnlineRidge(4, FEATURES)]
        ),
        NUMBERS,
    ),
}
CASES = [pytest.param(*case, id=oracle.__name__) for oracle, case in EXAMPLES.items()]


def truth(x, actions, kind):
    """Losses in [0, 1] that each oracle can represent: linear, or those of a demand."""
    if kind is LEVELS:
        demand = 0.5 + 0.2 * x[0] - 0.1 * x[1]
        return np.where(actions > demand, 0.25 * (actions - demand), demand - actions)
    return 0.5 + 0.1 * np.ravel(actions) * x[0] - 0.1 * x[1]


def train(oracle, kind, n_rounds, seed=0):
    rng = np.random.default_rng(seed)
    errors = []
    for _ in range(n_rounds):
        x = np.append(rng.uniform(-1, 1, size=FEATURES - 1), 1.0)
        seen = np.sort(rng.choice(4, size=rng.integers(1, 5), replace=False))
        losses = truth(x, kind[seen], kind)
        errors.append(np.mean((oracle.predict(x, kind[seen]) - losses) ** 2))
        oracle.update(x, kind[seen], losses)
    return np.array(errors)


def test_every_oracle_has_an_example_here():
    found = {
        value
        for name, value in vars(graphcb.oracles).items()
        if inspect.isclass(value)
        and hasattr(value, "predict")
        and not getattr(value, "_is_protocol", False)
    }
    adapters = {TorchNetwork, SklearnRegressor, VowpalWabbit}  # in tests/oracles/adapters
    assert found == set(EXAMPLES) | adapters


@pytest.mark.parametrize(("build", "kind"), CASES)
class TestOracle:
    def test_shows_itself_as_the_call_that_makes_it(self, build, kind):
        oracle = build()
        train(oracle, kind, 3)
        names = {**vars(graphcb.oracles), "crossed": crossed}
        again = eval(repr(oracle), names)
        assert repr(again) == repr(build()) == repr(oracle).partition("  # ")[0]
        np.testing.assert_array_equal(train(again, kind, 10), train(build(), kind, 10))

    def test_predicts_before_it_has_learned(self, build, kind):
        predicted = build().predict(np.ones(FEATURES), kind)
        assert predicted.shape == (4,)
        assert predicted.dtype == np.float64
        assert np.isfinite(predicted).all()

    def test_learns_what_it_can_represent(self, build, kind):
        errors = train(build(), kind, 1500)
        assert errors[-300:].mean() < 0.05 * errors[:10].mean()

    def test_predictions_do_not_depend_on_what_else_is_asked(self, build, kind):
        oracle, x = build(), np.linspace(-1, 1, FEATURES)
        train(oracle, kind, 50)
        together = oracle.predict(x, kind)
        for order in ([2, 0], [3], [1, 2, 3], [3, 2, 1, 0]):
            np.testing.assert_allclose(oracle.predict(x, kind[order]), together[order], rtol=1e-12)

    def test_predicting_changes_nothing(self, build, kind):
        asked, silent = build(), build()
        for _ in range(3):
            asked.predict(np.ones(FEATURES), kind)
        np.testing.assert_array_equal(train(asked, kind, 20), train(silent, kind, 20))

    def test_changes_no_input(self, build, kind):
        x, losses = np.ones(FEATURES), np.full(4, 0.5)
        actions = kind.copy()
        oracle = build()
        oracle.predict(x, actions)
        oracle.update(x, actions, losses)
        np.testing.assert_array_equal(x, 1.0)
        np.testing.assert_array_equal(losses, 0.5)
        np.testing.assert_array_equal(actions, kind)

    @pytest.mark.parametrize("store", [copy.deepcopy, lambda o: pickle.loads(pickle.dumps(o))])
    def test_a_stored_oracle_goes_on_as_if_it_had_never_stopped(self, build, kind, store):
        oracle = build()
        train(oracle, kind, 30)
        stored = store(oracle)
        np.testing.assert_array_equal(
            train(oracle, kind, 30, seed=1), train(stored, kind, 30, seed=1)
        )

    def test_nothing_revealed_changes_no_prediction(self, build, kind):
        oracle = build()
        if isinstance(oracle, DefaultOracle):
            pytest.skip("a context without losses still teaches it the scale of the features")
        train(oracle, kind, 10)
        before = oracle.predict(np.ones(FEATURES), kind)
        oracle.update(np.ones(FEATURES), [], [])
        np.testing.assert_array_equal(oracle.predict(np.ones(FEATURES), kind), before)

    @pytest.mark.parametrize(
        ("context", "n_seen", "losses", "text"),
        [
            (np.ones(FEATURES - 1), 4, np.ones(4), "`context` must have shape"),
            (np.full(FEATURES, np.nan), 4, np.ones(4), "`context` must be finite"),
            (np.ones(FEATURES), 4, np.ones(3), "`losses` must have shape"),
            (np.ones(FEATURES), 4, [1.0, 1.0, np.nan, 1.0], "(must be finite|must lie in).*nan"),
        ],
    )
    def test_bad_input_gets_an_error_and_changes_nothing(
        self, build, kind, context, n_seen, losses, text
    ):
        oracle, untouched = build(), build()
        train(oracle, kind, 5)
        train(untouched, kind, 5)
        with pytest.raises(ValueError, match=text):
            oracle.update(context, kind[:n_seen], losses)
        np.testing.assert_array_equal(train(oracle, kind, 10), train(untouched, kind, 10))

    def test_impossible_actions_are_refused(self, build, kind):
        oracle = build()
        if isinstance(oracle, ActionFeatureOracle | NewsvendorOGD | SharedLinearOGD):
            pytest.skip("any action is possible: a level, or what the features understand")
        with pytest.raises(IndexError, match=r"`actions` must be between 0 and 3 .*got 4 at"):
            oracle.update(np.ones(FEATURES), [0, 4], [0.5, 0.5])
        with pytest.raises(ValueError, match="`actions` must be distinct, got 1 again at index 1"):
            oracle.update(np.ones(FEATURES), [1, 1], [0.5, 0.5])
        with pytest.raises(TypeError, match="`actions` must be whole numbers"):
            oracle.predict(np.ones(FEATURES), [0.5])


@pytest.mark.parametrize(("build", "actions"), CASES)
def test_a_log_of_decisions_leads_to_the_same_bits(build, actions, tmp_path):
    if isinstance(build(), SharedLinearOGD):
        pytest.skip("holds a function, which no file of graphcb does")
    if isinstance(build(), ActionFeatureOracle):
        pytest.skip("rows of features are no identifiers")
    rng = np.random.default_rng(4)
    agent = graphcb.SquareCBG(build())
    with graphcb.Policy(tmp_path / "log.db", agent, durability="process-kill") as policy:
        for _ in range(20):
            x = rng.random(FEATURES)
            decision = policy.decide(x, graphcb.graphs.cops_and_robbers(4), actions)
            losses = truth(x, actions, actions)
            pairs = zip(decision.actions, losses, strict=True)
            seen = {a: loss for a, loss in pairs if a != decision.action}
            policy.feedback(decision.decision_id, seen)
        state = to_bytes(policy.agent)
    with graphcb.DecisionLog(tmp_path / "log.db") as log:
        assert to_bytes(replay(log).agent) == state


def test_input_may_be_read_only():
    """Kernels are compiled once more for it, which is slow: one oracle stands for all."""
    oracle, given = LinearOGD(4, FEATURES), (np.ones(FEATURES), np.arange(4), np.full(4, 0.5))
    for array in given:
        array.setflags(write=False)
    oracle.update(*given)
    assert oracle.predict(*given[:2]).shape == (4,)
