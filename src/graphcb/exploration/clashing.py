"""Limits that no distribution can meet: the fewest of them that clash, in words.

By Farkas' lemma a set of limits `coefficients @ p <= bound` clashes with p >= 0 and sum p = 1
exactly if multipliers y >= 0 and some level give

    level + y @ coefficients >= 0 for every action,   level + y @ bounds < 0.

The fewest multipliers that do so are found by a mixed-integer program.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphcb.checks import listed
from graphcb.graphs.structure import Floats
from graphcb.integer_programs import solve_integer_program

SLACK = 1e-9  # limits that are missed by no more than this are met
FARTHEST = 2.0  # of a multiplier: only their ratios count
CLEARLY = 1e-5  # by how much multipliers must prove a clash; integer programs are not exact
SECONDS = 5.0  # for the integer program


class InfeasibleLimits(ValueError):  # noqa: N818
    """No distribution meets the limits; the message names the fewest of them that clash."""


class Limit(NamedTuple):
    """One limit of a round: `coefficients @ p <= bound`, scaled to coefficients of at most 1."""

    text: str
    coefficients: Floats
    bound: float


def _stacked(limits: Sequence[Limit]) -> tuple[Floats, Floats]:
    """The rows (r, K) and bounds (r,) of some limits."""
    return np.array([one.coefficients for one in limits]), np.array([one.bound for one in limits])


def most_room(lower: Floats, upper: Floats, rows: Floats, most: Floats) -> tuple[Floats, float]:
    """A p within the bounds, and the largest room s, with `rows @ p + s <= most`; found by HiGHS.

    The room is negative if no p meets all rows, and -inf if none is within the bounds.
    """
    from scipy.optimize import linprog

    k = lower.size
    found = linprog(
        np.append(np.zeros(k), -1.0),
        A_ub=np.column_stack([rows, np.ones(len(rows))]),
        b_ub=most,
        A_eq=np.append(np.ones(k), 0.0)[None, :],
        b_eq=[1.0],
        bounds=[*zip(lower, np.maximum(lower, upper), strict=True), (None, 1.0)],
        options={"primal_feasibility_tolerance": 1e-10},
    )
    point = upper if found.x is None else np.clip(found.x[:k], lower, upper)
    return point, -float(found.fun) if found.status == 0 else -np.inf


def can_be_met(lower: Floats, upper: Floats, rows: Floats, most: Floats) -> bool:
    """Whether some p within the bounds meets all rows, up to SLACK."""
    return most_room(lower, upper, rows, most)[1] >= -SLACK


def check_bounds(names: Sequence[object], lower: Floats, upper: Floats) -> None:
    """Refuse floors and caps that no distribution meets."""
    wrong = np.flatnonzero(lower > upper)
    if wrong.size:
        i = wrong[0]
        raise InfeasibleLimits(
            f"`limits` must leave a choice, but the floor of {names[i]!r} ({lower[i]:g}) is above "
            f"its cap ({upper[i]:g}); lower the floor or raise the cap"
        )
    if lower.sum() > 1.0 + SLACK:
        largest = np.argsort(-lower, kind="stable")
        few = np.sort(largest[: 1 + np.searchsorted(lower[largest].cumsum(), 1.0 + SLACK)])
        raise InfeasibleLimits(
            f"`limits` must leave a choice, but the {_bounds('floor', few, names, lower)} "
            f"{_add(few)} up to {lower[few].sum():g}, more than 1; lower them"
        )
    if upper.sum() < 1.0 - SLACK:
        every = np.arange(upper.size)
        raise InfeasibleLimits(
            f"`limits` must leave a choice, but the {_bounds('cap', every, names, upper)} "
            f"{_add(every)} up to {upper.sum():g}, less than 1; raise them"
        )


def check_rows(
    names: Sequence[object], lower: Floats, upper: Floats, linear: Sequence[Limit]
) -> None:
    """Refuse linear limits that no distribution within feasible floors and caps meets."""
    if not linear:
        return
    if can_be_met(lower, upper, *_stacked(linear)):
        return
    unit = np.eye(lower.size)
    limits = list(linear)
    for i in np.flatnonzero(lower > 0.0).tolist():
        limits.append(Limit(f"the floor of {names[i]!r} ({lower[i]:g})", -unit[i], -lower[i]))
    for i in np.flatnonzero(upper < 1.0).tolist():
        limits.append(Limit(f"the cap of {names[i]!r} ({upper[i]:g})", unit[i], upper[i]))
    few = [limits[k].text for k in fewest_clashing(limits)]
    texts = [*few[len(few) - 1 :], *few[: len(few) - 1]] if len(few) == 2 else few
    if len(few) == 1:
        clash = f"{texts[0]} cannot be met by any probabilities that add up to 1"
    else:
        first = ", ".join(texts[:-1][:9]) + (f" and {len(few) - 9} more" if len(few) > 10 else "")
        clash = f"{first} and {texts[-1]} clash"
    raise InfeasibleLimits(f"`limits` must leave a choice, but {clash}; relax one of them")


def fewest_clashing(limits: Sequence[Limit]) -> list[int]:
    """The positions of the fewest limits that clash, given that all of them do.

    Where the integer program finds nothing in time or its answer is within its own tolerance,
    limits are left out one by one as long as the others still clash.
    """
    few = _fewest_by_integers(limits)
    if few and not _can_meet([limits[k] for k in few]):
        return few
    few = list(range(len(limits)))
    for k in reversed(range(len(limits))):
        fewer = [i for i in few if i != k]
        if not _can_meet([limits[i] for i in fewer]):
            few = fewer
    return few


def _can_meet(limits: Sequence[Limit]) -> bool:
    if not limits:
        return True
    k = limits[0].coefficients.size
    return can_be_met(np.zeros(k), np.ones(k), *_stacked(limits))


def _fewest_by_integers(limits: Sequence[Limit]) -> list[int]:
    from scipy.optimize import Bounds, LinearConstraint

    n, (rows, bounds) = len(limits), _stacked(limits)
    # Unknowns: the multipliers, whether each is used, and the level.
    each = np.column_stack([rows.T, np.zeros(rows.T.shape), np.ones(rows.shape[1])])
    proof = np.concatenate([bounds, np.zeros(n), [1.0]])[None, :]
    used = np.column_stack([np.eye(n), -FARTHEST * np.eye(n), np.zeros(n)])
    counted = np.concatenate([np.zeros(n), np.ones(n), [0.0]])
    found = solve_integer_program(
        counted,
        integrality=counted,
        bounds=Bounds(
            np.append(np.zeros(2 * n), -FARTHEST),
            np.concatenate([np.full(n, FARTHEST), np.ones(n), [FARTHEST]]),
        ),
        constraints=[
            LinearConstraint(each, 0.0, np.inf),
            LinearConstraint(proof, -np.inf, -CLEARLY),
            LinearConstraint(used, -np.inf, 0.0),
        ],
        options={"time_limit": SECONDS},
    )
    return [] if found.x is None else [k for k in range(n) if found.x[n + k] > 0.5]


def _bounds(kind: str, which: NDArray[np.intp], names: Sequence[object], values: Floats) -> str:
    shown = [f"{names[i]!r} ({values[i]:g})" for i in which]
    if len(shown) == 1:
        return f"{kind} of {shown[0]}"
    if len(shown) <= 10:
        return f"{kind}s of {', '.join(shown[:-1])} and {shown[-1]}"
    return f"{kind}s of {listed(shown)}"


def _add(which: NDArray[np.intp]) -> str:
    return "adds" if which.size == 1 else "add"
