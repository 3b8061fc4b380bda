"""The command line: parse, call, print. Each command is a file in `graphcb.commands`."""

import argparse
import sys
from collections.abc import Sequence

from graphcb import __version__
from graphcb.commands import compile as compile_command
from graphcb.commands import evaluate, inspect, log, problem, replay, reproduce, run

NEEDS_EXTRA = "this command needs the extra packages: pip install 'graphcb[experiments]'"


def main(arguments: Sequence[str] | None = None) -> int:
    """Entry point of the `graphcb` command; returns the exit code."""
    options = _parser().parse_args(arguments)
    try:
        options.command(options)
    except (ValueError, IndexError, TypeError, OSError, MemoryError) as mistake:
        print(f"graphcb: {mistake}", file=sys.stderr)
        return 2
    except ModuleNotFoundError as missing:
        print(f"graphcb: {missing}; {NEEDS_EXTRA}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("graphcb: interrupted", file=sys.stderr)
        return 130
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="graphcb", description="Contextual bandits with feedback graphs."
    )
    parser.add_argument("--version", action="version", version=f"graphcb {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for command in (problem, inspect, reproduce, run, replay, log, evaluate, compile_command):
        command.add_to(commands)
    return parser
