import numpy as np
import pytest

pytest.importorskip("matplotlib")

from graphcb.figures.curves import save
from graphcb.figures.progress import draw_progress


def test_one_line_a_learner_named_with_its_last_loss(tmp_path):
    rounds = list(range(1, 101))
    falling = 1.0 / np.arange(1, 101)
    figure = draw_progress(rounds, {"learner": falling, "constant": np.full(100, 0.25)}, "mail")
    (axes,) = figure.axes
    assert [text.get_text() for text in axes.get_legend().get_texts()] == [
        "learner: 0.0100",
        "constant: 0.2500",
    ]
    assert axes.get_ylim()[1] < 0.6  # the first rounds do not flatten the rest
    save(figure, tmp_path / "a.png")
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")


def test_a_flat_curve_has_room_around_it():
    figure = draw_progress([1], {"learner": np.array([0.5])}, "mail")
    low, high = figure.axes[0].get_ylim()
    assert low < 0.5 < high
