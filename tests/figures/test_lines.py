import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.figure import Figure

from graphcb.figures import lines
from graphcb.figures.lines import End, name_ends, source_digest, spread

SHARES = st.lists(st.tuples(st.floats(0.0, 1.0), st.floats(0.01, 0.3)), min_size=1, max_size=12)


@given(SHARES)
def test_names_do_not_overlap_and_stay_where_they_can(found):
    places = np.sort([place for place, _ in found])
    heights = np.array([height for _, height in found])
    moved = spread(places, heights)
    needed = 0.5 * (heights[1:] + heights[:-1])
    assert (np.diff(moved) >= needed - 1e-9).all()
    low, high = places[0] - 0.5 * heights[0], places[-1] + 0.5 * heights[-1]
    if (np.diff(places) >= needed).all() and low >= 0.0 and high <= 1.0:
        np.testing.assert_allclose(moved, places, atol=1e-12)
    if heights.sum() <= 1.0:  # beyond the picture they would meet the numbers of its axes
        assert moved[0] - 0.5 * heights[0] >= -1e-9
        assert moved[-1] + 0.5 * heights[-1] <= 1.0 + 1e-9


def names(ends):
    axes = Figure().add_subplot()
    axes.set_ylim(0.0, 1.0)
    name_ends(axes, ends)
    return {text.get_text() for text in axes.texts}


def test_lines_that_coincide_have_one_name_and_one_above_the_picture_says_so():
    low, high = np.array([0.5, 0.2]), np.array([0.9, 2.0])
    said = names([End("a", "red", low), End("b", "blue", low + 1e-4), End("c", "black", high)])
    assert said == {"a\n= b", "c (above)"}
    assert names([End("a", "red", low), End("b", "blue", low[::-1])]) == {"a", "b"}


def test_the_digest_of_the_source_is_of_code_and_not_of_comments(tmp_path):
    script = tmp_path / "script.py"
    digests = []
    for text in ('"""One."""\nx = 1', '"""Two."""\nx = 1  # a comment', "x = 2"):
        script.write_text(text)
        digests.append(source_digest([script]))
    assert digests[0] == digests[1] != digests[2]
    assert source_digest() not in digests


def test_an_agent_has_its_colour_in_every_picture_and_others_have_what_is_left():
    named = ["mine", "greedy", "epsilon-greedy, 5 %", "always review", "another"]
    mine, greedy, epsilon, constant, another = lines.colours_of(named)
    assert greedy == lines.COLOURS["greedy"]
    assert epsilon == lines.COLOURS["epsilon-greedy"]
    assert constant == lines.COLOURS["best constant action"]
    assert len({mine, greedy, epsilon, constant, another}) == 5
    assert len(lines.colours_of([str(i) for i in range(9)])) == 9


def test_an_axis_starts_at_0_unless_this_would_flatten_all():
    assert lines.starts_at_zero(0.1, 0.4)
    assert not lines.starts_at_zero(0.3, 0.4)
    assert not lines.starts_at_zero(-0.1, 0.4)


def test_colours_of_one_picture_are_told_apart():
    together = ["SquareCB.G", "SquareCB", "information-directed", "greedy", "epsilon-greedy"]
    assert len({lines.COLOURS[name] for name in together}) == len(together)
    assert len(set(lines.OTHERS)) == len(lines.OTHERS)
