"""`graphcb replay`: rebuild the model of a log from its first event."""

import argparse
import time

from graphcb.commands.options import LOG, Commands, add_command
from graphcb.commands.outputs import FORCE, asked, check_outputs, log_files
from graphcb.decisions import DecisionLog, replay
from graphcb.decisions.records import read_checkpoints
from graphcb.decisions.verifying import differs
from graphcb.files import FileError
from graphcb.saving import from_bytes, save


def add_to(commands: Commands) -> None:
    """Add the command to the parser."""
    text = "rebuild the model of a decision log and check every decision"
    options = {**LOG, "--save MODEL": "write the model to a file", **FORCE}
    add_command(commands, "replay", text, _replay, options)


def _replay(options: argparse.Namespace) -> None:
    check_outputs(asked(options, {"save": "model"}), log_files(options.log), force=options.force)
    with DecisionLog(options.log) as log:
        start = time.perf_counter()
        state = replay(log)
        seconds = time.perf_counter() - start
        versions = f", {state.version} versions" if state.version > 1 else ""
        if log.start.position:
            print(f"old decisions were removed: from event {log.start.position + 1:,} on")
        imported = log.n_imported
        every = "every other decision" if imported else "every decision"
        same = f"{every} is the same as in the log, bit for bit"
        if imported:
            same = f"{imported:,} were imported and are not made again" + (
                "" if log.is_imported else f"; {same}"
            )
        print(
            f"{state.n_decisions:,} decisions and {state.n_feedbacks:,} feedbacks{versions} in "
            f"{seconds:.1f} s: {same}"
        )
        for checkpoint in read_checkpoints(log.storage):
            if checkpoint.position == state.position:
                stored = from_bytes(checkpoint.agent, where=log.storage.location)
                if differs(state, checkpoint, stored):
                    raise FileError(
                        f"{log.storage.location}: the checkpoint at event {state.position} differs "
                        "from what the log leads to; the log is right: run DELETE FROM "
                        "graphcb_checkpoints on it"
                    )
                print("the checkpoint contains the same model")
    if options.save is not None:
        save(state.agent, options.save)
        print(f"model: {options.save}")
