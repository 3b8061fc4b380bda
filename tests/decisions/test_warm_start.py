import numpy as np

from graphcb import DecisionLog, Policy, graphs
from graphcb.decisions import replay, verify
from graphcb.decisions.recording import Continued, PastDecision, record
from graphcb.problems import Problem, Recorded

IMPORTED = Problem(["a", "b"], feedback="rewards")


def past(n=200):
    """Decisions of a policy that prefers the worse action."""
    rng = np.random.default_rng(0)
    for number in range(n):
        chosen = int(rng.choice(2, p=[0.75, 0.25]))
        reward = float(rng.random() < (0.2, 0.8)[chosen])
        probabilities = np.array([0.75, 0.25])
        yield PastDecision(
            float(number), {"age": 30}, graphs.bandit(2), ["a", "b"], chosen, probabilities,
            {chosen: reward}, float(number),
        )  # fmt: skip


def test_a_policy_goes_on_and_replays_bit_for_bit(new_log):
    log, problem = new_log(), Problem(["a", "b", "c"], feedback="rewards")
    change = record(log, Recorded(IMPORTED, source="x"), past(), Continued(problem, note="why"))
    assert change.said == ("learned from 200 imported decisions",)
    assert verify(log) == []
    with Policy(log, durability="process-kill") as policy:
        made = []
        for _ in range(30):
            made.append(policy.decide({"age": 30}))
            policy.feedback(made[-1].decision_id, {made[-1].action: 0.5})
    assert made[0].probabilities[1] > made[0].probabilities[0]  # it was seen to be better
    assert made[0].model_version == 200
    assert verify(log) == []
    with DecisionLog(log) as opened:
        assert (opened.n_imported, opened.n_decisions, opened.is_imported) == (200, 230, False)
        imported, continued = opened.versions
        assert imported.recorded.source == "x"
        assert (continued.recorded, continued.problem, continued.note) == (None, problem, "why")
        assert [row.version for row in opened] == [1] * 200 + [2] * 30
        assert replay(opened).n_decisions == 230
