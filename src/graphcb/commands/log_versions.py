"""`graphcb log versions`, `promote`, `rollback`, `prune` and `forget`: a log that changes."""

import argparse
import time
import warnings
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from graphcb.commands.options import LOG, add_command
from graphcb.commands.packages import need
from graphcb.commands.tables import print_table
from graphcb.decisions import Change, DecisionLog, Policy, Version
from graphcb.decisions.storage import without_password
from graphcb.problems import Problem

NOTE = {"--note TEXT": "the reason, for the list of versions"}
VERSIONS = {**LOG, "--toml N": "print the problem of version N"}
PROMOTE = {**LOG, "PROBLEM": "a problem file (TOML)", **NOTE}
ROLLBACK = {**LOG, "N": "the number of the version, as log versions lists it", **NOTE}
PRUNE = {
    **LOG,
    "--days DAYS": "keep the decisions of the last DAYS days (default: keep_days of the problem)",
    "--all": "keep none; the model stays as it is",
}
FORGET = {
    "LOG ...": f"{LOG['LOG']}; and backups of it",
    "--unlearn": "rebuild the model as if they had not been there",
    "--folder FOLDER ...": "an export of the log (log export --folder), which is brought up to "
    "date",
}


def add_versions(actions: Any) -> None:
    """Add the subcommands to those of `graphcb log`."""
    text = "list the versions of a log's problem"
    add_command(actions, "versions", text, _versions, VERSIONS)
    text = "decide with another problem from now on"
    add_command(actions, "promote", text, _promote, PROMOTE)
    text = "decide as an earlier version did at its end"
    add_command(actions, "rollback", text, _rollback, ROLLBACK)
    add_command(actions, "prune", "remove old decisions with their feedback", _prune, PRUNE)
    text = "remove all decisions about one person"
    forget = add_command(actions, "forget", text, _forget, FORGET)
    forget.add_argument("--subject", required=True, metavar="WHO", help="as named in the decisions")


def _versions(options: argparse.Namespace) -> None:
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


def _row(version: Version, end: int | None) -> tuple[str, ...]:
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
    problem = Problem.read(options.problem)
    _check_exists(options.log)
    with Policy(options.log) as policy:
        if policy.problem == problem and policy.versions.last.recorded is None:
            raise ValueError(
                f"{options.problem}: must differ from the problem that the log has, got the same"
            )
        _tell(policy.change(problem, note=options.note or ""))


def _rollback(options: argparse.Namespace) -> None:
    _check_exists(options.log)
    with Policy(options.log) as policy:
        _tell(policy.roll_back(options.n, note=options.note or ""))


def _prune(options: argparse.Namespace) -> None:
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


def _forget(options: argparse.Namespace) -> None:
    from graphcb.decisions.export_folder import MANIFEST, export_folder

    for log in options.logs:
        _check_exists(log)
    for folder in options.folder:
        need("pyarrow", "`--folder`")
        if not (folder / MANIFEST).is_file():
            raise ValueError(f"`--folder` must be an export of the log, got {str(folder)!r}")
    for log in options.logs:
        with warnings.catch_warnings(record=True) as left, Policy(log) as policy:
            warnings.simplefilter("always", RuntimeWarning)
            done = policy.forget(options.subject, unlearn=options.unlearn)
        model = (
            "the model is as if they had not been there" if done.unlearned else "the model stays"
        )
        print(
            f"{without_password(log)}: {done.n_decisions:,} decisions and {done.n_feedbacks:,} "
            f"feedbacks removed, {model}; receipt {done.subject}"
        )
        for warning in left:
            print(warning.message)
    for folder in options.folder:
        with DecisionLog(options.logs[0]) as exported:
            count = export_folder(exported, folder).n_forgotten
        print(f"{folder}: {count:,} rows removed")
    print(
        "not touched: folders of exports that are not named here (until the next export to them), "
        "exports to single files (delete them), backups that are not named here (each is a log), "
        "and copies that others have made"
    )


def _check_exists(log: str) -> None:
    if "://" not in log and not Path(log).is_file():
        raise FileNotFoundError(f"a log must be a file that exists, got {log!r}")


def _tell(change: Change) -> None:
    print(f"version {change.version.number}, event {change.version.position:,}")
    for sentence in change.said:
        print(f"- {sentence}")
