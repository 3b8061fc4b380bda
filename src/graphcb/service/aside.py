"""Work in a thread for which nobody waits when the process ends."""

import asyncio
import threading
from collections.abc import Callable
from typing import TypeVar

Result = TypeVar("Result")


async def aside(
    work: Callable[[], Result], give_back: Callable[[Result], None] = lambda result: None
) -> Result:
    """What a function returns, however long it takes; `give_back` gets what came too late.

    An event loop waits at its end for threads of `asyncio.to_thread`. What may take minutes would
    hold up the stop of a service.
    """
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[Result] = loop.create_future()

    def tell(results: list[Result], problem: Exception | None) -> None:
        if not answer.done():
            if problem is not None:
                answer.set_exception(problem)
            else:
                answer.set_result(results[0])
        else:
            for result in results:
                give_back(result)

    def run() -> None:
        results, problem = [], None
        try:
            results.append(work())
        except Exception as found:
            problem = found
        try:
            loop.call_soon_threadsafe(tell, results, problem)
        except RuntimeError:  # the service has stopped meanwhile
            for result in results:
                give_back(result)

    threading.Thread(target=run, name="graphcb-aside", daemon=True).start()
    return await answer
