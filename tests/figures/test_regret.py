import numpy as np

from graphcb.experiments.curves import Summary
from graphcb.figures.curves import save
from graphcb.figures.regret import draw_growth, draw_misspecification


def summary(agent, line, power, total=100.0):
    rounds = np.arange(10, 1001, 10)
    mean = total * (rounds / 1000.0) ** power / rounds
    zeros = np.zeros(100)
    return Summary(agent, line, 0.0, 1.0, 3, mean[-1], 0.0, (), rounds, mean, zeros, mean[None])


def names(axes):
    return {text.get_text() for text in axes.texts}


def test_growth_has_one_part_a_graph_with_slopes_and_guides(tmp_path):
    summaries = [
        summary(agent, line, power)
        for line in ("review", "cycle")
        for agent, power in (("SquareCB.G, TwoThirds", 2 / 3), ("greedy", 1.0))
    ]
    figure = draw_growth("a title", summaries)
    assert [axes.get_title() for axes in figure.axes] == ["review", "cycle"]
    for axes in figure.axes:
        assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")
        assert [label.get_text() for label in axes.get_xticklabels()] == ["62", "250", "1,000"]
        labels = [line.get_label() for line in axes.lines]
        assert labels == ["SquareCB.G, TwoThirds: 0.67", "greedy: 1.00", "1/2", "2/3"]
        assert names(axes) == {*labels[:2], "slope 1/2", "slope 2/3"}
        for line, power in zip(axes.lines, (2 / 3, 1.0, 1 / 2, 2 / 3), strict=True):
            steps = np.diff(np.log(line.get_ydata())) / np.diff(np.log(line.get_xdata()))
            np.testing.assert_allclose(steps, power)
    save(figure, tmp_path / "growth.png")
    assert (tmp_path / "growth.png").read_bytes().startswith(b"\x89PNG")


def test_misspecification_is_drawn_against_epsilon_t_root_alpha():
    summaries = [
        summary(agent, f"bandit, epsilon = {off}", 1.0, total=500.0 * off)
        for off in (0.0, 0.1)
        for agent in ("SquareCB.G", "information-directed", "best constant action")
    ]
    scales = {"bandit, epsilon = 0.0": ("bandit", 0.0), "bandit, epsilon = 0.1": ("bandit", 300.0)}
    (axes,) = draw_misspecification("a title", summaries, scales).axes
    assert axes.get_title() == "bandit"
    assert axes.get_ylabel() == "regret after T = 1,000 rounds"
    first, second, equal = axes.lines
    assert [line.get_label() for line in (first, second)] == ["SquareCB.G", "information-directed"]
    assert names(axes) == {"SquareCB.G: 50\n= information-directed: 50", "epsilon T sqrt(alpha)"}
    np.testing.assert_allclose(first.get_xydata(), [[0.0, 0.0], [300.0, 50.0]])
    np.testing.assert_allclose(equal.get_xydata(), [[0.0, 0.0], [300.0, 300.0]])
