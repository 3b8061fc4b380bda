import numpy as np
import pytest

from graphcb.graph_oracles import EdgeCounts, LogisticEdges


def excess_log_loss(oracle, *, n_rounds=1500, width=4, bias=0.0, seed=0):
    """Log loss above that of the true probabilities, per edge and round, in the second half."""
    rng = np.random.default_rng(seed)
    weights = rng.normal(size=(3, width, 3))
    late = []
    for t in range(n_rounds):
        x, played = rng.normal(size=width), int(rng.integers(3))
        p = 1.0 / (1.0 + np.exp(-(np.einsum("f,fj->j", x, weights[played]) + bias)))
        q = oracle.predict(x).matrix[played]
        if t >= n_rounds // 2:
            late.append((p * np.log(p / q) + (1 - p) * np.log((1 - p) / (1 - q))).mean())
        oracle.update(x, played, np.flatnonzero(rng.random(3) < p))
    return np.mean(late)


@pytest.mark.parametrize("loss", ["log", "squared"])
def test_learns_edges_that_depend_on_the_context(loss):
    counts = excess_log_loss(EdgeCounts(3))
    assert excess_log_loss(LogisticEdges(3, 4, loss=loss)) < 0.15 * counts


def test_rare_edges_are_learned_better_by_log_loss():
    log, squared = (
        np.mean(
            [excess_log_loss(LogisticEdges(3, 4, loss=loss), bias=-4.0, seed=s) for s in range(4)]
        )
        for loss in ("log", "squared")
    )
    assert log < 0.9 * squared


def test_many_features_are_taken_as_uncorrelated():
    few, many = LogisticEdges(3, 4), LogisticEdges(3, 400)
    assert few.inverse.shape == (3, 5, 5)
    assert many.inverse.shape == (3, 1, 401)
    rng = np.random.default_rng(0)
    for _ in range(3000):
        word = int(rng.integers(400))
        many.update(([word], [1.0]), 0, [0, 1] if word < 200 else [0])
    assert many.predict(([3], [1.0])).matrix[0, 1] > 0.8
    assert many.predict(([303], [1.0])).matrix[0, 1] < 0.2


def test_a_sparse_row_is_the_dense_one():
    dense, sparse = LogisticEdges(2, 5), LogisticEdges(2, 5)
    rng = np.random.default_rng(0)
    for _ in range(20):
        x = rng.normal(size=5) * (rng.random(5) < 0.5)
        dense.update(x, 0, [1])
        sparse.update((np.flatnonzero(x), x[x != 0.0]), 0, [1])
    np.testing.assert_allclose(dense.predict(x).matrix, sparse.predict(x).matrix, rtol=1e-9)
