"""The registry: every estimator takes the traces of R filters, the choices and the response, and returns a float."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from benchmarks.likelihood import integrals
from benchmarks.likelihood.traces import Density, kernel_density, log_odds_of, spread_of
from holmes_fit.likelihood import Response
from holmes_fit.trials import MISSED

Array = NDArray[np.float64]
P_hats = Sequence[Array]
Choices = Sequence[NDArray[np.int8]]
Estimate = Callable[[P_hats, Choices, Response, np.random.Generator], float]

COMPONENTS = 12
BANDWIDTHS = (0.0, 0.25, 0.5, 0.75, 1.0)
DRAWS = 100


class Answered(NamedTuple):
    """One learner's answered trials: log odds (filters x trials), and answers as 1 or -1."""

    log_odds: Array
    answers: Array


def answered(p_hat: Array, choices: NDArray[np.int8]) -> Answered:
    """Leave missed trials out."""
    is_answered = choices != MISSED
    return Answered(
        np.ascontiguousarray(log_odds_of(p_hat[:, is_answered])), np.where(choices[is_answered] == 1, 1.0, -1.0)
    )


def log_probability(density: Density, answers: Array, response: Response) -> float:
    """Return the log probability of one learner's answers under a density over traces."""
    values = tuple(response)
    if not density.loadings.any():
        return float(integrals.log_mean(integrals.at_centres(density.centres, density.variance, answers, values)))
    return float(integrals.mixture(*density, answers, values))


def kde(
    p_hats: P_hats, choices: Choices, response: Response, rng: np.random.Generator, *, bandwidth: float, components: int
) -> float:
    """Kernel density over traces; the plain mean with bandwidth 0, Gaussian traces with 1."""
    total = 0.0
    for learner in map(answered, p_hats, choices):
        density = kernel_density(spread_of(learner.log_odds, components), bandwidth)
        total += log_probability(density, learner.answers, response)
    return total


def half(
    p_hats: P_hats, choices: Choices, response: Response, rng: np.random.Generator, *, components: int = COMPONENTS
) -> float:
    """The mean of the plain mean and Gaussian traces, learner by learner."""
    total = 0.0
    for learner in map(answered, p_hats, choices):
        spread = spread_of(learner.log_odds, components)
        both = [log_probability(kernel_density(spread, h), learner.answers, response) for h in (0.0, 1.0)]
        total += float(logsumexp(both)) - np.log(2)
    return total


def gaussian_sampled(
    p_hats: P_hats, choices: Choices, response: Response, rng: np.random.Generator, *, components: int = COMPONENTS
) -> float:
    """Gaussian traces, integrated by importance sampling around Laplace's point."""
    total = 0.0
    for learner in map(answered, p_hats, choices):
        spread = spread_of(learner.log_odds, components)
        normals = rng.standard_normal((DRAWS, spread.loadings.shape[1]))
        total += integrals.sampled(
            spread.mean, spread.loadings, spread.variance, learner.answers, tuple(response), normals
        )
    return float(total)


class Stacking(NamedTuple):
    """How weights of the bandwidths are found.

    Filters are dealt into ``folds``, of which the first ``held_out`` are held out in turn; each filter of such a fold
    answers ``answers`` times like a person.
    """

    bandwidths: tuple[float, ...] = BANDWIDTHS
    components: int = COMPONENTS
    folds: int = 4
    held_out: int = 1
    answers: int = 1


def stacked(p_hats: P_hats, choices: Choices, response: Response, rng: np.random.Generator, *, how: Stacking) -> float:
    """A mixture over bandwidths, weighted by how well each foresees the answers of filters that were held out."""
    learners = [answered(*each) for each in zip(p_hats, choices, strict=True)]
    scores = np.concatenate([held_out_scores(learner.log_odds, response, rng, how) for learner in learners])
    weights = stacking_weights(scores)
    return sum(weighted(learner, weights, response, how) for learner in learners)


def weighted(learner: Answered, weights: Array, response: Response, how: Stacking) -> float:
    """Return the log probability of a learner's answers under a mixture over bandwidths."""
    spread = spread_of(learner.log_odds, how.components)
    used = [(h, weight) for h, weight in zip(how.bandwidths, weights, strict=True) if weight > 1e-6]
    values = [log_probability(kernel_density(spread, h), learner.answers, response) for h, _ in used]
    return float(logsumexp(values, b=[weight for _, weight in used]))


def held_out_scores(log_odds: Array, response: Response, rng: np.random.Generator, how: Stacking) -> Array:
    """Return log probabilities of simulated answers, answers x bandwidths, under densities of the other filters."""
    fold_of = rng.permutation(len(log_odds)) % how.folds
    rows = []
    for fold in range(how.held_out):
        spread = spread_of(np.ascontiguousarray(log_odds[fold_of != fold]), how.components)
        densities = [kernel_density(spread, h) for h in how.bandwidths]
        for filtered in log_odds[fold_of == fold]:
            for _ in range(how.answers):
                answers = simulated_answers(filtered, response, rng)
                rows.append([log_probability(density, answers, response) for density in densities])
    return np.array(rows)


def simulated_answers(log_odds: Array, response: Response, rng: np.random.Generator) -> Array:
    """Let a filter answer like a person."""
    probability = response.lapse / 2 + (1 - response.lapse) / (1 + np.exp(-response.beta * log_odds - response.bias))
    return np.where(rng.random(len(log_odds)) < probability, 1.0, -1.0)


def stacking_weights(scores: Array, steps: int = 500) -> Array:
    """Return the mixture weights under which the scored answers are likeliest, by EM."""
    relative = np.exp(scores - scores.max(axis=1, keepdims=True))
    weights = np.full(scores.shape[1], 1 / scores.shape[1])
    for _ in range(steps):
        shares = relative * weights
        weights = (shares / shares.sum(axis=1, keepdims=True)).mean(axis=0)
    return weights


ESTIMATORS: dict[str, Estimate] = {
    "plain": partial(kde, bandwidth=0.0, components=COMPONENTS),
    "kde .25": partial(kde, bandwidth=0.25, components=COMPONENTS),
    "kde .5": partial(kde, bandwidth=0.5, components=COMPONENTS),
    "kde .75": partial(kde, bandwidth=0.75, components=COMPONENTS),
    "gaussian": partial(kde, bandwidth=1.0, components=COMPONENTS),
    "gaussian, 6 components": partial(kde, bandwidth=1.0, components=6),
    "gaussian, 24 components": partial(kde, bandwidth=1.0, components=24),
    "gaussian, sampled": gaussian_sampled,
    "half": half,
    "stacked": partial(stacked, how=Stacking()),
    "stacked, 4 answers": partial(stacked, how=Stacking(answers=4)),
    "stacked, crossed": partial(stacked, how=Stacking(held_out=4)),
    "stacked, three": partial(stacked, how=Stacking(bandwidths=(0.0, 0.5, 1.0))),
}
