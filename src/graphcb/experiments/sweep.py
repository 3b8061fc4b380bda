"""Many runs side by side: the same list of results, however many processes worked on it."""

from collections.abc import Callable, Sequence
from typing import TypeVar

from graphcb.checks import as_count

Setting = TypeVar("Setting")
Result = TypeVar("Result")


def sweep(
    play: Callable[[Setting], Result],
    settings: Sequence[Setting],
    *,
    n_jobs: int = 1,
    on_done: Callable[[], None] = lambda: None,
) -> list[Result]:
    """`[play(s) for s in settings]` on `n_jobs` processes; `on_done` is called after each.

    >>> sweep(str.upper, ["a", "b"])
    ['A', 'B']
    """
    if as_count("n_jobs", n_jobs) == 1:
        results = map(play, settings)
    else:
        from joblib import Parallel, delayed

        workers = Parallel(n_jobs=n_jobs, return_as="generator")
        results = workers(delayed(play)(setting) for setting in settings)
    collected = []
    for result in results:
        collected.append(result)
        on_done()
    return collected
