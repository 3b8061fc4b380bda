import numpy as np
from studies.bakeoff.figure import draw_bakeoff
from studies.bakeoff.ratios import Ranking, Score, Standing


def standing(name, ratios, choice=""):
    scores = {stream: Score("", np.array([ratio])) for stream, ratio in ratios.items()}
    return Standing(name, choice, scores, ratios, (), ())


def test_a_dot_for_each_stream_sorted_by_our_ratio():
    ours = standing("ours", {"a/bandit": 1.5, "b/review": 1.0})
    others = (
        standing("greedy", {"a/bandit": 1.0, "b/review": 3.0}, "default"),
        standing("greedy", {"a/bandit": 1.0, "b/review": 2.0}, "best of 2"),
        standing("river LinUCBDisjoint", {"a/bandit": 4.0}),
    )
    figure = draw_bakeoff(Ranking((ours, *others), {}, ()), "two")
    left, right = (axes for axes in figure.axes if axes.collections)
    assert [text.get_text() for text in left.get_yticklabels()] == ["b/review", "a/bandit"]
    dots = [collection.get_offsets().tolist() for collection in left.collections]
    assert dots == [[[1.0, 0.0], [1.5, 1.0]], [[3.0, 0.0], [1.0, 1.0]], [[4.0, 1.0]]]
    assert len(right.collections) == 2
    legend = next(axes.get_legend() for axes in figure.axes if axes.get_legend() is not None)
    names = ["ours: 1.225", "greedy: 1.732", "river LinUCBDisjoint: 4.000"]
    assert [text.get_text() for text in legend.get_texts()] == names
    assert left.get_xscale() == "log"
