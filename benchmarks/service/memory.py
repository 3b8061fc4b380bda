"""The memory of the service after many decisions, with feedback for half of them and without any.

    python benchmarks/service/memory.py [--quick] [--decisions 1000000]

One decision in ten is a request of its own, and the others come in batches of 500. Somebody looks
at the page all the time. Feedback is sent soon, for every second decision; the others never get
any.
"""

import argparse
import json
import random
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from paced import as_request, send
from running import Service, as_body

SHARES = (0.1, 0.2, 0.5, 1.0)
STEP, BATCH = 10_000, 500  # decisions before their feedback is sent, at most, and in a request
LOOK = 1.0  # seconds from one look at the page to the next


def decide(service: Service, count: int, rng: random.Random) -> Iterator[tuple[str, str]]:
    """Make decisions; the name and the action of each."""
    n_alone = count // 10
    requests = [as_request("/v1/decisions", as_body(rng)) for _ in range(n_alone)]
    for begin in range(n_alone, count, BATCH):
        rounds = ",".join(as_body(rng) for _ in range(min(BATCH, count - begin)))
        requests.append(as_request("/v1/decisions", f'{{"decisions":[{rounds}]}}'))
    for sent in send(service.address, requests, [0.0] * len(requests)):
        answer = json.loads(sent.body)
        for made in answer.get("decisions", [answer]):
            yield made["decision_id"], made["action"]


def answer(service: Service, made: list[tuple[str, str]], rng: random.Random) -> None:
    """Give feedback for decisions."""
    requests = [
        as_request(
            f"/v1/decisions/{name}/feedback", f'{{"losses":{{"{action}":{rng.random():.4f}}}}}'
        )
        for name, action in made
    ]
    send(service.address, requests, [0.0] * len(requests))


def grow(service: Service, n_decisions: int, *, answers: bool) -> list[float]:
    """The memory in MiB at some shares of the decisions."""
    rng, found = random.Random(0), list[float]()
    step = min(STEP, n_decisions // 10)
    for done in range(step, n_decisions + 1, step):
        made = list(decide(service, step, rng))
        if answers:
            answer(service, made[::2], rng)
        if done in [share * n_decisions for share in SHARES]:
            if not found:
                catch_up(service)
            found.append(service.resident())
            print(f"{done:,} decisions: {found[-1]:.1f} MiB", file=sys.stderr, flush=True)
    return found


def catch_up(service: Service) -> None:
    """Wait until the page, which reads the log a little at a time, remembers all it ever will."""
    while True:
        log = service.get("/v1/live").get("log")  # there is none while its process starts
        if log is not None and log["seen_event"] >= log["n_events"]:
            return
        time.sleep(LOOK / 2)


@contextmanager
def watched(service: Service) -> Iterator[None]:
    """Somebody looks at the page."""
    done = threading.Event()

    def look() -> None:
        while not done.wait(LOOK):
            service.get("/v1/live")

    thread = threading.Thread(target=look)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--decisions", type=int, default=1_000_000)
    given = parser.parse_args()
    n_decisions = 10_000 if given.quick else given.decisions
    heads = [f"{share * n_decisions:,.0f}" for share in SHARES]
    print("Resident memory of the server in MiB after so many decisions. Asked: flat after the")
    print("first tenth.\n")
    print(f"| feedback for | {' | '.join(heads)} | from the first to the last |")
    print("|---|" + "---:|" * (len(SHARES) + 1))
    for name, answers in (("none", False), ("every second one", True)):
        with tempfile.TemporaryDirectory() as folder:
            service = Service(Path(folder), "--seed", "1", "--durability", "process-kill")
            try:
                with watched(service):
                    found = grow(service, n_decisions, answers=answers)
            finally:
                service.stop()
        cells = " | ".join(f"{size:.1f}" for size in found)
        print(f"| {name} | {cells} | {found[-1] - found[0]:+.1f} |", flush=True)


if __name__ == "__main__":
    main()
