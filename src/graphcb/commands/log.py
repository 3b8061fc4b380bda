"""`graphcb log`: what a decision log holds, and logs from and for other programs."""

import argparse
from pathlib import Path

from graphcb.commands.command import Commands
from graphcb.commands.log_import import add_import
from graphcb.commands.log_summary import add_summary
from graphcb.commands.outputs import add_force, asked, check_outputs, log_files
from graphcb.commands.packages import need


def add_to(commands: Commands) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser("log", help="sum up, export or import a decision log")
    actions = parser.add_subparsers(required=True, metavar="ACTION")
    export = actions.add_parser("export", help="write all decisions and feedbacks to one file")
    export.add_argument("log", metavar="LOG", help="a file, or postgresql://user@host/database")
    export.add_argument(
        "--parquet", type=Path, required=True, metavar="FILE", help="the file to write"
    )
    add_force(export)
    export.set_defaults(command=_export)
    add_import(actions)
    add_summary(actions)


def _export(options: argparse.Namespace) -> None:
    from graphcb.decisions import DecisionLog
    from graphcb.decisions.export import export_parquet

    need("pyarrow", "`--parquet`")
    check_outputs(
        asked(options, {"parquet": "export of a log"}),
        log_files(options.log),
        force=options.force,
    )
    with DecisionLog(options.log) as log:
        count = export_parquet(log, options.parquet)
    print(f"{count:,} decisions: {options.parquet}")
