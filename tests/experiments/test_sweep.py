import pytest

from graphcb.experiments.sweep import sweep


def test_results_come_in_the_order_of_the_settings_on_any_number_of_processes():
    done = []
    alone = sweep(abs, [-3, 1, -2], on_done=lambda: done.append(1))
    assert alone == [3, 1, 2]
    assert len(done) == 3
    assert sweep(abs, [-3, 1, -2], n_jobs=2) == alone


def test_bad_number_of_processes():
    with pytest.raises(ValueError, match="`n_jobs` must be at least 1, got 0"):
        sweep(abs, [1], n_jobs=0)
