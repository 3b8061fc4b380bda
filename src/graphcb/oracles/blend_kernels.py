"""The steps of a blend: what members say of a context together, and how they learn.

Models are tuples (weights, covariances, prior variances), one for each kind and each rate of
`KEEPS`, without features where there is no such member.
"""

import math
from typing import NamedTuple

import numpy as np

from graphcb.compilation import borrowed, compiled, inner, summed
from graphcb.oracles.blend_rows import (
    PAIRED,
    PRODUCTS_UP_TO,
    STRAIGHT,
    WAVED,
    Layout,
    Placed,
    Row,
    most_placed,
    paired_numbers,
    place,
)
from graphcb.oracles.blend_weights import (
    KEEPS,
    KINDS,
    LEAST_WEIGHT,
    faded,
    hear,
    mixed,
    reweigh,
    weigh,
)
from graphcb.oracles.diagonal_posterior import (
    diagonal_fade,
    diagonal_look,
    diagonal_step,
    room_beside,
)
from graphcb.oracles.full_posterior import full_fade, full_glance, full_look, full_step
from graphcb.oracles.posterior import (
    PRIOR_COUNT,
    Model,
    Noise,
    deviation_of,
    gain_of,
    mean_share,
    prior_leverage,
    sharpened,
)
from graphcb.oracles.residuals import (
    POOLED,
    doubting_the_pool,
    forget_residuals,
    noises_of,
    note_levels,
    note_residuals,
    note_surprises,
    pooled_squares,
    surprised,
    units_of,
)
from graphcb.oracles.rows import Columns, Floats
from graphcb.oracles.watched_losses import Watch, bet_on_losses

Models = tuple[Model, ...]
Members = tuple[Models, Models, Models]  # straight, paired, waved
# How good predictions were: the members' log weights; squared residuals, surprises, counts and ages
# of actions, and how far their losses are from those of coins; squared residuals by level; and the
# variance of the weight of a feature that was never seen. An action's age is the number of its
# losses that would have come since the last one, were all shown alike.
Record = tuple[Floats, Floats, Floats, Floats, Floats, Floats, Floats, float]


class Room(NamedTuple):
    """What a forecast or a step works out on its way, allocated at once: rows as members see them,
    and tables (kind, rate, column) of what they say and look at."""

    places: Columns
    values: Floats
    weights: Floats  # (what, kind, rate): who is there, who is heard, and how much
    shares: Floats
    scores: Floats
    leverages: Floats
    alongs: Floats  # covariance @ x, for those that learn
    rest: Floats


@compiled
def forecast(
    row: Row, layout: Layout, members: Members, record: Record, columns: Columns
) -> Floats:
    """Ask the members and mix: the mean of their answers, their variances, its own.

    Rows of shares, deviations, gains and counts.
    """
    different, places = _tell_apart(columns, record)
    found = np.empty((4, different.size))
    room = _room(row, layout, members, different.size, False)
    _fill_forecast(row, layout, members, record, different, room, found)
    if different.size == columns.size:
        return found
    answer = np.empty((4, columns.size))
    for k in range(4):
        for c in range(columns.size):
            answer[k, c] = found[k, places[c]]
    return answer


@inner
def _tell_apart(columns: Columns, record: Record) -> tuple[Columns, Columns]:
    """Columns of which different things are known, and where each column stands among them.

    Actions that were never seen are alike. What losses of another range were taken for may differ.
    """
    squares, counts = record[1], record[3]
    different, places, n, unseen = np.empty_like(columns), np.empty_like(columns), 0, -1
    for c in range(columns.size):
        b, is_alike = columns[c], False
        if counts[0, b] == 0.0:
            is_alike, unseen = unseen >= 0, n if unseen < 0 else unseen
            for r in range(len(KEEPS)):
                is_alike = is_alike and squares[r, b] == squares[r, different[unseen]]
        places[c] = unseen if is_alike else n
        if not is_alike:
            different[n] = b
            n += 1
    return different[:n], places


@inner
def _fill_forecast(
    row: Row,
    layout: Layout,
    members: Members,
    record: Record,
    columns: Columns,
    room: Room,
    answer: Floats,
) -> None:
    row, layout, members, record, columns = borrowed((row, layout, members, record, columns))
    room, answer = borrowed((room, answer))
    log_weights, squares, surprises, counts, ages, between, levels, unseen = record
    n_paired, shares, leverages = paired_numbers(row, layout), room.shares, room.leverages
    present, heard, weights = room.weights[0], room.weights[1], room.weights[2]
    _find_present(members, present)
    hear(present, n_paired > 0, heard)
    weigh(log_weights, heard, LEAST_WEIGHT, weights)
    asked = weights[PAIRED].max() > 0.0, weights[WAVED].max() > 0.0
    placed = place(row, layout, n_paired if asked[0] else 0, asked[1], room.places, room.values)
    left = faded(log_weights, present, ages, columns)
    units = units_of(levels, between, counts, columns)
    _ask(placed, members, weights, unseen, columns, left, units, room, False)
    prior = _prior(placed, members, weights, unseen)
    seen, noise = _seen_and_noise(weights, squares, counts)
    pooled = pooled_squares(noise, seen)
    for c in range(columns.size):
        b = columns[c]
        share = mixed(weights, shares, c)
        leverage = mixed(weights, leverages, c)
        for kind in range(KINDS):
            for r in range(len(KEEPS)):
                if weights[kind, r] > 0.0:
                    shares[kind, r, c] = (shares[kind, r, c] - share) ** 2
        dispersion = (noise[b] + pooled) / (PRIOR_COUNT + seen[b] + POOLED)
        own = noise[b] / (PRIOR_COUNT + seen[b])
        unlearned = deviation_of(share, sharpened(leverage, prior, own), 1.0)
        width = doubting_the_pool(deviation_of(share, leverage, dispersion), unlearned, seen[b])
        width = surprised(width, surprises[b], share, dispersion)
        answer[0, c], answer[2, c], answer[3, c] = share, gain_of(share, leverage), seen[b]
        answer[1, c] = math.sqrt(width * width + mixed(weights, shares, c))


@compiled
def learn(
    row: Row,
    layout: Layout,
    members: Members,
    record: Record,
    columns: Columns,
    seen: Floats,
    watch: Watch,
) -> int:
    """Weigh the members by what they predicted, learn and forget; 0 if that was done.

    Otherwise nothing changes: -1 if a prediction is not finite, and how many features need a
    place first if there are any.
    """
    room = _room(row, layout, members, columns.size, True)
    return _learn(row, layout, members, record, columns, seen, watch, room)


@inner
def _learn(
    row: Row,
    layout: Layout,
    members: Members,
    record: Record,
    columns: Columns,
    seen: Floats,
    watch: Watch,
    room: Room,
) -> int:
    row, layout, members, record, columns = borrowed((row, layout, members, record, columns))
    seen, watch, room = borrowed((seen, watch, room))
    log_weights, squares, surprises, counts, ages, between, levels, unseen = record
    n_paired, shares = paired_numbers(row, layout), room.shares
    present, heard, weights = room.weights[0], room.weights[1], room.weights[2]
    _find_present(members, present)
    placed = place(row, layout, n_paired, True, room.places, room.values)
    left = faded(log_weights, present, ages, columns)
    units = units_of(levels, between, counts, columns)
    _ask(placed, members, present, unseen, columns, left, units, room, True)
    if not np.isfinite(shares.sum()):
        return -1
    if placed.n_new > 0 or layout[5] < row[2] <= PRODUCTS_UP_TO:
        return max(placed.n_new, 1)
    if left.size > 0 and left.min() < 1.0:
        _fade(members, left, columns)
        left[:] = 1.0
        _ask(placed, members, present, unseen, columns, left, units, room, True)
    for b in range(ages.size):
        ages[b] += columns.size / ages.size
    for c in range(columns.size):
        ages[columns[c]] = 0.0
    hear(present, n_paired > 0, heard)
    weigh(log_weights, heard, 0.0, weights)
    predicted = np.empty(columns.size)
    for c in range(columns.size):
        predicted[c] = mixed(weights, shares, c)
    note_surprises(surprises, counts[0], columns, predicted, seen)
    bet_on_losses(watch, log_weights, heard, shares, columns, seen)
    noise = noises_of(levels, between, counts, columns, predicted), units
    note_levels(levels, between, columns, predicted, seen)
    reweigh(log_weights, present, shares, seen)
    for r in range(len(KEEPS)):
        forget_residuals(squares[r], counts[r], columns, KEEPS[r])
        note_residuals(squares[r], counts[r], columns, predicted, seen)
    _step(placed, members, present, columns, room, seen, noise)
    return 0


@inner
def _find_present(members: Members, present: Floats) -> None:
    """Fill in 1 for each member (kind, rate) that there is, else 0."""
    for kind in range(KINDS):
        for r in range(len(KEEPS)):
            present[kind, r] = members[kind][r][0].shape[0] > 0


@inner
def _room(row: Row, layout: Layout, members: Members, n_columns: int, learns: bool) -> Room:
    """Room for so many columns; tables are 0 for those that are not asked if it learns."""
    size = most_placed(row, layout, paired_numbers(row, layout))
    widest = max(members[STRAIGHT][0][0].shape[0], members[WAVED][0][0].shape[0])
    tables = np.zeros((3, KINDS, len(KEEPS), n_columns if learns else 0))
    if not learns:
        tables = np.empty((3, KINDS, len(KEEPS), n_columns))
    return Room(
        np.empty(size, np.int64),
        np.empty(size),
        np.empty((3, KINDS, len(KEEPS))),
        tables[0],
        tables[1],
        tables[2],
        np.empty((KINDS, len(KEEPS), n_columns if learns else 0, widest)),
        np.empty(max(room_beside(n_columns, size), widest * (widest + 3) // 2)),
    )


@inner
def _ask(
    placed: Placed,
    members: Members,
    weights: Floats,
    unseen: float,
    columns: Columns,
    left: Floats,
    units: Floats,
    room: Room,
    learns: bool,
) -> None:
    """Fill in what the members that have weight say, and what they looked at.

    What they know of an action counts as much as is `left` of it.
    """
    fades = left.size > 0
    left, units = borrowed((left, units))
    shares = room.shares
    for kind in range(KINDS):
        places, values = placed.rows[kind]
        for r in range(len(KEEPS)):
            if weights[kind, r] <= 0.0:
                continue
            mean, covariances, priors = members[kind][r]
            scores, leverages = room.scores[kind, r], room.leverages[kind, r]
            if kind == PAIRED:
                look = scores, leverages, room.rest
                diagonal_look(mean, covariances, places, values, columns, look)
            elif learns:
                full = scores, leverages, room.alongs[kind, r], room.rest
                full_look(mean, covariances, places, values, columns, full)
            else:
                full = scores, leverages, room.alongs[kind, r], room.rest
                full_glance(mean, covariances, places, values, columns, full)
            for c in range(columns.size):
                leverages[c] += placed.novelty * unseen
                if fades and left[kind, r, c] < 1.0:
                    keep, prior = left[kind, r, c], prior_leverage(priors, places, values)
                    scores[c] *= keep
                    leverages[c] += (1.0 - keep) * (prior - leverages[c])
                shares[kind, r, c] = mean_share(scores[c], units[c] * leverages[c])


@inner
def _prior(placed: Placed, members: Members, weights: Floats, unseen: float) -> float:
    """The variance of scores before anything was learned, mixed over the members."""
    found = placed.novelty * unseen
    for kind in range(KINDS):
        places, values = placed.rows[kind]
        for r in range(len(KEEPS)):
            if weights[kind, r] > 0.0:
                found += weights[kind, r] * prior_leverage(members[kind][r][2], places, values)
    return found


@inner
def _seen_and_noise(weights: Floats, squares: Floats, counts: Floats) -> tuple[Floats, Floats]:
    """How many losses were seen of each action, and their squared residuals, mixed over rates."""
    few, seen, noise = np.zeros((3, counts.shape[1]))
    for r in range(len(KEEPS)):
        of_rate = weights[:, r].sum()
        if of_rate > 0.0:
            _add_rate(of_rate, squares[r], counts[r], few, seen, noise)
    seen /= few
    noise /= few
    return seen, noise


@summed
def _add_rate(
    of_rate: float, squares: Floats, counts: Floats, few: Floats, seen: Floats, noise: Floats
) -> None:
    """Add what the members of one rate have seen, weighed as variances fall, which are averaged."""
    for b in range(counts.size):
        weight = of_rate / (1.0 + counts[b])
        few[b] += weight
        seen[b] += weight * counts[b]
        noise[b] += weight * squares[b]


@inner
def _fade(members: Members, left: Floats, columns: Columns) -> None:
    """Let what is known of actions not seen for long go to the prior for good."""
    for kind in range(KINDS):
        for r in range(1, len(KEEPS)):
            for c in range(columns.size):
                if left[kind, r, c] == 1.0:
                    continue
                if kind == PAIRED:
                    diagonal_fade(members[kind][r], columns[c], left[kind, r, c])
                else:
                    full_fade(members[kind][r], columns[c], left[kind, r, c])


@inner
def _step(
    placed: Placed,
    members: Members,
    present: Floats,
    columns: Columns,
    room: Room,
    seen: Floats,
    noise: Noise,
) -> None:
    """Let every member learn from what it looked at, and forget."""
    noise = borrowed(noise)
    for kind in range(KINDS):
        for r in range(len(KEEPS)):
            if present[kind, r] <= 0.0:
                continue
            scores, leverages = room.scores[kind, r], room.leverages[kind, r]
            if kind == PAIRED:
                look = scores, leverages
                diagonal_step(
                    members[kind][r], placed.rows[kind], columns, look, seen, noise, KEEPS[r]
                )
            else:
                looked = scores, leverages, room.alongs[kind, r], room.rest
                full_step(members[kind][r], columns, looked, seen, noise, KEEPS[r])
