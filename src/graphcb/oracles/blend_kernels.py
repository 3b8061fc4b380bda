"""The steps of a blend: where a context has its places, what members say, how they learn.

Models are tuples (weights, covariances, prior variances), one for each rate of `KEEPS`, without
features where there is no such member.
"""

import math
from typing import NamedTuple

import numpy as np

from graphcb.compilation import compiled, inner
from graphcb.oracles.features import find_key
from graphcb.oracles.posterior import (
    Model,
    add_surprises,
    certainty,
    diagonal_fade,
    diagonal_scores,
    diagonal_step,
    forget_residuals,
    full_fade,
    full_look,
    full_step,
    mean_share,
    note_residuals,
    note_surprises,
    pooled_dispersions,
    prior_leverage,
)
from graphcb.oracles.rows import Columns, Floats
from graphcb.oracles.watched_losses import Watch, bet_on_losses
from graphcb.oracles.waves import add_waves
from graphcb.standardising import CLIP

PRODUCTS_UP_TO = 64  # numbers, which have 2,080 products
KEEPS = (1.0, 0.998, 0.98)  # of what is known of an action, with each of its losses
RATE = 2.0  # at which weights fall with squared errors: Vovk's for losses between 0 and 1
REMEMBERED = 0.998  # of the squared errors, with each round
STILL = (0.0, -3.0, -5.0)  # log weights before errors speak: most worlds stand still
CHANGED = 10.0  # log weights by which a world has changed, between members that forget and others
LITTLE_FADED = 0.95  # of what is known, which is not worth the time
LEAST_WEIGHT = 0.04  # of a member that is asked for a forecast

Row = tuple[Columns, Floats, int, float]  # indices, values, how many are numbers, room
Models = tuple[Model, ...]
Members = tuple[Models, Models, Models]  # straight, paired, waved
Answer = tuple[Floats, Floats, Floats, Floats]  # shares, deviations, gains, counts


# Where features have their places: a table of keys, the largest size of each word, the constant,
# the first product, how many numbers have products, and the directions of the waves.
Layout = tuple[Columns, Columns, Floats, float, int, int, Floats]
# How good predictions were: the members' log weights; squared residuals, surprises, counts and ages
# of actions; and the variance of the weight of a feature that was never seen. An action's age is
# the number of its losses that would have come since the last one, were all shown alike.
Record = tuple[Floats, Floats, Floats, Floats, Floats, float]


class Placed(NamedTuple):
    """A row by place, and as waved members see it.

    The first `size` entries are no products. `n_new` are new features, or larger than ever, and
    `novelty` is their share.
    """

    places: Columns
    values: Floats
    size: int
    n_new: int
    novelty: float
    wave_places: Columns
    wave_values: Floats


@inner
def _place(row: Row, layout: Layout) -> Placed:
    """Entries are the constant, what is known of the numbers and words, then the products."""
    indices, row_values, n_numbers, room = row
    keys, key_places, largest, constant, first_product, n_paired, directions = layout
    n_paired = min(n_paired, n_numbers) if n_numbers <= PRODUCTS_UP_TO else 0
    n_pairs = n_paired * (n_paired + 1) // 2
    places, scaled = (
        np.empty(indices.size + 1 + n_pairs, np.int64),
        np.empty(indices.size + 1 + n_pairs),
    )
    places[0], scaled[0] = 0, constant
    size, n_new, norm, novelty = 1, 0, room + n_numbers, 0.0
    for k in range(indices.size):
        at = find_key(keys, indices[k])
        is_word, value = k >= n_numbers, row_values[k]
        if keys[at] < 0:
            n_new += 1
            if is_word:
                novelty += min(abs(value), 1.0) ** 2
                norm += min(abs(value), 1.0) ** 2
            continue
        place = key_places[at]
        if is_word:
            n_new += abs(value) > largest[place]
            value /= max(largest[place], abs(value))
            norm += value * value
        places[size], scaled[size] = place, value
        size += 1
    n_waves = directions.shape[0]
    n_waved = size + n_waves if n_waves > 0 else 0
    wave_places, wave_values = np.arange(n_waved), np.empty(n_waved)
    if n_waves > 0:
        add_waves(
            places[:size], scaled[:size], math.sqrt(norm - room), directions,
            wave_values[1 : 1 + n_waves],
        )  # fmt: skip
        wave_values[0] = constant
    if norm > 0.0:
        weight = 1.0 / math.sqrt(norm)
        for k in range(1, size):
            scaled[k] *= weight
        novelty /= norm
    if n_waves > 0:
        n_features = room + size - 1.0  # which together weigh as much as so many waves
        share = 1.0 / math.sqrt(n_features + n_waves)
        for i in range(1, 1 + n_waves):
            wave_values[i] *= share
        for k in range(1, size):
            wave_places[n_waves + k] = n_waves + places[k]
            wave_values[n_waves + k] = share * math.sqrt(n_features) * scaled[k]
    at, share = size, 1.0 / math.sqrt(norm + n_pairs)
    for j in range(n_paired):
        for i in range(j + 1):
            places[at] = first_product + at - size
            scaled[at] = share * min(CLIP, max(-CLIP, row_values[i] * row_values[j]))
            at += 1
    return Placed(places[:at], scaled[:at], size, n_new, novelty, wave_places, wave_values)


@inner
def _present(members: Members) -> Floats:
    """1 for each member (kind, rate) that there is."""
    straight, paired, waved = members
    found = np.zeros((3, len(KEEPS)))
    for r in range(len(KEEPS)):
        found[0, r] = straight[r][0].shape[0] > 0
        found[1, r] = paired[r][0].shape[0] > 0
        found[2, r] = waved[r][0].shape[0] > 0
    return found


@inner
def _heard(present: Floats, has_products: bool) -> Floats:
    """1 for each member that is not silent, as paired ones are without products."""
    found = present.copy()
    if present[0, 0] > 0.0 and not has_products:
        found[1] = 0.0
    return found


@inner
def _weigh(log_weights: Floats, present: Floats, has_products: bool, least: float) -> Floats:
    """The weights of members with sum 1; 0 for those that are silent, or have less than `least`."""
    found = _heard(present, has_products)
    largest = np.where(found > 0.0, log_weights, -np.inf).max()
    found *= np.exp(np.minimum(log_weights - largest, 0.0))
    most = found.max()
    least = min(least * found.sum(), most)
    for kind in range(3):
        for r in range(len(KEEPS)):
            if found[kind, r] < least:
                found[kind, r] = 0.0
    found /= found.sum()
    return found


@inner
def _ask(
    placed: Placed, members: Members, weights: Floats, unseen: float, columns: Columns
) -> tuple[Floats, tuple[Floats, Floats, Floats]]:
    """Shares (kind, rate, column) of the members that have weight, and what they looked at.

    That are scores, leverages and covariance @ x, each (kind, rate, column).
    """
    straight, paired, waved = members
    n, widest = columns.size, 0
    for r in range(len(KEEPS)):
        widest = max(widest, straight[r][0].shape[0], waved[r][0].shape[0])
    shares, leverages = np.zeros((3, len(KEEPS), n)), np.zeros((3, len(KEEPS), n))
    scores, alongs = np.empty((3, len(KEEPS), n)), np.empty((3, len(KEEPS), n, widest))
    places, values, size = placed.places, placed.values, placed.size
    for r in range(len(KEEPS)):
        if weights[0, r] > 0.0:
            full_look(
                straight[r][0], straight[r][1], places[:size], values[:size], columns,
                (scores[0, r], leverages[0, r], alongs[0, r]),
            )  # fmt: skip
        if weights[1, r] > 0.0:
            scores[1, r], leverages[1, r] = diagonal_scores(
                paired[r][0], paired[r][1], places, values, columns
            )
        if weights[2, r] > 0.0:
            full_look(
                waved[r][0], waved[r][1], placed.wave_places, placed.wave_values, columns,
                (scores[2, r], leverages[2, r], alongs[2, r]),
            )  # fmt: skip
        for kind in range(3):
            if weights[kind, r] > 0.0:
                for c in range(n):
                    leverages[kind, r, c] += placed.novelty * unseen
                    shares[kind, r, c] = mean_share(scores[kind, r, c], leverages[kind, r, c])
    return shares, (scores, leverages, alongs)


@compiled
def forecast(
    row: Row, layout: Layout, members: Members, record: Record, columns: Columns
) -> Answer:
    """Ask the members and mix: the mean of their answers, their variances, its own."""
    placed = _place(row, layout)
    log_weights, squares, surprises, counts, ages, unseen = record
    has_products = placed.values.size > placed.size
    present = _present(members)
    weights = _weigh(log_weights, present, has_products, LEAST_WEIGHT)
    found, (scores, spreads, _) = _ask(placed, members, weights, unseen, columns)
    changed = _changed(log_weights, present)
    for r in range(1, len(KEEPS)):
        for kind in range(3):
            if weights[kind, r] > 0.0 and changed[kind, r]:
                prior = _prior_leverage(placed, members, kind, r)
                for c in range(columns.size):
                    keep = KEEPS[r] ** ages[columns[c]]  # as `_fade`
                    spreads[kind, r, c] += (1.0 - keep) * (prior - spreads[kind, r, c])
                    found[kind, r, c] = mean_share(keep * scores[kind, r, c], spreads[kind, r, c])
    shares, leverages, apart = _mixed(weights, found), _mixed(weights, spreads), found
    for c in range(columns.size):
        apart[:, :, c] = (apart[:, :, c] - shares[c]) ** 2
    disagreement = _mixed(weights, apart)
    seen, noise = np.zeros(counts.shape[1]), np.zeros(counts.shape[1])
    for b in range(seen.size):
        few = 0.0
        for r in range(len(KEEPS)):
            weight = (weights[0, r] + weights[1, r] + weights[2, r]) / (1.0 + counts[r, b])
            few += weight  # as variances fall, which are averaged too
            seen[b] += weight * counts[r, b]
            noise[b] += weight * squares[r, b]
        seen[b] /= few
        noise[b] /= few
    dispersions = pooled_dispersions(noise, seen, columns)
    widths, gains = certainty(shares, leverages, dispersions)
    add_surprises(widths, surprises[columns], shares, dispersions)
    return shares, np.sqrt(widths * widths + disagreement), gains, seen[columns]


@inner
def _mixed(weights: Floats, found: Floats) -> Floats:
    """The mean over kinds and rates of what was found for each column; theirs if all agree."""
    mean = np.zeros(found.shape[2])
    first_kind = first_rate = -1
    for kind in range(3):
        for r in range(len(KEEPS)):
            if weights[kind, r] <= 0.0:
                continue
            if first_kind < 0:
                first_kind, first_rate = kind, r
                continue
            for c in range(mean.size):
                mean[c] += weights[kind, r] * (found[kind, r, c] - found[first_kind, first_rate, c])
    for c in range(mean.size):
        mean[c] += found[first_kind, first_rate, c]
    return mean


@inner
def _prior_leverage(placed: Placed, members: Members, kind: int, r: int) -> float:
    """The variance of a member's score before anything is learned."""
    straight, paired, waved = members
    if kind == 0:
        size = placed.size
        return prior_leverage(straight[r][2], placed.places[:size], placed.values[:size])
    if kind == 1:
        return prior_leverage(paired[r][2], placed.places, placed.values)
    return prior_leverage(waved[r][2], placed.wave_places, placed.wave_values)


@inner
def _changed(log_weights: Floats, present: Floats) -> Floats:
    """1 for members (kind, rate) that predict better than all that keep what they learned."""
    most = np.where(present[:, 0] > 0.0, log_weights[:, 0], -np.inf).max()
    found: Floats = present * (log_weights > most + CHANGED)
    return found


@inner
def _fade(members: Members, changed: Floats, ages: Floats, columns: Columns) -> bool:
    """Let what is known of actions not seen for long go to the prior; whether there was anything.

    Members do so for which the world has changed, most likely also for actions that nobody plays
    any more.
    """
    straight, paired, waved = members
    fades = False
    for c in range(columns.size):
        for r in range(1, len(KEEPS)):
            b, keep = columns[c], KEEPS[r] ** ages[columns[c]]
            if keep > LITTLE_FADED:
                continue
            if changed[0, r]:
                full_fade(straight[r], b, keep)
            if changed[1, r]:
                diagonal_fade(paired[r], b, keep)
            if changed[2, r]:
                full_fade(waved[r], b, keep)
            fades = fades or changed[:, r].max() > 0.0
    return fades


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
    placed = _place(row, layout)
    straight, paired, waved = members
    log_weights, squares, surprises, counts, ages, unseen = record
    present = _present(members)
    found, (scores, leverages, alongs) = _ask(placed, members, present, unseen, columns)
    if not np.isfinite(found.sum()):
        return -1
    n_paired = layout[5]
    if placed.n_new > 0 or n_paired < row[2] <= PRODUCTS_UP_TO:
        return max(placed.n_new, 1)
    if _fade(members, _changed(log_weights, present), ages, columns):
        found, (scores, leverages, alongs) = _ask(placed, members, present, unseen, columns)
    ages += columns.size / ages.size
    for c in range(columns.size):
        ages[columns[c]] = 0.0
    has_products = placed.values.size > placed.size
    predicted = _mixed(_weigh(log_weights, present, has_products, 0.0), found)
    note_surprises(surprises, counts[0], columns, predicted, seen)
    bet_on_losses(watch, log_weights, _heard(present, has_products), found, columns, seen)
    _reweigh(log_weights, present, found, seen)
    for r in range(len(KEEPS)):
        forget_residuals(squares[r], counts[r], columns, KEEPS[r])
        note_residuals(squares[r], counts[r], columns, predicted, seen)
        if present[0, r] > 0.0:
            look = scores[0, r], leverages[0, r], alongs[0, r]
            full_step(straight[r], columns, look, seen, KEEPS[r])
        if present[1, r] > 0.0:
            row_of, look_of = (placed.places, placed.values), (scores[1, r], leverages[1, r])
            diagonal_step(paired[r], row_of, columns, look_of, seen, KEEPS[r])
        if present[2, r] > 0.0:
            look = scores[2, r], leverages[2, r], alongs[2, r]
            full_step(waved[r], columns, look, seen, KEEPS[r])
    return 0


@inner
def _reweigh(log_weights: Floats, present: Floats, found: Floats, seen: Floats) -> None:
    """Let weights fall with squared errors, and forget the old ones.

    The losses of one round depend on each other: n count as the square root of n.
    """
    rate = RATE / math.sqrt(seen.size)
    most = -np.inf
    for kind in range(3):
        for r in range(len(KEEPS)):
            log_weights[kind, r] += (1.0 - REMEMBERED) * (STILL[r] - log_weights[kind, r])
            for c in range(seen.size):
                error = found[kind, r, c] - seen[c]
                log_weights[kind, r] -= present[kind, r] * rate * error * error
            if present[kind, r] > 0.0:
                most = max(most, log_weights[kind, r])
    for kind in range(3):
        for r in range(len(KEEPS)):
            log_weights[kind, r] = min(log_weights[kind, r] - most, 0.0)
