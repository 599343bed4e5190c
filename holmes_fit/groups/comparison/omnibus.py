"""How surely one model is the most frequent: exceedance probabilities, and the risk that all is due to chance.

The *omnibus risk* is the probability that all models are equally frequent, against frequencies from the Dirichlet
prior, with even odds beforehand (Rigoux et al., 2014). Equal frequencies are one point of the Dirichlet model, so that
the Bayes factor is the ratio of posterior to prior density there (Savage and Dickey). Given who follows which model,
the posterior of the frequencies is a Dirichlet distribution, whose density is averaged over draws of who follows what:
exact but for the number of draws, for any number of models, and with the parameters of all groups integrated out.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, logsumexp

from holmes_fit.groups.pooling.mixture import EvidenceErrors

SWEEPS = 40  # of Gibbs sampling from a good beginning; a handful would do
FAVOURED = 0.75  # protected exceedance probability
DRAWS = 4000  # of frequencies, where only evidences are known


def omnibus_risk(
    log_likelihood: NDArray[np.float64], frequency: NDArray[np.float64], rng: np.random.Generator
) -> float:
    """Return the probability that all models are equally frequent.

    From draws x people x models under each model's group, and from draws x models of the frequencies.
    """
    prior = np.ones(frequency.shape[1])
    counts = memberships(log_likelihood, frequency[:, None], rng).sum(axis=1)
    log_ratio = logsumexp(_log_density_at_equal(prior + counts)) - np.log(len(counts)) - _log_density_at_equal(prior)
    return float(1 / (1 + np.exp(-log_ratio)))


@dataclass(frozen=True)
class RandomEffects:
    """How frequent models are, over everyone."""

    frequency: NDArray[np.float64]  # draws x models
    # The probability of each model to be the most frequent one; and protected: with the omnibus risk, all are equal
    exceedance: NDArray[np.float64]
    protected: NDArray[np.float64]
    risk: float  # the omnibus risk: the probability that all models are equally frequent

    @classmethod
    def of(
        cls, log_likelihood: NDArray[np.float64], frequency: NDArray[np.float64], rng: np.random.Generator
    ) -> RandomEffects:
        """Return what draws of the frequencies say; see :func:`omnibus_risk`."""
        n_models = frequency.shape[1]
        exceedance = np.bincount(frequency.argmax(axis=1), minlength=n_models) / len(frequency)
        risk = omnibus_risk(log_likelihood, frequency, rng)
        return cls(frequency, exceedance, (1 - risk) * exceedance + risk / n_models, risk)


def random_effects(log_evidence: NDArray[np.float64], rng: np.random.Generator) -> RandomEffects:
    """Return how frequent models are (Stephan et al., 2009; Rigoux et al., 2014), by Gibbs sampling.

    ``log_evidence`` is people x models.
    """
    return random_effects_of(imputed(log_evidence, rng), rng)


def imputed(
    log_evidence: NDArray[np.float64], rng: np.random.Generator, errors: EvidenceErrors | None = None
) -> NDArray[np.float64]:
    """Return draws x people x models: the evidences, each draw with errors of its own if they are known."""
    drawn = np.broadcast_to(log_evidence, (DRAWS, *log_evidence.shape))
    return drawn if errors is None else drawn + errors.sd * rng.standard_normal(drawn.shape) - errors.bias


def random_effects_of(log_evidence: NDArray[np.float64], rng: np.random.Generator) -> RandomEffects:
    """Return the same from draws of the evidences, draws x people x models."""
    draws, people, models = log_evidence.shape
    equal = np.full((draws, models), 1 / models)
    everyone = np.zeros(people, dtype=np.intp)
    frequency = frequencies_by_group(log_evidence, equal, everyone, 1, rng)[:, 0]
    return RandomEffects.of(log_evidence, frequency, rng)


def memberships(
    log_likelihood: NDArray[np.float64], frequency: NDArray[np.float64], rng: np.random.Generator
) -> NDArray[np.int64]:
    """Return draws x people x models: 1 for the model that a person follows in a draw, 0 for the others.

    ``frequency`` is draws x people (or 1) x models: that of the group that a person belongs to.
    """
    with np.errstate(divide="ignore"):
        chances = np.log(frequency) + log_likelihood
    # The largest of log-probabilities with Gumbel noise is a draw from them.
    chosen = np.argmax(chances + rng.gumbel(size=chances.shape), axis=2)
    return (chosen[:, :, None] == np.arange(log_likelihood.shape[2])).astype(np.int64)


def frequencies_by_group(
    log_likelihood: NDArray[np.float64],
    frequency: NDArray[np.float64],
    group_of: NDArray[np.intp],
    n_groups: int,
    rng: np.random.Generator,
    prior: NDArray[np.float64] | float = 1.0,
) -> NDArray[np.float64]:
    """Return draws x groups x models: frequencies of their own for groups that share everything else.

    ``prior`` is the concentration of each model in the Dirichlet prior of the frequencies.

    Each draw of the parameters is kept, and who follows which model, and how frequent models are in each group, are
    drawn in turn. What the division into groups would change about the parameters of a model is left aside.
    """
    current = np.repeat(frequency[:, None], n_groups, axis=1)
    belongs = (group_of[:, None] == np.arange(n_groups)).astype(np.int64)
    for _ in range(SWEEPS):
        follows = memberships(log_likelihood, current[:, group_of], rng)
        counts = np.einsum("kpm,pg->kgm", follows, belongs)
        gammas = rng.gamma(prior + counts)
        current = gammas / gammas.sum(axis=2, keepdims=True)
    return current


def _log_density_at_equal(concentration: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the log-density of Dirichlet distributions where all frequencies are equal."""
    normalising = gammaln(concentration.sum(axis=-1)) - gammaln(concentration).sum(axis=-1)
    return normalising - (concentration - 1).sum(axis=-1) * np.log(concentration.shape[-1])
