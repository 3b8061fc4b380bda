"""The command line: parse, call, print. Each command is a file in `graphcb.commands`."""

import argparse
import sys
from collections.abc import Sequence
from typing import NoReturn

from graphcb import __version__
from graphcb.commands import compile as compile_command
from graphcb.commands import evaluate, inspect, log, predict, problem, replay, reproduce, run, serve
from graphcb.commands.closing import stop_printing
from graphcb.commands.examples import add_examples
from graphcb.commands.packages import install
from graphcb.commands.ranges import join_ranges

CLOSED_PIPE = 141  # what a shell reports for a program that a closed pipe has ended


class _Parser(argparse.ArgumentParser):
    """A parser whose errors are one line."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message} (see {self.prog} --help)\n")


def main(arguments: Sequence[str] | None = None) -> int:
    """Entry point of the `graphcb` command; returns the exit code."""
    options = _parser().parse_args(join_ranges(sys.argv[1:] if arguments is None else arguments))
    try:
        code = int(options.command(options) or 0)
    except BrokenPipeError:  # in the middle of the work
        stop_printing()
        return CLOSED_PIPE
    except ModuleNotFoundError as missing:
        package = (missing.name or "").partition(".")[0]
        print(f"graphcb: this command needs {package}: {install(package)}", file=sys.stderr)
        return 2
    except (ValueError, IndexError, TypeError, ArithmeticError, OSError, MemoryError) as mistake:
        print(f"graphcb: {mistake}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("graphcb: interrupted", file=sys.stderr)
        return 130
    try:
        sys.stdout.flush()
    except BrokenPipeError:  # all work is done
        stop_printing()
    return code


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="graphcb", description="Contextual bandits with feedback graphs.")
    parser.add_argument("--version", action="version", version=f"graphcb {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for command in (
        problem,
        inspect,
        reproduce,
        run,
        predict,
        replay,
        log,
        evaluate,
        serve,
        compile_command,
    ):
        command.add_to(commands)
    add_examples(parser)
    return parser
