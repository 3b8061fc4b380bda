"""Decisions that have waited long enough for feedback: which they are, and what they get."""

import math
from collections import Counter
from collections.abc import Collection
from typing import NamedTuple

from graphcb.decisions import records
from graphcb.decisions.askers import askers_between
from graphcb.decisions.encoding import read_identifiers
from graphcb.decisions.tables import DecisionRow
from graphcb.decisions.writer import Pending

AT_A_TIME = 1000
LOOKED_AT = 2000  # feedbacks and defaults that say how often feedback usually comes
# Feedbacks that are expected among the last decisions, and how few of them are an outage. By chance
# once in 60,000 times; the second is for silence among feedback, as of somebody who only asks.
EXPECTED, FEW = 20, 5
EXPECTED_LONG, FEW_LONG = 60, 30
BY_CHANCE = 1e-4  # a run of decisions without feedback that is less likely is an outage, too
SUREST = 0.99  # the share of decisions with feedback that is believed at most
LONGEST = 2000  # decisions that are looked at for this: rarer feedback cannot be told from none

_SETTLED = (
    "SELECT decision, source FROM graphcb_feedbacks WHERE decision <= ? "
    f"ORDER BY decision DESC LIMIT {LOOKED_AT}"
)
_ANSWERED = (
    "SELECT position, graph, EXISTS (SELECT 1 FROM graphcb_feedbacks f WHERE f.decision = "
    "d.position AND f.source IS NULL) FROM graphcb_decisions d WHERE position <= ? "
    "ORDER BY position DESC LIMIT ?"
)


class Due(NamedTuple):
    """Decisions whose time is over and their losses or rewards; `waited` is the last one seen.

    `n_withheld` more get nothing, as they were made while no feedback came. So do `unheard` ones,
    by who asked for them: theirs never get feedback.
    """

    rows: list[tuple[DecisionRow, float]]
    waited: int
    is_done: bool
    n_withheld: int
    unheard: Counter[int]


def find_due(pending: Pending, now: float) -> Due:
    """The next decisions without any feedback whose waiting time is over, in their order.

    Only those whose action surely reveals its own outcome get one, unless that is known without
    feedback, or only that action was offered: anybody who may ask for decisions could teach it.
    Those in an outage of feedback get none, and those of somebody whose decisions never get
    feedback. The search goes on where it stopped, and stops at the first decision that is still to
    wait. One that was stamped later than now counts as made when the one before it was.
    """
    storage, versions = pending.storage, pending.versions
    sql = (
        "SELECT position, made_at, snapshot FROM graphcb_decisions WHERE position > ? "
        f"ORDER BY position LIMIT {AT_A_TIME}"
    )
    waited, due, answered = max(pending.waited, pending.start.cut), {}, set(pending.answered)
    found = storage.execute(sql, (waited,))
    before = -math.inf
    for position, made_at, snapshot in found:
        problem = versions.at(position if snapshot is None else snapshot).problem
        defaults = None if problem is None else problem.defaults
        if problem and defaults and defaults.waiting is not None and defaults.value is not None:
            if made_at > now:
                made_at = before  # the clock was ahead: it was made no later than those around it
            if made_at + defaults.waiting > now:
                break
            if pending.counts.of(position) == 0 and position not in answered:
                due[position] = defaults.value, problem.known or {}
        waited, before = position, min(max(before, made_at), now)
    is_done = len(found) < AT_A_TIME or waited < found[-1][0]
    rows = []
    for row in records.read_decisions(storage, list(due)):
        value, known = due[row.position]
        if _shows_itself(pending, row, known):
            rows.append((row, value))
    silent, unheard = _withheld(pending, [row.position for row, _ in rows])
    kept = [pair for pair in rows if pair[0].position not in silent | unheard.keys()]
    n_withheld = len(rows) - len(kept) - len(unheard)
    return Due(kept, waited, is_done, n_withheld, Counter(unheard.values()))


def _withheld(pending: Pending, positions: list[int]) -> tuple[set[int], dict[int, int]]:
    """Which of these decisions are at the end of many that got hardly any feedback.

    And which were asked for by somebody whose decisions never got any, by chance once in 10,000
    times, and by whom: theirs say nothing about the others. How much is usual is known from
    decisions with feedback or a default. Those that get none have neither, so that it stays known
    however long that lasts.
    """
    if not positions:
        return set(), {}
    storage = pending.storage
    is_real: dict[int, bool] = {}
    for decision, source in storage.execute(_SETTLED, (positions[0],)):
        is_real[decision] = is_real.get(decision, False) or source is None
    n_real = sum(is_real.values())
    share = min(n_real / max(len(is_real), 1), SUREST)
    if n_real < EXPECTED or EXPECTED / share > LONGEST:
        return set(), {}
    n_rows = AT_A_TIME + 2 * LONGEST
    found = storage.execute(_ANSWERED, (positions[-1], n_rows))
    offered = [(p, bool(a)) for p, graph, a in found if pending.graphs.read(graph).n_actions > 1]
    longest_run = math.log(BY_CHANCE) / math.log1p(-share)
    asked_by = askers_between(storage, found[-1][0], positions[-1])
    unheard = _unheard([(asked_by(p), is_answered) for p, is_answered in offered], longest_run)
    offered = [pair for pair in offered if asked_by(pair[0]) not in unheard]
    # Where offers of one action leave too few others to look at, nothing is sure either.
    is_diluted = len(found) == n_rows
    few = _Few(EXPECTED, FEW, share, is_diluted=is_diluted)
    few_long = _Few(EXPECTED_LONG, FEW_LONG, share, is_diluted=is_diluted)
    silent, n_silent = set(), 0
    for position, is_answered in reversed(offered):
        n_silent = 0 if is_answered else n_silent + 1
        are_few = [few.add(is_answered), few_long.add(is_answered)]
        if n_silent >= longest_run or any(are_few):
            silent.add(position)
    return silent, {p: who for p in positions if (who := asked_by(p)) in unheard}


def _unheard(offered: list[tuple[int, bool]], longest_run: float) -> set[int]:
    """Those for none of whose decisions feedback came, if there are so many and others got some."""
    asked = Counter(who for who, _ in offered)
    heard = {who for who, is_answered in offered if is_answered}
    silent = {who for who, n in asked.items() if n >= longest_run and who not in heard}
    return silent - {0} if heard else set()


class _Few:
    """Whether the last decisions, among which some feedbacks are expected, have too few."""

    def __init__(self, expected: int, few: int, share: float, *, is_diluted: bool) -> None:
        self._size, self._few, self._sums = math.ceil(expected / share), few, [0]
        self._least = 0 if is_diluted else self._size

    def add(self, is_answered: bool) -> bool:
        """Add one more decision."""
        self._sums.append(self._sums[-1] + is_answered)
        n = len(self._sums) - 1
        n_answered = self._sums[n] - self._sums[max(0, n - self._size)]
        return self._least <= n and self._size <= LONGEST and n_answered < self._few


def _shows_itself(pending: Pending, row: DecisionRow, known: Collection[str]) -> bool:
    """Whether the action, one of several, surely revealed its outcome, not known before."""
    graph = pending.graphs.read(row.graph)
    if graph.n_actions == 1:
        return False
    if graph.row(row.action)[row.action] != 1.0:
        return False
    names = read_identifiers(row.actions, graph.n_actions).values if known else ()
    return not known or str(names[row.action]) not in known
