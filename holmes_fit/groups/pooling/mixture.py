"""Several models in one group: how frequent each is, and who follows which.

Everyone follows one of the models, with frequencies that are unknown (a Dirichlet prior), and within a model people are
distributed as in its group model: ``p(choices) = sum_m f_m p(choices | group_m)``. Frequencies and all groups are
sampled jointly, so that a group is learned from those who follow its model.

**The Monte Carlo error of the evidences.** A person's likelihood under a model is known up to a factor ``exp(error)``,
from finitely many filters; mean (a bias) and SD of the error are estimated. To put that error into the model and
integrate over it would not do: a symmetric error has the same expected factor whatever the group's parameters are, so
that the likelihood is only rescaled, and the posterior is as sure as before. It would also treat a property of the
computer as one of the person. Instead, errors are imputed: drawn many times from their distribution, the posterior is
found for each draw as if those were the true evidences, and the posteriors are averaged with equal weights. What is
uncertain by luck then widens the frequencies, and moves everyone's probabilities towards each other. The posterior for
one draw comes from that without errors by importance weights, smoothed as in PSIS; how many draws are effective with
them says whether the errors are small enough for it. (Not k-hat: it is the shape of the weights' tail whatever their
scale, and is large now and then when errors are so small that all weights are nearly the same. Nor is there a heavy
tail to fear, as no weight is further from 1 than the errors allow.)
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from holmes_fit._support.errors import Problems, Quoted
from holmes_fit.groups.pooling.density import Density, GroupTerm
from holmes_fit.groups.pooling.draws import GroupDraws, People
from holmes_fit.groups.pooling.lattices import Lattices, check_same_people
from holmes_fit.groups.pooling.priors import GroupPrior
from holmes_fit.groups.pooling.sampling import OnStep, Sampled, Sampling, nuts_once
from holmes_fit.groups.posteriors import Posterior, smoothed_weights

IMPUTATIONS = 50
LEAST_EFFECTIVE = 0.1  # of the draws: five times as many as are taken from each imputation
FAILING_SHARE = 0.05  # of the imputations that may have fewer before it is said


@dataclass(frozen=True, kw_only=True)
class Imputed:
    """What is left when Monte Carlo errors are averaged over."""

    frequency: NDArray[np.float64]  # draws x models
    imputed: NDArray[np.float64]  # draws x people x models: the log-likelihoods that go with them
    probability: NDArray[np.float64]  # people x models, that a person follows a model
    effective: NDArray[np.float64]  # the share of draws that are effective in each imputation


@dataclass(frozen=True, kw_only=True)
class Mixture(Imputed, Sampled):
    """A group of people who follow several models. ``idata`` is without Monte Carlo error."""

    draws: tuple[GroupDraws, ...]  # the posterior of the group of each model, chain after chain
    # Draws x people x models: of a person's choices under a model's group, on the lattice as it was fitted
    log_likelihood: NDArray[np.float64]
    sampled_frequency: NDArray[np.float64]  # draws x models, as if there were no Monte Carlo error

    @property
    def lattices(self) -> tuple[Lattices, ...]:
        return tuple(term.lattices for term in self.density.terms)

    @property
    def models(self) -> tuple[str, ...]:
        return tuple(lattices.model for lattices in self.lattices)

    @property
    def subjects(self) -> tuple[str, ...]:
        return self.lattices[0].subjects

    @property
    def warnings(self) -> list[str]:
        """What a reader must know before using the results; nothing if all is well."""
        return [*self.diagnostics.warnings, *self.evidence_warnings]

    @property
    def evidence_warnings(self) -> list[str]:
        """What a reader must know of the Monte Carlo error of the evidences; nothing if it could be carried through."""
        share = float(np.mean(self.effective < LEAST_EFFECTIVE))
        if share <= FAILING_SHARE:
            return []
        return [
            f"the Monte Carlo error of the evidences is too large to be carried through ({share:.0%} of the "
            f"imputations have fewer than {LEAST_EFFECTIVE:.0%} effective draws): frequencies are less certain than "
            "they look; fit with more replicates"
        ]


def mix_models(
    lattices: Sequence[Lattices],
    *,
    prior: GroupPrior | None = None,
    sampling: Sampling | None = None,
    kept: Posterior | None = None,
    on_step: OnStep | None = None,
) -> Mixture:
    """Fit the mixture of several models, from everyone's lattices under each. For the rest, see :func:`pool_people`."""
    prior, sampling = prior or GroupPrior(), sampling or Sampling()
    check_mixture(lattices)
    density = Density([GroupTerm.of(each, prior, label=each.model) for each in lattices])
    sampled = nuts_once(density, sampling, kept, on_step)
    posterior = sampled.idata["posterior"]
    draws = tuple(term.draws(posterior) for term in density.terms)
    exact = [People(each, own).log_likelihood() for each, own in zip(lattices, draws, strict=True)]
    log_likelihood = np.stack(exact, axis=-1)
    frequency = posterior["frequency"].values.reshape(-1, len(lattices))
    found = impute(log_likelihood, frequency, errors_of(lattices), IMPUTATIONS, sampling.seed)
    return Mixture(
        **vars(sampled), **vars(found), draws=draws, log_likelihood=log_likelihood, sampled_frequency=frequency
    )


class EvidenceErrors(NamedTuple):
    """What is known of the Monte Carlo errors of the log evidences, people x models: their SD and their mean."""

    sd: NDArray[np.float64]
    bias: NDArray[np.float64]


def errors_of(lattices: Sequence[Lattices]) -> EvidenceErrors:
    """Return the errors of the evidences of several models."""
    return EvidenceErrors(
        np.column_stack([each.log_evidence_error for each in lattices]),
        np.column_stack([each.log_evidence_bias for each in lattices]),
    )


def impute(
    log_likelihood: NDArray[np.float64],
    frequency: NDArray[np.float64],
    errors: EvidenceErrors,
    imputations: int,
    seed: int,
) -> Imputed:
    """Average the posterior over the Monte Carlo errors of the evidences (see the top of this module).

    Without them, it is ``log_likelihood`` (draws x people x models) and ``frequency`` (draws x models).
    """
    rng = np.random.default_rng([seed, 3])
    n = len(log_likelihood)
    with np.errstate(divide="ignore"):
        joint = np.log(frequency)[:, None] + log_likelihood
    without = logsumexp(joint, axis=2)
    kept, moved_with, probability, effective = [], [], np.zeros(errors.sd.shape), []
    for _ in range(imputations):
        drawn = errors.sd * rng.standard_normal(errors.sd.shape) - errors.bias
        moved = joint + drawn
        total = logsumexp(moved, axis=2)
        weights = _smoothed_weights((total - without).sum(axis=1))
        probability += np.einsum("k,ksm->sm", weights, np.exp(moved - total[:, :, None])) / imputations
        n_kept = -(-n // imputations)  # chosen by their weights, systematically: with as little luck as there can be
        places = (np.arange(n_kept) + rng.random()) / n_kept
        chosen = np.minimum(np.searchsorted(np.cumsum(weights), places), n - 1)
        kept.append(frequency[chosen])
        moved_with.append(log_likelihood[chosen] + drawn)
        effective.append(1 / np.sum(weights**2) / n)
    return Imputed(
        frequency=np.concatenate(kept),
        imputed=np.concatenate(moved_with),
        probability=probability,
        effective=np.array(effective),
    )


def _smoothed_weights(log_weights: NDArray[np.float64]) -> NDArray[np.float64]:
    if np.ptp(log_weights) < 1e-9:  # no errors: all draws count alike
        return np.full(len(log_weights), 1 / len(log_weights))
    return smoothed_weights(log_weights)


def check_mixture(lattices: Sequence[Lattices]) -> None:
    """Refuse a single model or person, and models that were fitted on different people."""
    problems = Problems()
    if len(lattices) < 2:
        problems.add("models", Quoted(f"{len(lattices)}"), "at least two models to compare")
    elif len(lattices[0].subjects) < 2:
        problems.add("people", Quoted("one person"), "at least two people", "For one person, look at the evidences.")
    problems.raise_if_any()
    check_same_people(lattices)
