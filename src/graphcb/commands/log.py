"""`graphcb log`: sum up a log, export or import it, explain, look for damage, copy, change."""

import argparse
import json

from graphcb.commands.log_import import add_import
from graphcb.commands.log_summary import add_summary
from graphcb.commands.log_versions import add_versions
from graphcb.commands.options import LOG, Commands, add_command, add_options
from graphcb.commands.outputs import FORCE, asked, check_outputs, log_files
from graphcb.commands.packages import need
from graphcb.decisions import DecisionLog, back_up, verify
from graphcb.decisions.explaining import explain
from graphcb.decisions.export import export_parquet
from graphcb.decisions.export_folder import export_folder

WHERE = {
    "--parquet FILE": "all decisions and feedbacks, into one file",
    "--folder FOLDER": "what is new since the last time, into a folder of files by day",
}
VERIFY = {**LOG, "--no-replay": "do not recompute the decisions, which takes long"}
BACKUP = {"LOG": "a file", "FILE": "the file to create"}
EXPLAIN = {
    **LOG,
    "DECISION": "the decision_id that was returned",
    "--json": "print JSON instead of text",
}


def add_to(commands: Commands) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "log", help="summarise, export, import, verify, back up or change a decision log"
    )
    actions = parser.add_subparsers(required=True, metavar="ACTION")
    text = "write decisions and feedbacks as Parquet"
    export = add_command(actions, "export", text, _export, LOG)
    add_options(export.add_mutually_exclusive_group(required=True), WHERE)
    add_options(export, FORCE)
    text = "check every row for damage and recompute every decision"
    add_command(actions, "verify", text, _verify, VERIFY)
    add_command(actions, "backup", "copy a log while its policy continues", _backup, BACKUP)
    text = "why a decision was made: predictions, features, limits and prices"
    add_command(actions, "explain", text, _explain, EXPLAIN)
    add_import(actions)
    add_versions(actions)
    add_summary(actions)


def _export(options: argparse.Namespace) -> None:
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
    need("pyarrow", "`--folder`")
    with DecisionLog(options.log) as log:
        found = export_folder(log, options.folder)
    print(
        f"{found.n_new:,} new decisions, and new feedback for {found.n_updated:,} earlier ones, in "
        f"{found.n_files:,} files: {options.folder} (up to event {found.position:,})"
    )
    if found.n_forgotten:
        print(f"{found.n_forgotten:,} rows about people who were forgotten are gone")
    if found.removed:
        print(
            f"old decisions were removed from the log before this export: some of those up to "
            f"event {found.removed:,}, or their last feedback, are not in the folder"
        )


def _verify(options: argparse.Namespace) -> int:
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


def _explain(options: argparse.Namespace) -> None:
    with DecisionLog(options.log) as log:
        try:
            found = explain(log, options.decision)
        except LookupError as problem:
            raise ValueError(str(problem)) from None
    print(json.dumps(found.to_dict()) if options.json else found)


def _backup(options: argparse.Namespace) -> None:
    n_events = back_up(options.log, options.file)
    print(f"{n_events:,} events: {options.file}")
