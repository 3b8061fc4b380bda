import numpy as np
import pytest

from graphcb import EpsilonGreedy, Greedy, Uniform, graphs


class Table:
    def predict(self, context, actions):
        return np.array([0.3, 0.1, 0.6])

    def update(self, context, actions, losses):
        pass


def test_what_they_play():
    graph = graphs.bandit(3)
    np.testing.assert_array_equal(Greedy(Table()).act(None, graph), [0, 1, 0])
    np.testing.assert_allclose(
        EpsilonGreedy(Table(), epsilon=0.3).act(None, graph), [0.1, 0.8, 0.1]
    )
    np.testing.assert_allclose(Uniform().act(None, graph), [1 / 3, 1 / 3, 1 / 3])


@pytest.mark.parametrize("epsilon", [-0.1, 1.1, float("nan")])
def test_bad_epsilon(epsilon):
    with pytest.raises(ValueError, match=r"`epsilon` must be a probability in \[0, 1\], got"):
        EpsilonGreedy(Table(), epsilon=epsilon)
