"""`evaluate_table`: what policies would have earned, from a table that any program wrote."""

import os
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any, get_args

from graphcb.checks import as_one_of, as_range
from graphcb.estimates.estimate import Conditions
from graphcb.estimates.intervals import check_confidence
from graphcb.experiments.sweep import Engine
from graphcb.tables.asking import Choice, Question, ask
from graphcb.tables.choosing import RowFunction
from graphcb.tables.concluding import Unseen, conclude
from graphcb.tables.passes import Progress, Running
from graphcb.tables.result import TableEvaluation
from graphcb.tables.source import open_table
from graphcb.tables.surveying import Work


def evaluate_table(
    table: Any,
    *,
    action: str,
    policy: Any,
    reward: str | None = None,
    loss: str | None = None,
    probability: Choice | None = None,
    actions: Iterable[Any] | None = None,
    action_set: str | None = None,
    reveals: Choice | None = None,
    graph: Any = None,
    slot: str | None = None,
    identifier: str | None = None,
    features: Iterable[str] | None = None,
    value_range: tuple[float, float] | None = None,
    confidence: float = 0.95,
    unseen: Unseen = "refuse",
    doubly_robust: bool = False,
    independent: bool = False,
    n_jobs: int = 1,
    engine: Engine = "joblib",
    resume: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
) -> TableEvaluation:
    """Estimate what policies would have earned, or lost, from a table of decisions.

    `table` is a frame of pandas, polars or pyarrow, a dict of columns, or a path: a Parquet file,
    CSV or JSON lines (.gz too), a folder of them or a pattern such as "logs/*.parquet". Each row
    is a decision; `action` is the column with what was played, `reward` or `loss` that with what
    it brought. Where that is missing, the row is left out and others of its action count more.

    `probability` is the column with the probability of what was played; or of all actions: a
    column of lists, a pattern of columns such as "p_*", or a mapping from actions to columns.
    Left out, probabilities are estimated from `features` and checked on rows that were held out.

    `policy` is one target or a list of them, which are compared with the first: "constant:14",
    "uniform", "logged", a column that holds an action per row or lists of probabilities, a
    pattern of columns of probabilities, a model ("MODEL.npz", "greedy:MODEL.npz"), or a function
    of a row, a dict, that returns a name, a dict of probabilities, or an array of them.

    `actions` are the names of all actions, in the order of lists; `action_set` is a column that
    lists those of each row. `reveals` has the columns with the values of other actions that a row
    shows, by action; an empty cell was not seen. `graph` says which are shown: the name of a
    family, or what a problem's `reveals` may be; left out, it is taken from the table. `slot` is
    a column by which estimates are made apart, too. `identifier` is a column in which no value may
    come twice. `features` also add the doubly robust estimate, as `doubly_robust` does with
    all features.

    All values must lie in `value_range`; left out, it is what the column spans. `unseen="bound"`
    allows a target to play what the table has never seen: its estimate is withheld, and bounds
    are given. `independent` says that no decision depends on earlier ones, as those of a policy
    that learns do: it adds Bernstein's interval. Pieces of the table are read by `n_jobs`
    processes, or by Ray; with `resume`, a folder, a run that was killed is continued. However the
    table is cut into files and whatever the order of its rows, the result is the same to the last
    bit. Needs pyarrow.

    >>> table = {"item": ["a", "b", "a", "b"], "p": [0.5] * 4, "click": [1, 0, 0, 0]}
    >>> found = evaluate_table(
    ...     table, action="item", probability="p", reward="click", policy="constant:a"
    ... )
    >>> found.estimate.value
    0.5
    """
    check_confidence(confidence)
    as_one_of("unseen", unseen, get_args(Unseen))
    opened = open_table(table)
    question = ask(
        opened,
        action=action, reward=reward, loss=loss, probability=probability, policy=policy,
        actions=actions, action_set=action_set, reveals=reveals, graph=graph, slot=slot,
        identifier=identifier, features=None if features is None else tuple(features),
    )  # fmt: skip
    span = None if value_range is None else as_range("value_range", value_range)
    folder = None if resume is None else Path(resume)
    if folder is not None:
        _check_resumable(question)
        folder.mkdir(parents=True, exist_ok=True)
    running = Running(n_jobs, engine, progress, folder)
    with tempfile.TemporaryDirectory(prefix="graphcb-") as scratch:
        work = Work(opened, question, span, running, Path(scratch))
        robust = doubly_robust or features is not None
        tally, weighing = work.run(robust=robust)
    return conclude(work, tally, weighing, Conditions(span, confidence, independent), unseen)


def _check_resumable(question: Question) -> None:
    if any(isinstance(one, RowFunction) and not one.name.endswith(".npz")
           for one in question.targets):  # fmt: skip
        raise ValueError("`resume` must not be given with a function as `policy`: nobody can say "
                         "whether it is the same one")  # fmt: skip
