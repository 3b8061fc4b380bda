import threading
import time

import pytest

from graphcb.experiments import sweep as sweeps
from graphcb.experiments.sweep import sweep


def test_every_result_comes_once_with_its_number_on_any_number_of_processes():
    alone = dict(sweep(abs, [-3, 1, -2]))
    assert alone == {0: 3, 1: 1, 2: 2}
    assert sorted(sweep(abs, [-3, 1, -2], n_jobs=2)) == sorted(alone.items())


def test_results_come_one_by_one():
    made = []
    runs = sweep(made.append, [1, 2])
    assert next(runs) == (0, None)
    assert made == [1]


@pytest.mark.filterwarnings("error")
def test_runs_that_are_not_waited_for_are_dropped_in_silence():
    """joblib has advice for whoever stops early, which is printed beside "interrupted"."""
    runs = sweep(time.sleep, [0.0, *[0.2] * 20], n_jobs=2)
    next(runs)
    runs.close()


@pytest.mark.parametrize(
    ("name", "error", "is_heard"),
    [
        ("ExecutorManagerThread", KeyError, False),
        ("ExecutorManagerThread", OSError, True),
        ("another", KeyError, True),
    ],
)
def test_only_the_thread_that_hands_out_runs_is_not_heard(monkeypatch, name, error, is_heard):
    def fail():
        raise error

    heard = []
    monkeypatch.setattr(threading, "excepthook", heard.append)
    with sweeps._in_silence():
        thread = threading.Thread(target=fail, name=name)
        thread.start()
        thread.join()
    assert len(heard) == is_heard
    assert threading.excepthook == heard.append


def test_bad_arguments():
    with pytest.raises(ValueError, match="`n_jobs` must be at least 1, got 0"):
        sweep(abs, [1], n_jobs=0)
    with pytest.raises(ValueError, match="`engine` must be one of joblib, ray; got 'dask'"):
        sweep(abs, [1], engine="dask")
