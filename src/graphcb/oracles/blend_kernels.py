"""The steps of a blend: where a context has its places, what members say, how they learn.

Models are tuples (weights, covariances, prior variances), one for each rate of `KEEPS`, without
features where there is no such member.
"""

import math

import numpy as np

from graphcb.compilation import compiled, inner
from graphcb.oracles.features import find_key
from graphcb.oracles.posterior import (
    add_surprises,
    certainty,
    diagonal_forget,
    diagonal_learn,
    diagonal_scores,
    forget_residuals,
    full_forget,
    full_learn,
    full_scores,
    mean_share,
    note_residuals,
    note_surprises,
    pooled_dispersions,
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
LEAST_WEIGHT = 0.04  # of a member that is asked for a forecast

Row = tuple[Columns, Floats, int, float]  # indices, values, how many are numbers, room
Model = tuple[Floats, Floats, Floats]
Models = tuple[Model, ...]
# A row; table of the features; the variance of an unseen weight; the constant; models of the three
# kinds; directions of waves; where the products are, and of how many numbers; log weights; squares
# of the residuals, surprises, counts.
Arguments = tuple[
    Row, Columns, Columns, Floats, float, float, Models, Models, Models, Floats, int, int, Floats,
    Floats, Floats, Floats,
]  # fmt: skip
Answer = tuple[Floats, Floats, Floats, Floats]  # shares, deviations, gains, counts


@inner
def _place(
    row: Row,
    keys: Columns,
    key_places: Columns,
    largest: Floats,
    constant: float,
    first_product: int,
    n_paired: int,
    directions: Floats,
) -> tuple[Columns, Floats, int, int, float, Columns, Floats]:
    """The row by place; how many entries are no products, how many are new, and their share.

    Entries are the constant, what is known of the numbers and words, then the products. The row of
    waved members follows.
    """
    indices, row_values, n_numbers, room = row
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
    return places[:at], scaled[:at], size, n_new, novelty, wave_places, wave_values


@inner
def _present(straight: Models, paired: Models, waved: Models) -> Floats:
    """1 for each member (kind, rate) that there is."""
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
    places: Columns,
    values: Floats,
    size: int,
    wave_places: Columns,
    wave_values: Floats,
    novelty: float,
    straight: Models,
    paired: Models,
    waved: Models,
    weights: Floats,
    columns: Columns,
) -> tuple[Floats, Floats]:
    """Shares and leverages (kind, rate, column) of the members that have weight.

    `novelty` is the variance by what is new in the row.
    """
    shares = np.zeros((3, len(KEEPS), columns.size))
    leverages = np.zeros((3, len(KEEPS), columns.size))
    for r in range(len(KEEPS)):
        for kind in range(3):
            if weights[kind, r] <= 0.0:
                continue
            if kind == 1:
                scores, spreads = diagonal_scores(
                    paired[r][0], paired[r][1], places, values, columns
                )
            elif kind == 0:
                scores, spreads = full_scores(
                    straight[r][0], straight[r][1], places[:size], values[:size], columns
                )
            else:
                scores, spreads = full_scores(
                    waved[r][0], waved[r][1], wave_places, wave_values, columns
                )
            for c in range(columns.size):
                leverages[kind, r, c] = spreads[c] + novelty
                shares[kind, r, c] = mean_share(scores[c], leverages[kind, r, c])
    return shares, leverages


@compiled
def forecast(
    row: Row,
    keys: Columns,
    key_places: Columns,
    largest: Floats,
    unseen: float,
    constant: float,
    straight: Models,
    paired: Models,
    waved: Models,
    directions: Floats,
    first_product: int,
    n_paired: int,
    log_weights: Floats,
    squares: Floats,
    surprises: Floats,
    counts: Floats,
    columns: Columns,
) -> Answer:
    """Ask the members and mix: the mean of their answers, their variances, its own."""
    n_numbers = row[2]
    places, values, size, _, novelty, wave_places, wave_values = _place(
        row, keys, key_places, largest, constant, first_product,
        min(n_paired, n_numbers) if n_numbers <= PRODUCTS_UP_TO else 0, directions,
    )  # fmt: skip
    present = _present(straight, paired, waved)
    weights = _weigh(log_weights, present, values.size > size, LEAST_WEIGHT)
    found, spreads = _ask(
        places, values, size, wave_places, wave_values, novelty * unseen, straight, paired, waved,
        weights, columns,
    )  # fmt: skip
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


@compiled
def learn(
    row: Row,
    keys: Columns,
    key_places: Columns,
    largest: Floats,
    unseen: float,
    constant: float,
    straight: Models,
    paired: Models,
    waved: Models,
    directions: Floats,
    first_product: int,
    n_paired: int,
    log_weights: Floats,
    squares: Floats,
    surprises: Floats,
    counts: Floats,
    columns: Columns,
    seen: Floats,
    watch: Watch,
) -> int:
    """Weigh the members by what they predicted, forget and learn; 0 if that was done.

    Otherwise nothing changes: -1 if a prediction is not finite, and how many features need a
    place first if there are any.
    """
    n_numbers = row[2]
    is_paired = n_numbers <= PRODUCTS_UP_TO
    places, values, size, n_new, novelty, wave_places, wave_values = _place(
        row, keys, key_places, largest, constant, first_product,
        min(n_paired, n_numbers) if is_paired else 0, directions,
    )  # fmt: skip
    present = _present(straight, paired, waved)
    found, _ = _ask(
        places, values, size, wave_places, wave_values, novelty * unseen, straight, paired, waved,
        present, columns,
    )  # fmt: skip
    if not np.isfinite(found.sum()):
        return -1
    if n_new > 0 or (is_paired and n_paired < n_numbers):
        return max(n_new, 1)
    predicted = _mixed(_weigh(log_weights, present, values.size > size, 0.0), found)
    note_surprises(surprises, counts[0], columns, predicted, seen)
    bet_on_losses(watch, log_weights, _heard(present, values.size > size), found, columns, seen)
    _reweigh(log_weights, present, found, seen)
    for r in range(len(KEEPS)):
        keep = KEEPS[r]
        if keep < 1.0:
            forget_residuals(squares[r], counts[r], columns, keep)
            full_forget(straight[r][1], straight[r][2], columns, keep)
            full_forget(waved[r][1], waved[r][2], columns, keep)
            diagonal_forget(paired[r][1], paired[r][2], places, columns, keep)
        note_residuals(squares[r], counts[r], columns, predicted, seen)
        if present[0, r] > 0.0:
            full_learn(straight[r][0], straight[r][1], places[:size], values[:size], columns, seen)
        if present[1, r] > 0.0:
            diagonal_learn(paired[r][0], paired[r][1], places, values, columns, seen)
        if present[2, r] > 0.0:
            full_learn(waved[r][0], waved[r][1], wave_places, wave_values, columns, seen)
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
