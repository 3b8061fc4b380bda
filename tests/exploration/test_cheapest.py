import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

from graphcb import Limits
from graphcb.exploration import BoxAndRows, InfeasibleLimits
from graphcb.exploration.cheapest import cheapest
from graphcb.exploration.limited_choice import best_within


def random_box(rng, n_actions, n_rows):
    """Limits that some distribution obeys; fixed actions, empty interiors and rows that repeat."""
    inside = rng.dirichlet(np.full(n_actions, rng.choice([0.1, 1.0, 5.0])))
    kind = rng.integers(4)
    lower, upper = np.zeros(n_actions), np.ones(n_actions)
    if kind == 1:
        lower = inside * rng.random(n_actions)
        upper = np.minimum(1.0, inside + rng.random(n_actions))
    elif kind == 2:
        lower = np.where(rng.random(n_actions) < 0.5, inside, 0.0)
        upper = np.where(rng.random(n_actions) < 0.3, inside, 1.0)
    elif kind == 3:
        inside = np.full(n_actions, 1.0 / n_actions)
        lower, upper = 0.5 * inside, np.minimum(1.0, 1.5 * inside)
    rows, most = np.empty((n_rows, n_actions)), np.empty(n_rows)
    for i in range(n_rows):
        rows[i] = (
            rng.random(n_actions) < 0.5,
            -1.0 * (rng.random(n_actions) < 0.5),
            rng.normal(size=n_actions) * 10.0 ** rng.integers(-2, 4),
            -rows[i - 1] if i else np.ones(n_actions),
        )[rng.integers(4)]
        most[i] = rows[i] @ inside + rng.choice([0.0, 0.0, 0.01, 0.2]) * np.abs(rows[i]).max()
    return BoxAndRows(lower, upper, rows, most)


def assert_obeys(p, box):
    assert (p >= box.lower).all()
    assert (p <= box.upper).all()
    assert p.sum() == pytest.approx(1.0, abs=1e-11)
    sizes = np.abs(box.rows).max(axis=1, initial=0.0)
    assert (box.rows @ p <= box.most + 1e-11 * sizes).all()


@given(st.integers(0, 2**32 - 1), st.integers(1, 30), st.integers(0, 6))
def test_it_obeys_and_no_other_vertex_is_cheaper(seed, n_actions, n_rows):
    rng = np.random.default_rng(seed)
    box = random_box(rng, n_actions, n_rows)
    costs = rng.random(n_actions) if seed % 2 else rng.integers(0, 3, n_actions).astype(float)
    p, feasible = cheapest(costs, *box)
    assert feasible
    assert_obeys(p, box)
    for _ in range(5):  # a vertex in some other direction
        other, _ = cheapest(rng.normal(size=n_actions), *box)
        assert costs @ p <= costs @ other + 1e-10


def test_a_linear_program_of_another_package_finds_nothing_cheaper():
    rng = np.random.default_rng(0)
    for _ in range(300):
        n_actions, n_rows = int(rng.integers(1, 40)), int(rng.integers(0, 6))
        inside = rng.dirichlet(np.ones(n_actions))
        rows = rng.normal(size=(n_rows, n_actions))
        lower, upper = 0.5 * inside, np.minimum(1.0, 4.0 * inside)
        box = BoxAndRows(lower, upper, rows, rows @ inside + 0.05)
        costs = rng.normal(size=n_actions)
        found = linprog(
            costs,
            A_ub=box.rows if n_rows else None,
            b_ub=box.most if n_rows else None,
            A_eq=np.ones((1, n_actions)),
            b_eq=[1.0],
            bounds=list(zip(lower, upper, strict=True)),
        )
        assert best_within(costs, box) @ costs == pytest.approx(found.fun, abs=1e-9)


@pytest.mark.parametrize("scale", [1e-300, 1e-9, 1.0, 1e50, 1e300])
def test_the_size_of_the_costs_does_not_matter(scale):
    rng = np.random.default_rng(1)
    for n_rows in (0, 3):
        box, costs = random_box(rng, 9, n_rows), rng.normal(size=9)
        scaled = cheapest(scale * costs, *box)[0]
        np.testing.assert_allclose(scaled, cheapest(costs, *box)[0], atol=1e-12)


def test_of_equal_costs_the_first_gets_more():
    box = Limits(caps=0.4, floors=0.05).on(range(5))
    np.testing.assert_allclose(best_within(np.ones(5), box), [0.4, 0.4, 0.1, 0.05, 0.05])
    np.testing.assert_allclose(best_within(np.array([2, 1, 1, 1, 2.0]), box)[1:3], [0.4, 0.4])


def test_a_single_point_and_a_single_action():
    fixed = np.array([0.1, 0.2, 0.7])
    box = BoxAndRows(fixed, fixed, np.array([[1.0, 0.0, 0.0]]), np.array([0.1]))
    assert best_within(np.array([3.0, 2.0, 1.0]), box).tolist() == fixed.tolist()
    one = BoxAndRows(np.zeros(1), np.ones(1), np.empty((0, 1)), np.empty(0))
    assert best_within(np.array([5.0]), one).tolist() == [1.0]


def test_limits_that_are_missed_by_rounding_are_met():
    # 0.1 + 0.2 is above 0.3, and floors may add up to a little more than 1.
    rows = np.array([[1.0, 1.0, 0.0], [-1.0, -1.0, 0.0]])
    for off in (0.0, 1e-16, 5e-10):
        box = BoxAndRows(np.array([0.1, 0.2, 0.0]), np.ones(3), rows, np.array([0.3 - off, -0.3]))
        p = best_within(np.array([0.0, 1.0, 2.0]), box)
        np.testing.assert_allclose(p, [0.1, 0.2, 0.7], atol=2e-9)
        assert (p >= box.lower).all()


def test_limits_that_clash_are_refused():
    rows = np.array([[1.0, 0.0], [-1.0, 0.0]])
    box = BoxAndRows(np.zeros(2), np.ones(2), rows, np.array([0.3, -0.4]))
    with pytest.raises(InfeasibleLimits, match="`limits` must leave a choice, but no prob"):
        best_within(np.zeros(2), box)


def test_many_actions_and_rows():
    rng = np.random.default_rng(2)
    box = random_box(rng, 2000, 12)
    p = best_within(rng.random(2000), box)
    assert_obeys(p, box)
