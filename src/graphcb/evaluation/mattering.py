"""Which features mattered in a log: every prediction as it was when the decision was made."""

from collections.abc import Iterable

from graphcb.checks import as_count
from graphcb.decisions import DecisionLog
from graphcb.decisions.replaying import steps
from graphcb.problems import Learner
from graphcb.problems.attribution import has_oracle
from graphcb.problems.importances import Importances, ImportanceTally

_LAST = "SELECT position FROM graphcb_decisions ORDER BY position DESC LIMIT 1 OFFSET ?"


def importances(log: DecisionLog, *, n: int = 1000, classes: Iterable[type] = ()) -> Importances:
    """By how much predictions of the last `n` decisions would have been worse without a feature.

    The log is replayed, so that each prediction is made before its feedback is learned. Only
    losses and rewards that were revealed are compared, as they came: of an action that is seen
    where it looks good, the others are not known. Defaults and what the problem knows are left out.
    Decisions before the last version are not looked at.

    >>> import tempfile, pathlib, graphcb
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "decisions.db"
    >>> problem = graphcb.Problem(["a", "b"], reveals="full-information", range=(0, 1))
    >>> with graphcb.Policy(file, problem=problem, seed=0) as policy:
    ...     for k in range(60):
    ...         decision = policy.decide({"x": float(k % 2), "y": float(k % 3)})
    ...         losses = {"a": float(k % 2), "b": 0.5}
    ...         receipt = policy.feedback(decision.decision_id, losses)
    >>> with DecisionLog(file) as log:
    ...     found = importances(log)
    >>> [one.feature for one in found.overall], found.by_action["a"][0].increase > 0.05
    (['x', 'y'], True)
    """
    as_count("n", n)
    log.refresh()
    version = log.versions.last
    first = log.storage.execute(_LAST, (n - 1,))
    after = max(version.position, log.start.position, int(first[0][0]) - 1 if first else 0)
    answered = {row.position: row for row in log.between(after, log.n_events) if row.feedback}
    tally = ImportanceTally("loss" if version.problem is None else version.problem.unit)
    for step in steps(log, classes=classes, after=after):
        row, agent = answered.get(step.position), step.agent
        if row is None or row.feedback is None or row.feedback.is_default:
            continue
        if not isinstance(agent, Learner) or not has_oracle(agent):
            continue
        pairs = zip(row.feedback.action_indices.tolist(), row.feedback.losses.tolist(), strict=True)
        seen = {k: value for k, value in pairs if k not in (row.known or {})}
        tally.add(agent, row.context, row.actions, seen)
    return tally.result()
