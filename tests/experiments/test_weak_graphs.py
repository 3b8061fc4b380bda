import pytest

from graphcb.experiments.weak_graphs import KINDS, weak_graph


@pytest.mark.parametrize(
    ("options", "n_actions", "domination", "own", "expected"),
    [
        ({"apple_tasting": 3}, 3, 1, 1, (0,)),
        ({"apple_tasting": 10}, 10, 1, 1, (0,)),
        ({"revealing_action": 5}, 5, 1, 2, (0,)),
        ({"cycle": 6}, 6, 6, 0, (0, 2, 4)),
        ({"blocks": 2}, 6, 2, 2, (0, 3)),
        ({"blocks": 8}, 24, 8, 8, tuple(range(0, 24, 3))),
    ],
)
def test_each_is_weakly_observable_with_a_known_number(
    options, n_actions, domination, own, expected
):
    graph, costly = weak_graph(options)
    assert graph.observability == "weak"
    assert (graph.n_actions, graph.weak_domination_number()) == (n_actions, domination)
    assert graph.self_looped_independence_number() == own
    assert costly == expected
    # Whoever plays none of the costly ones learns nothing of some of the others.
    others = [action for action in range(n_actions) if action not in costly]
    seen = graph.matrix[others].max(axis=0)
    assert any(seen[action] == 0.0 for action in others)


def test_no_kind_is_left_out_and_an_unknown_one_is_said():
    cases = test_each_is_weakly_observable_with_a_known_number.pytestmark[0].args[1]
    assert {name for case in cases for name in case[0]} == set(KINDS)
    with pytest.raises(ValueError, match=r"`graph` must be one of apple_tasting, .* got 'star'"):
        weak_graph({"star": 3})
    with pytest.raises(ValueError, match="`graph` must be at least 2, got 1"):
        weak_graph({"cycle": 1})
