"""Pooled curves and uncertainties: ROC, AUC, a bootstrap over seeds, and correlations with their errors."""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from holmes_fit.models.filters.draws import stream_key

Floats = NDArray[np.float64]

TWO_SIDED_95 = float(stats.norm.ppf(0.975))


class Estimate(NamedTuple):
    """A number with its standard error, the spread behind it, how many units it rests on, and a bootstrap interval."""

    value: float
    se: float
    sd: float
    n: int
    low: float = np.nan
    high: float = np.nan


def mean_estimate(values: Floats) -> Estimate:
    """Return the mean of independent units; missing ones are left out."""
    known = values[np.isfinite(values)]
    if len(known) == 0:
        return Estimate(np.nan, np.nan, np.nan, 0)
    sd = float(known.std(ddof=1)) if len(known) > 1 else np.nan
    return Estimate(float(known.mean()), sd / math.sqrt(len(known)), sd, len(known))


def share_estimate(is_so: NDArray[np.bool_]) -> Estimate:
    """Return a share of units. Its error stays above zero at 0 and 1 (one success and one failure are added)."""
    n = len(is_so)
    shrunk = (int(is_so.sum()) + 1) / (n + 2)
    sd = math.sqrt(shrunk * (1 - shrunk))
    return Estimate(float(is_so.mean()), sd / math.sqrt(n), sd, n)


def correlation_estimate(first: Floats, second: Floats) -> Estimate:
    """Return Pearson's r with its large-sample error, (1 - r^2) / sqrt(n - 1)."""
    known = np.isfinite(first) & np.isfinite(second)
    n = int(known.sum())
    if n < 3 or first[known].std() == 0 or second[known].std() == 0:
        return Estimate(np.nan, np.nan, np.nan, n)
    r = float(np.corrcoef(first[known], second[known])[0, 1])
    sd = 1 - r * r
    return Estimate(r, sd / math.sqrt(n - 1), sd, n)


def auc(scores: Floats, is_positive: NDArray[np.bool_]) -> float:
    """Return the probability that a positive trial scores above a negative one; a tie counts one half."""
    n_positive = int(is_positive.sum())
    n_negative = len(scores) - n_positive
    if n_positive == 0 or n_negative == 0:
        return np.nan
    above = stats.rankdata(scores)[is_positive].sum() - n_positive * (n_positive + 1) / 2
    return float(above / (n_positive * n_negative))


def roc_curve(scores: Floats, is_positive: NDArray[np.bool_]) -> tuple[Floats, Floats]:
    """Return false and true positive rates at all thresholds, from (0, 0) to (1, 1)."""
    order = np.argsort(-scores, kind="stable")
    last_of_tie = np.append(np.diff(scores[order]) != 0, True)
    hits = np.cumsum(is_positive[order])[last_of_tie]
    false_alarms = np.cumsum(~is_positive[order])[last_of_tie]
    return np.append(0.0, false_alarms / false_alarms[-1]), np.append(0.0, hits / hits[-1])


def bootstrap_over_units(
    statistic: Callable[..., float], arrays: Sequence[NDArray[np.generic]], resamples: int, name: str
) -> Estimate:
    """Resample whole units (the first axis of every array), pool what they hold, and compute the statistic.

    The paper's interval of the AUC is a "bootstrap resampling over seeds (2000 resamples)". ``name`` chooses the
    draws.
    """
    rng = np.random.default_rng(int(stream_key(0, f"bootstrap {name}")))
    n_units = len(arrays[0])
    drawn = np.empty(resamples)
    for i in range(resamples):
        units = rng.integers(n_units, size=n_units)
        drawn[i] = statistic(*(array[units].ravel() for array in arrays))
    value, se = statistic(*(array.ravel() for array in arrays)), float(np.nanstd(drawn, ddof=1))
    low, high = np.nanquantile(drawn, [0.025, 0.975])
    return Estimate(value, se, se * np.sqrt(n_units), n_units, float(low), float(high))
