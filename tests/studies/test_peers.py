"""Learners of other packages learn an easy stream, and take dense and sparse contexts."""

import numpy as np
import pytest
from studies.bakeoff.peers import (
    CobaPeer,
    MabwiserPeer,
    RiverPeer,
    VowpalWabbitPeer,
    all_on,
    as_pair,
    installed,
)

from graphcb import graphs
from graphcb.environments import KnownLosses
from graphcb.experiments import run


def easy(n=300, *, sparse=False):
    labels = np.random.default_rng(0).integers(0, 3, size=n)
    contexts = np.eye(3)[labels]
    if sparse:
        from scipy.sparse import csr_array

        contexts = csr_array(contexts)
    return KnownLosses(contexts, 1.0 - np.eye(3)[labels], graphs.bandit(3))


def last_loss(agent, **kind):
    rows = list(run(agent, easy(**kind), seed=0))
    return np.mean([row.loss for row in rows[-100:]])


def test_contexts_and_choices():
    assert as_pair(np.array([0.5, 2.0])) == ([0, 1], [0.5, 2.0])
    assert as_pair((np.array([7]), np.array([1.0]))) == ([7], [1.0])
    assert all_on(1, 3).tolist() == [0.0, 1.0, 0.0]
    assert installed("no-such-package") is None


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("options", ["--squarecb --gamma_scale 100", "--cover 4", "--regcbopt"])
def test_vowpal_wabbit(options, sparse):
    pytest.importorskip("vowpalwabbit", reason="needs graphcb[vw]")
    assert last_loss(VowpalWabbitPeer(options, 3, 3, seed=0), sparse=sparse) < 0.2


@pytest.mark.parametrize("sparse", [False, True])
def test_coba(sparse):
    pytest.importorskip("vowpalwabbit", reason="needs graphcb[vw]")
    learners = pytest.importorskip("coba", reason="needs graphcb[coba]").learners
    peer = CobaPeer(learners.VowpalEpsilonLearner(0.05, seed=0), 3, is_dense=False)
    assert last_loss(peer, sparse=sparse) < 0.2


def test_coba_linucb():
    learners = pytest.importorskip("coba", reason="needs graphcb[coba]").learners
    assert last_loss(CobaPeer(learners.LinUCBLearner(seed=0), 3, is_dense=True)) < 0.2


def test_river():
    bandit = pytest.importorskip("river.bandit", reason="needs graphcb[bench]")
    assert last_loss(RiverPeer(bandit.LinUCBDisjoint(alpha=1.0, seed=0), 3)) < 0.2


def test_mabwiser():
    policies = pytest.importorskip("mabwiser.mab", reason="needs graphcb[bench]").LearningPolicy
    assert last_loss(MabwiserPeer(policies.LinUCB(alpha=1.0), 3, 3, seed=0)) < 0.2
