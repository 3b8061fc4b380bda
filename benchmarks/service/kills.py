"""Deciders and trainers on one PostgreSQL server, killed, frozen and cut off under load.

    python benchmarks/service/kills.py [--quick] [--kills 200] [--silences 30] [--seed 1]

Four processes of `graphcb serve --decide-only`, two of `--learn-only`, clients that send a request
again until it is acknowledged, some to two deciders at once. A random process gets SIGKILL and is
started again at once; now and then two in the same moment. Others fall silent for some seconds:
they get SIGSTOP, or a proxy drops or holds back what they and the server send. The server is
stopped and started in between. Then the log is compared with all that was acknowledged, and
replayed.
"""

import argparse
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).parents[1]))
from audit import findings
from crowd import PROBLEM, Client, Member, wait_until
from faults.proxy import DROPS, FREEZES, PASSES, Proxy
from faults.server import Server, why_not
from watcher import Watcher

_LEFT = (
    "SELECT (SELECT count(*) FROM graphcb_inbox) + (SELECT count(*) FROM graphcb_inbox_feedbacks)"
)


HOW_SILENT = ("frozen", "cut off", "held up")
SILENT = (4.0, 3.0)  # seconds at least, and at most how many more
LOST = 20.0  # seconds until a connection that was cut off is given up, and somewhat more


class Plan(NamedTuple):
    """What is done to how many; `pace` is the least time from one kill to the next in seconds.

    Of the faults, `n_silences` more are processes that fall silent.
    """

    n_deciders: int = 4
    n_trainers: int = 2
    n_kills: int = 200
    n_restarts: int = 5
    n_silences: int = 30
    n_clients: int = 8
    pace: float = 1.0
    pause: float = 0.02
    seed: int = 1


@dataclass
class Outcome:
    """What happened, and what was wrong."""

    kills: Counter[str] = field(default_factory=Counter)
    silences: Counter[str] = field(default_factory=Counter)
    times: list[tuple[float, str]] = field(default_factory=list)
    n_pairs: int = 0
    restarts: Counter[str] = field(default_factory=Counter)
    n_decisions: int = 0
    n_parts: int = 0
    n_twice: int = 0
    n_failed: int = 0
    n_events: int = 0
    n_takeovers: int = 0
    longest_gap: float = 0.0
    most_stale: float = 0.0
    seconds: float = 0.0
    findings: list[str] = field(default_factory=list)


def run(plan: Plan) -> Outcome:
    """Play the plan on a server of our own."""
    began, outcome = time.monotonic(), Outcome()
    with tempfile.TemporaryDirectory(prefix="graphcb-postgresql-") as folder:
        server = Server(Path(folder))
        outputs = Path(folder) / "outputs"
        outputs.mkdir()
        members: list[Member] = []
        n_members = plan.n_trainers + plan.n_deciders
        proxies = [Proxy(server.port) for _ in range(n_members)]  # forks, so before any thread
        try:
            _play(plan, server, proxies, outputs, members, outcome)
        finally:
            for member in members:
                member.process.kill()
                member.process.wait()
            for proxy in proxies:
                proxy.close()
            server.stop()
    outcome.seconds = time.monotonic() - began
    return outcome


def _play(
    plan: Plan,
    server: Server,
    proxies: list[Proxy],
    folder: Path,
    members: list[Member],
    outcome: Outcome,
) -> None:
    problem, url = folder / "problem.toml", server.url("kills")
    problem.write_text(PROBLEM)
    roles = [("trainer", k, [str(problem), "--learn-only"]) for k in range(plan.n_trainers)]
    roles += [("decider", k, ["--decide-only"]) for k in range(plan.n_deciders)]
    for (role, k, options), proxy in zip(roles, proxies, strict=True):
        through = url.replace(f":{server.port}/", f":{proxy.port}/")
        members.append(Member(f"{role} {k}", folder, [*options, "--log", through]))
    _check(wait_until(lambda: all(one.is_up for one in members), 120.0), members)
    ports = [one.port for one in members if one.name.startswith("decider")]
    clients = [Client(ports, 1000 * plan.seed + k, plan.pause) for k in range(plan.n_clients)]
    watcher = Watcher(url)
    for thread in (watcher, *clients):
        thread.start()
    _check(wait_until(lambda: all(one.made for one in clients), 60.0), members)
    away = _harm(plan, server, members, proxies, outcome)
    for client in clients:
        client.stop()
    for client in clients:
        client.join(120.0)
        outcome.findings += [f"{client.name} does not end"] if client.is_alive() else []
    drained = wait_until(lambda: _ask(url, _LEFT) == 0, 60.0, 0.2)
    outcome.findings += [] if drained else ["the inbox is not empty after a minute"]
    watcher.stop()
    for member in sorted(members, key=lambda one: one.name):  # deciders first
        code = member.stop()
        if code or member.n_ended:
            said = member.said[-2000:]
            times = f"ended {member.n_ended} times by itself, exit code {code} at the end"
            outcome.findings.append(f"{member.name} {times}: {said}")
    outcome.findings += findings(url, clients)
    made = [made for one in clients for made in one.made.values()]
    outcome.n_decisions = len(made)
    outcome.n_parts = sum(len(one.parts) for one in made)
    outcome.n_twice = sum(part.twice for one in made for part in one.parts)
    outcome.n_failed = sum(one.n_failed for one in clients)
    outcome.n_events = _ask(url, "SELECT max(position) FROM graphcb_checkpoints")
    outcome.n_takeovers = len(watcher.writers) - 1
    gaps = sorted(watcher.gaps(away), reverse=True)
    outcome.longest_gap, outcome.most_stale = gaps[0][0], watcher.most_stale
    for gap, begin in gaps[:5]:
        struck = [f"{at - begin:.1f} s {name}" for at, name in outcome.times]
        within = [
            text
            for (at, _), text in zip(outcome.times, struck, strict=True)
            if begin - 5.0 < at < begin + gap
        ]
        print(f"{gap:.1f} s without a trainer; killed: {', '.join(within)}", file=sys.stderr)


def _harm(
    plan: Plan,
    server: Server,
    members: list[Member],
    proxies: list[Proxy],
    outcome: Outcome,
) -> list[tuple[float, float]]:
    """Kill and silence at random, and restart the server; returns when it was away."""
    rng, away = random.Random(plan.seed), list[tuple[float, float]]()
    silences = _spread(plan.n_silences, plan.n_kills)
    n_silences, lost_until = 0, 0.0
    restarts = {round((k + 0.5) * plan.n_kills / plan.n_restarts) for k in range(plan.n_restarts)}
    is_pair = False
    for number in range(plan.n_kills):
        for _ in range(silences[number]):
            # A trainer whose packets were dropped is away until it gives its connection up.
            spared = time.monotonic() < lost_until
            k = rng.randrange(plan.n_trainers if spared else 0, len(members))
            if n_silences < 3 and not spared:
                k = rng.randrange(plan.n_trainers)  # some of each kind for trainers
            how = HOW_SILENT[n_silences % 3]
            outcome.silences[how] += 1
            outcome.times.append((time.monotonic(), f"{members[k].name} {how}"))
            n_silences += 1
            if k < plan.n_trainers:
                lost_until = time.monotonic() + LOST
            _silence(members[k], proxies[k], how, SILENT[0] + rng.random() * SILENT[1])
        victim, how = rng.choice(members), rng.choice(["fast", "immediate"])
        if number in restarts:
            outcome.restarts[how] += 1
            down = time.monotonic()
            server.stop(how)
            time.sleep(rng.random())
            server.start()
            away.append((down, time.monotonic()))
        victim.kill()
        victim.start()
        outcome.times.append((time.monotonic(), victim.name))
        outcome.kills[victim.name.split()[0]] += 1
        outcome.n_pairs += is_pair
        is_pair = rng.random() < 0.1
        if is_pair:
            time.sleep(0.1 * rng.random())
            continue
        time.sleep(plan.pace * (0.5 + rng.random()))
        wait_until(lambda: all(one.is_up for one in members), 4.0)
        if number % 20 == 19:
            print(f"{number + 1} of {plan.n_kills} kills", file=sys.stderr, flush=True)
    return away


def _spread(n: int, among: int) -> list[int]:
    """How many of n fall to each of some."""
    ends = [round((k + 1) * n / among) for k in range(among)]
    return [end - begin for begin, end in zip([0, *ends], ends, strict=False)]


def _silence(member: Member, proxy: Proxy, how: str, seconds: float) -> None:
    """Let a process, or its connections to the server, fall silent for a while."""
    if how == "frozen":
        member.process.send_signal(signal.SIGSTOP)
    else:
        proxy.behave(DROPS if how == "cut off" else FREEZES)
    time.sleep(seconds)
    if how == "frozen":
        member.process.send_signal(signal.SIGCONT)
    else:
        proxy.behave(PASSES)


def _check(came_true: bool, members: list[Member]) -> None:
    if not came_true:
        raise RuntimeError("\n".join(f"{one.name}: {one.said}" for one in members))


def _ask(url: str, question: str) -> Any:
    import psycopg

    with psycopg.connect(url) as connection:
        row = connection.execute(question.encode()).fetchone()
        return row and row[0]


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--restarts", type=int, default=5)
    parser.add_argument("--silences", type=int, default=30)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    if (reason := why_not()) is not None:
        print(f"Nothing was killed: {reason}.")
        return 0
    plan = Plan(
        n_kills=given.kills,
        n_restarts=given.restarts,
        n_silences=given.silences,
        seed=given.seed,
    )
    if given.quick:
        plan = QUICK
    outcome = run(plan)
    for line in table(plan, outcome):
        print(line)
    for text in outcome.findings[:20]:
        print(f"\nFinding: {text}")
    return 1 if outcome.findings else 0


QUICK = Plan(2, 2, 6, 1, n_silences=3, n_clients=3, pace=0.5)


def table(plan: Plan, outcome: Outcome) -> list[str]:
    kills, silences, restarts = outcome.kills, outcome.silences, outcome.restarts
    rows = {
        "processes": f"{plan.n_deciders} deciders, {plan.n_trainers} trainers, one PostgreSQL",
        "kill -9": f"{sum(kills.values())}: {kills['decider']} of deciders, {kills['trainer']} of "
        f"trainers; {outcome.n_pairs} within 0.1 s of another",
        "silent for 4 to 7 s": f"{sum(silences.values())}: {silences['frozen']} by SIGSTOP, "
        f"{silences['cut off']} by packets that are dropped, {silences['held up']} held back",
        "PostgreSQL restarted": f"{sum(restarts.values())} times: {restarts['fast']} fast, "
        f"{restarts['immediate']} immediate (as if it had crashed)",
        "acknowledged": f"{outcome.n_decisions:,} decisions, {outcome.n_parts:,} feedbacks, of "
        f"which {outcome.n_twice:,} were sent to two deciders at once",
        "requests that failed and were sent again": f"{outcome.n_failed:,}",
        "events in the log": f"{outcome.n_events:,}",
        "lost, doubled, different, or not as replayed": f"{len(outcome.findings)}",
        "another trainer took over": f"{outcome.n_takeovers} times",
        "longest time without a trainer": f"{outcome.longest_gap:.1f} s (at most 5 s is asked, "
        "where one fault at a time strikes trainers)",
        "largest staleness": f"{outcome.most_stale:.1f} s, PostgreSQL's own restarts included",
        "time": f"{outcome.seconds:.0f} s",
    }
    return ["| | |", "|---|---|", *(f"| {name} | {value} |" for name, value in rows.items())]


if __name__ == "__main__":
    sys.exit(main())
