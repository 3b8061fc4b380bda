"""Kill a process that decides and learns, again and again, and look for anything lost.

    python benchmarks/kill.py [--kills 400] [--seed 0] [--log decisions.db or postgresql://...]

A plan of decisions and late feedbacks, in no order, some never, is run once without a stop. Then
children run the same plan on another log, one after the other, each continuing where the log ends.
Each is ended by SIGKILL: by the parent after a random time, or by itself before or after a random
SQL statement. After every kill, and at the end: each acknowledged decision and feedback is in the
log, none is counted twice, and everything equals the run that was never killed, bit for bit.
"""

import argparse
import os
import random
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from graphcb import DecisionLog, FeedbackGraph, Policy, SquareCBG, graphs
from graphcb.decisions import LoggedDecision, replay
from graphcb.oracles import LinearOGD
from graphcb.saving import to_bytes

N_ACTIONS, N_FEATURES = 5, 3
EVENTS_PER_KILL = 40  # at most so many in a life that ends by a kill
GRAPHS = (
    graphs.cops_and_robbers(N_ACTIONS),
    graphs.inventory(N_ACTIONS),
    graphs.random_self_aware(N_ACTIONS, 0.4, np.random.default_rng(1)),
)
Plan = list[tuple[str, int]]
Line = tuple[Any, ...]


def agent() -> SquareCBG:
    return SquareCBG(LinearOGD(N_ACTIONS, N_FEATURES, learning_rate=0.05))


def plan(n_events: int, seed: int) -> Plan:
    """Event by event: ("decide", 0) or ("feedback", position of the decision)."""
    rng = random.Random(seed)
    waiting: list[int] = []
    events: Plan = []
    for position in range(1, n_events + 1):
        if waiting and rng.random() < 0.48:
            events.append(("feedback", waiting.pop(rng.randrange(len(waiting)))))
        else:
            events.append(("decide", 0))
            if rng.random() < 0.95:  # the others never hear of it
                waiting.append(position)
    return events


def context(position: int) -> np.ndarray:
    return np.random.default_rng([5, position]).random(N_FEATURES)


def graph(position: int) -> FeedbackGraph:
    return GRAPHS[position % len(GRAPHS)]


def losses(position: int, action: int) -> dict[int, float]:
    all_losses = np.random.default_rng([6, position]).random(N_ACTIONS)
    return {int(a): float(all_losses[a]) for a in np.flatnonzero(graph(position).row(action))}


def work(log: str, events: Plan, acknowledge: Callable[[str], None]) -> bytes:
    """Go on with the plan where the log stops, to its end."""
    policy = Policy(log, agent(), seed=7, checkpoint_every=50)
    with DecisionLog(log) as reader:
        known = {row.position: (row.decision_id, row.action_index) for row in reader}
        answered = [row.position for row in reader if row.feedback is not None]
    for position in answered[-3:]:  # a caller that never got its receipt sends again
        _send_again(policy, known, position)
    for position, (kind, decision) in enumerate(events[policy.n_events :], policy.n_events + 1):
        if kind == "decide":
            made = policy.decide(context(position), graph(position))
            known[position] = made.decision_id, made.action_index
            acknowledge(f"decide {position} {made.action_index} {made.probability.hex()}")
        else:
            name, action = known[decision]
            receipt = policy.feedback(name, losses(decision, action))
            acknowledge(f"feedback {position} {decision}" if receipt.counted else "lost count")
            if position % 7 == 0:
                _send_again(policy, known, decision)
    with policy:
        return to_bytes(policy.agent)


def _send_again(policy: Policy, known: dict[int, tuple[str, int]], decision: int) -> None:
    name, action = known[decision]
    if policy.feedback(name, losses(decision, action)).counted:
        raise SystemExit(f"feedback for {name} counted twice")


def child(
    log: str, events: Plan, acknowledgements: Path, *, killed: bool, statement: int | None = None
) -> int:
    """Fork a worker; with `statement` it ends itself around that SQL statement.

    One that is to be killed waits for it after a few dozen events, so that the plan lasts.
    """
    process = os.fork()
    if process:
        return process
    status = 1
    try:
        file = os.open(acknowledgements, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        if statement is not None:
            _end_at(statement)
        made = 0

        def acknowledge(line: str) -> None:
            nonlocal made
            os.write(file, f"{line}\n".encode())
            made += 1
            if killed and made == EVENTS_PER_KILL:
                signal.pause()

        work(log, events, acknowledge)
        status = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(status)


def _end_at(statement: int) -> None:
    """Kill this process before (even) or after (odd) its n-th statement on any log."""
    from graphcb.decisions.sqlite import SQLiteStorage

    kinds: list[Any] = [SQLiteStorage]
    if "psycopg" in sys.modules:
        from graphcb.decisions.postgresql import PostgreSQLStorage

        kinds.append(PostgreSQLStorage)
    left = statement
    for kind in kinds:
        for name in ("execute", "execute_many"):
            unchanged = getattr(kind, name)

            def run(*arguments: Any, plain: Any = unchanged) -> Any:
                nonlocal left
                left -= 1
                if left == 0 and statement % 2 == 0:
                    os.kill(os.getpid(), signal.SIGKILL)
                rows = plain(*arguments)
                if left == 0:
                    os.kill(os.getpid(), signal.SIGKILL)
                return rows

            setattr(kind, name, run)


def lines(log: str) -> dict[int, Line]:
    """All events by position, as plain values without times and names."""
    found: dict[int, Line] = {}
    with DecisionLog(log) as reader:
        for row in reader:
            found[row.position] = _decision_line(row)
            if row.feedback is not None:
                seen = row.feedback
                values = seen.actions.tolist(), seen.losses.tobytes()
                if seen.position in found:
                    raise SystemExit(f"event {seen.position} is there twice")
                found[seen.position] = ("feedback", row.position, *values)
    return found


def _decision_line(row: LoggedDecision) -> Line:
    return (
        "decide",
        row.context.tobytes(),
        row.graph.to_json(),
        row.action_index,
        row.probabilities.tobytes(),
        row.gamma,
        row.model_version,
    )


def check(log: str, reference: dict[int, Line], acknowledgements: Path) -> int:
    """The log is a beginning of the reference, and holds all that was acknowledged."""
    found = lines(log)
    if found != {position: reference[position] for position in range(1, len(found) + 1)}:
        raise SystemExit("the log differs from the run that was never killed")
    for line in acknowledgements.read_text().splitlines():
        kind, position, *rest = line.split()
        event = found.get(int(position)) if kind in ("decide", "feedback") else None
        if event is None or event[0] != kind:
            raise SystemExit(f"acknowledged and not in the log: {line}")
        if kind == "feedback" and event[1] != int(rest[0]):
            raise SystemExit(f"acknowledged for another decision: {line}")
        if kind == "decide":
            probability = np.frombuffer(event[4])[event[3]]
            if (str(event[3]), float(probability).hex()) != (rest[0], rest[1]):
                raise SystemExit(f"acknowledged otherwise than logged: {line}")
    return len(found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=400)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--log", help="default: a SQLite file in a temporary folder")
    parser.add_argument("--longest", type=float, default=0.08, help="seconds that a child may live")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        run(options, Path(folder))


def run(options: argparse.Namespace, folder: Path) -> None:
    events = plan(EVENTS_PER_KILL * options.kills, options.seed)
    never_killed = str(folder / "never-killed.db")
    last_model = work(never_killed, events, lambda _: None)  # compiles what children need, too
    reference = lines(never_killed)
    log, acknowledgements = options.log or str(folder / "killed.db"), folder / "acknowledged.txt"
    acknowledgements.touch()
    if "://" in log:
        import graphcb.decisions.postgresql  # noqa: F401  # known to the children
    rng, killed, position = random.Random(options.seed), {"parent": 0, "itself": 0}, 0
    while sum(killed.values()) < options.kills:
        statement = rng.randrange(1, 300) if rng.random() < 0.5 else None
        process = child(log, events, acknowledgements, killed=True, statement=statement)
        status = _wait(process, rng.uniform(0.0, options.longest) if statement is None else 1.0)
        by = "itself" if status is not None else "parent"
        if status is None:
            os.kill(process, signal.SIGKILL)
            status = os.waitpid(process, 0)[1]
        if os.waitstatus_to_exitcode(status) != -signal.SIGKILL:
            raise SystemExit(f"a child ended by itself with {os.waitstatus_to_exitcode(status)}")
        killed[by] += 1
        position = check(log, reference, acknowledgements) if _has_started(log) else 0
    process = child(log, events, acknowledgements, killed=False)
    if os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) != 0:
        raise SystemExit("the last child, which was left alone, failed")
    n_events = check(log, reference, acknowledgements)
    with DecisionLog(log) as reader:
        n_feedbacks = reader.n_feedbacks
        if n_events != len(events) or to_bytes(replay(reader).agent) != last_model:
            raise SystemExit("the model differs from that of the run that was never killed")
    n_acknowledged = len(acknowledgements.read_text().splitlines())
    print("| kills | by the parent | around a statement | events | feedbacks | acknowledged |")
    print("|---|---|---|---|---|---|")
    print(
        f"| {options.kills} | {killed['parent']} | {killed['itself']} | {n_events:,} | "
        f"{n_feedbacks:,} | {n_acknowledged:,} |\n"
    )
    print(
        f"Nothing lost, nothing counted twice ({position:,} events before the last kill); every "
        "probability, and the model, bit for bit those of the run that was never killed."
    )


def _wait(process: int, seconds: float) -> int | None:
    """How a child ended within so many seconds, or None."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        ended, status = os.waitpid(process, os.WNOHANG)
        if ended:
            return status
        time.sleep(0.0005)
    return None


def _has_started(log: str) -> bool:
    """Whether a child lived long enough to begin the log."""
    try:
        with DecisionLog(log):
            return True
    except (FileNotFoundError, ValueError) as problem:
        if isinstance(problem, FileNotFoundError) or "holds no decision log" in str(problem):
            return False
        raise


if __name__ == "__main__":
    main()
