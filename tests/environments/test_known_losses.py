import numpy as np
import pytest
import scipy.sparse

from graphcb import FeedbackGraph, SquareCBG, SquareRoot, graphs
from graphcb.environments import KnownLosses
from graphcb.experiments import run
from graphcb.oracles import LogisticOGD

CONTEXTS = np.arange(12.0).reshape(6, 2)
LOSSES = np.arange(18.0).reshape(6, 3)


def rounds(environment, seed=0):
    return list(environment.rounds(np.random.default_rng(seed)))


def test_each_row_comes_once_with_its_own_losses():
    played = rounds(KnownLosses(CONTEXTS, LOSSES, graphs.bandit(3)))
    order = [int(r.context[0] // 2) for r in played]
    assert sorted(order) == list(range(6))
    assert order != list(range(6))
    for row, r in zip(order, played, strict=True):
        np.testing.assert_array_equal(r.hidden, LOSSES[row])
    again = rounds(KnownLosses(CONTEXTS, LOSSES, graphs.bandit(3)))
    assert [int(r.context[0] // 2) for r in again] == order
    other = rounds(KnownLosses(CONTEXTS, LOSSES, graphs.bandit(3)), seed=1)
    assert [int(r.context[0] // 2) for r in other] != order


def test_order_and_number_of_rounds_can_be_told():
    environment = KnownLosses(CONTEXTS, LOSSES, graphs.bandit(3), shuffle=False, n_rounds=4)
    assert [r.context[0] for r in rounds(environment)] == [0.0, 2.0, 4.0, 6.0]
    assert environment.n_rounds == 4
    assert KnownLosses(CONTEXTS, LOSSES, graphs.bandit(3), n_rounds=100).n_rounds == 6


def test_what_is_revealed_and_what_is_paid():
    environment = KnownLosses(CONTEXTS, LOSSES, graphs.cops_and_robbers(3), shuffle=False)
    r = rounds(environment)[1]
    seen = environment.reveal(r, 2, np.random.default_rng(0))
    assert seen.actions.tolist() == [0, 1]
    assert seen.losses.tolist() == [3.0, 4.0]
    assert environment.loss(r, 2) == 5.0


def test_a_fresh_graph_each_round():
    def fresh(rng):
        return graphs.random_self_aware(3, 0.5, rng)

    played = rounds(KnownLosses(CONTEXTS, LOSSES, fresh))
    assert len({r.graph for r in played}) > 1
    again = rounds(KnownLosses(CONTEXTS, LOSSES, fresh))
    assert [r.graph for r in again] == [r.graph for r in played]


def test_sparse_contexts_are_pairs_and_learn_the_same():
    rng = np.random.default_rng(0)
    dense = rng.random((200, 5)) * (rng.random((200, 5)) < 0.5)
    losses = (dense[:, :3] < 0.3).astype(float)
    means = []
    for contexts in (dense, scipy.sparse.csr_array(dense), scipy.sparse.coo_matrix(dense)):
        agent = SquareCBG(LogisticOGD(3, 5), gamma=SquareRoot(8.0, 1.0))
        environment = KnownLosses(contexts, losses, graphs.full_information(3))
        means.append([row.mean_loss for row in run(agent, environment, seed=0)])
    np.testing.assert_allclose(means[0], means[1])
    assert means[1] == means[2]


@pytest.mark.parametrize(
    ("contexts", "losses", "graph", "text"),
    [
        (CONTEXTS, LOSSES[0], graphs.bandit(3), r"`losses` must have shape \(n, K\).*got \(3,\)"),
        (
            CONTEXTS,
            np.where(LOSSES == 4.0, np.nan, LOSSES),
            graphs.bandit(3),
            r"must be finite, got nan at \[1, 1\]",
        ),
        (CONTEXTS[:4], LOSSES, graphs.bandit(3), "must have the same number of rows, got 4 and 6"),
        (CONTEXTS, LOSSES, graphs.bandit(2), "`graph` must have 3 actions .*got 2"),
    ],
)
def test_bad_input(contexts, losses, graph, text):
    with pytest.raises(ValueError, match=text):
        KnownLosses(contexts, losses, graph)


def test_a_drawn_graph_of_the_wrong_size():
    environment = KnownLosses(CONTEXTS, LOSSES, lambda rng: FeedbackGraph(np.eye(2)))
    with pytest.raises(ValueError, match="`graph` must have 3 actions"):
        rounds(environment)
