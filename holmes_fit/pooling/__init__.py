"""Groups of people: distributions over their parameters, effects of covariates, and frequencies of models.

A person's likelihood lattice is integrated out exactly, so that NUTS samples nothing but the parameters of the group.
``lattices`` reads what a run has, ``draws`` holds groups against the lattices, ``priors`` and ``covariates`` say what a
group model is, ``settings`` takes it from a preset, ``sampling`` is its NUTS, ``pool`` and ``mixture`` fit it,
``behaviour`` regresses right answers on the same covariates, and ``results`` writes what was found.
"""

from __future__ import annotations

from holmes_fit.pooling.lattices import Lattices, fitted_models, load_lattices
from holmes_fit.pooling.mixture import Mixture, mix_models
from holmes_fit.pooling.pool import Pooled, pool_people
from holmes_fit.pooling.priors import GroupPrior, prior_predictive
from holmes_fit.pooling.results import in_words, pool, read_pooled, write_pooled
from holmes_fit.pooling.sampling import Diagnostics, Sampling
from holmes_fit.pooling.settings import prior_of, sampling_of

__all__ = [
    "Diagnostics",
    "GroupPrior",
    "Lattices",
    "Mixture",
    "Pooled",
    "Sampling",
    "fitted_models",
    "in_words",
    "load_lattices",
    "mix_models",
    "pool",
    "pool_people",
    "prior_of",
    "prior_predictive",
    "read_pooled",
    "sampling_of",
    "write_pooled",
]
