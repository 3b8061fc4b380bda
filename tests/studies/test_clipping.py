import numpy as np
import pytest
from studies.limits.clipping import ClipAndRenormalise

from graphcb.graphs import FeedbackGraph
from graphcb.oracles import OnlineRidge


class Wants:
    """In place of an agent: always the same probabilities."""

    def __init__(self, p):
        self.p = np.array(p)

    def act(self, context, graph, actions=None):
        return self.p


@pytest.mark.parametrize(
    ("wanted", "played"),
    [
        ([0.9, 0.05, 0.05], [0.9, 0.05, 0.05]),
        ([0.3, 0.1, 0.6], [0.675, 0.225, 0.1]),
        ([0.0, 0.0, 1.0], [0.0, 0.9, 0.1]),  # the second looks best
    ],
)
def test_clip_and_renormalise(wanted, played):
    oracle = OnlineRidge(3, 1)
    oracle.update([1.0], [1], [-1.0])
    agent = ClipAndRenormalise(oracle, np.array([0.0, 0.0, 1.0]), 0.1)
    agent.agent = Wants(wanted)
    graph = FeedbackGraph(np.eye(3))
    assert agent.act([1.0], graph) == pytest.approx(np.array(played))


def test_clipping_holds_the_expected_cost_of_several_models():
    agent = ClipAndRenormalise(OnlineRidge(3, 1), np.array([0.0, 0.3, 1.0]), 0.1)
    agent.agent = Wants([0.2, 0.4, 0.4])
    p = agent.act([1.0], FeedbackGraph(np.eye(3)))
    assert p @ [0.0, 0.3, 1.0] == pytest.approx(0.1)
    assert p.sum() == pytest.approx(1.0)
