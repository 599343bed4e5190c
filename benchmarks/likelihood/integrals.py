"""Choices integrated over a density of traces, compiled.

A trace is centre + loadings a + residual, with standard normal a and independent normal residuals. The residual is
integrated trial by trial (``responses``), and a by Laplace's method: the highest point is found by Newton's steps, and
a normal integral taken there. With a lapse, the log probability of a choice is not concave; so steps use the curvature
of the concave trials only, which always leads uphill, and are halved until they do.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from benchmarks.likelihood.responses import log_choice

STEPS = 50
CLOSE = 1e-3  # nats that another step would gain, at which the highest point is found
SMALLEST = 1e-3  # share of a step, below which no more halving is tried
WIDER = 1.2  # than Laplace's normal density are draws for importance sampling, because the tails are heavier
FAR = 10.0  # nats below another centre, at which a centre no longer matters


@njit(cache=True)
def surface(a, centre, loadings, variance, answers, response, concave, gradient, curvature):
    """Return the log probability of the answers and of a, without the constant of a normal density.

    Writes its gradient and the lower half of its negative curvature, of the concave trials only if ``concave``.
    """
    size = len(a)
    value = 0.0
    for i in range(size):
        value -= 0.5 * a[i] * a[i]
        gradient[i] = -a[i]
        for j in range(i):
            curvature[i, j] = 0.0
        curvature[i, i] = 1.0
    for trial in range(len(answers)):
        row = loadings[trial]
        log_odds = centre[trial]
        for i in range(size):
            log_odds += row[i] * a[i]
        log_probability, first, second = log_choice(answers[trial], log_odds, variance[trial], response)
        value += log_probability
        weight = max(-second, 0.0) if concave else -second
        for i in range(size):
            gradient[i] += first * row[i]
            scaled = weight * row[i]
            for j in range(i + 1):
                curvature[i, j] += scaled * row[j]
    return value


@njit(cache=True)
def factorise(matrix, factor):
    """Write the Cholesky factor of the lower half of a matrix; False if it is not positive definite."""
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
def backward(factor, right):
    """Return the solution x of factor' x = right."""
    x = right.copy()
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
def highest_point(centre, loadings, variance, answers, response, floor, factor):
    """Return the highest a and its height; -inf if it will clearly stay below ``floor``.

    Leaves in ``factor`` that of the concave trials' curvature.
    """
    size = loadings.shape[1]
    a = np.zeros(size)
    gradient, curvature = np.empty(size), np.empty((size, size))
    value = surface(a, centre, loadings, variance, answers, response, True, gradient, curvature)
    for _ in range(STEPS):
        factorise(curvature, factor)
        step = backward(factor, forward(factor, gradient))
        gain = np.sum(gradient * step)  # twice what a quadratic function would gain
        if gain < CLOSE:
            break
        if value + 2.0 * gain < floor:
            return a, -np.inf
        share = 1.0
        tried = surface(a + step, centre, loadings, variance, answers, response, True, gradient, curvature)
        while tried < value and share > SMALLEST:
            share *= 0.5
            tried = surface(a + share * step, centre, loadings, variance, answers, response, True, gradient, curvature)
        a = a + share * step
        value = tried
    return a, value


@njit(cache=True)
def laplace(centre, loadings, variance, answers, response, floor):
    """Return the log probability of the answers, integrated over a by Laplace's method.

    Where a direction is not curved downwards, the curvature of the concave trials takes its place.
    """
    size = loadings.shape[1]
    concave, factor = np.zeros((size, size)), np.zeros((size, size))
    a, value = highest_point(centre, loadings, variance, answers, response, floor, concave)
    if value == -np.inf:
        return value
    curvature = np.empty((size, size))
    surface(a, centre, loadings, variance, answers, response, False, np.empty(size), curvature)
    if not factorise(curvature, factor):
        factor = concave
    return value - np.sum(np.log(np.diag(factor)))


@njit(cache=True)
def sampled(centre, loadings, variance, answers, response, normals):
    """Return the same by importance sampling around Laplace's point: exact as the number of ``normals`` grows."""
    n_draws, size = normals.shape
    factor, curvature = np.zeros((size, size)), np.empty((size, size))
    a, _ = highest_point(centre, loadings, variance, answers, response, -np.inf, factor)
    values = np.empty(n_draws)
    for draw in range(n_draws):
        at = a + WIDER * backward(factor, normals[draw])
        values[draw] = surface(at, centre, loadings, variance, answers, response, True, np.empty(size), curvature)
        values[draw] += 0.5 * np.sum(normals[draw] ** 2)
    return log_mean(values) - np.sum(np.log(np.diag(factor))) + size * np.log(WIDER)


@njit(cache=True)
def log_mean(values):
    """Return the logarithm of the mean of exponentials."""
    largest = values.max()
    return largest + np.log(np.mean(np.exp(values - largest)))


@njit(cache=True)
def at_centres(centres, variance, answers, response):
    """Return the log probability of the answers at every centre, residuals integrated."""
    values = np.zeros(len(centres))
    for row in range(len(centres)):
        for trial in range(len(answers)):
            values[row] += log_choice(answers[trial], centres[row, trial], variance[trial], response)[0]
    return values


@njit(cache=True)
def mixture(centres, loadings, variance, answers, response):
    """Return the log probability of the answers under an equal mixture of densities with these centres.

    Likely centres come first, so that those that cannot matter beside them are left early.
    """
    values = np.empty(len(centres))
    highest = -np.inf
    for row in np.argsort(-at_centres(centres, variance, answers, response)):
        values[row] = laplace(centres[row], loadings, variance, answers, response, highest - FAR)
        highest = max(highest, values[row])
    return log_mean(values)
