"""`graphcb log versions`, `promote`, `rollback` and `prune`: a log that changes, and grows old."""

import argparse
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from graphcb.commands.tables import print_table

if TYPE_CHECKING:
    from graphcb.decisions import Change, Version

LOG = "a file, or postgresql://user@host/database"


def add_versions(actions: Any) -> None:
    """Add the subcommands to those of `graphcb log`."""
    versions = actions.add_parser("versions", help="list the versions of a log's problem")
    versions.add_argument("log", metavar="LOG", help=LOG)
    versions.add_argument("--toml", type=int, metavar="N", help="print the problem of version N")
    versions.set_defaults(command=_versions)
    promote = actions.add_parser("promote", help="decide with another problem from now on")
    promote.add_argument("log", metavar="LOG", help=LOG)
    promote.add_argument("problem", type=Path, metavar="PROBLEM", help="a problem file (TOML)")
    promote.set_defaults(command=_promote)
    rollback = actions.add_parser("rollback", help="decide as an earlier version did at its end")
    rollback.add_argument("log", metavar="LOG", help=LOG)
    rollback.add_argument("version", type=int, metavar="N", help="its number (log versions)")
    rollback.set_defaults(command=_rollback)
    prune = actions.add_parser("prune", help="remove old decisions with their feedback")
    prune.add_argument("log", metavar="LOG", help=LOG)
    prune.add_argument(
        "--days", type=float, metavar="N", help="keep those of N days (keep_days of the problem)"
    )
    prune.add_argument("--all", action="store_true", help="keep none; the model stays as it is")
    prune.set_defaults(command=_prune)
    for parser in (promote, rollback):
        parser.add_argument("--note", default="", metavar="TEXT", help="why, for the list")


def _versions(options: argparse.Namespace) -> None:
    from graphcb.decisions import DecisionLog

    with DecisionLog(options.log) as log:
        versions = log.versions
    if options.toml is None:
        ends = [version.position - 1 for version in versions][1:]
        rows = zip(versions, [*ends, None], strict=True)
        header = ("version", "from", "events", "problem", "note")
        print_table(f"log {Path(options.log).name}", [_row(*row) for row in rows], header)
        return
    chosen = versions.numbered(options.toml)
    if chosen.problem is None:
        raise ValueError(f"`--toml` must be of a version with a problem, got {options.toml}")
    print(chosen.problem.to_toml(), end="")


def _row(version: "Version", end: int | None) -> tuple[str, ...]:
    problem, recorded = version.problem, version.recorded
    imported = "" if recorded is None else f"imported from {recorded.source}"
    actions = "-" if problem is None else problem.actions
    about = actions if isinstance(actions, str) else ", ".join(actions)
    return (
        str(version.number),
        datetime.fromtimestamp(version.made_at, UTC).strftime("%Y-%m-%d %H:%M:%S"),
        f"{version.position + 1:,} to {'now' if end is None else f'{end:,}'}",
        about if len(about) <= 40 else f"{about[:37]}...",
        version.note or imported,
    )


def _promote(options: argparse.Namespace) -> None:
    from graphcb.decisions import Policy
    from graphcb.problems import Problem

    problem = Problem.read(options.problem)
    _check_exists(options.log)
    with Policy(options.log) as policy:
        if policy.problem == problem and policy.versions.last.recorded is None:
            raise ValueError(
                f"{options.problem}: must differ from the problem that the log has, got the same"
            )
        _tell(policy.change(problem, note=options.note))


def _rollback(options: argparse.Namespace) -> None:
    from graphcb.decisions import Policy

    _check_exists(options.log)
    with Policy(options.log) as policy:
        _tell(policy.roll_back(options.version, note=options.note))


def _prune(options: argparse.Namespace) -> None:
    from graphcb.decisions import Policy

    if options.all and options.days is not None:
        raise ValueError("give either --days or --all, got both")
    if options.days is not None and not 0.0 < options.days < float("inf"):
        raise ValueError(
            f"`--days` must be positive, got {options.days:g}; --all removes every decision"
        )
    _check_exists(options.log)
    kept = 0.0 if options.all else options.days
    with Policy(options.log) as policy:
        defaults = None if policy.problem is None else policy.problem.defaults
        if kept is None and (defaults is None or defaults.keep_days is None):
            raise ValueError(
                "`--days` must be given, as the problem does not say [defaults] keep_days"
            )
        done = policy.prune(None if kept is None else time.time() - 86_400.0 * kept)
    print(f"{done.n_decisions:,} decisions and {done.n_feedbacks:,} feedbacks removed")
    if done.position:
        print(f"the log is replayed from event {done.position + 1:,} on")


def _check_exists(log: str) -> None:
    if "://" not in log and not Path(log).is_file():
        raise FileNotFoundError(f"a log must be a file that exists, got {log!r}")


def _tell(change: "Change") -> None:
    print(f"version {change.version.number}, event {change.version.position:,}")
    for sentence in change.said:
        print(f"- {sentence}")
