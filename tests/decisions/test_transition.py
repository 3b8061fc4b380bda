"""Steps of a policy that need no database."""

import numpy as np
import pytest

from graphcb import Budget, InformationDirected, Learner, Problem, SquareCBG, graphs
from graphcb.agents import Played
from graphcb.agents.information_directed import ALL_ROUNDS, RENEWED
from graphcb.decisions.transition import Passed, PolicyState, pass_by, uniform_at, uniform_of
from graphcb.oracles import LinearOGD
from graphcb.saving import to_bytes

PLAYED = Played([1.0], graphs.bandit(3), None, np.array([0.25, 0.5, 0.25]), 1)


def test_an_agent_goes_through_a_round_that_was_decided_elsewhere():
    state = PolicyState(SquareCBG(LinearOGD(3, 1)), 5, 2, 1)
    before = to_bytes(state.agent)
    after = pass_by(state, [Passed(0.0, 1, PLAYED)])
    assert (after.position, after.n_feedbacks, after.agent.n_rounds) == (6, 2, 1)
    assert to_bytes(state.agent) == before


def test_a_round_of_another_version_or_one_that_is_refused_changes_nothing():
    state = PolicyState(SquareCBG(LinearOGD(3, 1)), 5, 2, 2)
    other = PLAYED._replace(graph=graphs.bandit(4), probabilities=np.full(4, 0.25))
    for played, version in ((PLAYED, 1), (other, 2)):
        after = pass_by(state, [Passed(0.0, version, played)])
        assert (after.position, after.agent.n_rounds) == (6, 0)


FIXED = Problem(["a", "b", "c"], features={"x": "number"})
OWN = Problem("each round")


def rounds_of(problem, count, seed=0):
    """Rounds as another process may have decided them."""
    rng = np.random.default_rng(seed)
    actions = None if problem.has_fixed_actions else {n: {"price": 1.0} for n in "abc"}
    for _ in range(count):
        played = Played({"x": rng.random()}, graphs.bandit(3), actions, np.full(3, 1 / 3), 0)
        yield Passed(0.0, 1, played._replace(action=int(rng.integers(3))))


@pytest.mark.parametrize("problem", [FIXED, OWN])
def test_one_by_one_and_together_lead_to_the_same_state(problem):
    first = PolicyState(Learner(problem))
    count = ALL_ROUNDS + 3 * RENEWED
    one_by_one = first
    for passed in rounds_of(problem, count):
        one_by_one = pass_by(one_by_one, [passed])
    together = pass_by(first, rounds_of(problem, count))
    assert to_bytes(together.agent) == to_bytes(one_by_one.agent)
    assert (together.position, together.agent.agent.n_rounds) == (count, count)
    assert together.agent.watched.n_rounds == count
    assert first.agent.agent.n_rounds == 0


def test_what_others_decided_is_seldom_decided_again(monkeypatch):
    acted = []
    act = InformationDirected.act
    monkeypatch.setattr(
        InformationDirected,
        "act",
        lambda self, *given, **more: acted.append(self.n_rounds) or act(self, *given, **more),
    )
    pass_by(PolicyState(Learner(FIXED)), rounds_of(FIXED, ALL_ROUNDS + 2 * RENEWED))
    later = [n for n in range(ALL_ROUNDS, ALL_ROUNDS + 2 * RENEWED) if n % RENEWED == 0]
    assert acted == [*range(ALL_ROUNDS), *later]


def test_a_round_that_is_passed_by_counts_what_is_in_flight_as_one_that_is_played():
    played = next(rounds_of(FIXED, 1))
    acting, passing = (Learner(FIXED) for _ in range(2))
    passing.agent.n_rounds = acting.agent.n_rounds = ALL_ROUNDS + 1
    acting.agent.passed = None
    states = [pass_by(PolicyState(agent), [played]) for agent in (acting, passing)]
    acted, passed = (state.agent.agent for state in states)
    assert acted.waiting.tolist() == passed.waiting.tolist()
    assert acted.n_rounds == passed.n_rounds == ALL_ROUNDS + 2
    assert acted.memory != passed.memory == passing.agent.memory


def test_budgets_are_kept_in_every_round():
    problem = Problem(["a", "b"], budgets=[Budget("b", {"b": 1}, at_most=0.5)])
    learner = Learner(problem)
    learner.agent.n_rounds = ALL_ROUNDS + 1
    played = Played({"x": 1.0}, graphs.bandit(2), None, np.array([0.5, 0.5]), 1)
    after = pass_by(PolicyState(learner), [Passed(0.0, 1, played)]).agent.agent
    assert after.rules.spending.accounts[0].n_rounds == 1


def test_numbers_of_tokens_are_uniform_and_not_those_of_positions():
    drawn = [uniform_of(3, f"{k:016x}") for k in range(4000)]
    assert len({*drawn, *(uniform_at(3, k) for k in range(4000))}) == 8000
    assert abs(np.mean(drawn) - 0.5) < 0.02
    assert abs(np.var(drawn) - 1 / 12) < 0.005
    assert uniform_of(3, "a") != uniform_of(4, "a")
