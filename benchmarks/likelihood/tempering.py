"""Tempering over luck: the likelihood at one point where hardly any filter resembles the person's own.

A filter's luck is one number a trial: the replicate as which it draws there (``filters.kernel.traces_of_luck``). States
are such vectors of luck, fresh ones at first. The likelihood of the choices enters by a power, from 0 to 1 in
steps that leave half of the states effective (Del Moral, Doucet & Jasra, 2006, "Sequential Monte Carlo samplers"), and
the product of the mean weights of all steps estimates the expected likelihood. Between steps some states are chosen and
moved many times, and every state of every chain is kept (Dau & Chopin, 2022, "Waste-free sequential Monte Carlo").

A move draws some trials' luck anew from its prior, so that the ratio of tempered likelihoods is all that decides.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import logsumexp

LuckLikelihood = Callable[[NDArray[np.int64]], NDArray[np.float64]]

FRESH = 1 << 32  # replicates are 32-bit numbers
EFFECTIVE = 0.5  # share of the states that stay effective in a step
WINDOWS = 0.3  # share of moves that keep the luck after a window of trials


@dataclass(frozen=True)
class Tempered:
    """The log-likelihood, and how it was come by: steps, and moves that were accepted at the last of them."""

    log_likelihood: float
    steps: int
    accepted: float
    filters: int


def temper(likelihood: LuckLikelihood, n_trials: int, chains: int, length: int, rng: np.random.Generator) -> Tempered:
    """Return the log of the expected likelihood over luck; ``likelihood`` takes rows of luck, ``n_trials`` long.

    ``chains`` is how many states are moved between two steps; each of them leaves ``length`` states.
    """
    luck = fresh_luck((chains * length, n_trials), rng)
    value = likelihood(luck)
    power, result, steps, accepted = 0.0, 0.0, 0, 1.0
    while True:
        step = next_step(value, 1.0 - power)
        result += float(logsumexp(step * value) - np.log(len(value)))
        power, steps = power + step, steps + 1
        if power >= 1.0:
            return Tempered(result, steps, accepted, steps * chains * length)
        chosen = systematic(step * value, chains, rng)
        luck, value, accepted = run_chains(likelihood, luck[chosen], value[chosen], power, length, rng)


def next_step(value: NDArray[np.float64], most: float) -> float:
    """Return the largest step, up to ``most``, after which half of the states are effective."""

    def excess(step: float) -> float:
        return float(2 * logsumexp(step * value) - logsumexp(2 * step * value)) - np.log(EFFECTIVE * len(value))

    return most if excess(most) >= 0 else float(brentq(excess, 0.0, most))


def systematic(log_weight: NDArray[np.float64], count: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """Choose ``count`` states in proportion to their weights, by evenly spaced points."""
    cumulated = np.cumsum(np.exp(log_weight - logsumexp(log_weight)))
    points = (np.arange(count) + rng.random()) / count
    return np.minimum(np.searchsorted(cumulated, points), len(cumulated) - 1)


def run_chains(
    likelihood: LuckLikelihood,
    luck: NDArray[np.int64],
    value: NDArray[np.float64],
    power: float,
    length: int,
    rng: np.random.Generator,
) -> tuple[NDArray[np.int64], NDArray[np.float64], float]:
    """Return all states of chains that begin with the given ones, and the share of accepted moves."""
    states, values, n_accepted = [luck], [value], 0
    for _ in range(length - 1):
        proposed = moved(luck, rng)
        proposed_value = likelihood(proposed)
        is_better = np.log(rng.random(len(luck))) < power * (proposed_value - value)
        luck = np.where(is_better[:, np.newaxis], proposed, luck)
        value = np.where(is_better, proposed_value, value)
        n_accepted += int(is_better.sum())
        states.append(luck)
        values.append(value)
    return np.concatenate(states), np.concatenate(values), n_accepted / (len(luck) * max(length - 1, 1))


def moved(luck: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
    """Draw luck anew from a random trial on, or within a window only, of a size that is uniform on a log scale."""
    n_rows, n_trials = luck.shape
    trial, first = np.arange(n_trials), rng.integers(0, n_trials, n_rows)
    size = np.ceil(np.exp(rng.random(n_rows) * np.log(n_trials)))
    last = np.where(rng.random(n_rows) < WINDOWS, first + size, n_trials)
    is_new = (trial >= first[:, np.newaxis]) & (trial < last[:, np.newaxis])
    return np.where(is_new, fresh_luck(luck.shape, rng), luck)


def fresh_luck(shape: tuple[int, int], rng: np.random.Generator) -> NDArray[np.int64]:
    """Draw luck from its prior: numbers that practically never repeat."""
    return rng.integers(0, FRESH, shape)
