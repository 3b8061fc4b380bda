import pytest

from graphcb.service.clock import JUMP, WallClock


def test_only_jumps_are_counted_with_their_sign():
    now = {"wall": 1000.0, "steady": 5.0}
    clock = WallClock(lambda: now["wall"], lambda: now["steady"])

    def pass_by(wall, steady):
        now["wall"] += wall
        now["steady"] += steady
        clock.look()
        return clock.n_jumps, clock.last

    assert pass_by(3600.0, 3600.0) == (0, None)
    assert pass_by(10.0 + 0.9 * JUMP, 10.0) == (0, None)  # put right
    assert pass_by(1.0 - 3600.0, 1.0) == (1, pytest.approx(-3600.0))
    assert pass_by(1.0, 1.0) == (1, pytest.approx(-3600.0))
    assert pass_by(101.0, 1.0) == (2, pytest.approx(100.0))
