"""Random Fourier features without anything random."""

import numpy as np

from graphcb.oracles.waves import WIDTH, directions


def test_directions_are_normal_and_phases_uniform():
    found = directions(48, 500)
    normal = WIDTH * found[1:]
    assert abs(normal.mean()) < 0.02
    assert abs(normal.std() - 1.0) < 0.02
    assert abs((normal**4).mean() - 3.0) < 0.15
    assert abs(np.corrcoef(normal.T)[np.triu_indices(48, 1)]).max() < 0.25
    assert 0.0 <= found[0].min() < 0.6 < 5.6 < found[0].max() <= 2.0 * np.pi


def test_more_places_leave_the_others_as_they_were():
    np.testing.assert_array_equal(directions(48, 7), directions(48, 90)[:7])
    np.testing.assert_array_equal(directions(16, 7), directions(48, 7)[:, :16])
