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
from holmes_fit.choices import choice_probability
from holmes_fit.likelihood import AS_PREDICTED, Response
from holmes_fit.trials import MISSED

Array = NDArray[np.float64]
P_hats = Sequence[Array]
Choices = Sequence[NDArray[np.int8]]
Estimate = Callable[[P_hats, Choices, Response, np.random.Generator], float]

COMPONENTS = 12
BANDWIDTHS = (0.0, 0.25, 0.5, 0.75, 1.0)
DRAWS = 100
NO_WEIGHT = 1e-6


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


def in_choice_odds(
    p_hats: P_hats, choices: Choices, response: Response, rng: np.random.Generator, *, estimate: Estimate
) -> float:
    """Another estimator, with densities over the log odds of choices instead of those of p-hat.

    Lapses bound these log odds, so that predictions that no choice could tell apart no longer count as different; and
    the log probability of a choice is concave in them.
    """
    chosen = [choice_probability(p_hat, response.beta, response.lapse, response.bias) for p_hat in p_hats]
    return estimate(chosen, choices, AS_PREDICTED, rng)


Expert = tuple[float, int]  # bandwidth and number of components


def experts(bandwidths: Sequence[float], components: int = COMPONENTS) -> tuple[Expert, ...]:
    """Return kernel densities of several bandwidths with the same components."""
    return tuple((bandwidth, components) for bandwidth in bandwidths)


class Stacking(NamedTuple):
    """Which densities are mixed, and how their weights are found.

    Filters are dealt into ``folds``, of which the first ``held_out`` are held out in turn; each filter of such a fold
    answers ``answers`` times like a person. ``prior`` counts as so many more answers that all experts foresee alike.
    """

    experts: tuple[Expert, ...] = experts(BANDWIDTHS)
    folds: int = 4
    held_out: int = 1
    answers: int = 1
    prior: float = 0.0


def stacked(p_hats: P_hats, choices: Choices, response: Response, rng: np.random.Generator, *, how: Stacking) -> float:
    """A mixture of densities, weighted by how well each foresees the answers of filters that were held out."""
    learners = [answered(*each) for each in zip(p_hats, choices, strict=True)]
    scores = np.concatenate([held_out_scores(learner.log_odds, response, rng, how) for learner in learners])
    weights = stacking_weights(scores, how.prior)
    return sum(weighted(learner, weights, response, how) for learner in learners)


def weighted(learner: Answered, weights: Array, response: Response, how: Stacking) -> float:
    """Return the log probability of a learner's answers under the weighted mixture."""
    is_used = weights > NO_WEIGHT
    used = [expert for expert, keep in zip(how.experts, is_used, strict=True) if keep]
    values = scores_of(densities_of(learner.log_odds, used), learner.answers, response)
    return float(logsumexp(values, b=weights[is_used]))


def densities_of(log_odds: Array, chosen: Sequence[Expert]) -> list[Density]:
    """Fit the density of every expert."""
    spreads = {components: spread_of(log_odds, components) for _, components in chosen}
    return [kernel_density(spreads[components], bandwidth) for bandwidth, components in chosen]


def scores_of(densities: Sequence[Density], answers: Array, response: Response) -> list[float]:
    """Return what every density gives to the answers."""
    return [log_probability(density, answers, response) for density in densities]


def held_out_scores(log_odds: Array, response: Response, rng: np.random.Generator, how: Stacking) -> Array:
    """Return log probabilities of simulated answers, answers x experts, under densities of the other filters."""
    fold_of = rng.permutation(len(log_odds)) % how.folds
    rows = []
    for fold in range(how.held_out):
        densities = densities_of(np.ascontiguousarray(log_odds[fold_of != fold]), how.experts)
        for filtered in np.repeat(log_odds[fold_of == fold], how.answers, axis=0):
            rows.append(scores_of(densities, simulated_answers(filtered, response, rng), response))
    return np.array(rows)


def simulated_answers(log_odds: Array, response: Response, rng: np.random.Generator) -> Array:
    """Let a filter answer like a person."""
    probability = response.lapse / 2 + (1 - response.lapse) / (1 + np.exp(-response.beta * log_odds - response.bias))
    return np.where(rng.random(len(log_odds)) < probability, 1.0, -1.0)


def stacking_weights(scores: Array, prior: float = 0.0, steps: int = 500) -> Array:
    """Return the mixture weights under which the scored answers are likeliest, by EM.

    ``prior`` counts as so many more answers, shared equally by all.
    """
    relative = np.exp(scores - scores.max(axis=1, keepdims=True))
    n_answers, n_experts = scores.shape
    weights = np.full(n_experts, 1 / n_experts)
    for _ in range(steps):
        shares = relative * weights
        counts = (shares / shares.sum(axis=1, keepdims=True)).sum(axis=0)
        weights = (counts + prior / n_experts) / (n_answers + prior)
    return weights


THREE, ENDS = experts((0.0, 0.5, 1.0)), experts((0.0, 1.0))
GAUSSIANS = ((0.0, 0), (1.0, 3), (1.0, 6), (1.0, 12), (1.0, 24))
MANY = (*GAUSSIANS, (0.25, 12), (0.5, 12), (0.75, 12))

ESTIMATORS: dict[str, Estimate] = {
    "plain": partial(kde, bandwidth=0.0, components=0),
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
    "stacked three, crossed": partial(stacked, how=Stacking(THREE, held_out=4)),
    "stacked ends, crossed": partial(stacked, how=Stacking(ENDS, held_out=4)),
    "stacked gaussians, crossed": partial(stacked, how=Stacking(GAUSSIANS, held_out=4)),
    "stacked three, crossed, prior 1": partial(stacked, how=Stacking(THREE, held_out=4, prior=1.0)),
    "stacked gaussians, crossed, prior 1": partial(stacked, how=Stacking(GAUSSIANS, held_out=4, prior=1.0)),
    "stacked many, crossed, prior 1": partial(stacked, how=Stacking(MANY, held_out=4, prior=1.0)),
}
ESTIMATORS |= {
    f"odds: {name}": partial(in_choice_odds, estimate=ESTIMATORS[name])
    for name in (
        "kde .5",
        "gaussian",
        "half",
        "stacked",
        "stacked, crossed",
        "stacked three, crossed",
        "stacked ends, crossed",
        "stacked gaussians, crossed",
        "stacked three, crossed, prior 1",
        "stacked gaussians, crossed, prior 1",
    )
}
