"""Who predicts, in words: the heaviest first, and what was left out with the reason."""

import numpy as np
import pytest

from graphcb import InformationDirected, graphs
from graphcb.oracles import DefaultOracle
from graphcb.oracles.blends import Blend, form_of
from graphcb.oracles.members import explain_members, member_weights


def _learned(n_actions, context, n=1):
    oracle = DefaultOracle(n_actions)
    for _ in range(n):
        oracle.update(context, [0], [1.0])
    return oracle


def test_weights_have_sum_1_and_those_that_are_silent_have_none():
    words = _learned(2, (np.arange(5), np.ones(5)))
    weights = member_weights(words.blend)
    assert weights.sum() == pytest.approx(1.0)
    assert weights[1].max() == 0.0 < weights[[0, 2]].min()


def test_the_heaviest_member_comes_first():
    oracle = _learned(2, [1.0, 2.0])
    oracle.blend.log_weights[:] = -20.0
    oracle.blend.log_weights[2, 1] = 0.0
    oracle.blend.log_weights[0, 0] = -1.0
    who = "73 % waved (keeps 0.998 per loss), 27 % straight (keeps all)"
    assert oracle.explain() == f"predicted by {who}"
    assert repr(oracle) == f"DefaultOracle(2)  # {who}"
    assert repr(InformationDirected(oracle)) == "InformationDirected(DefaultOracle(2))"


@pytest.mark.parametrize(
    ("n_actions", "context", "said"),
    [
        (2, np.ones(300), ["straight (more than 256 features", "products (no numbers, or more"]),
        (100, np.ones(30), ["waves (more than 150,000 covariances of all actions)"]),
        (5, (np.arange(3), np.ones(3)), ["products (no numbers, or more than 64)"]),
        (2, np.ones(3), []),
    ],
)
def test_what_was_left_out_has_a_reason(n_actions, context, said):
    text = _learned(n_actions, context).explain()
    left_out = text.partition("; left out: ")[2]
    assert all(one in left_out for one in said)
    assert bool(left_out) == bool(said)


def test_members_that_no_longer_forget_are_named():
    blend = Blend(2, *form_of([1.0]))
    blend.paired = blend.paired[:1]
    assert "forgetting (more than 1,000,000 variances)" in explain_members(blend)


def test_the_agent_says_so_too_once_it_has_learned():
    agent = InformationDirected(DefaultOracle(2))
    assert "predicted" not in agent.explain(graphs.bandit(2))
    agent.learn([1.0, 0.0], [0], [0.0])
    assert "; predicted by " in agent.explain(graphs.bandit(2))
    assert DefaultOracle(2).explain() == "nothing was learned yet"
