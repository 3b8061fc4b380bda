import numpy as np
from PIL import Image, ImageColor

from graphcb.experiments.curves import Summary
from graphcb.figures.curves import draw_panels, draw_progress, save
from graphcb.figures.lines import COLOURS


def summary(agent, line, level):
    rounds = np.arange(1, 11)
    return Summary(
        agent,
        line,
        0.1,
        1.0,
        3,
        level,
        0.01,
        (),
        rounds,
        level + 1.0 / rounds,
        np.full(10, 0.01),
        np.tile(level + 1.0 / rounds, (3, 1)),
    )


def test_one_labelled_line_and_band_a_summary(tmp_path):
    summaries = [summary("SquareCB.G", "K = 3", 0.2), summary("SquareCB", "K = 3", 0.4)]
    figure = draw_panels([("a title", summaries)])
    (axes,) = figure.axes
    assert [line.get_label() for line in axes.lines] == [
        "SquareCB.G, K = 3: 0.2000",
        "SquareCB, K = 3: 0.4000",
    ]
    np.testing.assert_allclose(axes.lines[0].get_ydata(), 0.2 + 1.0 / np.arange(1, 11))
    assert len(axes.collections) == 2
    save(figure, tmp_path / "one.png")
    save(draw_panels([("a title", summaries)]), tmp_path / "two.png")
    assert (tmp_path / "one.png").read_bytes() == (tmp_path / "two.png").read_bytes()


def test_a_png_has_few_colours_and_the_lines_keep_theirs(tmp_path):
    summaries = [summary(agent, "K = 3", 0.1 * place) for place, agent in enumerate(COLOURS)]
    save(draw_panels([("a title", summaries)]), tmp_path / "few.png")
    draw_panels([("a title", summaries)]).savefig(tmp_path / "all.png", dpi=160)
    assert (tmp_path / "few.png").stat().st_size < 0.5 * (tmp_path / "all.png").stat().st_size
    assert b"Software\0graphcb" in (tmp_path / "few.png").read_bytes()
    few, every = (
        np.asarray(Image.open(tmp_path / name).convert("RGB")).astype(int)
        for name in ("few.png", "all.png")
    )
    for colour in COLOURS.values():
        drawn = (every == np.array(ImageColor.getrgb(colour))).all(axis=2)
        assert drawn.any()
        assert np.abs(few - every)[drawn].max() <= 8


def test_a_constant_far_above_does_not_flatten_the_others():
    summaries = [summary("SquareCB.G", "K = 3", 0.2), summary("best constant action", "K = 3", 9.0)]
    (axes,) = draw_panels([("a title", summaries)]).axes
    assert axes.get_ylim()[1] < 2.0
    assert axes.lines[1].get_label() == "best constant action, K = 3: 9.0000"


def test_panels_stand_two_side_by_side():
    panel = "a title", [summary("SquareCB.G", "K = 3", 0.2), summary("Mine", "K = 3", 0.4)]
    figure = draw_panels([panel] * 3)
    assert len(figure.axes) == 3
    assert figure.axes[0].get_position().y0 == figure.axes[1].get_position().y0
    assert figure.axes[2].get_position().y0 < figure.axes[0].get_position().y0


def test_one_line_a_learner_named_with_its_last_loss(tmp_path):
    rounds = list(range(1, 101))
    falling = 1.0 / np.arange(1, 101)
    figure = draw_progress(rounds, {"learner": falling, "constant": np.full(100, 0.25)}, "mail")
    (axes,) = figure.axes
    assert {text.get_text() for text in axes.texts} == {"learner: 0.0100", "constant: 0.2500"}
    assert axes.get_ylim()[0] == 0.0
    assert axes.get_ylim()[1] < 0.6  # the first rounds do not flatten the rest
    save(figure, tmp_path / "a.png")
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")


def test_several_runs_are_a_mean_with_a_band():
    runs = np.array([[0.5, 0.4, 0.3], [0.5, 0.2, 0.1]])
    (axes,) = draw_progress([1, 2, 3], {"learner": runs, "constant": runs[0]}, "mail").axes
    np.testing.assert_allclose(axes.lines[0].get_ydata(), [0.5, 0.3, 0.2])
    (band,) = axes.collections  # a single run has none
    ys = band.get_paths()[0].vertices[:, 1]
    np.testing.assert_allclose((ys.min(), ys.max()), (0.1, 0.5))


def test_a_flat_curve_has_room_around_it():
    figure = draw_progress([1], {"learner": np.array([0.5])}, "mail")
    low, high = figure.axes[0].get_ylim()
    assert low < 0.5 < high


def test_an_agent_has_a_style_for_each_line_of_the_panel():
    summaries = [
        summary("SquareCB.G", "K = 3", 0.2),
        summary("SquareCB.G", "K = 5", 0.3),
        summary("SquareCB", "K = 5", 0.4),
    ]
    (axes,) = draw_panels([("a title", summaries)]).axes
    assert [line.get_linestyle() for line in axes.lines] == ["-", "--", "--"]


def test_lines_far_from_0_stand_beside_the_best_constant_action():
    learner = summary("SquareCB.G", "K = 3", 0.39)._replace(
        mean_curve=np.full(10, 0.39), runs=np.full((3, 10), 0.39)
    )
    constant = learner._replace(
        agent="best constant action",
        mean_curve=np.full(10, 0.4),
        runs=np.tile([[0.39], [0.4], [0.41]], 10),
    )
    (axes,) = draw_panels([("a title", [learner, constant])]).axes
    np.testing.assert_allclose(axes.lines[0].get_ydata(), -0.01)
    np.testing.assert_allclose(axes.lines[1].get_ydata(), 0.0)
    assert axes.get_ylim()[0] < -0.01 < 0.0 < axes.get_ylim()[1]
    assert "less that of the best constant action" in axes.get_ylabel()
    (band,) = axes.collections  # of losses with the same seed
    ys = band.get_paths()[0].vertices[:, 1]
    np.testing.assert_allclose((ys.min(), ys.max()), (-0.02, 0.0), atol=1e-12)
