"""The scale of the prior, learned: which features say much, which little, and which nothing.

The posterior of a weight is that of its prior and its data, and needs no stored data to go over to
another prior: one precision is added to the diagonal (`BayesianLogistic.add_precisions`). So at 16,
32, 64, ... losses the prior variances are estimated again, by MacKay's fixed point: with the
weights w of a feature in all actions, their posterior variances s, and prior variance t,

    t = sum w^2 / sum (1 - s / t),

where 1 - s / t says how much of a weight comes from the data. A feature is shrunk toward its group
(numbers and words, or products), and a group toward the prior variance that all began with. A few
features that say much do not raise their group: it is estimated as the scale of Student's t with
two degrees of freedom, in which they have little weight. Posterior variances are relative to a
coin's noise, so w^2 is divided by the residuals' dispersion.
"""

import numpy as np

from graphcb.oracles.bayesian import BayesianLogistic
from graphcb.oracles.rows import Floats

STEPS = 2  # of the fixed point, each of which moves the posterior
GROUP_WEIGHT = 2.0  # weights' worth of the first prior in a group's variance,
FEATURE_WEIGHT = 2.0  # and of the group's in a feature's
LEAST, MOST = 0.1, 1000.0  # of prior variances;
MOST_ALONE = 100.0  # where variances stand without covariances: see `relearn`
LEAST_DISPERSION = 0.05
LEAST_LOSSES = 16  # of an action: before, most losses of a rare class are alike
CONSTANT_VARIANCE = 4.0  # of the score, at most: about a flat prior of the mean loss


def constant_prior(member: BayesianLogistic, constant: float) -> None:
    """Give feature 0, the constant, a prior under which every mean loss is about as likely."""
    variance = min(member.prior_variance, CONSTANT_VARIANCE / (constant * constant))
    precisions = np.zeros(member.n_features)
    precisions[0] = 1.0 / variance - 1.0 / member.prior_variances[0]
    member.add_precisions(precisions)


def relearn(
    member: BayesianLogistic,
    groups: list[slice],
    counts: Floats,
    dispersions: Floats,
    most: float = MOST,
) -> None:
    """Estimate the prior variances of these groups of features, and move the posterior there.

    `counts` and `dispersions` are those of each action; those with few losses have no say. New
    features get the first group's. No estimate is above `most`: without covariances, words that
    come together each count in full, weights overshoot, and estimates grow with every look.
    """
    known = counts >= LEAST_LOSSES
    if not known.any():
        return
    noise = np.clip(dispersions[known], LEAST_DISPERSION, 1.0)
    for _ in range(STEPS):
        old, precisions = member.prior_variances, np.zeros(member.n_features)
        squares = (member.weights[:, known] ** 2 / noise).sum(axis=1)
        from_data = (1.0 - member.variances()[:, known] / old[:, None]).clip(0.0, 1.0).sum(axis=1)
        for number, group in enumerate(groups):
            if squares[group].size == 0:
                continue
            level, new = estimate_group(
                squares[group],
                from_data[group],
                float(np.median(old[group])),
                member.prior_variance,
                most,
            )
            precisions[group] = 1.0 / new - 1.0 / old[group]
            if number == 0:
                member.unseen_variance = level
        member.add_precisions(precisions)


def estimate_group(
    squares: Floats, from_data: Floats, level: float, at_first: float, most: float
) -> tuple[float, Floats]:
    """The prior variance of a group, and those of its features."""
    beyond = (FEATURE_WEIGHT + from_data) / (FEATURE_WEIGHT + squares / level)
    total = GROUP_WEIGHT * at_first + (beyond * squares).sum()
    level = float(np.clip(total / (GROUP_WEIGHT + from_data.sum()), LEAST, most))
    found = (FEATURE_WEIGHT * level + squares) / (FEATURE_WEIGHT + from_data)
    return level, np.clip(found, LEAST, most)
