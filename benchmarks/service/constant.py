"""The service's HTTP without its work: bodies are parsed in the same way, a constant is answered.

    python benchmarks/service/constant.py PROBLEM

It has the paths of decisions and feedback, and the server, routing and checks of the service.
"""

import sys
import tempfile
from pathlib import Path

from graphcb import Policy, Problem
from graphcb.service.app import Service
from graphcb.service.requests import DecisionsRequest, FeedbackRequest, as_round, values_in
from graphcb.service.routing import Call, Route
from graphcb.service.server import address_of, listen, new_server, run

CONSTANT = {"constant": True}


async def _decide(call: Call) -> dict[str, bool]:
    as_round(call.body, call.service.desk.problem, call.service.limits)
    return CONSTANT


async def _take_feedback(call: Call) -> dict[str, bool]:
    values_in(call.body, call.service.desk.problem)
    return CONSTANT


ROUTES = (
    Route("POST", "/v1/decisions", "decide", _decide, "A constant", takes=DecisionsRequest),
    Route(
        "POST", "/v1/decisions/{id}/feedback", "feedback", _take_feedback, "A constant",
        takes=FeedbackRequest,
    ),
)  # fmt: skip


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, listen("127.0.0.1", 0) as listener:
        policy = Policy(Path(folder) / "log.db", problem=Problem.read(sys.argv[1]), seed=0)
        server = new_server(Service(policy, routes=ROUTES))
        run(server, listener, lambda: print(f"constant at {address_of(listener)}, ", flush=True))


if __name__ == "__main__":
    main()
