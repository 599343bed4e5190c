"""Whether ranks are uniform, as those of truths among posterior draws are if a posterior means what it says.

The ECDF of the ranks is held against bands that are simultaneous: under uniformity it leaves them anywhere at all with
the stated probability (Säilynoja, Bürkner & Vehtari, 2022). Ranks are whole numbers, and treated as such throughout.
"""

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

POINTS = 50  # at which an ECDF is looked at
SIMULATIONS = 10_000  # of uniform ranks, for p-values of the ECDF
EXPECTED = 5  # ranks in a bin of the chi-square test, at least
MOST_BINS = 20


def rank_of(truth: float, draws: NDArray[np.float64], rng: np.random.Generator) -> int:
    """Return how many draws lie below the truth; of those that equal it, a random number counts as below."""
    below, equal = int(np.sum(draws < truth)), int(np.sum(draws == truth))
    return below + int(rng.integers(equal + 1))


class Binned(NamedTuple):
    """Ranks in bins: where the bins end as shares of all ranks, what they hold, and what they should."""

    ends: NDArray[np.float64]
    counts: NDArray[np.int64]
    expected: NDArray[np.float64]


def binned(ranks: NDArray[np.int64], n_draws: int, bins: int) -> Binned:
    """Count ranks from 0 to ``n_draws`` in bins that are as equal as whole numbers allow."""
    edges = _edges(n_draws, bins)
    counts = np.histogram(ranks, bins=edges - 0.5)[0]
    return Binned(edges[1:] / (n_draws + 1), counts, len(ranks) * np.diff(edges) / (n_draws + 1))


def bins_for(n: int) -> int:
    """Return in how many bins so many ranks can be tested."""
    return int(np.clip(n // EXPECTED, 2, MOST_BINS))


def chi_square_p(ranks: NDArray[np.int64], n_draws: int) -> float:
    """Return the p-value of a chi-square test of uniformity."""
    from scipy.stats import chisquare

    found = binned(ranks, n_draws, min(bins_for(len(ranks)), n_draws + 1))
    return float(chisquare(found.counts, found.expected).pvalue)


def ecdf_p(ranks: NDArray[np.int64], n_draws: int) -> float:
    """Return the probability that the ECDF of uniform ranks is anywhere as unlikely as this one is somewhere."""
    null = _null(len(ranks), n_draws)
    found = binned(ranks, n_draws, min(POINTS, n_draws + 1))
    observed = _least_p(np.cumsum(found.counts)[None, :-1], null.table)[0]
    return float((1 + np.sum(null.least_p <= observed * (1 + 1e-12))) / (1 + SIMULATIONS))


class Band(NamedTuple):
    """Between which shares an ECDF of uniform ranks stays everywhere, at some points from 0 to 1."""

    points: NDArray[np.float64]
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]


def ecdf_band(n: int, n_draws: int, level: float = 0.95) -> Band:
    """Return the simultaneous band of the ECDF of ``n`` ranks among ``n_draws`` draws."""
    null = _null(n, n_draws)
    least = np.quantile(null.least_p, 1 - level)
    inside = null.table > least
    points = _edges(n_draws, min(POINTS, n_draws + 1))[1:-1] / (n_draws + 1)
    lower, upper = np.argmax(inside, axis=0) / n, (n - np.argmax(inside[::-1], axis=0)) / n
    return Band(np.array([0.0, *points, 1.0]), np.array([0.0, *lower, 1.0]), np.array([0.0, *upper, 1.0]))


class _Null(NamedTuple):
    """Under uniformity: p-values of counts (counts x points), and the least over points of simulated ECDFs."""

    table: NDArray[np.float64]
    least_p: NDArray[np.float64]


@lru_cache(maxsize=32)
def _null(n: int, n_draws: int) -> _Null:
    from scipy.stats import binom

    edges = _edges(n_draws, min(POINTS, n_draws + 1))
    shares = np.diff(edges) / (n_draws + 1)
    below = edges[1:-1] / (n_draws + 1)
    counts = np.arange(n + 1)[:, None]
    table = np.minimum(1.0, 2 * np.minimum(binom.cdf(counts, n, below), binom.sf(counts - 1, n, below)))
    simulated = np.random.default_rng([n, n_draws]).multinomial(n, shares, size=SIMULATIONS)
    return _Null(table, _least_p(np.cumsum(simulated, axis=1)[:, :-1], table))


def _least_p(counts: NDArray[np.int64], table: NDArray[np.float64]) -> NDArray[np.float64]:
    return table[counts, np.arange(table.shape[1])].min(axis=1)


def _edges(n_draws: int, bins: int) -> NDArray[np.float64]:
    return np.ceil(np.arange(bins + 1) * (n_draws + 1) / bins)
