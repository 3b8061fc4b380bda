import io

import numpy as np
import pytest

from graphcb import FeedbackGraph, graphs
from graphcb.figures.graph import ARROWS_UP_TO, draw_graph


def arrows(figure):
    return [patch for patch in figure.axes[0].patches if hasattr(patch, "get_arrowstyle")]


@pytest.mark.parametrize(
    ("graph", "n_lines", "n_heads"),
    [
        (graphs.bandit(3), 0, 0),
        (graphs.cops_and_robbers(4), 6, 0),  # both ways: one line a pair
        (graphs.inventory(4), 6, 6),  # one way: an arrow a pair
        (graphs.apple_tasting(3), 2, 2),
        (FeedbackGraph([[0, 0.5], [0.25, 0]]), 2, 2),  # unequal chances: two arrows
    ],
)
def test_arrows_run_from_played_to_revealed(graph, n_lines, n_heads):
    drawn = arrows(draw_graph(graph, "a title"))
    assert len(drawn) == n_lines
    assert sum("CurveFilledB" in type(a.get_arrowstyle()).__name__ for a in drawn) == n_heads


def test_an_arrow_points_at_the_revealed_action():
    figure = draw_graph(FeedbackGraph([[1, 1], [0, 1]]), "0 reveals 1")
    (arrow,) = arrows(figure)
    start, end = (np.array(point) for point in arrow._posA_posB)
    labels = {t.get_text(): np.array(t.get_position()) for t in figure.axes[0].texts}
    np.testing.assert_allclose(start, labels["0"], atol=1e-9)
    np.testing.assert_allclose(end, labels["1"], atol=1e-9)


def test_above_thirty_actions_there_is_the_matrix_alone():
    assert len(draw_graph(graphs.inventory(ARROWS_UP_TO), "").axes) == 3  # arrows, matrix, scale
    assert len(draw_graph(graphs.inventory(ARROWS_UP_TO + 1), "").axes) == 2


def test_a_million_actions_can_be_drawn():
    figure = draw_graph(graphs.inventory(1_000_000), "")
    (image,) = figure.axes[0].images
    np.testing.assert_array_equal(np.asarray(image.get_array()), np.tri(1000))
    figure.savefig(io.BytesIO(), format="png")


def test_names_stand_beside_the_dots_and_at_the_axes():
    names = ["approve", "a very long name that goes on and on", "50 $ off, 5 $ on"]
    figure = draw_graph(graphs.inventory(3), "", names)
    shown = ["approve", "a very long name that...", "50 $ off, 5 $ on"]
    dots, matrix = figure.axes[:2]
    assert [text.get_text() for text in dots.texts] == shown
    assert [label.get_text() for label in matrix.get_xticklabels()] == shown
    assert [label.get_text() for label in matrix.get_yticklabels()] == shown
    figure.savefig(io.BytesIO(), format="png")  # signs of money are no formula
