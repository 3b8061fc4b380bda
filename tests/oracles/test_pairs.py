import numpy as np
import pytest

from graphcb.oracles import pairs
from graphcb.oracles.action_rows import Rows, no_products
from graphcb.oracles.pair_priors import PRIOR_VARIANCE
from graphcb.oracles.pairs import IN_BLOCKS, PairPosterior

NONE = np.empty(0)  # products of the context


def rows_of(*rows):
    """Rows of (place, value) pairs."""
    starts = np.cumsum([0, *map(len, rows)])
    indices = np.array([place for row in rows for place, _ in row], dtype=np.int64)
    values = np.array([value for row in rows for _, value in row])
    return Rows(starts, indices, values, no_products(starts))


def dense(rng, n_rows, n_features):
    return rows_of(*([(i, 0.3 * rng.normal()) for i in range(n_features)] for _ in range(n_rows)))


class Textbook:
    """The same filter on all pairs written out, with one covariance matrix."""

    def __init__(self, priors):
        self.weights, self.covariance = np.zeros(len(priors)), np.diag(priors)

    def score(self, phi):
        return self.weights @ phi, phi @ self.covariance @ phi

    def learn(self, phi, share):
        score, leverage = self.score(phi)
        scale, along = 1.0 / np.sqrt(1.0 + np.pi / 8.0 * leverage), self.covariance @ phi
        mean = 1.0 / (1.0 + np.exp(-scale * score))
        self.weights += along * scale * (share - mean)
        self.covariance -= np.outer(along, along) * scale**2 * mean * (1.0 - mean)


def priors_of(posterior, n_actions, n_contexts):
    """The prior variances of all pairs, written out."""
    actions, contexts = np.divmod(np.arange(n_actions * n_contexts), n_contexts)
    priors = posterior.priors
    return priors.of(np.minimum(actions, priors.actions.size - 1),
                     np.minimum(contexts, priors.contexts.size - 1))  # fmt: skip


def written_out(rows, r, x):
    values = rows.values[rows.starts[r] : rows.starts[r + 1]]
    return np.outer(values, x).ravel()


@pytest.mark.parametrize("together", [0, 5])
def test_one_block_is_the_textbook_filter(together):
    rng, places = np.random.default_rng(0), np.arange(5)
    posterior = PairPosterior(together)
    textbook = Textbook(priors_of(posterior, 4, 5))
    for _ in range(30):
        x, rows = rng.normal(size=5), dense(rng, 3, 4)
        shares = rng.random(3)
        posterior.learn((places, x), NONE, rows, shares)
        for r in range(3):
            textbook.learn(written_out(rows, r, x), shares[r])
    x, rows = rng.normal(size=5), dense(rng, 6, 4)
    scores, leverages = posterior.scores((places, x), 0.0, NONE, rows, 4)
    expected = [textbook.score(written_out(rows, r, x)) for r in range(6)]
    np.testing.assert_allclose(np.array([scores, leverages]).T, expected, rtol=1e-9)


def test_pairs_of_one_feature_stay_in_one_block():
    rng, places = np.random.default_rng(0), np.arange(100)
    posterior = PairPosterior(100)
    posterior.learn((places, rng.normal(size=100)), NONE, dense(rng, 1, 5), np.array([0.5]))
    taken = posterior.key_places[posterior.keys >= 0]
    features = posterior.keys[posterior.keys >= 0] >> 32
    for feature in range(5):
        assert len(set(taken[features == feature] // pairs.BLOCK)) == 1
    assert posterior.covariances.shape == (3, 256, 256)
    assert len(set(taken.tolist())) == 500


def test_features_with_blocks_of_their_own_learn_as_if_they_were_alone():
    """Two actions without a common feature, in two blocks: two textbook filters."""
    rng, places = np.random.default_rng(0), np.arange(200)
    posterior = PairPosterior(200)
    alone = [Textbook(priors_of(posterior, 1, 200)) for _ in range(2)]
    for t in range(10):
        x, share = rng.normal(size=200) / 14.0, rng.random()
        posterior.learn((places, x), NONE, rows_of([(t % 2, 1.0)]), np.array([share]))
        alone[t % 2].learn(x, share)
    x = rng.normal(size=200) / 14.0
    scores, leverages = posterior.scores((places, x), 0.0, NONE, rows_of([(0, 1.0)], [(1, 1.0)]), 2)
    expected = np.array([filter.score(x) for filter in alone])
    np.testing.assert_allclose(np.array([scores, leverages]).T, expected, rtol=1e-9)


def test_sparse_contexts_fill_one_block_and_have_variances_beyond():
    rng, posterior = np.random.default_rng(0), PairPosterior(0)
    for _ in range(50):
        places = np.sort(rng.choice(1000, size=10, replace=False))
        posterior.learn((places, rng.normal(size=10)), NONE, rows_of([(0, 1.0)]), np.array([1.0]))
    assert posterior.n_in_blocks == 256
    assert posterior.n_alone > 0
    assert posterior.covariances.shape == (1, 256, 256)
    assert (posterior.variances[: posterior.n_alone] < PRIOR_VARIANCE).any()


def test_a_pair_never_seen_has_the_prior_variance():
    posterior = PairPosterior(0)
    posterior.learn((np.array([0]), np.array([1.0])), NONE, rows_of([(0, 1.0)]), np.array([1.0]))
    row = np.array([0, 7]), np.array([1.0, 0.5])
    known, leverages = posterior.scores(row, 0.25, NONE, rows_of([(0, 1.0)], [(-1, 2.0)]), 1)
    own = PRIOR_VARIANCE * (1.0 - PRIOR_VARIANCE / 4.0 / (1.0 + np.pi / 8.0 * PRIOR_VARIANCE))
    assert leverages[0] == pytest.approx(own + PRIOR_VARIANCE * (0.25 + 0.25))
    assert leverages[1] == pytest.approx(4.0 * PRIOR_VARIANCE * (1.0 + 0.25 + 0.25))
    assert known[1] == 0.0


def test_pairs_beyond_the_last_place_share_places():
    posterior = PairPosterior(0)
    posterior.n_in_blocks, posterior.n_alone = 256, pairs.MOST_PAIRS
    posterior.variances = np.full(pairs.MOST_PAIRS, PRIOR_VARIANCE)
    posterior.weights = np.zeros(IN_BLOCKS + pairs.MOST_PAIRS)
    posterior.covariances = np.eye(256)[None] * PRIOR_VARIANCE
    row = np.arange(3), np.ones(3)
    posterior.learn(row, NONE, rows_of([(5, 1.0)]), np.array([1.0]))
    assert np.count_nonzero(posterior.weights) == 3
    scores, leverages = posterior.scores(row, 0.0, NONE, rows_of([(5, 1.0)]), 6)
    assert scores[0] > 0.0
    assert leverages[0] < 3.0 * PRIOR_VARIANCE
    assert posterior.n_alone == pairs.MOST_PAIRS


def test_products_are_a_block_of_their_own():
    """With pairs that are all zero, the products alone are the textbook filter."""
    rng, posterior, textbook = (
        np.random.default_rng(0),
        PairPosterior(1, 5),
        Textbook([PRIOR_VARIANCE] * 5),
    )
    row, nothing = (np.arange(1), np.zeros(1)), rows_of([(0, 0.0)], [(0, 0.0)])
    for _ in range(20):
        own, products, shares = rng.normal(size=2), rng.normal(size=(2, 3)), rng.random(2)
        before = posterior.learn(row, own, nothing._replace(products=products), shares)
        for r in range(2):
            phi = np.append(own, products[r])
            np.testing.assert_allclose(np.array(before)[:, r], textbook.score(phi), rtol=1e-9)
            textbook.learn(phi, shares[r])
    own, products = rng.normal(size=2), rng.normal(size=(2, 3))
    found = posterior.scores(row, 0.0, own, nothing._replace(products=products), 1)
    expected = [textbook.score(np.append(own, products[r])) for r in range(2)]
    np.testing.assert_allclose(np.array(found).T, expected, rtol=1e-9)
