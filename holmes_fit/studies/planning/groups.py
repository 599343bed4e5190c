"""How precisely the means of a group will be known, from how well its people are known.

A group is normal, with a mean and a spread for each parameter. Had we seen the values of its people, z in units of
the spread about the mean, each would say as much about means and log spreads as z and z² vary in the group. We see
their choices, and what is missing is how much z and z² still vary in a person's posterior (Louis, 1982). So a person
says the one less the other: their covariance under the prior less that under the posterior. People add up, and the
inverse of the sum, with what the group's own prior says, is the covariance of means and log spreads in a large group.

All parameters are taken together. Where two of them do the same to one person's choices, as a learning rate and an
inverse temperature do, a group does not know which of its means is off, and each is known less well than people's own
posteriors suggest. The same goes for a mean and its spread, where choices say no more than that a value is small.

Held against NUTS (``pool_people``) on 30 simulated people, twice; SDs of group means in this way and in that. HOLMES,
40 trials of conditioning: alpha .60 and .63, omega .54 and .51, beta .21 and .21, lapse .56 and .65. Rescorla-Wagner on
compositional_3: learning rate .32 and .35, beta .19 and .25, lapse .31 and .28. It is meant for people who are spread
like the prior, and has not been held against NUTS on real people, who may differ.
"""

from collections.abc import Sequence

import numpy as np

from holmes_fit.groups.pooling.lattices import Lattices
from holmes_fit.groups.pooling.priors import GroupPrior
from holmes_fit.runs.knowledge import Marginal
from holmes_fit.studies.statistics import RESAMPLES, Estimate, Values, percentiles


def information(lattices: Lattices) -> Values:
    """Return what each person says about the group that they are from: means in units of the spreads, and log spreads.

    People must be spread as the fitting prior says. The result is people x 2 parameters x 2 parameters.
    """
    axes = lattices.axes
    marginals = [Marginal.of_prior(axis) for axis in axes]
    moments = [marginal.moments for marginal in marginals]
    z = [(axis.positions - mean) / sd for axis, (mean, sd) in zip(axes, moments, strict=True)]
    prior = np.ones(())
    for marginal in marginals:
        prior = np.multiply.outer(prior, marginal.mass)
    before = _covariance(prior, z)
    found = []
    for person in range(len(lattices.subjects)):
        posterior = prior * lattices.likelihood_of(person)
        found.append(before - _covariance(posterior / posterior.sum(), z))
    return np.stack(found)


def group_mean_sd(
    information: Values, prior_sds: Sequence[float], prior: GroupPrior, size: int, rng: np.random.Generator
) -> list[Estimate]:
    """Return the expected posterior SD of each mean of a group of some size, with 95% bootstrap intervals over people.

    ``information`` is of people like those in the group; SDs, those of the prior too, are on the scale of search.
    """
    people, n = len(information), len(prior_sds)
    drawn = rng.multinomial(people, np.full(people, 1 / people), size=RESAMPLES)
    weights = np.vstack([np.ones(people), drawn]) / people
    average = (weights @ information.reshape(people, -1)).reshape(-1, 2 * n, 2 * n)
    values, vectors = np.linalg.eigh(average)
    # In few people, a direction in which they are less sure than before can be left; it says nothing.
    said = (vectors * np.maximum(values, 0.0)[:, None, :]) @ vectors.transpose(0, 2, 1)
    before = np.repeat([1 / prior.mean_sd**2, 1 / prior.spread_log_sd**2], n)
    covariance = np.linalg.inv(size * said + np.diag(before))
    sds = np.sqrt(np.diagonal(covariance, axis1=1, axis2=2)[:, :n]) * np.asarray(prior_sds)
    return [Estimate(float(column[0]), *percentiles(column[1:])) for column in sds.T]


def _covariance(mass: Values, z: Sequence[Values]) -> Values:
    """Return the covariance of z and z² of all parameters under a distribution over a lattice: first all z, then z²."""
    n = len(z)
    features = [np.stack([own, own**2]) for own in z]
    means = np.stack([feature @ _marginal(mass, (i,)) for i, feature in enumerate(features)])
    found = np.empty((2, n, 2, n))
    for i, one in enumerate(features):
        found[:, i, :, i] = (one * _marginal(mass, (i,))) @ one.T
        for j in range(i + 1, n):
            found[:, i, :, j] = one @ _marginal(mass, (i, j)) @ features[j].T
            found[:, j, :, i] = found[:, i, :, j].T
    flat = means.T.ravel()
    return found.reshape(2 * n, 2 * n) - np.outer(flat, flat)


def _marginal(mass: Values, axes: tuple[int, ...]) -> Values:
    return np.asarray(mass.sum(axis=tuple(i for i in range(mass.ndim) if i not in axes)))
