"""Where data is on this machine."""

import os
from pathlib import Path


class DataNotFoundError(FileNotFoundError):
    """The data was not found; the text says how to get it."""


def find(folder: str, file: str, otherwise: str) -> Path:
    """The file under GRAPHCB_DATA; `otherwise` says how to do without it."""
    root = os.environ.get("GRAPHCB_DATA")
    if root is None:
        raise DataNotFoundError(
            f"the data {folder!r} was not found: set GRAPHCB_DATA to the folder that holds "
            f"{folder}/{file}, or {otherwise}"
        )
    path = Path(root) / folder / file
    if not path.is_file():
        raise DataNotFoundError(
            f"GRAPHCB_DATA is {root}, which does not contain {folder}/{file}; put it there, "
            f"or unset GRAPHCB_DATA and {otherwise}"
        )
    return path
