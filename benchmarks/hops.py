"""Through how many files a decision goes, and how often it moves from one to another.

    python benchmarks/hops.py            # a table by file
    python benchmarks/hops.py --quick    # the totals alone

Counts calls of `Policy.decide` on a context of two features, once everything is warm; machine code
counts like any other function. A hop is a call from one file of graphcb into another.
"""

import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

from measure import part_arguments, print_table

import graphcb

PACKAGE = str(Path(graphcb.__file__).parent)
README: dict[str, Any] = {
    "actions": ["approve", "review"],
    "reveals": {"all": ["review"]},
    "feedback": "rewards",
    "range": (-50, 1),
}
GUARDED: dict[str, Any] = README | {
    "limits": {"floors": {"approve": 0.05}, "caps": {"review": 0.9}},
    "budgets": {"reviews": {"costs": {"review": 1.0}, "at_most": 0.5, "per": "round"}},
}
CASES = {"README's problem": README, "with limits and a budget": GUARDED}
CONTEXT = {"amount": 30.0, "country": "DE"}


def visits(work: Callable[[], object]) -> Counter[str]:
    """How often the files of graphcb are entered from another file of graphcb."""
    found: Counter[str] = Counter()
    last = [""]

    def profile(frame: FrameType, event: str, _: Any) -> None:
        file = frame.f_code.co_filename
        if event == "call" and file.startswith(PACKAGE):
            if file != last[0]:
                found[file[len(PACKAGE) + 1 :]] += 1
            last[0] = file

    sys.setprofile(profile)
    try:
        work()
    finally:
        sys.setprofile(None)
    return found


def visits_of_a_decision(settings: dict[str, Any]) -> Counter[str]:
    """The visits of one decision of a policy that is warm."""
    with (
        tempfile.TemporaryDirectory() as folder,
        graphcb.Policy(
            Path(folder) / "log.db", problem=graphcb.Problem(**settings), seed=0
        ) as policy,
    ):
        for _ in range(12):
            made = policy.decide(CONTEXT)
            if made.action == "review":
                policy.feedback(made.decision_id, {"approve": 1.0, "review": -2.0})
        return visits(lambda: policy.decide(CONTEXT))


def main() -> None:
    options = part_arguments(__doc__)
    found = {name: visits_of_a_decision(settings) for name, settings in CASES.items()}
    print_table(
        ["problem", "files", "hops"],
        [[name, str(len(one)), str(one.total())] for name, one in found.items()],
    )
    if not options.quick:
        print()
        files = sorted(set().union(*found.values()))
        print_table(
            ["file", *found],
            [[file, *(str(one[file]) for one in found.values())] for file in files],
        )


if __name__ == "__main__":
    main()
