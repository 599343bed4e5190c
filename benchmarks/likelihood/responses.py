"""The log probability of a choice as a function of the log odds of p-hat, with two derivatives, compiled.

Densities over traces know log odds only up to a residual with a variance of its own by trial. It is integrated here:
the logistic of a normal variable has nearly the mean of a logistic with a smaller slope (MacKay, 1992, "The evidence
framework applied to classification networks", Eq. 10). Another kind of response is another function of this kind.
"""

from __future__ import annotations

import numpy as np
from numba import njit

PROBIT = np.pi / 8


@njit(cache=True)
def log_choice(answer, log_odds, variance, response):
    """Return the log probability of a choice, and its first and second derivative in the log odds.

    ``answer`` is 1 or -1; ``log_odds`` are those of p-hat for 1, up to a normal residual of this ``variance``;
    ``response`` is (beta, lapse, bias).
    """
    beta, lapse, bias = response
    shrunk = answer / np.sqrt(1.0 + PROBIT * beta * beta * variance)
    slope = beta * shrunk
    follows = 1.0 / (1.0 + np.exp(-(slope * log_odds + bias * shrunk)))
    probability = lapse / 2 + (1 - lapse) * follows
    rise = (1 - lapse) * follows * (1 - follows) / probability
    first = slope * rise
    second = slope * slope * rise * (1 - 2 * follows - rise)
    return np.log(probability), first, second
