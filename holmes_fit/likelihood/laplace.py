"""Answers integrated over a normal density of traces, compiled.

A trace is ``mean + loadings a + residual``, with standard normal ``a`` and independent normal residuals. The residual
is integrated trial by trial: a logistic function of a normal variable has nearly the mean of a logistic function with a
smaller slope (MacKay, 1992, "The evidence framework applied to classification networks", Eq. 10). ``a`` is integrated
by Laplace's method: its highest point is found by Newton's steps, and a normal integral taken there. With a lapse, the
log probability of a choice is not concave; where the whole is not, steps use the curvature of the concave trials only.
That always leads uphill; steps are halved until they do.

``signs`` are 1 and -1 for choices of 1 and 0, and 0 for missed trials, which say nothing.
"""

import numpy as np
from numba import njit

PROBIT = np.pi / 8
STEPS = 30
CLOSE = 1e-6  # nats that another step would gain, twice, at which the highest point is found
LEAST = 1e-300  # probability, so that it has a logarithm
SHARES_OF_BETA = (0.125, 0.25, 0.5)  # at which the way up to a point stops
SMALLEST = 1e-3  # share of a step, below which no more halving is tried


@njit(cache=True)
def log_choice(sign, log_odds, variance, beta, lapse, bias):
    """Return the log probability of a choice, and its first and second derivative in the log odds of p-hat.

    The log odds are known up to a normal residual of this variance.
    """
    shrunk = sign / np.sqrt(1.0 + PROBIT * beta * beta * variance)
    slope = beta * shrunk
    follows = 1.0 / (1.0 + np.exp(-(slope * log_odds + bias * shrunk)))
    probability = max(lapse / 2 + (1 - lapse) * follows, LEAST)
    rise = (1 - lapse) * follows * (1 - follows) / probability
    return np.log(probability), slope * rise, slope * slope * rise * (1 - 2 * follows - rise)


@njit(cache=True)
def surface(a, mean, loadings, variance, signs, response, concave, gradient, curvature):
    """Return the log probability of the answers and of ``a``, without the constant of a normal density.

    Writes its gradient and its negative curvature, of the concave trials only if ``concave``.
    """
    beta, lapse, bias = response
    size = len(a)
    value = 0.0
    for i in range(size):
        value -= 0.5 * a[i] * a[i]
        gradient[i] = -a[i]
        for j in range(size):
            curvature[i, j] = 0.0
        curvature[i, i] = 1.0
    for trial in range(len(signs)):
        if signs[trial] == 0.0:
            continue
        row = loadings[trial]
        log_odds = mean[trial]
        for i in range(size):
            log_odds += row[i] * a[i]
        log_probability, first, second = log_choice(signs[trial], log_odds, variance[trial], beta, lapse, bias)
        value += log_probability
        weight = max(-second, 0.0) if concave else -second
        for i in range(size):
            gradient[i] += first * row[i]
            scaled = weight * row[i]
            for j in range(size):  # the whole square, as that is faster than half of it
                curvature[i, j] += scaled * row[j]
    return value


@njit(cache=True)
def factorise(matrix, factor):
    """Write the Cholesky factor of a symmetric matrix; False if it is not positive definite."""
    for i in range(len(matrix)):
        for j in range(i + 1):
            rest = matrix[i, j]
            for k in range(j):
                rest -= factor[i, k] * factor[j, k]
            if i > j:
                factor[i, j] = rest / factor[j, j]
            elif rest <= 0.0:
                return False
            else:
                factor[i, i] = np.sqrt(rest)
    return True


@njit(cache=True)
def solved(factor, right):
    """Return the solution x of factor factor' x = right."""
    x = forward(factor, right)
    for i in range(len(x) - 1, -1, -1):
        for k in range(i + 1, len(x)):
            x[i] -= factor[k, i] * x[k]
        x[i] /= factor[i, i]
    return x


@njit(cache=True)
def forward(factor, right):
    """Return the solution x of factor x = right."""
    x = right.copy()
    for i in range(len(x)):
        for k in range(i):
            x[i] -= factor[i, k] * x[k]
        x[i] /= factor[i, i]
    return x


@njit(cache=True)
def climb(a, mean, loadings, variance, signs, response, gradient, curvature, factor):
    """Return the height at ``a``; write the gradient there, and the factor of a curvature that leads uphill.

    That is the curvature itself, or, where it is not downwards in all directions, that of the concave trials.
    """
    value = surface(a, mean, loadings, variance, signs, response, False, gradient, curvature)
    if not factorise(curvature, factor):
        surface(a, mean, loadings, variance, signs, response, True, gradient, curvature)
        factorise(curvature, factor)
    return value


@njit(cache=True)
def integral(a, mean, loadings, variance, signs, response):
    """Return the log probability of the answers, the highest point (found from ``a``), and the factor there."""
    size = len(a)
    gradient, curvature, factor = np.empty(size), np.empty((size, size)), np.zeros((size, size))
    value = climb(a, mean, loadings, variance, signs, response, gradient, curvature, factor)
    for _ in range(STEPS):
        step = solved(factor, gradient)
        if np.sum(gradient * step) < CLOSE:
            break
        share = 1.0
        tried = climb(a + step, mean, loadings, variance, signs, response, gradient, curvature, factor)
        while tried < value and share > SMALLEST:
            share *= 0.5
            tried = climb(a + share * step, mean, loadings, variance, signs, response, gradient, curvature, factor)
        a = a + share * step
        value = tried
    for i in range(size):
        value -= np.log(factor[i, i])
    return value, a, factor


@njit(cache=True)
def at_point(mean, loadings, variance, signs, response):
    """Return what :func:`integral` does, approached from low beta, where there is one top only, as on a grid."""
    beta, lapse, bias = response
    a = np.zeros(loadings.shape[1])
    for share in SHARES_OF_BETA:
        _, a, _ = integral(a, mean, loadings, variance, signs, (share * beta, lapse, bias))
    return integral(a, mean, loadings, variance, signs, response)


@njit(cache=True)
def on_grid(mean, loadings, variance, signs, beta, lapse, bias):
    """Return the log probability of the answers, beta x lapse x bias. Each point starts where the last one ended."""
    result = np.empty((len(beta), len(lapse), len(bias)))
    for k in range(len(bias)):
        for j in range(len(lapse)):
            a = np.zeros(loadings.shape[1])
            for i in range(len(beta)):
                response = (beta[i], lapse[j], bias[k])
                result[i, j, k], a, _ = integral(a, mean, loadings, variance, signs, response)
    return result


@njit(cache=True)
def before_each_trial(mean, loadings, variance, signs, response):
    """Return what is known from the answers before each trial.

    The log probability of those answers (one more entry than trials: the last is of all), and the mean and the variance
    of the trial's log odds.
    """
    n_trials, size = loadings.shape
    total, expected, uncertain = np.empty(n_trials + 1), np.empty(n_trials), np.empty(n_trials)
    a, factor = np.zeros(size), np.eye(size)
    total[0] = 0.0
    for trial in range(n_trials):
        expected[trial] = mean[trial] + np.sum(loadings[trial] * a)
        uncertain[trial] = variance[trial] + np.sum(forward(factor, loadings[trial]) ** 2)
        total[trial + 1] = total[trial]
        if signs[trial] != 0.0:
            so_far = trial + 1
            total[so_far], a, factor = integral(
                a, mean[:so_far], loadings[:so_far], variance[:so_far], signs[:so_far], response
            )
    total[n_trials] = at_point(mean, loadings, variance, signs, response)[0]  # exactly as it is alone
    return total, expected, uncertain
