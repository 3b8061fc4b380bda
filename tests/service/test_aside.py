"""Work for which nobody waits at the end."""

import asyncio
import threading
import time

import pytest

from graphcb.service.aside import aside


def test_the_answer_or_the_exception_of_a_function():
    assert asyncio.run(aside(lambda: 3)) == 3
    with pytest.raises(ZeroDivisionError):
        asyncio.run(aside(lambda: 1 // 0))


def test_the_end_does_not_wait_and_what_comes_too_late_is_given_back():
    release, returned, began = threading.Event(), threading.Event(), time.monotonic()

    def work():
        release.wait(60.0)
        return "late"

    async def ask():
        async with asyncio.timeout(0.05):
            await aside(work, lambda result: returned.set() if result == "late" else None)

    with pytest.raises(TimeoutError):
        asyncio.run(ask())
    assert time.monotonic() - began < 30.0
    release.set()
    assert returned.wait(30.0)
