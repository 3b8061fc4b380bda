import numpy as np
import pytest

import graphcb
from graphcb import Automatic, Doubling, Fixed, FromGraphs, FromTheory, SquareRoot, TwoThirds
from graphcb.exploration import Schedule, as_schedule
from graphcb.exploration.schedules import gammas


def test_square_root_law():
    schedule = SquareRoot(c=0.5, alpha=9)
    assert [schedule.gamma(t, 2) for t in (1, 4, 16)] == [1.5, 3.0, 6.0]
    assert SquareRoot(c=1.0, alpha="n_actions").gamma(4, 25) == 10.0


def test_a_number_is_a_fixed_schedule():
    assert as_schedule(3) == Fixed(3)
    assert as_schedule(SquareRoot(1.0, 1.0)) == SquareRoot(1.0, 1.0)


@pytest.mark.parametrize("value", [0.0, -1.0, float("nan"), float("inf")])
def test_bad_values(value):
    with pytest.raises(ValueError, match="`gamma` must be a positive finite number"):
        Fixed(value)
    with pytest.raises(ValueError, match="`c` must be a positive finite number"):
        SquareRoot(value, 1.0)


@pytest.mark.parametrize("alpha", [0.5, float("nan"), float("inf")])
def test_bad_alpha(alpha):
    with pytest.raises(ValueError, match="`alpha` must be at least 1"):
        SquareRoot(1.0, alpha)
    with pytest.raises(ValueError, match="or \"n_actions\", got 'K'"):
        SquareRoot(1.0, "K")


def test_the_gamma_of_corollaries_3_3_and_3_5():
    strong = FromTheory(horizon=10_000, regression_regret=25.0, independence_number=4.0)
    assert strong.gamma(1, 10) == strong.gamma(9_999, 50) == 40.0
    assert FromTheory(4, 100.0, 1.0).gamma(1, 2) == 4.0  # the least
    weak = FromTheory(1_000, 1.0, independence_number=0.0, weak_domination_number=8.0)
    assert weak.gamma(1, 10) == pytest.approx(2.0 * 100.0)
    assert FromTheory(8, 1.0, 0.0, weak_domination_number=3.0).gamma(1, 10) == 48.0


def test_doubling_spends_what_an_epoch_may_and_no_more():
    schedule = Doubling(horizon=400, regression_regret=4.0)
    assert schedule.gamma(1, 3) == 10.0
    for _ in range(8):
        schedule.observe(5.0)  # 40 is allowed
    assert (schedule.epoch, schedule.gamma(9, 3)) == (0, 10.0)
    schedule.observe(0.1)
    assert (schedule.epoch, schedule.gamma(10, 3)) == (1, 20.0)
    for _ in range(16):
        schedule.observe(5.0)
    assert schedule.epoch == 1
    schedule.observe(0.1)
    assert (schedule.epoch, schedule.gamma(27, 3)) == (2, 40.0)


def test_bad_horizons_and_regrets():
    for schedule in (Doubling, FromTheory):
        arguments = () if schedule is Doubling else (1.0,)
        with pytest.raises(ValueError, match="`horizon` must be at least 1, got 0"):
            schedule(0, 1.0, *arguments)
        with pytest.raises(ValueError, match="`regression_regret` must be a positive finite"):
            schedule(10, 0.0, *arguments)
    with pytest.raises(ValueError, match="`independence_number` must not be negative"):
        FromTheory(10, 1.0, -1.0)


def test_every_schedule_shows_itself_as_the_call_that_makes_it():
    examples = [
        Automatic(c=3.0),
        Doubling(100, 2.0),
        Fixed(3.0),
        FromGraphs(3.0),
        FromTheory(100, 2.0, 3),
        SquareRoot(4.0, "n_actions"),
        TwoThirds(4.0, 2.0),
    ]
    found = {
        value
        for value in vars(graphcb.exploration).values()
        if isinstance(value, type) and hasattr(value, "observe") and value is not Schedule
    }
    assert found == {type(schedule) for schedule in examples}
    for schedule in examples:
        assert eval(repr(schedule), vars(graphcb)) == schedule
    played = Automatic(c=3.0)
    played.gamma(1, 5)
    played.observe(1.0)
    assert repr(played) == "Automatic(c=3.0)"  # what it was told is not a setting


def test_a_schedule_of_your_own_has_gamma_alone():
    class Cube(Schedule):
        def gamma(self, round_number, n_actions):
            return float(round_number**3)

    agent = graphcb.SquareCBG(graphcb.oracles.LinearOGD(2, 1), gamma=Cube())
    for _ in range(3):
        agent.act([1.0], graphcb.graphs.bandit(2))
    assert (agent.gamma, agent.epoch) == (27.0, 0)


def test_what_is_no_schedule():
    with pytest.raises(TypeError, match=r"`gamma` must be a number or a schedule .*got str"):
        as_schedule("large")


def test_automatic_puts_the_mean_of_gamma_times_dec_in_the_place_of_alpha():
    schedule = Automatic(c=3.0)
    for t, scaled in enumerate([8.0, 10.0, 9.0], start=1):
        schedule.observe(scaled / schedule.gamma(t, 20))
    assert schedule.gamma(4, 20) == pytest.approx(SquareRoot(3.0, 9.0).gamma(4, 20))
    easy = Automatic(c=3.0)
    easy.observe(0.0 * easy.gamma(1, 20))
    assert easy.gamma(4, 20) == 6.0  # an independence number is at least 1
    with pytest.raises(ValueError, match="`c` must be a positive finite number, got 0"):
        Automatic(0)


@pytest.mark.parametrize(
    "schedule",
    [
        Fixed(3.0),
        SquareRoot(0.7, 3.3),
        SquareRoot(0.7, "n_actions"),
        FromTheory(horizon=100, regression_regret=2.0, independence_number=3),
    ],
)
def test_gammas_told_ahead_are_those_of_the_rounds_bit_for_bit(schedule):
    sizes = np.random.default_rng(0).integers(1, 1000, size=5000)
    ahead = gammas(schedule, 12, sizes)
    assert ahead.tolist() == [schedule.gamma(13 + i, int(n)) for i, n in enumerate(sizes)]


def test_two_thirds():
    assert TwoThirds(3.0).gamma(1000, 7) == pytest.approx(300.0)
    assert TwoThirds(3.0, d=8.0).gamma(1000, 7) == pytest.approx(600.0)
    with pytest.raises(ValueError, match=r"`d` must be at least 1.*use SquareRoot for strongly"):
        TwoThirds(3.0, d=0.0)
    with pytest.raises(ValueError, match="`c` must be a positive finite number, got 0"):
        TwoThirds(0.0)
