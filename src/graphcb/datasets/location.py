"""Where data lies on this machine."""

import os
from pathlib import Path


class DataNotFoundError(FileNotFoundError):
    """The data is not here; the text says how to get it."""


def find(folder: str, file: str, otherwise: str) -> Path:
    """The file in the folder of that name under GRAPHCB_DATA; `otherwise` is the other way."""
    root = os.environ.get("GRAPHCB_DATA")
    if root is None:
        raise DataNotFoundError(
            f"the data {folder!r} is not here: set GRAPHCB_DATA to the folder that holds "
            f"{folder}/{file}, or {otherwise}"
        )
    path = Path(root) / folder / file
    if not path.is_file():
        raise DataNotFoundError(
            f"GRAPHCB_DATA is {root}, but {folder}/{file} is not there; put it there, "
            f"or unset GRAPHCB_DATA and {otherwise}"
        )
    return path
