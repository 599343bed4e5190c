"""Densities over traces of log odds, fitted to few filters.

Mean, principal components and a residual variance by trial make a Gaussian density. A kernel density with bandwidth h
puts h^2 times that covariance around every filter, and draws the filters towards the mean by sqrt(1 - h^2), so that
mean and covariance stay what they are (West, 1993, "Approximating posterior distributions by mixture"): h = 0 is the
filters themselves, h = 1 the Gaussian.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import logit

CERTAIN = 1e-12  # a prediction is never nearer to 0 or 1

Array = NDArray[np.float64]


class Density(NamedTuple):
    """An equal mixture of normal densities: centres (rows), loadings (trials x components), residual variance."""

    centres: Array
    loadings: Array
    variance: Array


class Spread(NamedTuple):
    """How filters differ: their log odds, the mean, loadings of the components, residual variance by trial."""

    log_odds: Array
    mean: Array
    loadings: Array
    variance: Array


def log_odds_of(p_hat: Array) -> Array:
    """Return log odds, all of them finite."""
    return logit(np.clip(p_hat, CERTAIN, 1 - CERTAIN))


def spread_of(log_odds: Array, components: int) -> Spread:
    """Take filters (rows) apart into mean, principal components and residuals."""
    mean = log_odds.mean(axis=0)
    if components == 0:
        return Spread(log_odds, mean, np.zeros((len(mean), 0)), log_odds.var(axis=0, ddof=1))
    _, values, directions = np.linalg.svd(log_odds - mean, full_matrices=False)
    kept = min(components, len(values))
    freedom = len(log_odds) - 1
    loadings = (directions[:kept] * values[:kept, np.newaxis]).T / np.sqrt(freedom)
    residual = np.sum((directions[kept:] * values[kept:, np.newaxis]) ** 2, axis=0) / freedom
    return Spread(log_odds, mean, np.ascontiguousarray(loadings), residual)


def kernel_density(spread: Spread, bandwidth: float) -> Density:
    """Return the density with this bandwidth, from 0 (the filters) to 1 (one Gaussian)."""
    loadings, variance = bandwidth * spread.loadings, bandwidth**2 * spread.variance
    if bandwidth == 1.0:
        return Density(spread.mean[np.newaxis], loadings, variance)
    centres = spread.mean + np.sqrt(1 - bandwidth**2) * (spread.log_odds - spread.mean)
    return Density(centres, loadings, variance)
