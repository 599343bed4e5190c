"""One cohort after another under the same group model, compiled once: for studies of calibration.

Compiling takes longer than sampling a small cohort. What differs between cohorts is data, so it is replaced in what was
compiled. Chains are those of ``sampling.nuts``: started with jitter, with the same adaptation; they run one after the
other in this process.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import arviz as az
import numpy as np
import pymc as pm
from pymc.blocking import DictToArrayBijection, RaveledVars
from pymc.step_methods.hmc.quadpotential import QuadPotentialDiagAdapt
from pytensor.configdefaults import config

from holmes_fit.pooling.draws import GroupDraws, People
from holmes_fit.pooling.lattices import Lattices, MergedLattices, merge
from holmes_fit.pooling.mixture import EVERYONE, IMPUTATIONS, Imputed, impute, mixture_model
from holmes_fit.pooling.pool import group_model
from holmes_fit.pooling.priors import GroupPrior, scaled
from holmes_fit.pooling.sampling import MODE, OTHER_MODE, Diagnostics, GroupTerm, Sampling, diagnose

JITTER = 1.0  # chains begin so far at most from the middle of the prior, in every direction
PRIOR_WEIGHT = 10  # of the first guess at the scales, in draws: PyMC's own choice


class Compiled:
    """A PyMC model whose people can be replaced.

    Parameters
    ----------
    model
        The model.
    terms
        The parts that hold its people.
    """

    def __init__(self, model: pm.Model, terms: Sequence[GroupTerm]):
        self.model = model
        self.terms = terms
        self._density = model.logp_dlogp_function(ravel_inputs=True, mode=MODE)
        self._density.trust_input = True
        self._names = [variable.name for variable in model.unobserved_value_vars]
        with config.change_flags(mode=OTHER_MODE):
            self._middle = model.initial_point(0)
            self._values = model.compile_fn(model.unobserved_value_vars, inputs=model.value_vars, mode=OTHER_MODE)

    def sample(self, merged: Sequence[MergedLattices], sampling: Sampling, seed: int) -> az.InferenceData:
        """Sample the model for other people: as many as before, on lattices of the same axes."""
        for term, people in zip(self.terms, merged, strict=True):
            term.replace_people(people)
        seeds = np.random.SeedSequence(seed).spawn(sampling.chains)
        chains = [self._chain(sampling, np.random.default_rng(each)) for each in seeds]
        values = {name: np.stack([chain[0][name] for chain in chains]) for name in self._names}
        return az.from_dict(values, sample_stats={"diverging": np.stack([diverging for _, diverging in chains])})

    def _chain(self, sampling: Sampling, rng: np.random.Generator) -> tuple[dict[str, np.ndarray], np.ndarray]:
        """Return the values of all variables, and whether a draw diverged."""
        point = self._start(rng)
        first = DictToArrayBijection.map(point).data
        potential = QuadPotentialDiagAdapt(len(first), first, np.ones_like(first), PRIOR_WEIGHT, rng=rng.spawn(1)[0])
        step = pm.NUTS(
            model=self.model,
            potential=potential,
            target_accept=sampling.target_accept,
            initial_point=point,
            logp_dlogp_func=self._density,
            rng=rng.spawn(1)[0],
        )
        values, diverging = [], []
        for number in range(sampling.tune + sampling.draws):
            if number == sampling.tune:
                step.stop_tuning()
            point, stats = step.step(point)
            if number >= sampling.tune:
                values.append(self._values(point))
                diverging.append(stats[0]["diverging"])
        columns = {name: np.array([row[k] for row in values]) for k, name in enumerate(self._names)}
        return columns, np.array(diverging)

    def _start(self, rng: np.random.Generator) -> dict[str, np.ndarray]:
        middle = DictToArrayBijection.map(self._middle)
        moved = middle.data + rng.uniform(-JITTER, JITTER, size=middle.data.shape)
        return DictToArrayBijection.rmap(RaveledVars(moved, middle.point_map_info))


@dataclass(frozen=True)
class GroupFound:
    """A group's posterior, chain after chain, and whether NUTS has done its work."""

    draws: GroupDraws
    diagnostics: Diagnostics


class RepeatedGroup:
    """The group model of one latent-cause model, for one cohort after another.

    Parameters
    ----------
    like
        Lattices of as many people, on the same axes, as all cohorts will have.
    prior, sampling
        As for :func:`pool_people`, but for the seed.
    """

    def __init__(self, like: Lattices, prior: GroupPrior | None = None, sampling: Sampling | None = None):
        self.sampling = sampling or Sampling()
        self._term = _term(like, prior or GroupPrior())
        self._compiled = Compiled(group_model(self._term), [self._term])

    def __call__(self, lattices: Lattices, seed: int) -> GroupFound:
        """Return the posterior of the group of other people."""
        idata = self._compiled.sample([merge(lattices)], self.sampling, seed)
        return GroupFound(self._term.draws(idata["posterior"]), diagnose(idata))


@dataclass(frozen=True)
class MixtureFound:
    """Frequencies and probabilities with the Monte Carlo errors of the evidences, and whether NUTS has done its work.

    ``sampled_frequency`` (draws x models) is without those errors.
    """

    imputed: Imputed
    sampled_frequency: np.ndarray
    diagnostics: Diagnostics


class RepeatedMixture:
    """The mixture of several models, for one cohort after another; the parameters are those of RepeatedGroup."""

    def __init__(self, like: Sequence[Lattices], prior: GroupPrior | None = None, sampling: Sampling | None = None):
        self.sampling = sampling or Sampling()
        self._terms = [_term(each, prior or GroupPrior(), each.model) for each in like]
        self._group_of = np.zeros(len(like[0].subjects), dtype=np.intp)
        model = mixture_model(self._terms, (EVERYONE,), self._group_of, 1.0)
        self._compiled = Compiled(model, self._terms)

    def __call__(self, lattices: Sequence[Lattices], seed: int) -> MixtureFound:
        """Return the posterior of the mixture of other people."""
        idata = self._compiled.sample([merge(each) for each in lattices], self.sampling, seed)
        posterior = idata["posterior"]
        exact = [
            People(each, term.draws(posterior)).log_likelihood()
            for each, term in zip(lattices, self._terms, strict=True)
        ]
        frequency = posterior["frequency"].values.reshape(-1, 1, len(lattices))
        errors = np.column_stack([each.log_evidence_error for each in lattices])
        imputed = impute(np.stack(exact, axis=-1), frequency, self._group_of, errors, IMPUTATIONS, seed)
        return MixtureFound(imputed, frequency[:, 0], diagnose(idata))


def _term(like: Lattices, prior: GroupPrior, label: str = "") -> GroupTerm:
    merged = merge(like)
    return GroupTerm(like, merged, scaled(prior, merged.axes), {}, label)
