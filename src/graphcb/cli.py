"""The command line: parse, call, print. Each command is a file in `graphcb.commands`."""

import argparse
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import NoReturn

from graphcb import __version__
from graphcb.commands.examples import add_examples
from graphcb.commands.options import join_ranges
from graphcb.commands.outputs import stop_printing
from graphcb.commands.packages import install

COMMANDS = ("problem", "inspect", "reproduce", "run", "predict", "replay", "log", "evaluate",
            "serve", "serve-keys", "compile")  # fmt: skip
CLOSED_PIPE = 141  # what a shell reports for a program that a closed pipe has ended


class _Parser(argparse.ArgumentParser):
    """A parser whose errors are one line."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message} (see {self.prog} --help)\n")


def main(arguments: Sequence[str] | None = None) -> int:
    """Entry point of the `graphcb` command; returns the exit code."""
    words = join_ranges(sys.argv[1:] if arguments is None else arguments)
    try:
        options = _parser(*words[:1]).parse_args(words)
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


def _parser(first: str = "") -> argparse.ArgumentParser:
    """The parser of the command that is named first, or of all: others are not even imported."""
    parser = _Parser(prog="graphcb", description="Contextual bandits with feedback graphs.")
    parser.add_argument("--version", action="version", version=f"graphcb {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for name in [first] if first in COMMANDS else COMMANDS:
        import_module(f"graphcb.commands.{name.replace('-', '_')}").add_to(commands)
    add_examples(parser)
    return parser
