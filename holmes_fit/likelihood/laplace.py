"""Answers integrated over a normal density of traces, compiled for each response.

A trace is ``mean + loadings a + residual``, with standard normal ``a`` and independent normal residuals. The residual
is integrated trial by trial, by the response. ``a`` is integrated by Laplace's method: its highest point is found by
Newton's steps, and a normal integral taken there. The log density of an answer need not be concave; that of a choice
with a lapse is not. Where the whole is not, steps use the curvature of the concave trials only. That always leads
uphill; steps are halved until they do.

``answers`` are coded as the response does it, NaN for missed trials, which say nothing; ``rule`` is an array. Functions
in ``TEMPLATES`` are compiled by ``specialised``, which puts the response's own in the place of :func:`over_residual`.
"""

import numpy as np
from numba import njit

STEPS = 30
CLOSE = 1e-6  # nats that another step would gain, twice, at which the highest point is found
SMALLEST = 1e-3  # share of a step, below which no more halving is tried


def over_residual(answer, log_odds, variance, rule):
    """Return the log density of an answer and its derivatives, averaged over a residual: see ``compiled``."""
    raise NotImplementedError


def surface(a, mean, loadings, variance, answers, rule, concave, gradient, curvature):
    """Return the log probability of the answers and of ``a``, without the constant of a normal density.

    Writes its gradient and its negative curvature, of the concave trials only if ``concave``.
    """
    size = len(a)
    value = 0.0
    for i in range(size):
        value -= 0.5 * a[i] * a[i]
        gradient[i] = -a[i]
        for j in range(size):
            curvature[i, j] = 0.0
        curvature[i, i] = 1.0
    for trial in range(len(answers)):
        if np.isnan(answers[trial]):
            continue
        row = loadings[trial]
        log_odds = mean[trial]
        for i in range(size):
            log_odds += row[i] * a[i]
        log_probability, first, second = over_residual(answers[trial], log_odds, variance[trial], rule)
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


def climb(a, mean, loadings, variance, answers, rule, gradient, curvature, factor):
    """Return the height at ``a``; write the gradient there, and the factor of a curvature that leads uphill.

    That is the curvature itself, or, where it is not downwards in all directions, that of the concave trials.
    """
    value = surface(a, mean, loadings, variance, answers, rule, False, gradient, curvature)
    if not factorise(curvature, factor):
        surface(a, mean, loadings, variance, answers, rule, True, gradient, curvature)
        factorise(curvature, factor)
    return value


def integral(a, mean, loadings, variance, answers, rule):
    """Return the log probability of the answers, the highest point (found from ``a``), and the factor there."""
    size = len(a)
    gradient, curvature, factor = np.empty(size), np.empty((size, size)), np.zeros((size, size))
    value = climb(a, mean, loadings, variance, answers, rule, gradient, curvature, factor)
    for _ in range(STEPS):
        step = solved(factor, gradient)
        if np.sum(gradient * step) < CLOSE:
            break
        share = 1.0
        tried = climb(a + step, mean, loadings, variance, answers, rule, gradient, curvature, factor)
        while tried < value and share > SMALLEST:
            share *= 0.5
            tried = climb(a + share * step, mean, loadings, variance, answers, rule, gradient, curvature, factor)
        a = a + share * step
        value = tried
    for i in range(size):
        value -= np.log(factor[i, i])
    return value, a, factor


def at_point(mean, loadings, variance, answers, rule, approach):
    """Return what :func:`integral` does, approached from where there is one top only, as on a grid."""
    a, near = np.zeros(loadings.shape[1]), rule.copy()
    for share in approach:
        near[0] = share * rule[0]
        _, a, _ = integral(a, mean, loadings, variance, answers, near)
    return integral(a, mean, loadings, variance, answers, rule)


def on_grid(mean, loadings, variance, answers, rules):
    """Return the log probability of the answers by each of the rules (first parameter x others x values).

    Each starts where the last one ended, along the first parameter.
    """
    result = np.empty(rules.shape[:2])
    for other in range(rules.shape[1]):
        a = np.zeros(loadings.shape[1])
        for i in range(rules.shape[0]):
            result[i, other], a, _ = integral(a, mean, loadings, variance, answers, rules[i, other])
    return result


def before_each_trial(mean, loadings, variance, answers, rule, approach):
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
        if not np.isnan(answers[trial]):
            so_far = trial + 1
            total[so_far], a, factor = integral(
                a, mean[:so_far], loadings[:so_far], variance[:so_far], answers[:so_far], rule
            )
    total[n_trials] = at_point(mean, loadings, variance, answers, rule, approach)[0]  # exactly as it is alone
    return total, expected, uncertain


TEMPLATES = (surface, climb, integral, at_point, on_grid, before_each_trial)
