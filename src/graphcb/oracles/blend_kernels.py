"""The steps of a blend: what members say of a context together, and how they learn.

Models are tuples (weights, covariances, prior variances), one for each kind and each rate of
`KEEPS`, without features where there is no such member.
"""

import math

import numpy as np

from graphcb.compilation import borrowed, compiled, inner, summed
from graphcb.oracles.blend_rows import (
    PAIRED,
    PRODUCTS_UP_TO,
    WAVED,
    Layout,
    Placed,
    Row,
    paired_numbers,
    place,
)
from graphcb.oracles.blend_weights import (
    KEEPS,
    KINDS,
    LEAST_WEIGHT,
    faded,
    heard,
    mixed,
    reweigh,
    weigh,
    with_weight,
)
from graphcb.oracles.diagonal_posterior import (
    diagonal_fade,
    diagonal_glance,
    diagonal_scores,
    diagonal_step,
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
from graphcb.oracles.rows import Columns, Floats, SparseRow
from graphcb.oracles.watched_losses import Watch, bet_on_losses

Models = tuple[Model, ...]
Members = tuple[Models, Models, Models]  # straight, paired, waved
Rows = tuple[SparseRow, SparseRow, SparseRow]  # of each kind: the same places, values (row, place)
Looks = tuple[Floats, Floats, Floats]  # scores, leverages and covariance @ x, (kind, rate, column)
# How good predictions were: the members' log weights; squared residuals, surprises, counts and ages
# of actions, and how far their losses are from those of coins; squared residuals by level; and the
# variance of the weight of a feature that was never seen. An action's age is the number of its
# losses that would have come since the last one, were all shown alike.
Record = tuple[Floats, Floats, Floats, Floats, Floats, Floats, Floats, float]


@compiled
def forecast(
    row: Row, n_rows: int, layout: Layout, members: Members, record: Record, columns: Columns
) -> Floats:
    """Ask the members and mix: the mean of their answers, their variances, its own.

    `row` stands for so many with the same indices: its values are theirs, one after the other. For
    each, the rows of the result are shares, deviations, gains and counts.
    """
    row, layout, members, record = borrowed((row, layout, members, record))
    log_weights, squares, surprises, counts, ages, between, levels, unseen = record
    present, n_paired = _present(members), paired_numbers(row, layout)
    weights = weigh(log_weights, heard(present, n_paired > 0), LEAST_WEIGHT)
    heavy = with_weight(weights)
    seen, noise = _seen_and_noise(weights, squares, counts)
    different, places = _tell_apart(columns, seen)
    asked = weights[PAIRED].max() > 0.0, weights[WAVED].max() > 0.0
    rows, novelties = _place_each(row, n_rows, layout, n_paired if asked[0] else 0, asked[1])
    left = faded(log_weights, present, ages, different)
    units, pooled = units_of(levels, between, counts, different), pooled_squares(noise, seen)
    scores, leverages = _glance_at_each(rows, members, weights, different, n_rows)
    found, answers = np.empty((n_rows, 4, columns.size)), np.empty((4, different.size))
    for n in range(n_rows):
        placed = _placed_at(rows, n, novelties[n])
        looks = scores[n], leverages[n]
        shares = _shares(placed, members, weights, unseen, different, left, looks, units, False)
        prior = _prior(placed, members, weights, unseen)
        for c in range(different.size):
            b = different[c]
            share, leverage = mixed(weights, heavy, shares, c), mixed(weights, heavy, looks[1], c)
            for m in heavy:
                kind, r = m // len(KEEPS), m % len(KEEPS)
                shares[kind, r, c] = (shares[kind, r, c] - share) ** 2
            dispersion = (noise[b] + pooled) / (PRIOR_COUNT + seen[b] + POOLED)
            known = sharpened(leverage, prior, noise[b] / (PRIOR_COUNT + seen[b]))
            unlearned = deviation_of(share, known, 1.0)
            width = doubting_the_pool(deviation_of(share, leverage, dispersion), unlearned, seen[b])
            width = surprised(width, surprises[b], share, dispersion)
            answers[0, c], answers[2, c], answers[3, c] = share, gain_of(share, leverage), seen[b]
            answers[1, c] = math.sqrt(width * width + mixed(weights, heavy, shares, c))
        for c in range(columns.size):
            found[n, :, c] = answers[:, places[c]]
    return found


@inner
def _place_each(
    row: Row, n_rows: int, layout: Layout, n_paired: int, with_waves: bool
) -> tuple[Rows, Floats]:
    """Rows with the same indices as each kind of member sees them, and how much of each is new."""
    indices, values, n_numbers, room = row
    size = indices.size
    placed = place((indices, values[:size], n_numbers, room), layout, n_paired, with_waves)
    straight, paired, waved = placed.rows
    novelties = np.full(n_rows, placed.novelty)
    tables = (
        np.empty((n_rows, straight[1].size)),
        np.empty((n_rows, paired[1].size)),
        np.empty((n_rows, waved[1].size)),
    )
    for n in range(n_rows):
        if n > 0:
            part = values[n * size : (n + 1) * size]
            placed = place((indices, part, n_numbers, room), layout, n_paired, with_waves)
            novelties[n] = placed.novelty
        for kind in range(KINDS):
            tables[kind][n] = placed.rows[kind][1]
    return ((straight[0], tables[0]), (paired[0], tables[1]), (waved[0], tables[2])), novelties


@inner
def _placed_at(rows: Rows, n: int, novelty: float) -> Placed:
    """One of the rows."""
    straight, paired, waved = rows
    row = (straight[0], straight[1][n]), (paired[0], paired[1][n]), (waved[0], waved[1][n])
    return Placed(row, 0, novelty)


@inner
def _glance_at_each(
    rows: Rows, members: Members, weights: Floats, columns: Columns, n_rows: int
) -> tuple[Floats, Floats]:
    """Scores and leverages (row, kind, rate, column) of the members that have weight."""
    size = (n_rows, KINDS, len(KEEPS), columns.size)
    scores, leverages = np.empty(size), np.empty(size)
    for kind in range(KINDS):
        places, values = rows[kind]
        for r in range(len(KEEPS)):
            if weights[kind, r] <= 0.0:
                continue
            mean, covariances, _ = members[kind][r]
            look = scores[:, kind, r], leverages[:, kind, r]
            if kind == PAIRED:
                diagonal_glance(mean, covariances, places, values, columns, *look)
            else:
                full_glance(mean, covariances, places, values, columns, *look)
    return scores, leverages


@inner
def _tell_apart(columns: Columns, seen: Floats) -> tuple[Columns, Columns]:
    """Columns of which different things are known, and where each column stands among them.

    Actions that were never seen are alike: what they share with others is doubted in full.
    """
    different, places, n, unseen = np.empty_like(columns), np.empty_like(columns), 0, -1
    for c in range(columns.size):
        b, places[c] = columns[c], n
        if seen[b] == 0.0 and unseen >= 0:
            places[c] = unseen
            continue
        if seen[b] == 0.0:
            unseen = n
        different[n] = b
        n += 1
    return different[:n], places


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
    row, layout, members, record, columns = borrowed((row, layout, members, record, columns))
    log_weights, squares, surprises, counts, ages, between, levels, unseen = record
    present, n_paired = _present(members), paired_numbers(row, layout)
    placed = place(row, layout, n_paired, True)
    left = faded(log_weights, present, ages, columns)
    looks, units = _room(members, columns.size), units_of(levels, between, counts, columns)
    found = _ask(placed, members, present, unseen, columns, left, looks, units)
    if not np.isfinite(found.sum()):
        return -1
    if placed.n_new > 0 or layout[5] < row[2] <= PRODUCTS_UP_TO:
        return max(placed.n_new, 1)
    if left.size > 0 and left.min() < 1.0:
        _fade(members, left, columns)
        left[:] = 1.0
        found = _ask(placed, members, present, unseen, columns, left, looks, units)
    ages += columns.size / ages.size
    for c in range(columns.size):
        ages[columns[c]] = 0.0
    said = heard(present, n_paired > 0)
    weights, predicted = weigh(log_weights, said, 0.0), np.empty(columns.size)
    heavy = with_weight(weights)
    for c in range(columns.size):
        predicted[c] = mixed(weights, heavy, found, c)
    note_surprises(surprises, counts[0], columns, predicted, seen)
    bet_on_losses(watch, log_weights, said, found, columns, seen)
    noise = noises_of(levels, between, counts, columns, predicted), units
    note_levels(levels, between, columns, predicted, seen)
    reweigh(log_weights, present, found, seen)
    for r in range(len(KEEPS)):
        forget_residuals(squares[r], counts[r], columns, KEEPS[r])
        note_residuals(squares[r], counts[r], columns, predicted, seen)
    _step(placed, members, present, columns, looks, seen, noise)
    return 0


@inner
def _present(members: Members) -> Floats:
    """1 for each member (kind, rate) that there is."""
    found = np.zeros((KINDS, len(KEEPS)))
    for kind in range(KINDS):
        for r in range(len(KEEPS)):
            found[kind, r] = members[kind][r][0].shape[0] > 0
    return found


@inner
def _room(members: Members, n_columns: int) -> Looks:
    """Room for what members that learn look at."""
    widest = 0
    for kind in range(KINDS):
        if kind != PAIRED:
            widest = max(widest, members[kind][0][0].shape[0])
    alongs = np.empty((KINDS, len(KEEPS), n_columns, widest))
    return _table(n_columns, True), _table(n_columns, True), alongs


@inner
def _table(n_columns: int, learns: bool) -> Floats:
    """Room for a number of each member and column; 0 for those that are not asked if it learns."""
    size = (KINDS, len(KEEPS), n_columns)
    return np.zeros(size) if learns else np.empty(size)


@inner
def _ask(
    placed: Placed,
    members: Members,
    weights: Floats,
    unseen: float,
    columns: Columns,
    left: Floats,
    looks: Looks,
    units: Floats,
) -> Floats:
    """Shares (kind, rate, column) of the members that have weight, and all that a step needs."""
    scores, leverages, alongs = looks
    for kind in range(KINDS):
        places, values = placed.rows[kind]
        for r in range(len(KEEPS)):
            if weights[kind, r] <= 0.0:
                continue
            mean, covariances, _ = members[kind][r]
            look = scores[kind, r], leverages[kind, r]
            if kind == PAIRED:
                look[0][:], look[1][:] = diagonal_scores(mean, covariances, places, values, columns)
            else:
                full_look(mean, covariances, places, values, columns, (*look, alongs[kind, r]))
    both = scores, leverages
    return _shares(placed, members, weights, unseen, columns, left, both, units, True)


@inner
def _shares(
    placed: Placed,
    members: Members,
    weights: Floats,
    unseen: float,
    columns: Columns,
    left: Floats,
    looks: tuple[Floats, Floats],
    units: Floats,
    learns: bool,
) -> Floats:
    """Shares (kind, rate, column) from scores and leverages, which are brought up to date.

    What members know of an action counts as much as is `left` of it.
    """
    shares = _table(columns.size, learns)
    fades = left.size > 0
    for kind in range(KINDS):
        places, values = placed.rows[kind]
        for r in range(len(KEEPS)):
            if weights[kind, r] <= 0.0:
                continue
            scores, leverages = looks[0][kind, r], looks[1][kind, r]
            for c in range(columns.size):
                leverages[c] += placed.novelty * unseen
                if fades and left[kind, r, c] < 1.0:
                    priors = members[kind][r][2]
                    keep, prior = left[kind, r, c], prior_leverage(priors, places, values)
                    scores[c] *= keep
                    leverages[c] += (1.0 - keep) * (prior - leverages[c])
                shares[kind, r, c] = mean_share(scores[c], units[c] * leverages[c])
    return shares


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
    looks: Looks,
    seen: Floats,
    noise: Noise,
) -> None:
    """Let every member learn from what it looked at, and forget."""
    rows, seen, noise = borrowed((placed.rows, seen, noise))
    scores, leverages, alongs = borrowed(looks)
    for kind in range(KINDS):
        for r in range(len(KEEPS)):
            if present[kind, r] <= 0.0:
                continue
            if kind == PAIRED:
                look = scores[kind, r], leverages[kind, r]
                diagonal_step(members[kind][r], rows[kind], columns, look, seen, noise, KEEPS[r])
            else:
                looked = scores[kind, r], leverages[kind, r], alongs[kind, r]
                full_step(members[kind][r], columns, looked, seen, noise, KEEPS[r])
