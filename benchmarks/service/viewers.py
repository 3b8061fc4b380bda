"""What pages that are open cost: decisions per second with and without viewers, in turn.

    python benchmarks/service/viewers.py [--viewers 5] [--rounds 7] [--seconds 3]

Needs `wrk`. Each viewer asks for /v1/live once per second, as the page does. Rates with and without
viewers alternate in one run. Where other programs use the machine, the processor time of the server
for one look says more than rates do. The process that counts for the page is not in it.
"""

import argparse
import statistics
import tempfile
import threading
import urllib.request
from contextlib import suppress
from pathlib import Path

from rates import load, make_decisions
from running import Service

LOOKS = 500


class Viewer(threading.Thread):
    """A page that is open."""

    def __init__(self, address: str) -> None:
        super().__init__(daemon=True)
        self._address, self.closed, self.n_answers = address, threading.Event(), 0

    def run(self) -> None:
        while not self.closed.wait(1.0):
            with suppress(OSError), urllib.request.urlopen(self._address + "/v1/live") as answer:
                self.n_answers += len(answer.read()) > 1000


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--viewers", type=int, default=5)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=int, default=3)
    given = parser.parse_args()
    rates: dict[bool, list[float]] = {False: [], True: []}
    used: dict[bool, list[float]] = {False: [], True: []}
    n_answers = 0
    with tempfile.TemporaryDirectory() as folder:
        decisions = Path(folder) / "decisions"
        service = Service(Path(folder), "--seed", "1")
        try:
            make_decisions(service, 500, decisions)
            load(service, "decide.lua", 2, decisions)
            for n in range(2 * given.rounds):
                watched = n % 4 in (1, 2)  # so that neither is always the later one
                viewers = [Viewer(service.address) for _ in range(given.viewers * watched)]
                for one in viewers:
                    one.start()
                measured = load(service, "decide.lua", given.seconds, decisions)
                for one in viewers:
                    one.closed.set()
                    one.join()
                n_answers += sum(one.n_answers for one in viewers)
                rates[watched].append(measured.per_second)
                used[watched].append(measured.cpu)
            before = service.cpu_seconds()
            for _ in range(LOOKS):
                with urllib.request.urlopen(service.address + "/v1/live") as answer:
                    answer.read()
            look = (service.cpu_seconds() - before) / LOOKS
        finally:
            service.stop()
    print(f"{given.viewers} viewers, {n_answers} answers with numbers; medians of {given.rounds}\n")
    print("| | decisions per second | CPU us per decision |")
    print("|---|---|---|")
    for watched, name in ((False, "no page"), (True, "pages open")):
        rate, cpu = statistics.median(rates[watched]), statistics.median(used[watched])
        print(f"| {name} | {rate:,.0f} | {cpu:.0f} |")
    lost = 1.0 - statistics.median(rates[True]) / statistics.median(rates[False])
    more = statistics.median(used[True]) / statistics.median(used[False]) - 1.0
    share = given.viewers * look
    print(f"\nA look costs the server {1e3 * look:.2f} ms: {given.viewers} viewers {share:.2%}")
    print(f"of a core. Pages cost {lost:.1%} of the rate, {more:.1%} of the processor time.")
    print("Asked: 5 %.")


if __name__ == "__main__":
    main()
