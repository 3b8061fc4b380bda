"""What to do when nobody reads on, as in `graphcb run data.csv --label y | head`."""

import os
import sys


def stop_printing() -> None:
    """Let what is still to be printed go nowhere, also while Python ends."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
