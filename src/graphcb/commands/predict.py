"""`graphcb predict`: what a saved model would do, for rows without labels."""

import argparse

from graphcb.commands.command import Commands


def add_to(commands: Commands) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser("predict", help="the action for each row of a file")
    parser.set_defaults(command=_predict)


def _predict(options: argparse.Namespace) -> None:
    raise ValueError("not yet")
