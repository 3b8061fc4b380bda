from graphcb.estimates.estimate import Estimate
from graphcb.estimates.intervals import Interval
from graphcb.figures.estimates import draw_estimates


def estimate(value, width):
    normal = Interval(value - width, value + width)
    return Estimate(value, width, normal, Interval(value - 2 * width, value + 2 * width))


def test_a_line_for_each_policy_from_0_where_this_hides_nothing():
    far = [("logged", estimate(0.2, 0.01)), ("rule", estimate(0.34, 0.03))]
    (axes,) = draw_estimates(far, title="shop", unit="reward").axes
    assert [text.get_text() for text in axes.get_yticklabels()] == ["logged", "rule"]
    assert axes.get_xlim()[0] == 0.0
    near = [("logged", estimate(0.9, 0.01)), ("rule", estimate(0.95, 0.01))]
    (axes,) = draw_estimates(near, title="shop", unit="reward").axes
    assert axes.get_xlim()[0] > 0.5
