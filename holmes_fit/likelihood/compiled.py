"""The response rule over all trials and replicates, compiled.

P(choice) = lapse/2 + (1 - lapse) sigmoid(beta logit(p_hat) + bias), towards the choice that was made: ``towards`` are
the log odds of p-hat for that choice (replicates x trials), ``sign`` is 1 where it was 1 and -1 where it was 0.
"""

import numpy as np
from numba import njit

LARGEST_LOG = 600.0  # a product of probabilities is safe above exp(-this)


@njit(cache=True)
def sigmoid(x):
    """Return 1 / (1 + exp(-x)), 0 or 1 where x is infinite."""
    return 1.0 / (1.0 + np.exp(-x))


@njit(cache=True)
def probabilities(towards, sign, beta, lapse, bias):
    """Return the probability of every choice, replicates x trials."""
    return lapse / 2 + (1 - lapse) * sigmoid(beta * towards + sign * bias)


@njit(cache=True)
def on_grid(towards, sign, beta, lapse, bias):
    """Return the log-likelihood of every replicate, replicates x beta x lapse x bias.

    Probabilities are multiplied, and their logarithm is taken once for as many trials as cannot underflow: no
    probability is below lapse / 2.
    """
    n_replicates, n_trials = towards.shape
    block = max(1, int(LARGEST_LOG / -np.log(min(lapse.min() / 2, 0.5)))) if lapse.min() > 0 else 1
    result = np.zeros((n_replicates, len(beta), len(lapse), len(bias)))
    product = np.empty(len(lapse))
    for replicate in range(n_replicates):
        for b in range(len(beta)):
            for k in range(len(bias)):
                for first in range(0, n_trials, block):
                    product[:] = 1.0
                    for trial in range(first, min(first + block, n_trials)):
                        follows = sigmoid(beta[b] * towards[replicate, trial] + sign[trial] * bias[k])
                        for guess in range(len(lapse)):
                            product[guess] *= lapse[guess] / 2 + (1 - lapse[guess]) * follows
                    for guess in range(len(lapse)):
                        result[replicate, b, guess, k] += np.log(product[guess])
    return result


@njit(cache=True)
def by_replicate(towards, sign, beta, lapse, bias):
    """Return every replicate's log-likelihood at one point."""
    n_replicates, n_trials = towards.shape
    value = np.zeros(n_replicates)
    for replicate in range(n_replicates):
        for trial in range(n_trials):
            follows = sigmoid(beta * towards[replicate, trial] + sign[trial] * bias)
            value[replicate] += np.log(lapse / 2 + (1 - lapse) * follows)
    return value


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
