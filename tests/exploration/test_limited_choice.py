import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphcb import Limits, graphs
from graphcb.exploration import BoxAndRows
from graphcb.exploration.cheapest import cheapest
from graphcb.exploration.information_directed import _within, information_directed
from graphcb.exploration.limited_choice import best_within, smallest_ratio, spread_within
from graphcb.exploration.mixed_choice import choose


def random_box(rng, n_actions, n_rows):
    inside = rng.dirichlet(np.full(n_actions, rng.choice([0.2, 1.0, 5.0])))
    lower = np.where(rng.random(n_actions) < 0.5, rng.random() * inside, 0.0)
    upper = np.where(rng.random(n_actions) < 0.5, np.minimum(1.0, 2.0 * inside), 1.0)
    if rng.random() < 0.3:  # nothing to choose for some
        lower = np.where(rng.random(n_actions) < 0.3, inside, lower)
    rows = rng.normal(size=(n_rows, n_actions))
    return BoxAndRows(lower, upper, rows, rows @ inside + rng.choice([0.0, 0.1], n_rows))


def forecast(rng, n_actions):
    """Losses, regrets and information as the choice sees them."""
    f, widths = rng.random(n_actions), 0.5 * rng.random(n_actions)
    information = rng.random(n_actions) * (rng.random(n_actions) < 0.7)
    return f, widths, f + widths - (f - widths).min(), information


def assert_obeys(p, box):
    assert (p >= box.lower).all()
    assert (p <= box.upper).all()
    assert p.sum() == pytest.approx(1.0, abs=1e-11)
    assert (box.rows @ p <= box.most + 1e-11 * np.abs(box.rows).max(initial=1.0)).all()


@given(st.integers(0, 2**32 - 1), st.integers(1, 30), st.integers(0, 5))
def test_it_obeys_and_its_ratio_is_proven_to_be_the_smallest(seed, n_actions, n_rows):
    rng = np.random.default_rng(seed)
    box = random_box(rng, n_actions, n_rows)
    f, _, regrets, information = forecast(rng, n_actions)
    p, feasible = smallest_ratio(f, regrets, information, *box)
    assert feasible
    assert_obeys(p, box)
    best, x, y = best_within(f, box), regrets @ p, information @ p
    assert y >= information @ best - 1e-12
    if x > 0.0 and y > 1e-6:
        # Convexity: no p in the polytope has a ratio below that of its linear approximation.
        gradient = 2.0 * x / y * regrets - (x / y) ** 2 * information
        rows = np.vstack([box.rows, -information])
        most = np.append(box.most, 1e-13 - information @ best)
        lowest, _ = cheapest(gradient, box.lower, box.upper, rows, most)
        assert gradient @ (p - lowest) <= 1e-9 * x * x / y


def test_a_generic_solver_finds_the_same_ratio():
    cvxpy = pytest.importorskip("cvxpy")
    rng = np.random.default_rng(0)
    for _ in range(30):
        n_actions, n_rows = int(rng.integers(2, 12)), int(rng.integers(0, 4))
        inside = rng.dirichlet(np.ones(n_actions))
        rows = rng.normal(size=(n_rows, n_actions))
        box = BoxAndRows(0.3 * inside, np.minimum(1.0, 3.0 * inside), rows, rows @ inside + 0.05)
        f, _, regrets, information = forecast(rng, n_actions)
        information += 0.01
        p, _ = smallest_ratio(f, regrets, information, *box)
        q = cvxpy.Variable(n_actions)
        obeys = [q >= box.lower, q <= box.upper, cvxpy.sum(q) == 1]
        obeys += [rows @ q <= box.most] if n_rows else []
        obeys += [information @ q >= information @ best_within(f, box)]
        ratio = cvxpy.quad_over_lin(regrets @ q, information @ q)
        expected = cvxpy.Problem(cvxpy.Minimize(ratio), obeys).solve(solver="CLARABEL")
        assert (regrets @ p) ** 2 / (information @ p) == pytest.approx(expected, rel=1e-6)


@given(st.integers(0, 2**32 - 1), st.integers(1, 8))
def test_limits_that_do_not_bind_change_nothing(seed, n_actions):
    rng = np.random.default_rng(seed)
    f, widths, _, information = forecast(rng, n_actions)
    best, nothing, regrets = int(f.argmin()), np.zeros(n_actions), f + widths - f.min()
    free = choose(f, regrets, information, information, nothing, best, 1e-12, nothing, 1.0)
    rows = np.ones((1, n_actions))
    for box in (
        BoxAndRows(np.zeros(n_actions), np.ones(n_actions), rows, np.array([1.0])),
        BoxAndRows(0.5 * free, free, rows[:0], np.empty(0)),
    ):
        p, _ = _within(free, f, regrets, information, *box)
        assert p.tolist() == free.tolist()


def test_what_cannot_be_found_out_is_not_paid_for():
    f, regrets = np.array([0.2, 0.5, 0.9]), np.array([0.1, 0.4, 0.8])
    only_last = np.array([0.0, 0.0, 1.0])
    box = Limits(caps={2: 0.0}, floors={1: 0.1}).on(range(3))
    p, _ = smallest_ratio(f, regrets, only_last, *box)
    np.testing.assert_allclose(p, [0.9, 0.1, 0.0])
    p, _ = smallest_ratio(f, regrets, np.zeros(3), *box)
    np.testing.assert_allclose(p, [0.9, 0.1, 0.0])


def test_a_cap_on_the_action_that_tells_is_used_up_while_much_is_unknown():
    graph = graphs.apple_tasting(3, revealing_action=2)
    unsure = (np.array([0.3, 0.31, 0.9]), *(np.full(3, v) for v in (0.2, 0.1, 5.0)), 1.0)
    free, *_ = information_directed(*unsure, graph=graph, round_number=2000)
    assert free[2] > 0.05
    box = Limits(caps={2: 0.05}).on(range(3))
    p, *_ = information_directed(*unsure, graph=graph, round_number=2000, box=box)
    np.testing.assert_allclose(p, [0.95, 0.0, 0.05])


@given(st.integers(0, 2**32 - 1), st.integers(1, 8), st.integers(0, 3))
def test_all_in_turn_obeys_and_plays_whatever_can_be_played(seed, n_actions, n_rows):
    rng = np.random.default_rng(seed)
    box = random_box(rng, n_actions, n_rows)
    p = spread_within(rng.random(n_actions), box)
    assert_obeys(p, box)
    for a in range(n_actions):
        most = best_within(-np.eye(n_actions)[a], box)[a]
        assert p[a] >= most / n_actions - 1e-9


def test_all_in_turn_without_limits_is_uniform():
    box = BoxAndRows(np.zeros(4), np.ones(4), np.empty((0, 4)), np.empty(0))
    np.testing.assert_allclose(spread_within(np.array([3.0, 1.0, 2.0, 1.0]), box), np.full(4, 0.25))


@pytest.mark.parametrize("size", [1e-200, 1e-6, 1e6, 1e200])
def test_the_size_of_regret_and_information_does_not_matter(size):
    rng = np.random.default_rng(3)
    for n_rows in (0, 2):
        box = random_box(rng, 7, n_rows)
        f, _, regrets, information = forecast(rng, 7)
        expected, _ = smallest_ratio(f, regrets, information, *box)
        p, _ = smallest_ratio(f, size * regrets, information / size, *box)
        np.testing.assert_allclose(p, expected, atol=1e-9)
