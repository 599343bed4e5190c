"""Group models in PyMC: what ``compiled`` computes, said in the words of the field.

Nobody waits for these graphs: NUTS walks on the compiled density, which tests hold against them. They are for whoever
wants to read the model, draw from its prior, change it, or sample it in another way.
"""

from typing import Any

import numpy as np
import pymc as pm
import pytensor.tensor as pt

from holmes_fit.groups.pooling.compiled import LEAST
from holmes_fit.groups.pooling.density import Density, GroupTerm
from holmes_fit.groups.pooling.lattices import MergedAxis


def pymc_model(density: Density) -> pm.Model:
    """Return the PyMC model of a group, or of a mixture of several models."""
    terms = density.terms
    with pm.Model(coords=density.coords) as model:
        if len(terms) == 1:
            pm.Potential("people", log_likelihood(terms[0]).sum())
            return model
        frequency = pm.Dirichlet("frequency", np.ones((1, len(terms))), dims=("group", "model"))
        by_model = pt.stack([log_likelihood(term) for term in terms], axis=1)
        pm.Potential("people", pt.logsumexp(pt.log(frequency)[0] + by_model, axis=1).sum())
    return model


def log_likelihood(term: GroupTerm) -> Any:
    """Add the variables of one latent-cause model to the open PyMC model, and return everyone's log-likelihood."""
    prior, dims, axes = term.prior, term.named("parameter"), term.merged.axes
    if not axes:
        return pt.as_tensor(term.merged.highest)
    mean = pm.TruncatedNormal(
        term.named("mean"), prior.mean, prior.mean_sd, lower=prior.lowest_mean, upper=prior.highest_mean, dims=dims
    )
    # A spread that ran into zero between two nodes would make the likelihood a staircase, and one that was cut off
    # would pile up at the edge. This one has none: an excess far below the floor changes nothing.
    log_excess = pm.Normal(term.named("log_excess"), prior.log_excess, prior.log_excess_sd, dims=dims)
    spread = pt.sqrt(prior.least_spread**2 + pt.exp(2 * log_excess))
    spread = pm.Deterministic(term.named("spread"), spread, dims=dims)
    everyone = pt.zeros(len(term.merged.highest))
    total = pt.as_tensor(term.merged.likelihood)
    for number in reversed(range(len(axes))):  # the last axis is summed over first
        centre = mean[number] + (_effect(term, number) if number in term.designs else everyone)
        weights = _weights(axes[number], centre, spread[number])
        others = (1,) * number
        total = (total * weights.reshape((weights.shape[0], *others, weights.shape[1]))).sum(axis=-1)
    return pt.log(pt.maximum(total, LEAST)) + term.merged.highest


def _effect(term: GroupTerm, number: int) -> Any:
    name = term.effect_name(number)
    effects = pm.Normal(name, 0.0, term.prior.effect_sd[number], dims=tuple(term.dims[name]))
    return pt.dot(term.designs[number], effects)


def _weights(axis: MergedAxis, centre: Any, spread: Any) -> Any:
    """Return people x merged cells: the normal density at the nodes, made to sum to 1, summed over each cell."""
    variance = spread**2 - axis.lost_variance
    distance = axis.axis.positions - centre[:, None]
    share = pt.special.softmax(-0.5 * distance**2 / variance, axis=1)
    return pt.dot(share, np.equal.outer(axis.cell_of, np.arange(axis.nodes)).astype(np.float64))
