"""The answers that Vowpal Wabbit publishes for its graph reduction, as facts to agree with.

From the unit tests of its `--graph_feedback`: each states predicted losses, a graph, a gamma, and
either probabilities to two digits or an order among them. Its graphs are column played, row
revealed, so they are transposed here. Its optimiser stops early now and then; where its answer is
not the optimum, ours must have the smaller objective.
"""

from typing import NamedTuple

import numpy as np
import pytest

import graphcb

TOLERANCE = 0.01  # on each probability, in those tests
ROUNDING = 5e-4  # their probabilities are printed with three digits

TWO = ((0.1998, 0.0999), (0.4925, 0.6972))
THREE = ((0.0, 0.0, 0.0), (0.5018, 0.3011, 0.3011), (0.5640, 0.1585, 0.2629),
         (0.7371, 0.3482, 0.3482))  # fmt: skip

COPS = [[0, 1], [1, 0]]
APPLE_TASTING = [[0, 1], [0, 1]]
POSTED_PRICE = [[1, 1], [0, 1]]
IDENTITY = [[1, 0, 0], [0, 1, 0], [0, 0, 1]]
LAST_REVEALS = [[0, 0, 1], [0, 0, 1], [0, 0, 1]]
FIRST_REVEALS = [[1, 0, 0], [1, 0, 0], [1, 0, 0]]
SUPERVISED = [[1, 1, 1], [1, 1, 1], [1, 1, 1]]


class Published(NamedTuple):
    name: str
    gamma: float
    seen_by_played: list[list[int]]
    losses: tuple[float, ...]
    probabilities: tuple[float, ...]


NUMBERS = [
    Published("cops and robbers", 10, COPS, TWO[0], (0.382, 0.6179)),
    Published("cops and robbers", 10, COPS, TWO[1], (0.710, 0.289)),
    Published("apple tasting", 10, APPLE_TASTING, TWO[0], (0.333, 0.6664)),
    Published("apple tasting", 10, APPLE_TASTING, TWO[1], (0.669, 0.330)),
    Published("posted price", 1, POSTED_PRICE, TWO[0], (0.482, 0.517)),
    Published("posted price", 1, POSTED_PRICE, TWO[1], (0.532, 0.467)),
    Published("posted price", 10, POSTED_PRICE, TWO[0], (0.293, 0.706)),
    Published("posted price", 10, POSTED_PRICE, TWO[1], (0.722, 0.277)),
    Published("posted price", 100, POSTED_PRICE, TWO[0], (0.0, 1.0)),
    Published("posted price", 100, POSTED_PRICE, TWO[1], (0.953, 0.046)),
    Published("identity", 1, IDENTITY, THREE[0], (0.333, 0.333, 0.333)),
    Published("identity", 1, IDENTITY, THREE[1], (0.318, 0.340, 0.340)),
    Published("identity", 1, IDENTITY, THREE[2], (0.308, 0.352, 0.339)),
    Published("identity", 1, IDENTITY, THREE[3], (0.305, 0.347, 0.347)),
    Published("identity", 20, IDENTITY, THREE[0], (0.333, 0.333, 0.333)),
    Published("identity", 20, IDENTITY, THREE[1], (0.156, 0.421, 0.421)),
    Published("identity", 20, IDENTITY, THREE[2], (0.101, 0.64, 0.25)),
    Published("identity", 20, IDENTITY, THREE[3], (0.099, 0.450, 0.450)),
]
# The one published answer that is not the optimum, with both values of gamma * DEC.
NOT_OPTIMAL = {("identity", 20, THREE[2]): (2.229, 2.000)}

# An order among the probabilities; ~ is equality within the tolerance, "none" is 0.
ORDERS = [
    ("last reveals", 1, LAST_REVEALS, THREE[0], "2>0 2>1 0=1"),
    ("last reveals", 1, LAST_REVEALS, THREE[1], "2>0 2>1 1>0"),
    ("last reveals", 1, LAST_REVEALS, THREE[2], "2>0 2>1 1>0"),
    ("last reveals", 1, LAST_REVEALS, THREE[3], "2>0 2>1 1>0"),
    ("last reveals", 10, LAST_REVEALS, THREE[0], "2>0 2>1 0=1"),
    ("last reveals", 10, LAST_REVEALS, THREE[1], "0~none 1~2"),
    ("last reveals", 10, LAST_REVEALS, THREE[2], "0~none 1>2"),
    ("last reveals", 10, LAST_REVEALS, THREE[3], "0~none 1~2"),
    ("first reveals", 1, FIRST_REVEALS, THREE[0], "0>1 0>2 1=2"),
    ("first reveals", 1, FIRST_REVEALS, THREE[1], "0>1 0>2 1=2"),
    ("first reveals", 1, FIRST_REVEALS, THREE[2], "0>1 0>2 1>2"),
    ("first reveals", 1, FIRST_REVEALS, THREE[3], "0>1 0>2 1=2"),
    ("first reveals", 100, FIRST_REVEALS, THREE[0], "0>1 1=2"),
    ("first reveals", 100, FIRST_REVEALS, THREE[1], "1>0 2>0 1=2"),
    ("first reveals", 100, FIRST_REVEALS, THREE[2], "0>2 1>2"),
    ("first reveals", 100, FIRST_REVEALS, THREE[3], "1>0 2>0 1=2"),
    ("supervised", 10, SUPERVISED, THREE[0], "0=1 1=2"),
    ("supervised", 10, SUPERVISED, THREE[1], "0~none 1=2"),
    ("supervised", 10, SUPERVISED, THREE[2], "0~none 1>2"),
    ("supervised", 10, SUPERVISED, THREE[3], "0~none 1~2"),
]


def solve(seen_by_played, losses, gamma):
    graph = graphcb.FeedbackGraph(np.transpose(seen_by_played))
    return graph, graphcb.solve_dec(losses, graph, gamma)


def is_off(published):
    return (published.name, published.gamma, published.losses) in NOT_OPTIMAL


@pytest.mark.parametrize("published", [one for one in NUMBERS if not is_off(one)])
def test_published_optimum_is_met(published):
    _, solution = solve(published.seen_by_played, published.losses, published.gamma)
    np.testing.assert_allclose(solution.probabilities, published.probabilities, atol=TOLERANCE)


@pytest.mark.parametrize("published", NUMBERS)
def test_published_answer_is_never_better(published):
    graph, solution = solve(published.seen_by_played, published.losses, published.gamma)
    theirs = np.array(published.probabilities) / sum(published.probabilities)
    value = graphcb.dec(theirs, published.losses, graph, published.gamma)
    assert solution.value - solution.gap <= value  # the proof holds against a rival's answer
    assert published.gamma * (solution.value - value) <= 1e-6 * (1 + published.gamma * value)


@pytest.mark.parametrize("published", [one for one in NUMBERS if is_off(one)])
def test_published_answer_off_the_optimum(published):
    """Both values of gamma * DEC; no rounding of the printed digits explains the difference."""
    graph, solution = solve(published.seen_by_played, published.losses, published.gamma)
    theirs = np.array(published.probabilities) / sum(published.probabilities)
    values = NOT_OPTIMAL[published.name, published.gamma, published.losses]
    found = (graphcb.dec(theirs, published.losses, graph, published.gamma), solution.value)
    np.testing.assert_allclose(np.array(found) * published.gamma, values, atol=1e-3)
    apart = np.abs(solution.probabilities - published.probabilities)
    assert apart.max() > TOLERANCE + ROUNDING


@pytest.mark.parametrize(("name", "gamma", "seen_by_played", "losses", "order"), ORDERS)
def test_published_orders(name, gamma, seen_by_played, losses, order):
    p = solve(seen_by_played, losses, gamma)[1].probabilities
    for claim in order.split():
        left, relation, right = p[int(claim[0])], claim[1], claim[2:]
        other = 0.0 if right == "none" else p[int(right)]
        if relation == ">":
            assert left > other, claim
        else:
            assert left == pytest.approx(other, abs=TOLERANCE if relation == "~" else 1e-4), claim


@pytest.mark.parametrize("gamma", [1.0, 100.0])
def test_the_revealing_action_is_played_less_as_it_costs_more(gamma):
    played = [solve(FIRST_REVEALS, losses, gamma)[1].probabilities[0] for losses in THREE]
    assert min(played[:3]) > played[3]
