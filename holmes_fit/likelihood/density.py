"""How filters differ: a normal density over the traces that they show at a point of the learning parameters.

p-hat does not depend on what a person answers. So the likelihood at a point is the probability of the answers,
averaged over a *distribution of traces*, and filters are draws from it. A few of them, each a path through hundreds of
trials, are a poor picture of it: none resembles the person's own, and the person looks noisy. What they have in common
can be learned from few, however: a mean, the directions in which they mostly differ (principal components), and what is
left over by trial. On the scale of log odds these make a normal density, over which answers can be integrated
(``laplace``).

Filters at neighbouring points differ in the same ways, so they lend what they know: deviations from their own mean are
pooled over neighbours, and means are those of a plane through the neighbours' means.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import eigh
from scipy.special import logit

COMPONENTS = 24
CERTAIN = 1e-12  # a prediction is never nearer to 0 or 1
NEGLIGIBLE = 1e-9  # of the largest variance: a direction in which filters do not differ


class TraceDensity(NamedTuple):
    """A normal density over traces of log odds: mean (trials), loadings (trials x components), residual variance."""

    mean: NDArray[np.float64]
    loadings: NDArray[np.float64]
    variance: NDArray[np.float64]


def log_odds_of(p_hat: ArrayLike) -> NDArray[np.float64]:
    """Return log odds, all of them finite."""
    return logit(np.clip(np.asarray(p_hat, dtype=np.float64), CERTAIN, 1 - CERTAIN))


def deviations_of(log_odds: NDArray[np.floating]) -> NDArray[np.float64]:
    """Return deviations of filters (rows) from their mean, scaled up so that their mean square is the variance."""
    filters = len(log_odds)
    scale = np.sqrt(filters / (filters - 1))
    return scale * (log_odds - log_odds.mean(axis=0, dtype=np.float64))


def density_of(mean: NDArray[np.float64], deviations: NDArray[np.float64]) -> TraceDensity:
    """Return the density with this mean, and the covariance of these deviations (rows) in a few components."""
    loadings = _loadings(deviations / np.sqrt(len(deviations)))
    residual = np.mean(deviations**2, axis=0) - np.sum(loadings**2, axis=1)
    return TraceDensity(mean, loadings, np.maximum(residual, 0.0))


def _loadings(matrix: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the first principal components of the rows, each as long as its standard deviation: trials x components.

    From the smaller of the two products of the matrix with itself, which have the same eigenvalues.
    """
    is_wide = matrix.shape[0] < matrix.shape[1]
    product = matrix @ matrix.T if is_wide else matrix.T @ matrix
    size = len(product)
    values, vectors = eigh(product, subset_by_index=[max(size - COMPONENTS, 0), size - 1], check_finite=False)
    matters = values > NEGLIGIBLE * max(values[-1], NEGLIGIBLE)
    kept = vectors[:, matters]
    return np.ascontiguousarray(matrix.T @ kept if is_wide else kept * np.sqrt(values[matters]))
