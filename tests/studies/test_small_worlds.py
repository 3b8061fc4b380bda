import numpy as np
import pytest
from studies.small_worlds import BETA, WORLDS, with_sentinel
from worlds import EXPLORATIONS, OURS, Runs, asked, play


class Noting:
    """Plays one action and notes when it learns."""

    def __init__(self, action):
        self.action, self.rounds, self.learned = action, 0, []

    def act(self, context, graph, actions=None):
        self.rounds += 1
        return np.eye(graph.n_actions)[self.action]

    def learn(self, context, actions, losses):
        self.learned.append((self.rounds, len(actions)))


def test_feedback_comes_late_or_in_batches():
    late, batches = Noting(0), Noting(0)
    play(WORLDS["late by 1,000"]._replace(n_rounds=1003), late, 0)
    assert late.learned == [(1001, 1), (1002, 1), (1003, 1)]
    play(WORLDS["batches of 1,000"]._replace(n_rounds=2500), batches, 0)
    assert [at for at, _ in batches.learned] == [1000] * 1000 + [2000] * 1000


def test_who_never_looks_again_has_the_worst_regret():
    world = WORLDS["review, misleading"]
    regret, worst, _ = play(world, Noting(1), 0)
    assert (regret, worst) == (pytest.approx(1500.0), pytest.approx(1500.0))
    looking = Noting(2)
    play(world._replace(n_rounds=3), looking, 0)
    assert looking.learned == [(1, 3), (2, 3), (3, 3)]


def test_regret_is_between_none_and_the_worst():
    world = WORLDS["two arms, 0.02 apart"]._replace(n_rounds=100)
    regrets = sorted(play(world, Noting(action), 0)[0] for action in (0, 1))
    assert regrets == pytest.approx([0.0, 2.0])
    runs = Runs(np.array([0.9, 1.1, 2.0, 0.0]), np.full(4, 2.0), np.full(4, 1.0))
    assert (runs.lost, runs.gain) == (0.5, pytest.approx(0.0))


def test_one_row_in_500_has_a_sentinel():
    seen = with_sentinel(np.zeros((1500, 3)))
    assert np.argwhere(seen == 999999.0).tolist() == [[7, 0], [507, 1], [1007, 2]]


def test_a_unit_that_changes_half_way_does_little_harm():
    """While scales did not begin again, all that came after the change was lost."""
    worlds = [WORLDS[name]._replace(n_rounds=3000) for name in ("plain", "grams, then kilograms")]
    plain, changed = (play(world, EXPLORATIONS[OURS](3, 1000), 1000)[0] for world in worlds)
    assert changed < 2.0 * plain + 20.0


@pytest.mark.parametrize("seed", [1001, 1003])
def test_topics_that_share_nothing_are_all_learned(seed):
    """While all looks were divided among parameters, a quarter was lost."""
    world = WORLDS["twenty topics, certain"]._replace(n_rounds=2000)
    regret, worst, _ = play(world, EXPLORATIONS[OURS](2, seed), seed)
    assert regret < 0.1 * worst


def test_all_explore_in_the_same_rounds_and_again_the_same_way():
    world = WORLDS["plain"]._replace(n_rounds=30)
    for label, make in EXPLORATIONS.items():
        first, again = (play(world, make(3, 5), 5) for _ in range(2))
        assert first == again, label


def test_what_is_asked_is_met_or_not():
    even = Runs(np.array([10.0, 30.0]), np.full(2, 100.0), np.full(2, 40.0))
    poor = Runs(np.array([60.0, 60.0]), np.full(2, 100.0), np.full(2, 40.0))
    worlds = {name: WORLDS[name] for name in ("plain", "features as exp(2x)")}
    found = {("plain", OURS): even, ("features as exp(2x)", OURS): poor}
    first, second = asked(worlds, found)
    assert first == ("plain", "20.0", "30.0", "0%", "", "", "", "", "", "")
    start = "features as exp(2x)", "60.0", "60.0", "100%", "plain", "20.0", ""
    assert second == (*start, "3.00", "at most 2.00", "**no**")
    name = "two arms, 0.02 apart"
    found = {(name, OURS): even, (name, BETA): even._replace(regrets=np.array([13.0, 31.0]))}
    (third,) = asked({name: WORLDS[name]}, found)
    assert third[4:] == (BETA, "22.0", "-2.0 ± 1.0", "0.91", "at most 1.00", "yes")
