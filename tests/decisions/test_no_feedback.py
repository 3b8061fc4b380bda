"""A decision that reveals nothing is counted at once, as a row of a file is."""

import numpy as np

from graphcb import InformationDirected, Learner, Policy, Problem
from graphcb.contexts import Encoder
from graphcb.oracles import DefaultOracle
from graphcb.rounds import Played

REVIEW = Problem(["approve", "review"], reveals={"all": ["review"]})


def contexts(n):
    rng = np.random.default_rng(0)
    return [
        {"amount": float(rng.lognormal(3.0)), "hour": float(rng.integers(24))} for _ in range(n)
    ]


def test_dicts_through_a_policy_are_learned_as_rows_of_a_file_are(tmp_path):
    """The same numbers on the same scale, and so the same probabilities."""
    rows, encoder = contexts(120), Encoder({"amount": "number", "hour": "number"})
    encoded = encoder.encode_columns(np.array([list(row.values()) for row in rows]), [])
    agent, played = InformationDirected(DefaultOracle(2)), set()
    with Policy(tmp_path / "log.db", problem=REVIEW, seed=0) as policy:
        for row, context in zip(encoded, rows, strict=True):
            decision = policy.decide(context)
            expected = agent.act(row, REVIEW.graph)
            np.testing.assert_allclose(decision.probabilities, expected, rtol=0.0, atol=1e-12)
            index = REVIEW.actions.index(decision.action)
            agent.on_draw(Played(row, REVIEW.graph, None, expected, index))
            played.add(decision.action)
            losses = [float(context["amount"] > 20.0), 0.3]
            if decision.action == "review":
                policy.feedback(
                    decision.decision_id, dict(zip(REVIEW.actions, losses, strict=True))
                )
                agent.learn(row, [0, 1], losses)
    assert played == {"approve", "review"}


def test_a_replay_counts_the_same_contexts(tmp_path):
    with Policy(tmp_path / "log.db", problem=REVIEW, seed=0) as policy:
        for context in contexts(40):
            decision = policy.decide(context)
            if decision.action == "review":
                policy.feedback(decision.decision_id, {"approve": 0.0, "review": 0.3})
        counts = policy.agent.encoder.known.scales.counts
    assert counts.tolist() == [40, 40]
    with Policy(tmp_path / "log.db", seed=0) as again:
        assert again.agent.encoder.known.scales.counts.tolist() == [40, 40]


def test_a_decision_that_is_not_kept_counts_nothing():
    """The encoder of the state before the decision stays as it was."""
    learner = Learner(REVIEW)
    before = learner.encoder
    learner.on_no_feedback({"amount": 3.0})
    assert before.known.n_rows == 0
    assert learner.encoder.known.n_rows == 1
    assert before.known.numbers == {}
    assert learner.encoder.known.numbers == {"amount": 0}
    learner.on_no_feedback([1.0, 2.0])  # a row that no encoder counts
    assert learner.encoder.known.n_rows == 1
