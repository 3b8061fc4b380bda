"""Kernels of Bayesian logistic regression: a Gaussian posterior over the weights of each action.

The score of an action, x @ weights, is then normal, with mean m and a variance s, its leverage.
The loss, as a share of the loss range, is sigmoid(score). By MacKay's approximation its mean is

    sigmoid(m / sqrt(1 + pi s / 8)),

and its variance v (1 - 1 / sqrt(1 + 2 v s)) with v = mean (1 - mean), the deviation within 6 % for
almost all m and s: a coin's where nothing is known of the score, v^2 s where much is. Learning
matches the moments of the posterior of a coin: with k = 1 / sqrt(1 + pi s / 8), p = sigmoid(k m)
and a = covariance @ x,

    weights += a k (loss - p),   covariance -= a a^T k^2 p (1 - p),

the derivatives of log p. A step of the extended Kalman filter would take the score as known, and
be too sure of itself.

A loss that varies d times as much as a coin has the variance v (1 - (1 - d) / sqrt(1 + 2 v s)):
its noise, and what is not known of its mean. Both changes are divided by that over v. Covariances
are kept relative to a unit u of noise, so that a prior is as wide as the noise asks for: s is u
times the leverage, and what changes them has a factor u.

These are the formulas of one score. `full_posterior` and `diagonal_posterior` keep the covariances.
Weights are stored (n_features, n_actions).
"""

import math

import numpy as np

from graphcb.compilation import compiled, inner
from graphcb.oracles.rows import Columns, Floats

PI_8 = math.pi / 8.0
PRIOR_COUNT = 2.0  # observations that the dispersion starts from, spread like a coin's
LEAST_CURVATURE = 1e-6  # of p (1 - p): far out on the sigmoid a step stays small

Model = tuple[Floats, Floats, Floats]  # weights, covariances and prior variances
Look = tuple[Floats, Floats, Floats]  # scores, leverages and covariance @ x of some actions
Noise = tuple[Floats, Floats]  # of losses, relative to coins', and the units of covariances


@compiled
def coins(n_losses: int) -> Noise:
    """The noise of so many coins."""
    return np.ones(n_losses), np.ones(n_losses)


@compiled
def step_and_shrink(
    score: float, leverage: float, share: float, noise: float, unit: float
) -> tuple[float, float]:
    """The factors of the step and of what is taken off the covariance.

    `noise` is the variance of the loss relative to a coin's, `unit` the noise that leverages and
    covariances are relative to.
    """
    variance = unit * max(leverage, 0.0)
    scale = 1.0 / math.sqrt(1.0 + PI_8 * variance)
    mean = 1.0 / (1.0 + math.exp(-scale * score))
    coin = max(mean * (1.0 - mean), LEAST_CURVATURE)
    gain = unit * scale / (1.0 - (1.0 - noise) / math.sqrt(1.0 + 2.0 * coin * variance))
    return gain * (share - mean), gain * scale * coin


@compiled
def mean_shares(scores: Floats, leverages: Floats) -> Floats:
    """The mean of each loss, as a share of the loss range."""
    shares = np.empty(scores.size)
    for c in range(scores.size):
        shares[c] = mean_share(scores[c], leverages[c])
    return shares


@compiled
def mean_share(score: float, leverage: float) -> float:
    """The mean of one loss, as a share of the loss range."""
    return 1.0 / (1.0 + math.exp(-score / math.sqrt(1.0 + PI_8 * leverage)))


@compiled
def certainty(shares: Floats, leverages: Floats, dispersions: Floats) -> tuple[Floats, Floats]:
    """Standard deviation of each mean share, and the information that seeing its loss gives."""
    deviations, gains = np.empty(shares.size), np.empty(shares.size)
    for c in range(shares.size):
        deviations[c] = deviation_of(shares[c], leverages[c], dispersions[c])
        gains[c] = gain_of(shares[c], leverages[c])
    return deviations, gains


@inner
def gain_of(share: float, leverage: float) -> float:
    """The information that seeing a loss gives."""
    return math.log1p(leverage * max(share * (1.0 - share), 1e-9))


@inner
def deviation_of(share: float, leverage: float, dispersion: float) -> float:
    """Standard deviation of a mean share.

    `dispersion` is the residuals' variance relative to that of coins: a loss that hardly varies is
    known sooner.
    """
    coin = max(share * (1.0 - share), 1e-9)
    unknown = 1.0 - 1.0 / math.sqrt(1.0 + 2.0 * coin * leverage)
    return math.sqrt(min(dispersion, 1.0) * coin * unknown)


@compiled
def sharpened(leverage: float, prior: float, dispersion: float) -> float:
    """The variance of a score, had losses that vary less than coins counted for as much more.

    What was learned is 1 / variance - 1 / prior, and counts 1 / dispersion times. What was never
    learned stays as unknown as it was before the first loss, however quiet other losses are.
    """
    before = max(prior, leverage, 1e-300)
    learned = 1.0 / max(leverage, 1e-300) - 1.0 / before
    return 1.0 / (1.0 / before + learned / min(dispersion, 1.0))


@compiled
def prior_leverage(priors: Floats, indices: Columns, values: Floats) -> float:
    """The variance of a score before anything is learned."""
    leverage = 0.0
    for k in range(indices.size):
        leverage += priors[indices[k]] * values[k] * values[k]
    return leverage
