"""The account of a budget: what it accrues, the certain band, the hard stop."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from graphcb.agents import Account, Budget, Spending
from graphcb.saving import from_bytes, to_bytes

PER_ROUND = Budget("b", "each round", at_most=0.25)

amounts = st.floats(0.0, 100.0) | st.sampled_from([0.0, 1e-9, 1e-3, 1.0, 1e6])
shares = st.floats(0.0, 1.0)
NOTHING = (0.0, 0.0, 0.0)


def allowed_in(spending, n_actions):
    """The indices that may be played in the open round."""
    box = spending.within(None)
    return np.arange(n_actions) if box is None else np.flatnonzero(box.upper > 0.0)


def play(spending, costs, choose, *, predicted=None, names=None):
    """One round in which `choose` picks an index among those that may be played."""
    n_actions = len(costs[0])
    given = {b.name: row for b, row in zip(spending.budgets, costs, strict=True)}
    predicted = np.linspace(0.0, 1.0, n_actions) if predicted is None else predicted
    spending = spending.opened(predicted, names or range(n_actions), given, None, None)
    action = choose(allowed_in(spending, n_actions), np.array(costs))
    return spending, spending.paid(np.eye(n_actions)[action], action), action


def dearest(allowed, costs, budget=0):
    return int(allowed[costs[budget, allowed].argmax()])


@settings(deadline=None)
@given(
    st.floats(1e-3, 10.0),
    st.lists(st.tuples(amounts, amounts, st.floats(0.0, 1.0), st.integers(0, 2)), max_size=60),
)
def test_spending_is_never_ahead_by_more_than_the_widest_band(at_most, rounds):
    """Whoever draws may always draw the worst: one action is free, the others cost anything."""
    spending, most = Spending.of([Budget("b", "each round", at_most)]), 0.0
    for one, two, loss, kind in rounds:
        choose = dearest if kind else lambda allowed, _: int(allowed[-1])
        predicted = np.array([loss, 0.5, 1.0 - loss])
        opened, spending, _ = play(spending, [[0.0, one, two]], choose, predicted=predicted)
        most = max(most, opened.accounts[0].accrued + opened.accounts[0].band)
        account = spending.accounts[0]
        assert account.spent <= most * (1.0 + 1e-12)
        assert 0.0 <= account.price < np.inf


@settings(deadline=None)
@given(st.floats(0.5, 2.0), st.lists(st.floats(0.0, 1.0), max_size=60))
def test_a_cheapest_action_within_the_allowance_keeps_the_band(at_most, cheapest):
    spending, widest = Spending.of([Budget("b", "each round", at_most)]), 0.0
    for cost in cheapest:
        costs = [[min(cost, at_most), 3.0 + cost]]
        opened, spending, _ = play(spending, costs, dearest)
        widest = max(widest, opened.accounts[0].band)
        account = spending.accounts[0]
        assert account.spent <= (account.accrued + widest) * (1.0 + 1e-12)


@settings(deadline=None)
@given(st.integers(1, 7), st.floats(0.1, 5.0), st.lists(amounts, max_size=60))
def test_a_hard_stop_per_rounds_is_never_exceeded(rounds, at_most, costs):
    spending = Spending.of([Budget("b", "each round", at_most, per=rounds, hard=True)])
    paid = []
    for cost in costs:
        _, spending, action = play(spending, [[0.0, cost]], dearest)
        paid.append(cost * action)
        begin = (len(paid) - 1) // rounds * rounds
        assert sum(paid[begin:]) <= at_most


@settings(deadline=None)
@given(st.floats(0.1, 5.0), st.lists(amounts, max_size=60))
def test_a_hard_stop_on_the_average_is_never_exceeded(at_most, costs):
    spending, spent = Spending.of([Budget("b", "each round", at_most, hard=True)]), 0.0
    for t, cost in enumerate(costs, start=1):
        _, spending, action = play(spending, [[0.0, cost]], dearest)
        spent += cost * action
        assert spent <= at_most * t * (1.0 + 1e-12)


@settings(deadline=None)
@given(st.floats(0.1, 5.0), st.lists(st.tuples(st.floats(0.0, 5e4), amounts), max_size=60))
def test_a_hard_stop_by_the_clock_is_never_exceeded(at_most, rounds):
    spending = Spending.of([Budget("b", "each round", at_most, per="day", hard=True)])
    now, paid = 1.7e9, {}
    for later, cost in rounds:
        now += later
        _, spending, action = play(spending.at(now), [[0.0, cost]], dearest)
        day = int(now // 86_400)
        paid[day] = paid.get(day, 0.0) + cost * action
        assert paid[day] <= at_most


@settings(deadline=None)
@given(st.lists(st.tuples(amounts, amounts, amounts), max_size=60), st.integers(0, 2))
@example([NOTHING] * 5 + [(0.0, 0.125, 7.0), (5.0, 0.0, 0.0)], 0)
@example([NOTHING] * 5 + [(1e6, 0.0, 0.0)] + [NOTHING] * 3 + [(0.0, 4e-108, 1e6)], 0)
def test_several_budgets_hold_at_once(rounds, worst_for):
    """One action is free in all: in one budget a band that shrinks, in another a dear action."""
    budgets = [
        Budget("one", "each round", 0.3),
        Budget("two", "each round", 2.0, per=5),
        Budget("three", "each round", 1.0, hard=True),
    ]
    spending, most = Spending.of(budgets), np.zeros(3)
    for a, b, c in rounds:
        costs = [[0.0, a, b], [0.0, b, c], [0.0, c, a]]
        opened, spending, _ = play(spending, costs, lambda *round: dearest(*round, worst_for))
        one, two, three = opened.accounts
        most = np.maximum(most, [one.accrued + one.band, two.accrued + two.band, three.accrued])
        spent = np.array([account.spent for account in spending.accounts])
        assert (spent <= most * (1.0 + 1e-12)).all()


# In the last round the second action is the least over, but only the first keeps both bands.
CHEAPER_FOR_ONE = [
    (0.0, 0.0, 0.0, 0.0),
    (0.0, 0.0, 0.0, 16.0),
    (0.0, 0.0, 0.0, 0.0),
    (0.0, 0.0, 16.0, 0.0),
    (0.0, 0.0, 0.0, 40.0),
    (0.0, 0.0, 0.0, 8.0),
    (0.0, 1.0, 0.0, 40.0),
    (1.0, 0.0, 1.0, 40.0),
]


@settings(deadline=None)
@given(st.lists(st.tuples(shares, shares, amounts, amounts), max_size=60), st.integers(0, 1))
@example(CHEAPER_FOR_ONE, 1)
def test_an_action_within_every_allowance_keeps_every_band(rounds, worst_for):
    """The second action is cheaper for one budget and may be dear for the other."""
    budgets = [Budget("one", "each round", 1.0), Budget("two", "each round", 10.0, per=5)]
    spending, widest = Spending.of(budgets), np.zeros(2)
    for one, two, dear, dearer in rounds:
        costs = [[one, one / 2.0, dear], [2.0 * two, dearer, dear]]
        opened, spending, _ = play(spending, costs, lambda *round: dearest(*round, worst_for))
        widest = np.maximum(widest, [account.band for account in opened.accounts])
        for account, band in zip(spending.accounts, widest, strict=True):
            assert account.spent <= (account.accrued + band) * (1.0 + 1e-12)


def test_a_free_action_is_never_refused_when_the_band_shrinks():
    """A hard stop that is not reached, and dear actions that are gone."""
    spending = Spending.of([Budget("b", "each round", 100.0, per=1000, hard=True)])
    for cost in [50.0] + [0.125] * 30:
        opened, spending, action = play(spending, [[0.0, cost]], dearest)
    assert opened.accounts[0].balance + opened.accounts[0].band < 0.0
    assert action == 0


def test_what_is_not_spent_stays_and_the_price_falls_to_nothing():
    spending = Spending.of([PER_ROUND])
    for _ in range(40):
        _, spending, _ = play(spending, [[0.0, 1.0]], lambda allowed, _: 0)
    assert spending.accounts[0].balance == 10.0
    assert spending.accounts[0].price == 0.0


def test_the_price_rises_while_more_is_spent_than_comes_in():
    spending, prices = Spending.of([PER_ROUND]), []
    for _ in range(6):
        _, spending, action = play(spending, [[0.0, 1.0]], dearest)
        prices.append(spending.accounts[0].price)
        assert action == 1
    assert prices == sorted(prices)
    opened = spending.opened(np.zeros(2), range(2), {"b": [0.0, 3.0]}, None, None)
    np.testing.assert_allclose(
        opened.priced(np.ones(2)),
        [1.0, 1.0 + 3.0 * opened.accounts[0].price],
    )


def test_the_price_has_the_scale_of_losses_and_costs():
    """Losses times 50 and costs times 7: the price times 50 / 7."""
    spendings = [Spending.of([Budget("b", "each round", 0.25 * size)]) for size in (1.0, 7.0)]
    rng = np.random.default_rng(0)
    for _ in range(50):
        predicted, cost, pick = rng.random(2), rng.random(), rng.random()

        def choose(allowed, _, pick=pick):
            return int(allowed[int(pick * len(allowed))])

        for place, (losses, costs) in enumerate([(1.0, 1.0), (50.0, 7.0)]):
            given = [[0.0, cost * costs]]
            _, spendings[place], _ = play(
                spendings[place], given, choose, predicted=predicted * losses
            )
    small, large = (spending.accounts[0] for spending in spendings)
    assert small.price > 0.0
    assert large.price == pytest.approx(small.price * 50.0 / 7.0)
    assert large.band == pytest.approx(7.0 * small.band)


def test_by_the_clock_the_allowance_is_a_matter_of_time():
    spending = Spending.of([Budget("b", {1: 1.0}, at_most=24.0, per="day")])
    for hours, accrued in [(5.0, 0.0), (6.0, 1.0), (8.5, 3.5), (8.0, 3.5), (30.0, 25.0)]:
        spending = spending.at(hours * 3600.0)
        opened = spending.opened(np.zeros(2), range(2), None, None, None)
        assert opened.accounts[0].accrued == pytest.approx(accrued)
        spending = opened.paid(np.array([1.0, 0.0]), 0)


def test_without_a_clock_a_budget_by_time_is_refused():
    spending = Spending.of([Budget("b", {1: 1.0}, at_most=24.0, per="day")])
    with pytest.raises(ValueError, match="`at_time` must be called before `act`, as budget 'b' is"):
        spending.opened(np.zeros(2), range(2), None, None, None)


def test_the_band_is_below_a_hundredth_after_a_hundred_dear_actions():
    early = Account(unit=2.0)
    assert early.band == 12.0
    late = Account(unit=2.0, accrued=208.0)
    assert late.band <= 0.01 * late.accrued
    lines = [Account(unit=2.0, accrued=x) for x in np.linspace(0.0, 300.0, 1000)]
    assert (np.diff([one.accrued + one.band for one in lines]) > 0.0).all()


def test_an_account_is_saved_and_checked():
    account = Account(3, 1.5, 0.5, 1.0, 0.25, 1.0, 0.75, 5.0, 7.0, 2, 1.0)
    assert from_bytes(to_bytes(account), where="here") == account
    for wrong in ({"n_rounds": -1}, {"base": -0.5}, {"unit": np.nan}, {"now": None}):
        broken = Account(**{**vars(account), **wrong})
        with pytest.raises(ValueError, match="must"):
            from_bytes(to_bytes(broken), where="here")


@settings(deadline=None)
@given(st.floats(0.0, 1e6), shares)
@example(4.72, 0.48 / 4.72)
@example(0.66, 0.06 / 0.66)
def test_the_room_of_a_hard_stop_is_exact_to_the_last_bit(accrued, share):
    """A cost that is as large as the room can be paid, and the sum is not above the stop."""
    spent = round(share * accrued, 2) if share * accrued <= 1e3 else share * accrued
    hard = Budget("b", "each round", at_most=1.0, hard=True)
    room = Account(accrued=accrued, spent=min(spent, accrued)).room(hard)
    assert min(spent, accrued) + room <= accrued


def test_the_price_falls_unless_an_action_costs_more_than_the_room():
    """A cost just as large as the room can be paid, so it does not hold the price up."""
    budget = Budget("b", "each round", at_most=1.0)
    account = Account(n_rounds=9, accrued=9.0, spent=9.0, base=1.0, unit=1.0, spread=1.0)
    opened = Spending((budget,), (account,)).opened(
        np.zeros(2), range(2), {"b": [0.0, 1.0]}, None, None
    )
    (room,) = (one.room(budget) for one in opened.accounts)
    bases = []
    for dear in (room, np.nextafter(room, np.inf)):
        costs = np.array([[0.0, dear]])
        made = Spending(opened.budgets, opened.accounts, costs)
        bases.append(made.paid(np.array([1.0, 0.0]), 0).accounts[0].base)
    assert bases[0] < 1.0 == bases[1]


def test_a_clock_that_was_ahead_is_taken_back_and_nothing_is_spent_twice():
    """One reading ten years ahead: after three others, time goes on from them."""
    budget = Budget("b", {1: 1.0}, at_most=2.0, per="day", hard=True)
    day, spending, spent = 86_400.0, Spending.of([budget]), []
    for hours in (20_000 * 24 + 1, 23_650 * 24, *(20_000 * 24 + k for k in range(2, 40))):
        spending = spending.at(hours * 3600.0)
        spending, after, action = play(spending, [[0.0, 1.0]], dearest)
        spent += [hours // 24] * action
        spending = from_bytes(to_bytes(after), where="a file")
    assert [spent.count(one) for one in (20_000, 23_650, 20_001)] == [2, 1, 2]
    assert spending.accounts[0].now == (20_000 * 24 + 39) * 3600.0
    assert spending.accounts[0].accrued == pytest.approx(2.0 * 38 / 24)
    spending = spending.at(23_650 * day)
    spending, _, _ = play(spending, [[0.0, 1.0]], dearest)
    assert spending.accounts[0].spent_in_period == 2.0  # the period is met again


def test_a_clock_before_1970_can_be_stored():
    spending = Spending.of([Budget("b", {1: 1.0}, at_most=2.0, per="day", hard=True)])
    _, after, _ = play(spending.at(-5e8), [[0.0, 1.0]], dearest)
    assert from_bytes(to_bytes(after), where="a file") == after
    wrong = to_bytes(Account(periods=((1.0, 2.0), 3.0)))
    with pytest.raises(ValueError, match="`periods` must be pairs of numbers, got 3"):
        from_bytes(wrong, where="a file")
