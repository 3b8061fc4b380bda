"""Two numbers as a value of an option: `--loss-range LOW,HIGH` or `--loss-range LOW HIGH`."""

import argparse
from collections.abc import Sequence

from graphcb.streams.cells import is_number

OPTIONS = ("--loss-range", "--reward-range")


def add_loss_range(parser: argparse._ActionsContainer, *, default: str) -> None:
    """Add the option; None if it is not given."""
    parser.add_argument(
        *OPTIONS,
        type=_range,
        metavar="LOW,HIGH",
        help="the smallest and the largest possible loss, or reward, also as LOW HIGH "
        f"(default: {default})",
    )


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
        if word in OPTIONS and rest:
            word = f"{word}={rest.pop(0)}"
            if "," not in word and rest and is_number(rest[0]):
                word += f",{rest.pop(0)}"
        joined.append(word)
    return joined


def _range(text: str) -> tuple[float, float]:
    try:
        low, high = map(float, text.split(","))
    except ValueError:
        raise argparse.ArgumentTypeError(f"must be two numbers LOW,HIGH; got {text!r}") from None
    return low, high
