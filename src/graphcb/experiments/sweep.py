"""Many runs in parallel, returned as they finish: on one machine, or on a Ray cluster."""

import os
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Literal, TypeVar, get_args

from graphcb.checks import as_count, as_one_of

Task = TypeVar("Task")
Result = TypeVar("Result")
Engine = Literal["joblib", "ray"]

RETRIES = 5  # of a run whose worker is lost


def sweep(
    play: Callable[[Task], Result],
    settings: Sequence[Task],
    *,
    n_jobs: int = 1,
    engine: Engine = "joblib",
) -> Iterator[tuple[int, Result]]:
    """`(i, play(settings[i]))` for every i, in the order in which they finish.

    "joblib" distributes the runs over `n_jobs` local processes. "ray" sends each run as a task to
    the cluster named by RAY_ADDRESS, or else to `n_jobs` local workers, and repeats a run whose
    worker was lost.

    >>> sorted(sweep(str.upper, ["a", "b"]))
    [(0, 'A'), (1, 'B')]
    """
    jobs = as_count("n_jobs", n_jobs)
    if as_one_of("engine", engine, get_args(Engine)) == "ray":
        return _on_ray(play, settings, jobs)
    if jobs == 1 or len(settings) <= 1:
        return (_play_one(play, i, setting) for i, setting in enumerate(settings))
    return _on_joblib(play, settings, jobs)


def _play_one(play: Callable[[Task], Result], number: int, setting: Task) -> tuple[int, Result]:
    return number, play(setting)


def _on_joblib(play: Callable[..., Any], settings: Sequence[Any], n_jobs: int) -> Iterator[Any]:
    from joblib import Parallel, delayed, parallel_config

    with parallel_config("loky", inner_max_num_threads=1):
        workers = Parallel(n_jobs=n_jobs, return_as="generator_unordered")
        played = workers(delayed(_play_one)(play, i, s) for i, s in enumerate(settings))
        try:
            for one in played:  # noqa: UP028 - `yield from` would close them unfiltered
                yield one
        finally:
            with _in_silence():
                played.close()


@contextmanager
def _in_silence() -> Iterator[None]:
    """Without joblib's advice for whoever stops early, and without its manager's last words.

    The thread that manages its workers may just be handing out a run that was dropped.
    """
    reports = threading.excepthook

    def hear(raised: Any) -> None:
        name = "" if raised.thread is None else raised.thread.name
        if (name, raised.exc_type) != ("ExecutorManagerThread", KeyError):
            reports(raised)

    threading.excepthook = hear
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", ".*still being processed by the workers")
            yield
    finally:
        threading.excepthook = reports


def _on_ray(play: Callable[..., Any], settings: Sequence[Any], n_jobs: int) -> Iterator[Any]:
    import ray

    started_here = not ray.is_initialized()
    if started_here:
        size = {} if "RAY_ADDRESS" in os.environ else {"num_cpus": n_jobs}
        ray.init(include_dashboard=False, log_to_driver=False, **size)
    try:
        task = ray.remote(max_retries=RETRIES)(_play_one)
        pending = [task.remote(play, i, setting) for i, setting in enumerate(settings)]
        while pending:
            ready, pending = ray.wait(pending)
            yield from ray.get(ready)
    finally:
        if started_here:
            ray.shutdown()
