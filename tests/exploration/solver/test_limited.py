import numpy as np
import pytest
from scipy import sparse

import graphcb
from graphcb import FeedbackGraph, Limits, Status, graphs, solve_dec, solve_dec_batch
from graphcb.exploration import BoxAndRows, InfeasibleLimits
from graphcb.exploration.solver import workspace as at
from graphcb.exploration.solver.box import make_box
from graphcb.exploration.solver.edges import edges_of
from graphcb.exploration.solver.entry import solve_general
from graphcb.exploration.solver.feasible_points import inner_point
from graphcb.exploration.solver.outcomes import LOWER, N_NUMBERS, VALUE

LOSSES = np.array([0.1, 0.3, 0.2, 0.6])
RING = FeedbackGraph(np.eye(4) + 0.5 * np.roll(np.eye(4), 1, axis=1))
COPS = graphs.cops_and_robbers(4)
GROUP = {"actions": [1, 2], "at_least": 0.25, "at_most": 0.25}


def by_the_general_method(losses, graph, gamma, box, tolerance=1e-6):
    p, numbers = np.empty((1, losses.size)), np.empty((1, N_NUMBERS))
    scaled, gammas = losses.reshape(1, -1).copy(), np.array([gamma])
    edges = edges_of(graph)
    made = make_box(edges, *box, inner_point(box))
    solve_general(scaled, gammas, edges, made, tolerance, 200, np.empty(0), 0, 1, p, numbers)
    return p[0], numbers[0]


@pytest.mark.parametrize("graph", [RING, COPS, graphs.inventory(4), graphs.full_information(4)])
@pytest.mark.parametrize("gamma", [0.1, 30.0, 1e5])
def test_floors_caps_and_linear_limits_are_obeyed_with_a_proof(graph, gamma):
    limits = Limits(floors={3: 0.05}, caps={0: 0.4}, linear=[{"actions": [1, 2], "at_most": 0.5}])
    solution = solve_dec(LOSSES, graph, gamma, limits=limits)
    p = solution.probabilities
    assert p[3] >= 0.05
    assert p[0] <= 0.4
    assert p[1] + p[2] <= 0.5 + 1e-9
    assert p.sum() == pytest.approx(1.0, abs=1e-12)
    assert solution.is_certified
    assert solution.value == pytest.approx(graphcb.dec(p, LOSSES, graph, gamma), rel=1e-9)
    free = solve_dec(LOSSES, graph, gamma)
    assert solution.value >= free.value - free.gap


def test_limits_that_say_nothing_change_nothing():
    free = solve_dec(LOSSES, RING, 10.0)
    same = solve_dec(LOSSES, RING, 10.0, limits=Limits(floors=0.0, caps=1.0))
    assert same.probabilities.tobytes() == free.probabilities.tobytes()


@pytest.mark.parametrize("name", ["bandit", "full_information", "apple_tasting"])
def test_an_exact_solution_that_obeys_the_limits_is_the_answer(name):
    graph = getattr(graphs, name)(4)
    free = solve_dec(LOSSES, graph, 10.0)
    limits = Limits(caps={0: 0.999})
    same = solve_dec(LOSSES, graph, 10.0, limits=limits)
    assert same.probabilities.tobytes() == free.probabilities.tobytes()
    assert same.status is Status.EXACT


@pytest.mark.parametrize("name", ["bandit", "full_information"])
@pytest.mark.parametrize("seed", range(8))
def test_exact_solutions_agree_with_the_general_method(name, seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 12))
    inside = rng.dirichlet(np.ones(n))
    lower = inside * rng.random() * (rng.random(n) < 0.5)
    upper = np.minimum(1.0, inside * (1.0 + rng.random(n)))
    losses, gamma = rng.integers(0, 5, n) / 4.0, float(10.0 ** rng.uniform(-1, 4))
    box = Limits(floors=lower.tolist(), caps=upper.tolist()).on(range(n))
    graph = getattr(graphs, name)(n)
    exact = solve_dec(losses, graph, gamma, limits=box)
    assert exact.status is Status.EXACT
    assert exact.gap <= 1e-9 * (1.0 / gamma + exact.value)
    _, numbers = by_the_general_method(losses, graph, gamma, box)
    optimum = exact.value * gamma
    assert optimum * (1.0 - 1e-12) <= numbers[VALUE] <= optimum + 1e-6 * (1.0 + optimum)
    assert numbers[LOWER] <= exact.value * gamma * (1.0 + 1e-12)


def test_caps_of_a_bandit_that_add_up_to_one_are_not_exceeded_by_a_rounding():
    for seed in range(1000):
        rng = np.random.default_rng(seed)
        caps = rng.dirichlet(np.ones(2))
        p = solve_dec(rng.random(2), graphs.bandit(2), 0.6, limits=Limits(caps=caps.tolist()))
        assert (p.probabilities <= caps).all(), seed


@pytest.mark.parametrize("name", ["bandit", "full_information"])
def test_many_actions_keep_their_exact_solution(name):
    n = 200_000
    losses = np.random.default_rng(0).random(n)
    graph = getattr(graphs, name)(n)
    solution = solve_dec(losses, graph, 1e7, limits=Limits(floors=1e-7, caps=0.2))
    assert solution.status is Status.EXACT
    assert solution.probabilities.max() <= 0.2
    assert solution.probabilities.min() >= 1e-7


@pytest.mark.parametrize(
    "limits",
    [
        Limits(floors=[0.1, 0.2, 0.3, 0.4]),
        Limits(caps=[0.1, 0.2, 0.3, 0.4]),
        Limits(floors=[0.1, 0.2, 0.3, 0.0], caps=[0.1, 0.2, 0.3, 1.0]),
    ],
)
@pytest.mark.parametrize("graph", [RING, graphs.bandit(4)])
def test_limits_that_leave_no_choice(limits, graph):
    solution = solve_dec(LOSSES, graph, 10.0, limits=limits)
    np.testing.assert_allclose(solution.probabilities, [0.1, 0.2, 0.3, 0.4], atol=1e-15)
    assert solution.is_certified
    p = np.array([0.1, 0.2, 0.3, 0.4])
    assert solution.value == pytest.approx(graphcb.dec(p, LOSSES, graph, 10.0))


def test_fixed_actions_and_equations():
    fixed = solve_dec(LOSSES, RING, 10.0, limits=Limits(floors={1: 0.3}, caps={1: 0.3}))
    assert fixed.probabilities[1] == 0.3
    assert fixed.is_certified
    equal = solve_dec(LOSSES, RING, 10.0, limits=Limits(linear=[GROUP]))
    assert equal.probabilities[1:3].sum() == pytest.approx(0.25, abs=1e-9)
    assert equal.is_certified
    halves = [{"actions": [0, 1], "at_most": 0.5}, {"actions": [2, 3], "at_most": 0.5}]
    implied = solve_dec(LOSSES, RING, 10.0, limits=Limits(linear=halves))
    assert implied.probabilities[:2].sum() == pytest.approx(0.5, abs=1e-9)
    assert implied.is_certified


def test_an_action_that_may_not_be_played_can_still_be_the_one_to_regret():
    limits = Limits(caps={0: 0.0})
    solution = solve_dec(LOSSES, COPS, 100.0, limits=limits)
    assert solution.probabilities[0] == 0.0
    assert solution.is_certified
    assert solution.value >= (0.2 - 0.1)  # the best that is left is worse by this


def test_what_is_never_revealed_is_left_out():
    limits = Limits(caps={0: 0.0})
    solution = solve_dec(LOSSES, graphs.bandit(4), 100.0, limits=limits)
    assert solution.status is Status.NEVER_REVEALED
    assert not solution.is_certified
    assert (solution.value, solution.gap) == (np.inf, np.inf)
    assert solution.probabilities[0] == 0.0
    others = solve_dec(LOSSES[1:], graphs.bandit(3), 100.0).probabilities
    np.testing.assert_allclose(solution.probabilities[1:], others, atol=1e-3)
    batch = solve_dec_batch([LOSSES, LOSSES], graphs.bandit(4), 100.0, limits=[limits, None])
    assert batch.status == (Status.NEVER_REVEALED, Status.EXACT)
    assert batch.value[0] == batch.gap[0] == np.inf
    none = Limits(linear=[{"actions": [0, 1], "at_most": 0.0}])
    group = solve_dec(LOSSES, graphs.bandit(4), 100.0, limits=none)
    assert group.status is Status.NEVER_REVEALED
    assert group.probabilities[:2].tolist() == [0.0, 0.0]
    assert str(Status.NEVER_REVEALED).startswith("the limits keep the losses of some actions")


def test_a_single_action_and_extreme_losses():
    one = solve_dec([0.3], graphs.bandit(1), 10.0, limits=Limits(floors=0.5))
    assert (one.probabilities.tolist(), one.value) == ([1.0], 0.0)
    for losses in ([0.0, 1e300, 2e300, 1.0], [0.0, 1e-300, 1.0, 1e200]):
        limits = Limits(floors=0.01, caps={0: 0.5}, linear=[{"actions": [1, 2], "at_most": 0.1}])
        solution = solve_dec(losses, RING, 10.0, limits=limits)
        p = solution.probabilities
        assert (p >= 0.01).all()
        assert p[0] <= 0.5
        assert p[1] + p[2] <= 0.1 + 1e-9
        assert solution.gap >= 0.0
        assert solution.value == pytest.approx(graphcb.dec(p / p.sum(), losses, RING, 10.0))


def test_a_batch_has_the_answers_of_single_calls():
    rng = np.random.default_rng(3)
    losses = rng.random((6, 4))
    both = [Limits(floors=0.05, caps={0: 0.3}), None, Limits(linear=[GROUP])] * 2
    drawn = [RING, COPS, graphs.bandit(4)] * 2
    batch = solve_dec_batch(losses, drawn, 20.0, limits=both)
    for row, (one, graph, limits) in enumerate(zip(batch, drawn, both, strict=True)):
        alone = solve_dec(losses[row], graph, 20.0, limits=limits)
        assert one.probabilities.tobytes() == alone.probabilities.tobytes()
        assert (one.value, one.gap, one.status) == (alone.value, alone.gap, alone.status)
    same = solve_dec_batch(losses, RING, 20.0, limits=both[0])
    assert same.probabilities[:, 0].max() <= 0.3
    with pytest.raises(ValueError, match="`limits` must be the same for all or one for each of 6"):
        solve_dec_batch(losses, RING, 20.0, limits=both[:2])


def test_the_arrays_of_a_round_are_limits_too():
    box = Limits(caps={0: 0.3}).on(range(4))
    costs = np.array([[0.0, 300.0, 0.0, 100.0]])
    for _ in range(2):  # remembered the second time
        same = solve_dec(LOSSES, RING, 10.0, limits=box).probabilities
        named = solve_dec(LOSSES, RING, 10.0, limits=Limits(caps={0: 0.3})).probabilities
        assert same.tobytes() == named.tobytes()
    more = box._replace(rows=costs, most=np.array([20.0]))
    solution = solve_dec(LOSSES, RING, 10.0, limits=more)
    assert (costs @ solution.probabilities)[0] <= 20.0 * (1.0 + 1e-9)
    assert solution.probabilities[0] <= 0.3
    assert solution.is_certified


NONE = np.zeros((0, 4)), np.zeros(0)


@pytest.mark.parametrize(
    ("limits", "error", "text"),
    [
        ({"floors": 0.1}, TypeError, "`limits` must be a graphcb.Limits, or what its `on` returns"),
        (BoxAndRows(np.zeros(3), np.ones(4), *NONE), ValueError, r"must have arrays of shapes"),
        (BoxAndRows(np.zeros(4), np.full(4, 2.0), *NONE), ValueError, "0 <= lower <= upper <= 1"),
        (BoxAndRows(np.full(4, np.nan), np.ones(4), *NONE), ValueError, "0 <= lower <= upper"),
        (
            BoxAndRows(np.zeros(4), np.ones(4), np.full((1, 4), np.inf), np.zeros(1)),
            ValueError,
            "finite linear limits",
        ),
        (BoxAndRows(np.full(4, 0.3), np.ones(4), *NONE), InfeasibleLimits, "add up to 1.2, more"),
        (BoxAndRows(np.zeros(4), np.full(4, 0.2), *NONE), InfeasibleLimits, "add up to 0.8, less"),
        (
            BoxAndRows(np.zeros(4), np.ones(4), np.ones((1, 4)), np.array([0.5])),
            InfeasibleLimits,
            "no probabilities that add up to 1 meet these floors, caps and linear limits together",
        ),
        (Limits(floors=[0.5, 0.5]), ValueError, "`floors` must have one number for each of the 4"),
        (
            Limits(floors={0: 0.6, 1: 0.6}),
            InfeasibleLimits,
            "the floors of 0 .0.6. and 1 .0.6. add",
        ),
    ],
)
def test_bad_limits_are_refused(limits, error, text):
    with pytest.raises(error, match=text):
        solve_dec(LOSSES, RING, 10.0, limits=limits)
    with pytest.raises(error, match=text):
        solve_dec_batch([LOSSES], RING, 10.0, limits=limits if error is TypeError else [limits])


def test_arrays_that_were_met_before_are_refused_on_a_graph_of_another_size():
    box = Limits(floors=0.1, caps={0: 0.5}).on(range(4))
    solve_dec(LOSSES, RING, 10.0, limits=box)
    with pytest.raises(ValueError, match=r"must have arrays of shapes \(6,\)"):
        solve_dec(np.arange(6.0), graphs.cops_and_robbers(6), 10.0, limits=box)


@pytest.mark.parametrize(
    "graph",
    [
        graphs.inventory(150),
        graphs.cops_and_robbers(150),
        graphs.cops_and_robbers(7),
        graphs.threshold(np.linspace(0.1, 0.9, 40), np.linspace(0.5, 0.2, 40)),
        FeedbackGraph(sparse.eye(30, format="csr") + 0.5 * sparse.eye(30, k=3, format="csr")),
        graphs.random_self_aware(30, 0.3, np.random.default_rng(0)),
    ],
)
def test_what_floors_reveal_is_added_up_by_every_form_of_edges(graph):
    n = graph.n_actions
    rng = np.random.default_rng(n)
    lower = rng.random(n) * 10.0 ** rng.uniform(-12.0, 0.0, n) / (2 * n)
    lower[rng.random(n) < 0.3] = 0.0
    matrix = graph.matrix
    empty = (np.zeros((0, n)), np.zeros(0))
    of_actions = make_box(edges_of(graph), lower, np.ones(n), *empty, np.zeros(0)).of_actions
    np.testing.assert_allclose(of_actions[at.ALL_BASE], matrix.T @ lower, rtol=1e-13)
    others = matrix - np.diag(np.diag(matrix))
    np.testing.assert_allclose(of_actions[at.BASE], others.T @ lower, rtol=1e-13)


@pytest.mark.parametrize("family", ["inventory", "cops_and_robbers"])
def test_a_floor_on_every_action_keeps_a_large_family_large(family):
    n = 20_000
    losses = np.random.default_rng(1).random(n)
    graph = getattr(graphs, family)(n)
    solution = solve_dec(losses, graph, 100.0, limits=Limits(floors=0.1 / n))
    assert solution.is_certified
    assert solution.probabilities.min() >= 0.1 / n
