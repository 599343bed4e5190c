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
CLOSE = 1e-6  # nats that another step would gain, at which the highest point is found
FAR = 15.0  # nats below another centre, at which a centre no longer matters


@njit(cache=True)
def height(a, centre, loadings, variance, answers, response):
    """Return the log probability of the answers and of a, without the constant of a normal density."""
    value = -0.5 * np.sum(a * a)
    for trial in range(len(answers)):
        log_odds = centre[trial]
        for component in range(len(a)):
            log_odds += loadings[trial, component] * a[component]
        value += log_choice(answers[trial], log_odds, variance[trial], response)[0]
    return value


@njit(cache=True)
def slopes(a, centre, loadings, variance, answers, response, concave):
    """Return the gradient and the negative curvature in a, of the concave trials only if ``concave``."""
    size = len(a)
    gradient = -a
    curvature = np.eye(size)
    for trial in range(len(answers)):
        row = loadings[trial]
        log_odds = centre[trial]
        for component in range(size):
            log_odds += row[component] * a[component]
        _, first, second = log_choice(answers[trial], log_odds, variance[trial], response)
        weight = max(-second, 0.0) if concave else -second
        for i in range(size):
            gradient[i] += first * row[i]
            scaled = weight * row[i]
            for j in range(i + 1):
                curvature[i, j] += scaled * row[j]
    for i in range(size):
        for j in range(i):
            curvature[j, i] = curvature[i, j]
    return gradient, curvature


@njit(cache=True)
def highest_point(start, centre, loadings, variance, answers, response, floor):
    """Return the highest a and its height; -inf if it will clearly stay below ``floor``."""
    a = start.copy()
    value = height(a, centre, loadings, variance, answers, response)
    for _ in range(STEPS):
        gradient, curvature = slopes(a, centre, loadings, variance, answers, response, True)
        step = np.linalg.solve(curvature, gradient)
        gain = np.sum(gradient * step)  # twice what a quadratic function would gain
        if gain < CLOSE:
            break
        if value + 2.0 * gain < floor:
            return a, -np.inf
        size = 1.0
        tried = height(a + step, centre, loadings, variance, answers, response)
        while tried < value and size > 1e-4:
            size *= 0.5
            tried = height(a + size * step, centre, loadings, variance, answers, response)
        if tried < value:
            break
        a = a + size * step
        value = tried
    return a, value


@njit(cache=True)
def half_log_determinant(curvature, concave):
    """Return half the log determinant; where a direction is not curved downwards, that of the concave trials."""
    sign, value = np.linalg.slogdet(curvature)
    if sign <= 0 or np.linalg.eigvalsh(curvature)[0] <= 0:
        value = np.linalg.slogdet(concave)[1]
    return 0.5 * value


@njit(cache=True)
def laplace(centre, loadings, variance, answers, response, floor):
    """Return the log probability of the answers, integrated over a by Laplace's method."""
    start = np.zeros(loadings.shape[1])
    a, value = highest_point(start, centre, loadings, variance, answers, response, floor)
    if value == -np.inf:
        return value
    full = slopes(a, centre, loadings, variance, answers, response, False)[1]
    concave = slopes(a, centre, loadings, variance, answers, response, True)[1]
    return value - half_log_determinant(full, concave)


@njit(cache=True)
def sampled(centre, loadings, variance, answers, response, normals):
    """Return the same by importance sampling around Laplace's point: exact as the number of ``normals`` grows."""
    n_draws, size = normals.shape
    a, _ = highest_point(np.zeros(size), centre, loadings, variance, answers, response, -np.inf)
    concave = slopes(a, centre, loadings, variance, answers, response, True)[1]
    factor = np.linalg.cholesky(concave)
    values = np.empty(n_draws)
    for draw in range(n_draws):
        at = a + np.linalg.solve(factor.T, normals[draw])
        values[draw] = height(at, centre, loadings, variance, answers, response) + 0.5 * np.sum(normals[draw] ** 2)
    return log_mean(values) - np.sum(np.log(np.diag(factor)))


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
