"""`graphcb log`: sum up a log, export or import it, look for damage, copy it, change it."""

import argparse
from pathlib import Path

from graphcb.commands.command import Commands
from graphcb.commands.log_import import add_import
from graphcb.commands.log_summary import add_summary
from graphcb.commands.log_versions import add_versions
from graphcb.commands.outputs import add_force, asked, check_outputs, log_files
from graphcb.commands.packages import need

LOG = "a file, or postgresql://user@host/database"


def add_to(commands: Commands) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "log", help="sum up, export, import, verify, back up or change a decision log"
    )
    actions = parser.add_subparsers(required=True, metavar="ACTION")
    export = actions.add_parser("export", help="write decisions and feedbacks as Parquet")
    export.add_argument("log", metavar="LOG", help=LOG)
    where = export.add_mutually_exclusive_group(required=True)
    where.add_argument("--parquet", type=Path, metavar="FILE", help="all of them, into one file")
    where.add_argument(
        "--folder",
        type=Path,
        metavar="FOLDER",
        help="what is new since the last time, into a folder of files by day",
    )
    add_force(export)
    export.set_defaults(command=_export)
    verify = actions.add_parser(
        "verify", help="check every row for damage and recompute every decision"
    )
    verify.add_argument("log", metavar="LOG", help=LOG)
    verify.add_argument(
        "--no-replay", action="store_true", help="do not recompute the decisions, which takes long"
    )
    verify.set_defaults(command=_verify)
    backup = actions.add_parser("backup", help="copy a log while its policy continues")
    backup.add_argument("log", metavar="LOG", help="a file")
    backup.add_argument("file", type=Path, metavar="FILE", help="the file to create")
    backup.set_defaults(command=_backup)
    add_import(actions)
    add_versions(actions)
    add_summary(actions)


def _export(options: argparse.Namespace) -> None:
    from graphcb.decisions import DecisionLog
    from graphcb.decisions.export import export_parquet

    if options.folder is not None:
        _export_folder(options)
        return
    need("pyarrow", "`--parquet`")
    check_outputs(
        asked(options, {"parquet": "export of a log"}),
        log_files(options.log),
        force=options.force,
    )
    with DecisionLog(options.log) as log:
        count = export_parquet(log, options.parquet)
    print(f"{count:,} decisions: {options.parquet}")


def _export_folder(options: argparse.Namespace) -> None:
    from graphcb.decisions import DecisionLog
    from graphcb.decisions.export_folder import export_folder

    need("pyarrow", "`--folder`")
    with DecisionLog(options.log) as log:
        found = export_folder(log, options.folder)
    print(
        f"{found.n_new:,} new decisions, and new feedback for {found.n_updated:,} earlier ones, in "
        f"{found.n_files:,} files: {options.folder} (up to event {found.position:,})"
    )
    if found.removed:
        print(
            f"old decisions were removed from the log before this export: some of those up to "
            f"event {found.removed:,}, or their last feedback, are not in the folder"
        )


def _verify(options: argparse.Namespace) -> int:
    from graphcb.decisions import DecisionLog, verify

    findings = verify(options.log, replays=not options.no_replay)
    for finding in findings:
        print(finding)
    if findings:
        return 1
    with DecisionLog(options.log) as log:
        n, facts = log.n_imported, ["nothing is damaged or missing"]
        if n:
            facts.append(f"{n:,} imported decisions are not made again")
        if not options.no_replay and not log.is_imported:
            facts.append(f"every {'other ' if n else ''}decision comes out the same")
        print(f"{log.n_events:,} events: {', '.join(facts[:-1])}{', and ' if facts[1:] else ''}"
              f"{facts[-1]}")  # fmt: skip
    return 0


def _backup(options: argparse.Namespace) -> None:
    from graphcb.decisions import back_up

    n_events = back_up(options.log, options.file)
    print(f"{n_events:,} events: {options.file}")
