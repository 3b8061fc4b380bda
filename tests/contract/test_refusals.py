"""A refused call changes nothing, and no call leaves the finite numbers: every oracle and agent."""

import inspect

import numpy as np
import pytest

import graphcb
from graphcb import exploration, graphs, oracles, saving
from graphcb.oracles import SharedLinearOGD, SklearnRegressor, VovkAggregation
from graphcb.saving import to_bytes

FEATURES = 4
NUMBERS, LEVELS = np.arange(4), np.array([0.0, 0.25, 0.5, 1.0])


def crossed(context, actions):
    x = np.asarray(context, dtype=float)
    if x.shape != (FEATURES,):
        raise ValueError("`context` must have shape (4,)")
    with np.errstate(all="ignore"):
        return np.array([np.append(x, float(action) * x) for action in actions])


class Choosy:
    """An oracle from outside graphcb that changes before it refuses."""

    def __init__(self):
        self.n_updates = 0

    def predict(self, context, actions):
        return np.full(len(actions), 0.5)

    def update(self, context, actions, losses):
        self.n_updates += 1
        if context[0] == 0.125:
            raise ValueError("`context` must not be that")


def sklearn_oracle():
    linear = pytest.importorskip("sklearn.linear_model")
    return SklearnRegressor(linear.SGDRegressor(random_state=0), 4, FEATURES)


def mixed():
    return VovkAggregation(
        [
            oracles.LinearOGD(4, FEATURES),
            oracles.BayesianLogistic(4, FEATURES),
            oracles.OnlineRidge(4, FEATURES),
            Choosy(),
            oracles.LinearAdaGrad(4, FEATURES),
        ]
    )


class OfRows:
    """Actions by number, as an oracle for rows of features sees them."""

    def __init__(self):
        self.oracle = oracles.ActionFeatureOracle()

    def predict(self, context, actions):
        return self.oracle.predict(context, rows_of(actions))

    def update(self, context, actions, losses):
        self.oracle.update(context, rows_of(actions), losses)


def rows_of(actions):
    if np.asarray(actions).dtype.kind not in "iuf" or np.ndim(actions) != 1:
        raise ValueError("`actions` must be numbers")
    return [[float(action), 1.0 / (1.0 + float(action))] for action in actions]


ORACLES = {
    "ActionFeatureOracle": OfRows,
    "BayesianLogistic": lambda: oracles.BayesianLogistic(4, FEATURES),
    "BayesianLogistic, diagonal": lambda: oracles.BayesianLogistic(
        4, FEATURES, covariance="diagonal"
    ),
    "DefaultOracle": lambda: oracles.DefaultOracle(4),
    "LinearAdaGrad": lambda: oracles.LinearAdaGrad(4, FEATURES),
    "LinearOGD": lambda: oracles.LinearOGD(4, FEATURES),
    "LogisticOGD": lambda: oracles.LogisticOGD(4, FEATURES),
    "NewsvendorOGD": lambda: oracles.NewsvendorOGD(FEATURES, learning_rate=0.05),
    "OnlineRidge": lambda: oracles.OnlineRidge(4, FEATURES),
    "SharedLinearOGD": lambda: SharedLinearOGD(8, crossed),
    "SklearnRegressor": sklearn_oracle,
    "TorchNetwork": lambda: pytest.importorskip("torch") and oracles.TorchNetwork(4, FEATURES),
    "VovkAggregation": mixed,
    "VowpalWabbit": lambda: (
        pytest.importorskip("vowpalwabbit") and oracles.VowpalWabbit(4, FEATURES)
    ),
}
SCALES = [1e-320, 1e-160, 1e-100, 1e-20, 1e4, 1e20, 1e49, 1e51, 1e101, 1e160, 1e300, 1.7e308]
x0 = np.array([0.5, -0.25, 1.0, 0.0])
REFUSALS = [
    (x0[:3], [0, 1], [0.5, 0.5]),
    (x0 * np.nan, [0, 1], [0.5, 0.5]),
    (np.array([0.0, np.inf, 0.0, 0.0]), [0, 1], [0.5, 0.5]),
    (x0, [0, 1], [0.5]),
    (x0, [0, 1], [0.5, np.nan]),
    (x0, [0, 1], [-np.inf, 0.5]),
    (x0, [0, 1], [0.5, 1e308]),
    (x0, [0, 1], [0.5, -1e308]),
    (x0, [0, 9], [0.5, 0.5]),
    (x0, [0, 2**63], [0.5, 0.5]),
    (x0, [1, 1], [0.5, 0.5]),
    (x0, [0.5, 1.5], [0.5, 0.5]),
    (x0, [[0, 1]], [0.5, 0.5]),
    (x0, ["a", "b"], [0.5, 0.5]),
    (x0, [0, 1], ["a", "b"]),
    (np.array([0.125, 0.0, 0.0, 0.0]), [0, 1], [0.5, 0.5]),
    *((x0 * scale, [0, 1], [0.5, 0.25]) for scale in SCALES),
    *((x0, [0, 1], [0.5, scale]) for scale in SCALES),
    *((x0 * scale, [0, 1], [1.0, scale]) for scale in SCALES),
    *((x0 / scale, [0, 1], [1.0, scale]) for scale in SCALES if scale > 1e-300),
]


def state_of(thing):
    """Everything that a later call depends on; adapters by what they predict."""
    if isinstance(thing, OfRows):
        return to_bytes(thing.oracle)
    if isinstance(thing, SharedLinearOGD):
        return thing.weights.tobytes(), thing.n_updates
    if isinstance(thing, SklearnRegressor):
        return thing.predict(x0).tobytes(), thing.fitted.tobytes()
    return to_bytes(thing)


def test_every_oracle_and_agent_is_here():
    found = {
        name
        for name, value in vars(oracles).items()
        if inspect.isclass(value)
        and hasattr(value, "predict")
        and not getattr(value, "_is_protocol", False)
    }
    assert found == {name.partition(",")[0] for name in ORACLES}
    assert set(AGENTS) == {
        value
        for value in vars(graphcb.agents).values()
        if hasattr(value, "act") and getattr(value, "informed", True)
    } - {graphcb.agents.Agent}


def test_every_saveable_class_checks_itself():
    rooms = (
        graphcb.agents,
        exploration.schedules,
        graphcb.graph_oracles,
        oracles,
        oracles.blends,
        oracles.features,
    )
    classes = {
        value
        for room in rooms
        for value in vars(room).values()
        if inspect.isclass(value)
        and value.__module__.startswith(room.__name__)
        and not getattr(value, "_is_protocol", False)
    }
    never_in_a_file = {"BlendRow", "Forecast", "SharedLinearOGD"}
    assert {kind.__name__ for kind in classes - set(saving._ROOMS)} == never_in_a_file


@pytest.mark.parametrize("name", ORACLES)
@pytest.mark.parametrize("warm", [1, 12])
def test_an_oracle_changes_wholly_or_not_at_all_and_stays_finite(name, warm):
    oracle, rng = ORACLES[name](), np.random.default_rng(0)
    kind = LEVELS if name == "NewsvendorOGD" else NUMBERS
    for _ in range(warm):
        oracle.update(rng.uniform(0.2, 1.0, FEATURES), kind[[2, 0]], rng.random(2))
    texts = []
    for context, actions, losses in REFUSALS:
        before = state_of(oracle)
        try:
            oracle.update(context, actions, losses)
        except (ValueError, TypeError, IndexError) as problem:
            texts.append(str(problem))
            assert state_of(oracle) == before
        for probe in (x0, context):
            try:
                predicted = oracle.predict(probe, kind)
            except (ValueError, TypeError, IndexError) as problem:
                texts.append(str(problem))
                assert probe is not x0, problem  # noqa: PT017
            else:
                assert np.isfinite(predicted).all()
    assert len(texts) >= 20
    if name not in ("SharedLinearOGD", "SklearnRegressor"):  # which pass on what others say
        assert [text for text in texts if "`" not in text and "finite" not in text] == []
    if name not in ("SharedLinearOGD", "SklearnRegressor"):
        classes = [Choosy, OfRows, oracles.VowpalWabbit]
        saving.from_bytes(to_bytes(oracle), where="kept", classes=classes)


def agent_of(kind, **settings):
    return lambda: kind(oracles.OnlineRidge(4, FEATURES), **settings)


AGENTS = {
    graphcb.InformationDirected: [
        graphcb.InformationDirected,
        lambda: graphcb.InformationDirected(oracles.OnlineRidge(4, FEATURES)),
    ],
    graphcb.SquareCBG: [
        graphcb.SquareCBG,
        agent_of(graphcb.SquareCBG, gamma=10.0),
        agent_of(graphcb.SquareCBG),
        agent_of(graphcb.SquareCBG, gamma=graphcb.Doubling(3, 0.1)),
    ],
    graphcb.SquareCB: [agent_of(graphcb.SquareCB)],
    graphcb.Greedy: [agent_of(graphcb.Greedy)],
    graphcb.EpsilonGreedy: [agent_of(graphcb.EpsilonGreedy)],
    graphcb.Uniform: [graphcb.Uniform],
    graphcb.Conservative: [lambda: graphcb.Conservative(agent_of(graphcb.SquareCBG)(), 0)],
    graphcb.Shadow: [lambda: graphcb.Shadow(agent_of(graphcb.Greedy)(), 0)],
}
ROUNDS = [
    (x0[:2], graphs.bandit(4), None),
    (x0 * np.nan, graphs.bandit(4), None),
    (x0, graphs.bandit(3), None),
    (x0, None, None),
    (x0, graphcb.FeedbackGraph(np.zeros((4, 4))), None),
    (x0, graphs.bandit(4), [0, 1, 2, 2**40]),
    (x0, graphs.bandit(4), [0, 1, 2, -1]),
    (x0, graphs.bandit(4), ["a", "b", "c", "d"]),
    *((x0 * scale, graphs.bandit(4), None) for scale in SCALES),
]


@pytest.mark.parametrize("build", [build for builds in AGENTS.values() for build in builds])
def test_an_agent_changes_wholly_or_not_at_all(build):
    agent, rng = build(), np.random.default_rng(0)
    for t in range(8):
        agent.act(rng.uniform(0.2, 1.0, FEATURES), graphs.bandit(4))
        if t < 7:  # a schedule may have asked for a fresh oracle
            agent.learn(x0, [t % 4], [0.5])
    for context, graph, actions in ROUNDS:
        before = to_bytes(agent)
        try:
            probabilities = agent.act(context, graph, actions)
        except (ValueError, TypeError, IndexError):
            assert to_bytes(agent) == before
        else:
            assert abs(probabilities.sum() - 1.0) < 1e-9
    for context, actions, losses in REFUSALS:
        before = to_bytes(agent)
        try:
            agent.learn(context, actions, losses)
        except (ValueError, TypeError, IndexError):
            assert to_bytes(agent) == before
    agent.act(x0, graphs.bandit(4))
