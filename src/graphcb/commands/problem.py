"""`graphcb problem new`: five questions, and the answers as a problem in a TOML file."""

import argparse
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from graphcb.checks import as_one_of
from graphcb.commands.options import Commands, add_command
from graphcb.contexts.looking import look_at
from graphcb.files import atomic_write
from graphcb.problems import Problem
from graphcb.problems.reveals import HIDDEN_PRICES
from graphcb.problems.toml import guardrails_to_fill_in
from graphcb.streams.first_look import names_in
from graphcb.streams.source import FIRST_LOOK, Source
from graphcb.streams.tables import TABLES, read_batches

Answer = TypeVar("Answer")

OPTIONS = {
    "[FILE=problem.toml]": "the file to write, which must not exist yet (default: %(default)s)",
    "--data DATA": "a CSV, Parquet or JSON lines file whose columns are the features",
}
EXPLORE = 0.01
LINE = f"explore = {EXPLORE}\n"
COMMENTED = f"""\
# Up to this share of every decision's probability goes to outcomes that are seldom seen, so that
# other policies can be judged on the log (graphcb evaluate). Without it, few of them can be.
{LINE}"""
ANSWERS = """\
# If feedback may not come, write answers = "learned" under [reveals]: how often it does is learned.
"""


def add_to(commands: Commands) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "problem", help="write down a problem: actions, feedback, features"
    )
    steps = parser.add_subparsers(required=True, metavar="new")
    add_command(steps, "new", "answer five questions, and get a TOML file", _new, OPTIONS)


def _new(options: argparse.Namespace) -> None:
    if options.file.exists():
        raise FileExistsError(f"`FILE` must not exist yet, got {str(options.file)!r}")
    if not options.file.parent.is_dir():
        raise FileNotFoundError(f"`FILE` must be in an existing folder, got {str(options.file)!r}")
    found = None if options.data is None else _look(options.data)
    print("Five questions; an empty answer takes what stands in [brackets].\n")
    name = _ask("1. What is the problem called? [no name]", lambda text: text)
    actions: Any = _ask(
        '2. Which actions are there? Names, separated by commas, or "each round" if they come '
        "with each round.",
        _read_actions,
    )
    reveals: Any = _ask(
        "3. What does playing an action reveal?\n"
        "   own         its own outcome [own]\n"
        "   everything  the outcomes of all actions\n"
        "   each round  a graph that comes with each round\n"
        "   unknown     nobody knows beforehand: it is learned; or bids, prices or stock if a\n"
        "               hidden price decides it, whose levels are the actions in rising order\n"
        "   a family such as inventory (a level shows all lower ones), a graph file (g.csv), or\n"
        "   names, separated by commas: these reveal everything, and the others nothing",
        lambda text: _read_reveals(text, actions),
    )
    feedback, bounds = _ask(
        "4. Losses (smaller is better) or rewards, and the smallest and the largest one?\n"
        "   Such as: rewards -50 20; without numbers, the range is found as it comes [losses]",
        _read_feedback,
    )
    features = _ask(
        _feature_question(found, options.data), lambda text: _read_features(text, found)
    )
    problem = Problem(
        actions,
        reveals=reveals,
        feedback=feedback,
        range=bounds,
        features=features,
        name=name,
        explore=EXPLORE,
    )
    with atomic_write(options.file, text=True) as file:
        comments = guardrails_to_fill_in(problem.actions, problem.scale[0])
        if not problem.informed:  # where there can be no baseline
            comments = comments.partition("#\n# [baseline]")[0]
        elif problem.has_fixed_actions and not problem.reveals.each_round:
            comments = f"{ANSWERS}\n{comments}"
        file.write(f"{problem.to_toml().replace(LINE, COMMENTED)}\n{comments}")
    print(f"\nwritten: {options.file}\n\n{problem.to_toml()}")
    print("limits, budgets and a baseline stand in the file as comments, to be filled in")
    print(f"next: graphcb inspect {options.file}")
    print(
        f'then: graphcb.Policy("decisions.db", problem=graphcb.Problem.read("{options.file}")) '
        "in Python"
    )


def _ask(question: str, read: Callable[[str], Answer]) -> Answer:
    """The answer; a person is asked again after a mistake, a pipe is not."""
    while True:
        print(question)
        try:
            text = input("> ").strip()
        except EOFError:
            raise ValueError(
                f"the answers must be five lines, but they ended at question {question[0]}"
            ) from None
        if not sys.stdin.isatty():
            print(text)
        try:
            return read(text)
        except (ValueError, TypeError, OSError) as mistake:
            if not sys.stdin.isatty():
                raise
            print(f"   {mistake}")


def _read_actions(text: str) -> Any:
    actions = text if text == "each round" else _names(text)
    Problem(actions)
    return actions


def _read_reveals(text: str, actions: Any) -> Any:
    reveals: Any = {"own": "bandit", "": "bandit", "everything": "full-information"}.get(text, text)
    names = _names(text)
    if text in HIDDEN_PRICES:
        reveals = {"unknown": text}
    if actions != "each round" and names and set(names) <= set(actions):
        reveals = {"all": names}
    elif Path(text).suffix in (".csv", ".npy", ".npz", ".json"):
        reveals = {"file": text}
    Problem(actions, reveals=reveals)
    return reveals


def _read_feedback(text: str) -> tuple[str, tuple[float, float] | None]:
    words = text.replace(",", " ").split() or ["losses"]
    try:
        numbers = [float(word) for word in words[1:]]
    except ValueError:
        numbers = [0.0]
    if len(numbers) not in (0, 2):
        raise ValueError(
            "the answer must be a word and two numbers, such as losses 0 1, or the word alone; "
            f"got {text!r}"
        )
    bounds = (numbers[0], numbers[1]) if numbers else None
    Problem(["any"], feedback=words[0], range=bounds)
    return words[0], bounds


def _feature_question(found: Mapping[str, str] | None, data: str | None) -> str:
    if found is None:
        return (
            "5. Which features does a context have? Such as: amount number, country category,\n"
            "   note text; with ? after the kind where values may be missing\n"
            "   [noted as they come]"
        )
    listed = "".join(f"\n   {name}: {kind}" for name, kind in found.items())
    return (
        f"5. The columns of {data} are{listed}\n   Which of them are no features, such as the "
        "label? Names, separated by commas [none]"
    )


def _read_features(text: str, found: Mapping[str, str] | None) -> dict[str, str] | None:
    if found is not None:
        out = [as_one_of("name", name, found) for name in _names(text)]
        return {name: kind for name, kind in found.items() if name not in out}
    features = {}
    for part in _names(text):
        name, _, kind = part.rpartition(" ")
        if not name:
            raise ValueError(
                f"each feature must be a name and a kind, such as age number; got {part!r}"
            )
        features[name.strip().rstrip(":")] = kind
    Problem(["any"], features=features)
    return features or None


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def _look(data: str) -> dict[str, str]:
    """The features of a file and their kinds, from its first rows."""
    source = Source(data)
    if source.format not in TABLES:
        raise ValueError(
            f"`--data` must be CSV, Parquet or JSON lines, got {source.format}: {data!r}"
        )
    names, inside = names_in(source)
    names = inside or names
    batch = next(read_batches(source, names, FIRST_LOOK, first_look=True), None)
    if batch is None:
        raise ValueError(f"`--data` must have rows, got none in {data!r}")
    columns = zip(names, batch.columns, strict=True)
    return {name: look_at(cells).declared for name, cells in columns if name}
