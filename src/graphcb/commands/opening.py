"""The log of a service, opened or waited for, and what is said about it."""

import argparse
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from graphcb.decisions import Decider, DecisionLog, LogError, Policy, Trainer
from graphcb.decisions.replaying import rehearse
from graphcb.decisions.storage import without_password
from graphcb.problems.wording import lost_without_explore

CHECKPOINT_EVERY = 5000  # events; replaying as many takes half a second
REHEARSED = 200  # events: of 16 rounds that an agent passes by, it acts in one


def open_log(log: str, problem: Any, options: argparse.Namespace) -> Any:
    """The policy, decider or trainer of a log."""
    if options.decide_only:
        return Decider(log, durability=options.durability, most_stale=options.most_stale)
    settings: dict[str, Any] = {"durability": options.durability, "seed": options.seed}
    if options.learn_only:
        return _open_writer(Trainer, log, problem, settings)
    settings["checkpoint_every"] = CHECKPOINT_EVERY
    return _open_writer(Policy, log, problem, settings)


def wait_for(opening: Callable[[], Any], options: argparse.Namespace) -> Any:
    """Try again until the server and the trainer are there, and another trainer has ended."""
    from graphcb.service.messages import say

    reason, is_warm = "", not options.learn_only
    while True:
        try:
            return opening()
        except LogError as problem:
            if not (options.decide_only or options.learn_only):
                raise
            if str(problem) != reason:
                reason = str(problem)
                say(f"waiting: {reason}")
        is_warm = is_warm or _rehearsed(options.log)
        time.sleep(0.1)


def _rehearsed(location: str) -> bool:
    """Whether machine code is loaded for what another trainer learns, as far as that can be."""
    try:
        with DecisionLog(location) as log:
            return rehearse(log, REHEARSED)
    except LogError:
        return False
    except Exception:  # whatever is wrong is said once this one opens the log to write
        return True


def _open_writer(kind: type[Any], log: str, problem: Any, settings: dict[str, Any]) -> Any:
    """A policy for the problem, or for the log's last version if the file has an earlier one."""
    from graphcb.service.messages import say

    try:
        return kind(log, problem=problem, **settings)
    except ValueError:
        with suppress(OSError, ValueError), DecisionLog(log) as reader:
            versions = list(reader.versions)
            earlier = [one.number for one in versions[:-1] if one.problem == problem]
            if earlier and versions[-1].problem != problem:
                say(
                    f"the file has version {earlier[-1]} of the problem; continuing with "
                    f"version {len(versions)}, which the log has"
                )
                return kind(log, **settings)
        raise


def read_keys(path: Path) -> Any:
    """The keys in a file, which must have some."""
    from graphcb.service.keys import Keys

    keys = Keys(path)
    if not len(keys):
        raise ValueError(
            f"`--keys` must be a file with keys, got {str(path)!r}, which has none; "
            "add one with graphcb serve-keys add"
        )
    return keys


def role_of(policy: Any) -> str:
    """What a process does with a log."""
    return "learning" if isinstance(policy, Trainer) else "deciding"


def log_of(policy: Any, n_events: int) -> str:
    """Where a log is and how long it is."""
    return f"log {without_password(policy.location)} with {n_events:,} events"


def say_what_is_lost(policy: Any) -> None:
    """Say once, by the process that learns, what cannot be found out from the log."""
    from graphcb.service.messages import say

    if policy.problem is not None and not isinstance(policy, Decider):
        lost = lost_without_explore(policy.problem)
        if lost is not None:
            say(lost)
