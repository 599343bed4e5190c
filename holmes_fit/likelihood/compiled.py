"""Answers over all trials and replicates, compiled for each response.

Functions in ``TEMPLATES`` are compiled by ``specialised``, which puts the response's own in the place of
:func:`log_density`. Trials are those that were answered.
"""

import numpy as np
from numba import njit

# Points and weights by which a function of a standard normal variable is averaged
AWAY, WEIGHTS = (tuple(each) for each in np.polynomial.hermite_e.hermegauss(9))
NO_RESIDUAL = 1e-6  # a variance that is as good as none


def log_density(answer, log_odds, rule):
    """Return the log density of an answer and its derivatives, as the response has it."""
    raise NotImplementedError


def over_residual(answer, log_odds, variance, rule):
    """Return the same where log odds are known up to a normal residual of this variance: an average over points."""
    if variance < NO_RESIDUAL:
        return log_density(answer, log_odds, rule)
    highest, total, first, second = -np.inf, 0.0, 0.0, 0.0
    for point in range(len(AWAY)):
        value, slope, bend = log_density(answer, log_odds + np.sqrt(variance) * AWAY[point], rule)
        if value > highest:  # what was added up is in units of the highest density so far
            shrunk = np.exp(highest - value)
            total, first, second, highest = shrunk * total, shrunk * first, shrunk * second, value
        weight = WEIGHTS[point] * np.exp(value - highest)
        total += weight
        first += weight * slope
        second += weight * (bend + slope * slope)
    first, second = first / total, second / total
    return highest + np.log(total / np.sum(np.array(WEIGHTS))), first, second - first * first


def by_trial(log_odds, answers, rule):
    """Return the log density of every answer, replicates x trials."""
    value = np.empty(log_odds.shape)
    for replicate in range(log_odds.shape[0]):
        for trial in range(log_odds.shape[1]):
            value[replicate, trial] = log_density(answers[trial], log_odds[replicate, trial], rule)[0]
    return value


def by_replicate(log_odds, answers, rule):
    """Return every replicate's log-likelihood at one point."""
    value = np.zeros(log_odds.shape[0])
    for replicate in range(log_odds.shape[0]):
        for trial in range(log_odds.shape[1]):
            value[replicate] += log_density(answers[trial], log_odds[replicate, trial], rule)[0]
    return value


def by_rule(log_odds, answers, rules):
    """Return every replicate's log-likelihood, replicates x rules (of which each is a row)."""
    value = np.empty((len(log_odds), len(rules)))
    for number in range(len(rules)):
        value[:, number] = by_replicate(log_odds, answers, rules[number])
    return value


TEMPLATES = (over_residual, by_trial, by_replicate, by_rule)


@njit(cache=True)
def log_mean(log_values):
    """Return the logarithm of the mean over the first axis (rows x columns): -inf where all of a column are."""
    rows, columns = log_values.shape
    highest = log_values[0].copy()
    for row in range(1, rows):
        for column in range(columns):
            highest[column] = max(highest[column], log_values[row, column])
    total = np.zeros(columns)
    for row in range(rows):
        for column in range(columns):
            if highest[column] > -np.inf:
                total[column] += np.exp(log_values[row, column] - highest[column])
    return highest + np.log(total / rows)
