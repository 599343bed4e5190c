"""What studies measure: errors and correlations for many bootstrap samples at once, intervals, and tests of ranks."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom, binomtest, rankdata

from holmes_fit._support.uniformity import chi_square_p, ecdf_p

RESAMPLES = 2000
LEVEL = 0.95
FEWEST_CORRELATED = 5  # people, for an interval; two have a correlation of 1 or -1 however often they are drawn

Values = NDArray[np.float64]
Measure = Callable[[Values, Values], Values]


class Estimate(NamedTuple):
    """A number with its 95% interval; missing where there is none."""

    value: float
    lower: float
    upper: float

    def __format__(self, spec: str) -> str:
        """Write the number, and its interval in brackets if there is one."""
        value, lower, upper = (format(each, spec) for each in self)
        return value if np.isnan(self.lower) else f"{value} ({lower} to {upper})"


NOTHING = Estimate(np.nan, np.nan, np.nan)


def correlation(one: Values, other: Values) -> Values:
    """Return the correlation along the last axis; missing where one of the two does not vary."""
    a = one - one.mean(axis=-1, keepdims=True)
    b = other - other.mean(axis=-1, keepdims=True)
    scale = np.sqrt((a * a).sum(axis=-1) * (b * b).sum(axis=-1))
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(scale > 1e-12 * (1 + (one * one).sum(axis=-1)), (a * b).sum(axis=-1) / scale, np.nan)


def rank_correlation(one: Values, other: Values) -> Values:
    """Return the correlation of ranks along the last axis, ties sharing theirs."""
    return correlation(rankdata(one, axis=-1), rankdata(other, axis=-1))


def bias(truth: Values, estimate: Values) -> Values:
    """Return the mean error along the last axis."""
    return np.asarray((estimate - truth).mean(axis=-1))


def rmse(truth: Values, estimate: Values) -> Values:
    """Return the root mean squared error along the last axis."""
    return np.sqrt(((estimate - truth) ** 2).mean(axis=-1))


def bootstrapped(measure: Measure, one: Values, other: Values, rng: np.random.Generator) -> Estimate:
    """Return a measure of two columns with the percentile interval of its bootstrap over people, if they are enough."""
    present = np.isfinite(one) & np.isfinite(other)
    one, other = one[present], other[present]
    if not len(one):
        return NOTHING
    value = float(measure(one, other))
    if len(one) < (FEWEST_CORRELATED if measure in (correlation, rank_correlation) else 2):
        return Estimate(value, np.nan, np.nan)
    chosen = rng.integers(len(one), size=(RESAMPLES, len(one)))
    return Estimate(value, *percentiles(measure(one[chosen], other[chosen])))


def percentiles(samples: Values) -> tuple[float, float]:
    """Return the interval that holds 95% of the samples; missing ones are left out."""
    kept = samples[np.isfinite(samples)]
    if not len(kept):
        return np.nan, np.nan
    lower, upper = np.quantile(kept, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return float(lower), float(upper)


def share(count: int, n: int) -> Estimate:
    """Return a share with its Wilson interval."""
    if n == 0:
        return NOTHING
    interval = binomtest(count, n).proportion_ci(LEVEL, method="wilson")
    return Estimate(count / n, float(interval.low), float(interval.high))


def allowed(n: int, level: float = LEVEL) -> tuple[float, float]:
    """Return between which shares the coverage of ``n`` intervals of some level lies, 99 times in a hundred."""
    low, high = binom.interval(0.99, n, level)
    return low / n, high / n


def rank_tests(ranks: NDArray[np.int64], n_draws: int) -> dict[str, float]:
    """Return the mean of ranks of truths among so many draws, which is .5 if they are uniform, and tests of that."""
    mean, error = (ranks + 0.5).mean() / (n_draws + 1), np.sqrt(1 / 12 / len(ranks))
    tests = {"chi2_p": chi_square_p(ranks, n_draws), "ecdf_p": ecdf_p(ranks, n_draws)}
    return {"mean_rank": float(mean), "mean_rank_error": float(error), **tests}
