import numpy as np
import pytest

from graphcb.oracles import LinearAdaGrad, LinearOGD, LogisticOGD

RATE = 0.03


def by_difference(build, x, losses):
    """Gradient of the summed squared error by the weights, one entry at a time."""
    oracle = build()
    gradient = np.empty_like(oracle.weights)
    for index in np.ndindex(gradient.shape):
        errors = []
        for shift in (1e-6, -1e-6):
            probe = build()
            probe.weights[index] += shift
            errors.append(((probe.predict(x) - losses) ** 2).sum())
        gradient[index] = (errors[0] - errors[1]) / 2e-6
    return gradient


@pytest.mark.parametrize(
    "oracle",
    [
        lambda: LinearOGD(3, 4, learning_rate=RATE),
        lambda: LogisticOGD(3, 4, learning_rate=RATE),
        lambda: LogisticOGD(3, 4, learning_rate=RATE, loss_range=(-2.0, 5.0)),
    ],
)
def test_update_is_a_step_along_the_gradient(oracle):
    rng = np.random.default_rng(0)
    start, x, losses = rng.normal(size=(4, 3)), rng.normal(size=4), rng.random(size=3)

    def build():
        built = oracle()
        built.weights[:] = start
        return built

    learnt = build()
    learnt.update(x, None, losses)
    gradient = by_difference(build, x, losses)
    np.testing.assert_allclose(learnt.weights, start - RATE * gradient, atol=1e-6)


@pytest.mark.parametrize("oracle", [LinearOGD, LogisticOGD])
def test_steps_can_decay(oracle):
    slow, steady = (
        oracle(1, 1, learning_rate=0.1, decay="inverse_sqrt"),
        oracle(1, 1, learning_rate=0.1),
    )
    moves = {"slow": [], "steady": []}
    for _ in range(9):
        for name, model in (("slow", slow), ("steady", steady)):
            model.weights[:] = 0.0
            model.update([1.0], [0], [1.0])
            moves[name].append(model.weights[0, 0])
    np.testing.assert_allclose(
        np.array(moves["slow"]) / np.array(moves["steady"]), 1 / np.sqrt(np.arange(1, 10))
    )


def test_only_the_revealed_actions_learn():
    for oracle in (LinearOGD(4, 2), LogisticOGD(4, 2), LinearAdaGrad(4, 2)):
        oracle.update([1.0, 2.0], [3, 1], [0.9, 0.8])
        assert (oracle.weights[:, [0, 2]] == 0).all()
        assert (oracle.weights[:, [1, 3]] != 0).all()


def test_logistic_predictions_stay_in_their_range():
    oracle = LogisticOGD(2, 1, learning_rate=50.0, loss_range=(-1.0, 3.0))
    for _ in range(100):
        oracle.update([10.0], [0, 1], [-1.0, 3.0])
    predicted = oracle.predict([1e6])
    assert predicted.min() >= -1.0
    assert predicted.max() <= 3.0


def test_the_first_adagrad_step_does_not_depend_on_the_scale_of_a_feature():
    rng = np.random.default_rng(0)
    scale = np.array([1.0, 1000.0])
    plain, scaled = LinearAdaGrad(1, 2), LinearAdaGrad(1, 2)
    x = rng.normal(size=2)
    plain.update(x, [0], [1.0])
    scaled.update(x * scale, [0], [1.0])
    np.testing.assert_allclose(plain.weights, scaled.weights)
    np.testing.assert_allclose(np.abs(plain.weights), 0.5)  # the learning rate, whatever x


@pytest.mark.parametrize("oracle", [LinearOGD, LogisticOGD, LinearAdaGrad])
def test_bad_parameters(oracle):
    with pytest.raises(ValueError, match="`learning_rate` must be a positive finite number, got 0"):
        oracle(2, 2, learning_rate=0)
    with pytest.raises(ValueError, match="`n_actions` must be at least 1, got 0"):
        oracle(0, 2)
    with pytest.raises(ValueError, match="`n_features` must be at least 1, got 0"):
        oracle(2, 0)


def test_other_bad_parameters():
    with pytest.raises(ValueError, match="`decay` must be one of constant, inverse_sqrt; got 'x'"):
        LinearOGD(2, 2, decay="x")
    with pytest.raises(ValueError, match=r"`loss_range` must be \(low, high\) with low < high"):
        LogisticOGD(2, 2, loss_range=(1.0, 1.0))


def test_a_step_never_overshoots_the_loss():
    oracle = LinearOGD(1, 2, learning_rate=1e200)
    for _ in range(3):
        oracle.update([1.0, 1.0], [0], [1.0])
        assert oracle.predict([1.0, 1.0])[0] == pytest.approx(1.0)
    rng = np.random.default_rng(0)
    oracle = LinearOGD(1, 3)
    for x in rng.normal(size=(2000, 3)) * [1.0, 1e3, 1e6]:
        oracle.update(x, [0], [float(x[2] > 0)])
        assert abs(oracle.predict(x)[0]) < 10.0


def test_divergence_is_said_and_not_hidden():
    oracle = LinearOGD(1, 1)
    oracle.weights[:] = np.inf
    with pytest.raises(FloatingPointError, match="the steps diverge; lower learning_rate"):
        oracle.predict([1.0])
