"""One cohort after another under the same group model: for studies of calibration, without what only reports need."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from holmes_fit.groups.pooling.density import EVERYONE, Density, GroupTerm
from holmes_fit.groups.pooling.draws import GroupDraws, People
from holmes_fit.groups.pooling.lattices import Lattices, merge
from holmes_fit.groups.pooling.mixture import IMPUTATIONS, Imputed, errors_of, impute
from holmes_fit.groups.pooling.priors import GroupPrior, scaled
from holmes_fit.groups.pooling.sampling import Diagnostics, Sampling, diagnose, nuts


@dataclass(frozen=True)
class GroupFound:
    """A group's posterior, chain after chain, and whether NUTS has done its work."""

    draws: GroupDraws
    diagnostics: Diagnostics


@dataclass(frozen=True)
class RepeatedGroup:
    """The group model of one latent-cause model, for one cohort after another.

    Parameters
    ----------
    prior, sampling
        As for :func:`pool_people`, but for the seed.
    """

    prior: GroupPrior = field(default_factory=GroupPrior)
    sampling: Sampling = field(default_factory=Sampling)

    def __call__(self, lattices: Lattices, seed: int) -> GroupFound:
        """Return the posterior of the group of some people."""
        term = _term(lattices, self.prior)
        idata = nuts(Density.of_group(term), replace(self.sampling, seed=seed))
        return GroupFound(term.draws(idata["posterior"]), diagnose(idata))


@dataclass(frozen=True)
class MixtureFound:
    """Frequencies and probabilities with the Monte Carlo errors of the evidences, and whether NUTS has done its work.

    ``sampled_frequency`` (draws x models) is without those errors.
    """

    imputed: Imputed
    sampled_frequency: np.ndarray
    diagnostics: Diagnostics


@dataclass(frozen=True)
class RepeatedMixture:
    """The mixture of several models, for one cohort after another; the parameters are those of RepeatedGroup."""

    prior: GroupPrior = field(default_factory=GroupPrior)
    sampling: Sampling = field(default_factory=Sampling)

    def __call__(self, lattices: Sequence[Lattices], seed: int) -> MixtureFound:
        """Return the posterior of the mixture of some people."""
        terms = [_term(each, self.prior, each.model) for each in lattices]
        group_of = np.zeros(len(lattices[0].subjects), dtype=np.intp)
        idata = nuts(Density(terms, (EVERYONE,), group_of), replace(self.sampling, seed=seed))
        posterior = idata["posterior"]
        exact = [
            People(each, term.draws(posterior)).log_likelihood() for each, term in zip(lattices, terms, strict=True)
        ]
        frequency = posterior["frequency"].values.reshape(-1, 1, len(lattices))
        imputed = impute(np.stack(exact, axis=-1), frequency, group_of, errors_of(lattices), IMPUTATIONS, seed)
        return MixtureFound(imputed, frequency[:, 0], diagnose(idata))


def _term(lattices: Lattices, prior: GroupPrior, label: str = "") -> GroupTerm:
    merged = merge(lattices)
    return GroupTerm(lattices, merged, scaled(prior, merged.axes), {}, {}, label)
