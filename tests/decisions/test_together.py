"""Decisions and feedback in one transaction, each refused on its own."""

import json

import pytest

from graphcb import DecisionLog, Policy, Problem, SquareCBG, graphs
from graphcb.decisions import LogError, replay, together
from graphcb.decisions.decided import NewRound
from graphcb.decisions.encoding import Encoded, as_encoded
from graphcb.oracles import LinearOGD
from graphcb.oracles.blends import Blend
from graphcb.saving import to_bytes

ITEMS = Problem("each round", feedback="rewards", range=(0, 1))
ROUNDS = [
    ({"hour": 9}, None, ["tea", "cake"]),
    ({"hour": 10}, graphs.full_information(3), ["tea", "cake", "soup"]),
    ({"hour": 11.5, "day": "Monday"}, None, {"tea": {"price": 2.0}, "bread": None}),
    ("a text of five words", graphs.inventory(2), ["soup", "tea"]),
]


def plain(decision):
    """A decision without the random end of its name."""
    return decision.action, decision.probabilities, decision.gamma, decision.model_version


def test_rounds_are_decided_as_one_by_one(new_log):
    with (
        Policy(new_log(), problem=ITEMS, seed=3) as one,
        Policy(new_log(), problem=ITEMS, seed=3) as many,
    ):
        for _ in range(5):
            single = [one.decide(*given) for given in ROUNDS]
            together = many.decide_rounds(ROUNDS)
            assert list(map(plain, single)) == list(map(plain, together))
            for policy, made in ((one, single), (many, together)):
                policy.feedback_many({d.decision_id: {d.action: 0.5} for d in made})
        assert to_bytes(one.agent) == to_bytes(many.agent)
        agent, location = to_bytes(many.agent), many.location
    with DecisionLog(location) as log:
        assert [row.context for row in log][:4] == [given[0] for given in ROUNDS]
        assert to_bytes(replay(log).agent) == agent
    with Policy(location) as policy:
        assert policy.decide_rounds([]) == []


MIXED = Problem(["a", "b", "c"], features={"x": "number", "day": "category"})


@pytest.mark.parametrize("problem", [MIXED, Problem(["a", "b", "c"])])
def test_decisions_that_are_foreseen_are_the_same_bits(new_log, problem, monkeypatch):
    monkeypatch.setattr(together, "FORESEEN", 5)  # so that a batch of 12 has three parts
    contexts = [{"x": n % 7 - 0.5 * n, "day": "Mon" if n % 3 else "Tue"} for n in range(12)]
    with (
        Policy(new_log(), problem=problem, seed=3) as one,
        Policy(new_log(), problem=problem, seed=3) as many,
    ):
        for turn in range(6):
            single = [one.decide(context) for context in contexts]
            if turn < 5:
                found = many.decide_many(contexts)
            else:  # as the desk of a service does it
                encoded = [NewRound(as_encoded(context)) for context in contexts]
                with many.together() as block:
                    block.foresee(encoded)
                    monkeypatch.setattr(Blend, "forecast", None)  # which nobody needs any more
                    found = [block.decide(*round_) for round_ in encoded]
            assert list(map(plain, single)) == list(map(plain, found))
            losses = [n % 2 * 1.0 for n, _ in enumerate(single)]
            for policy, made in ((one, single), (many, found)):
                pairs = zip(made[::2], losses, strict=False)
                policy.feedback_many({d.decision_id: {d.action: loss} for d, loss in pairs})
        assert to_bytes(one.agent) == to_bytes(many.agent)


def test_a_context_that_cannot_be_foreseen_is_refused_alone(new_log):
    with Policy(new_log(), problem=MIXED, seed=3) as policy:
        wrong = NewRound(as_encoded({"x": "many"}))
        rounds = [NewRound(as_encoded({"x": 1.0, "day": "Mon"})), wrong]
        with policy.together() as together:
            together.foresee(rounds)
            together.decide(*rounds[0])
            with pytest.raises(ValueError, match="'x'"):
                together.decide(*wrong)
            together.decide(*rounds[0])
        assert policy.n_events == 2


def test_a_transaction_holds_decisions_feedback_and_refusals(new_log):
    location = new_log()
    with Policy(location, problem=ITEMS, seed=3) as policy:
        first = policy.decide(*ROUNDS[1])
        with policy.together() as together:
            second = together.decide(*ROUNDS[0])
            with pytest.raises(ValueError, match="distinct"):
                together.decide({}, None, ["tea", "tea"])
            with pytest.raises(ValueError, match="must lie in the problem's range"):
                together.feedback(first.decision_id, {"tea": 7.0})
            assert together.feedback(first.decision_id, {first.action: 1.0}).counted
            assert not together.feedback(first.decision_id, {first.action: 1.0}).counted
            with pytest.raises(ValueError, match="must agree with what is known"):
                together.feedback(first.decision_id, {first.action: 0.0})
            with pytest.raises(LookupError, match="must be one that `decide` returned"):
                together.feedback("nothing", {})
            assert together.feedback(second.decision_id, {second.action: 0.5}).counted
            third = together.decide(*ROUNDS[0])
            assert not together.is_spoilt
            assert (together.position, together.model_version) == (5, 2)
        assert (policy.n_events, policy.model_version) == (5, 2)
        assert third.model_version == 2
        agent = to_bytes(policy.agent)
    with DecisionLog(location) as log:
        assert [row.position for row in log] == [1, 2, 5]
        assert to_bytes(replay(log).agent) == agent


def test_a_block_that_raises_leaves_nothing(new_log):
    with Policy(new_log(), problem=ITEMS, seed=3) as policy:
        before = to_bytes(policy.agent)
        with pytest.raises(ZeroDivisionError):
            _decide_and_fail(policy)
        with pytest.raises(ValueError, match="distinct"):
            policy.decide_rounds([*ROUNDS, ({}, None, ["tea", "tea"])])
        assert policy.n_events == 0
        assert to_bytes(policy.agent) == before
        with policy.together() as together:
            with pytest.raises(ValueError, match="distinct"):
                together.decide_rounds([*ROUNDS, ({}, None, ["tea", "tea"])])
            made = together.decide(*ROUNDS[0])
        assert made.decision_id.split("-")[1] == "1"
        assert policy.n_events == 1


def test_a_context_in_bytes_is_logged_as_it_came(tmp_path):
    context = {"hour": 9, "day": "Monday", "open": True, "note": None}
    text = json.dumps(context, indent=1).encode()
    with Policy(tmp_path / "a.db", problem=ITEMS, seed=3) as policy:
        made = policy.decide_rounds([(Encoded(b"j" + text, context), None, ["tea", "cake"])])[0]
        with policy.together() as together:
            assert together.find(made.decision_id).row.context == b"j" + text
    with Policy(tmp_path / "b.db", problem=ITEMS, seed=3) as policy:
        assert plain(policy.decide(context, None, ["tea", "cake"])) == plain(made)
    with DecisionLog(tmp_path / "a.db") as log:
        assert next(iter(log)).context == context


class Fragile(SquareCBG):
    """Changes itself before it refuses."""

    def act(self, context, graph, actions=None):
        if context[0] > 1.0:
            self.oracle.weights[:] = 9.0
            raise ValueError("too much")
        return super().act(context, graph, actions)


def test_an_agent_of_other_classes_that_refuses_spoils_the_transaction(tmp_path):
    agent = Fragile(LinearOGD(2, 1), gamma=5.0)
    with Policy(tmp_path / "log.db", agent, seed=0, classes=[Fragile]) as policy:
        graph = graphs.bandit(2)
        with pytest.raises(
            LogError, match="a call failed in a way that may have changed the agent"
        ):
            _decide_and_go_on(policy, graph)
        assert policy.n_events == 0
        assert not policy.agent.oracle.weights.any()
        assert policy.decide([1.0], graph).decision_id.split("-")[1] == "1"


def _decide_and_fail(policy):
    with policy.together() as together:
        together.decide(*ROUNDS[0])
        raise ZeroDivisionError


def _decide_and_go_on(policy, graph):
    with policy.together() as together:
        together.decide([1.0], graph)
        with pytest.raises(ValueError, match="too much"):
            together.decide([2.0], graph)
        assert together.is_spoilt


def test_a_graph_that_was_rolled_back_is_written_again(new_log):
    location = new_log()
    with Policy(location, problem=Problem(["a", "b"]), seed=0) as policy:
        with pytest.raises(ValueError, match="`action` must be one of"):
            policy.decide_rounds([({"x": 1.0}, None, None), ({"x": 1.0}, None, ["c"])])
        made = policy.decide({"x": 1.0})
    with DecisionLog(location) as log:
        assert [row.decision_id for row in log] == [made.decision_id]
