"""Options as a table: what a user types, and its help. The word for a value says its type.

OPTIONS = {
    "--seed N=0": "seed of the draws (default: %(default)s)",  # a whole number, 0 if left out
    "--on-error stop|skip": "what to do with a bad row",  # one of these words
    "--json": "print JSON instead of tables",  # yes or no
    "--folder FOLDER ...": "which may be given several times",  # a list
    "[FILE=a.csv]": "an argument that may be left out",
}
"""

import argparse
import csv
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from graphcb.streams.cells import is_number

Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"
RANGES = ("--loss-range", "--reward-range")
LOG = {"LOG": "a file, or postgresql://user@host/database"}


def names_in(text: str) -> tuple[str, ...]:
    """Names separated by commas; a name that contains a comma is quoted as in CSV."""
    return tuple(name.strip() for name in next(csv.reader([text])))


def _range(text: str) -> tuple[float, float]:
    try:
        low, high = map(float, text.split(","))
    except ValueError:
        raise argparse.ArgumentTypeError(f"must be two numbers LOW,HIGH; got {text!r}") from None
    return low, high


_TYPES: dict[str, Callable[[str], Any]] = {
    **dict.fromkeys(("BITS", "EVENT", "N", "PORT"), int),
    **dict.fromkeys(("DAYS", "GAMMA", "R", "RATE", "SECONDS", "SHARE"), float),
    **dict.fromkeys(("DIR", "FILE", "FOLDER", "MODEL", "PROBLEM", "TOML"), Path),
    **dict.fromkeys(("COLUMNS", "LABELS", "NAMES"), names_in),
    "LOW,HIGH": _range,
}


def loss_range(default: str) -> dict[str, str]:
    """The option for the range of losses; `default` says what it is if left out."""
    text = "the smallest and the largest possible loss, or reward, also as LOW HIGH"
    return {f"{' '.join(RANGES)} LOW,HIGH": f"{text} (default: {default})"}


def add_command(
    commands: Any,
    name: str,
    text: str,
    command: Callable[[argparse.Namespace], int | None],
    options: Mapping[str, str],
    *,
    description: str | None = None,
) -> argparse.ArgumentParser:
    """Add a command with its options; `text` is its line in the help, `command` what it calls."""
    parser: argparse.ArgumentParser
    parser = commands.add_parser(name, help=text, description=description)
    add_options(parser, options)
    parser.set_defaults(command=command)
    return parser


def add_options(parser: argparse._ActionsContainer, options: Mapping[str, str]) -> None:
    """Add options, and arguments such as "LOG"; those that are left out are None.

    An argument that is a list has the plural of its name.

    >>> parser = argparse.ArgumentParser()
    >>> add_options(parser, {"LOG": "a file", "--days DAYS": "to keep", "--seed N=0": "of draws"})
    >>> parser.parse_args(["a.db", "--days", "1.5"])
    Namespace(log='a.db', days=1.5, seed=0)
    """
    for spec, text in options.items():
        *names, last = spec.removesuffix(" ...").split()
        value, _, default = last.strip("[]").partition("=")
        settings: dict[str, Any] = {"help": text}
        if spec.endswith(" ..."):
            settings |= {"action": "append", "default": []} if names else {"nargs": "+"}
        elif last.startswith("["):
            settings["nargs"] = "?"
        if last.startswith("--"):
            names, settings["action"] = [*names, last], "store_true"
        elif "|" in value:
            settings |= {"choices": tuple(value.split("|")), "default": default or None}
        else:
            kind = _TYPES.get(value, str)
            settings |= {"metavar": value, "type": kind}
            if default:
                settings["default"] = kind(default)
        plural = "s" if settings.get("nargs") == "+" else ""
        parser.add_argument(*(names or [value.lower() + plural]), **settings)


def join_ranges(arguments: Sequence[str]) -> list[str]:
    """Arguments with both numbers of a range in one, where the parser cannot mistake them.

    >>> join_ranges(["run", "--loss-range", "-1", "3", "a.csv"])
    ['run', '--loss-range=-1,3', 'a.csv']
    >>> join_ranges(["run", "--loss-range", "-1,3", "a.csv"])
    ['run', '--loss-range=-1,3', 'a.csv']
    """
    rest, joined = list(arguments), []
    while rest:
        word = rest.pop(0)
        if word in RANGES and rest:
            word = f"{word}={rest.pop(0)}"
            if "," not in word and rest and is_number(rest[0]):
                word += f",{rest.pop(0)}"
        joined.append(word)
    return joined
