"""`graphcb serve-keys`: the keys of the service's clients."""

import argparse
from pathlib import Path
from typing import Any

from graphcb.commands.options import Commands, add_command
from graphcb.commands.packages import need

KEYS = {"FILE": "the file of keys"}
REMOVE = {**KEYS, "NAME": "the client"}
ADD = {
    **KEYS,
    "NAME": "the client that gets the key",
    "--scopes A,B=decide,feedback": "what the key allows: decide, graphs, feedback, read, admin "
    "(decide,feedback)",
}


def add_to(commands: Commands) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser("serve-keys", help="add, list or remove keys of the service")
    actions = parser.add_subparsers(required=True, metavar="ACTION")
    add_command(actions, "add", "make a key and print it once", _add_key, ADD)
    add_command(actions, "list", "list the clients that have keys", _list_keys, KEYS)
    text = "remove a key; a running service notices within a second"
    add_command(actions, "remove", text, _remove_key, REMOVE)


def _add_key(options: argparse.Namespace) -> None:
    need("msgspec", "`graphcb serve-keys`")
    from graphcb.service.keys import Keys

    print(Keys(options.file).add(options.name, options.scopes.split(",")))


def _list_keys(options: argparse.Namespace) -> None:
    for key in _existing(options.file):
        print(f"{key.name}: {', '.join(key.scopes)}")


def _remove_key(options: argparse.Namespace) -> None:
    _existing(options.file).remove(options.name)


def _existing(path: Path) -> Any:
    need("msgspec", "`graphcb serve-keys`")
    from graphcb.service.keys import Keys

    if not path.is_file():
        raise FileNotFoundError(f"`file` must be an existing file of keys, got {str(path)!r}")
    return Keys(path)
