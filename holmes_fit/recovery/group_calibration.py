"""Whether the group layer is calibrated: groups from its own prior, people from the groups, choices from the people.

The rank of a group's true mean or spread among the draws of its posterior is then uniform over many cohorts. Beside it,
mixtures of two models with known frequencies, and the estimates of people, pooled and separate.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.special import logit
from scipy.stats import truncnorm

from holmes_fit.lattice import Posterior
from holmes_fit.pooling import GroupPrior, Lattices, Sampling
from holmes_fit.pooling.draws import GroupDraws, People
from holmes_fit.pooling.lattices import MergedAxis, centre_and_scale, merge
from holmes_fit.pooling.mixture import LARGEST_K_HAT
from holmes_fit.pooling.priors import draw_prior, scaled
from holmes_fit.pooling.repeated import RepeatedGroup, RepeatedMixture
from holmes_fit.recovery.shared_traces import SharedTraces, as_lattices
from holmes_fit.spaces import FreeParameter, Space
from holmes_fit.trials import Learner

FOR_PEOPLE = 200  # draws of the group over which a person's posterior is averaged
RANKED = 59  # draws, far enough apart to be nearly independent, among which a truth is ranked
ENDS = (0.05, 0.95)  # of the 90% interval of a frequency


# ------------------------------------------------------------------------------------------------- people of a group


def blank_lattices(space: Space, people: int) -> Lattices:
    """Return lattices that say nothing, to compile a model with."""
    shape = (people, *(axis.nodes for axis in space.free))
    subjects = tuple(f"s{number:02d}" for number in range(people))
    nothing = np.zeros(people)
    return Lattices(space.model.name, subjects, space.free, np.zeros(shape, np.float32), nothing, nothing, nothing)


def group_axes(space: Space) -> tuple[MergedAxis, ...]:
    """Return the axes that a group's prior depends on."""
    return merge(blank_lattices(space, 1)).axes


def draw_people(
    axes: Sequence[FreeParameter],
    mean: NDArray[np.float64],
    spread: NDArray[np.float64],
    n: int,
    rng: np.random.Generator,
) -> NDArray[np.float64]:
    """Return people x parameters on the scales of search: normal, cut off at the bounds, as in the group model."""
    low, high = (np.array([getattr(axis, end) for axis in axes]) for end in ("low", "high"))
    people = truncnorm((low - mean) / spread, (high - mean) / spread, loc=mean, scale=spread)
    return np.clip(people.ppf(rng.random((n, len(axes)))), low, high)


def typical_group(axes: Sequence[FreeParameter]) -> GroupDraws:
    """Return a group such as that of the example cohorts, narrower than the fitting prior."""
    middle = {"alpha": np.log(0.8), "omega": np.log(0.3), "beta": np.log(3.0), "lapse": logit(0.02)}
    spread = {"alpha": 0.5, "omega": 0.5, "beta": 0.3, "lapse": 0.5}
    names = [axis.name for axis in axes]
    return GroupDraws(np.array([[middle[name] for name in names]]), np.array([[spread[name] for name in names]]))


def widest_group(axes: Sequence[FreeParameter]) -> GroupDraws:
    """Return a group that is as wide as the fitting prior, so that separate estimates have the right prior already."""
    centres = np.array([centre_and_scale(axis) for axis in axes])
    return GroupDraws(centres[None, :, 0], centres[None, :, 1])


# ------------------------------------------------------------------------------------------------- one cohort


@dataclass(frozen=True)
class GroupCohort:
    """One simulated cohort under its own model.

    Parameters
    ----------
    rank
        Quantities (mean, spread) x parameters: how many of ``RANKED`` draws are below the truth.
    truth
        People x parameters, on the scales of search.
    separate, pooled
        Likewise, posterior means under the fitting prior, and under the group.
    separate_below, pooled_below
        Likewise, the posterior probability below the truth.
    evidence_error
        The Monte Carlo error of each person's log evidence.
    divergences, r_hat, ess
        Of NUTS; ``ess`` is the smaller of bulk and tail.
    """

    rank: NDArray[np.int64]
    truth: NDArray[np.float64]
    separate: NDArray[np.float64]
    pooled: NDArray[np.float64]
    separate_below: NDArray[np.float64]
    pooled_below: NDArray[np.float64]
    evidence_error: NDArray[np.float64]
    divergences: int
    r_hat: float
    ess: float


@dataclass(frozen=True)
class GroupStudy:
    """Cohorts of one model; the group model is compiled once.

    Parameters
    ----------
    traces
        The model, and the trials that everyone sees.
    people
        In each cohort.
    prior, sampling
        Of the group model.
    """

    traces: SharedTraces
    people: int = 8
    prior: GroupPrior = field(default_factory=GroupPrior)
    sampling: Sampling = field(default_factory=lambda: Sampling(chains=2, tune=300, draws=500))

    @cached_property
    def sampler(self) -> RepeatedGroup:
        return RepeatedGroup(self.prior, self.sampling)

    def draw_group(self, rng: np.random.Generator) -> GroupDraws:
        """Return one group from the prior."""
        return draw_prior(scaled(self.prior, group_axes(self.traces.space)), 1, rng)

    def cohort(self, group: GroupDraws, rng: np.random.Generator) -> GroupCohort:
        """Simulate a cohort of a group, fit everyone, and pool them."""
        space = self.traces.space
        truth = draw_people(space.free, group.mean[0], group.spread[0], self.people, rng)
        names = [f"s{number:02d}" for number in range(self.people)]
        people = [self.traces.simulate(position, name, rng) for position, name in zip(truth, names, strict=True)]
        fits = [self.traces.fit(person, rng) for person in people]
        lattices = as_lattices(space.model.name, names, fits)
        found = self.sampler(lattices, int(rng.integers(1 << 31)))
        under_group = People(lattices, found.draws.thinned(FOR_PEOPLE))
        separate, separate_below = _against_truth(space.free, [fit.mass for fit in fits], truth)
        pooled, pooled_below = _against_truth(space.free, [under_group.mass(i) for i in range(self.people)], truth)
        return GroupCohort(
            rank=ranks(group, found.draws),
            truth=truth,
            separate=separate,
            pooled=pooled,
            separate_below=separate_below,
            pooled_below=pooled_below,
            evidence_error=np.array([fit.log_evidence_error for fit in fits]),
            divergences=found.diagnostics.divergences,
            r_hat=found.diagnostics.r_hat,
            ess=min(found.diagnostics.ess_bulk, found.diagnostics.ess_tail),
        )


def ranks(truth: GroupDraws, draws: GroupDraws) -> NDArray[np.int64]:
    """Return quantities (mean, spread) x parameters: how many of ``RANKED`` draws are below the truth."""
    some = draws.thinned(RANKED)
    return np.array([(some.mean < truth.mean).sum(axis=0), (some.spread < truth.spread).sum(axis=0)])


def _against_truth(
    axes: Sequence[FreeParameter], masses: Sequence[NDArray[np.float64]], truth: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return posterior means, and the posterior probability below the truth: people x parameters each."""
    mean, below = np.empty(truth.shape), np.empty(truth.shape)
    for person, mass in enumerate(masses):
        for number, axis in enumerate(axes):
            marginal = mass.sum(axis=tuple(i for i in range(len(axes)) if i != number))
            edges = axis.low + axis.spacing * np.arange(axis.nodes + 1)
            mean[person, number] = marginal @ axis.positions
            below[person, number] = np.interp(truth[person, number], edges, np.append(0.0, np.cumsum(marginal)))
    return mean, below


# ------------------------------------------------------------------------------------------------- mixtures


@dataclass(frozen=True)
class MixtureCohort:
    """One simulated mixture.

    Parameters
    ----------
    frequency, n_second
        The true frequency of the second model, and how many people follow it.
    mean, lower, upper
        Of its posterior, with the Monte Carlo errors of the evidences; the ends of the 90% interval.
    lower_without, upper_without
        The ends without those errors.
    right
        The share of people whose most probable model is their own.
    k_hat_high
        The share of imputations whose importance weights cannot be trusted.
    evidence_error
        People x models: the Monte Carlo error of the log evidence.
    divergences, r_hat, ess
        Of NUTS.
    """

    frequency: float
    n_second: int
    mean: float
    lower: float
    upper: float
    lower_without: float
    upper_without: float
    right: float
    k_hat_high: float
    evidence_error: NDArray[np.float64]
    divergences: int
    r_hat: float
    ess: float


@dataclass(frozen=True)
class MixtureStudy:
    """Mixtures of two models; the parameters are those of :class:`GroupStudy`."""

    traces: tuple[SharedTraces, SharedTraces]
    people: int = 20
    prior: GroupPrior = field(default_factory=GroupPrior)
    sampling: Sampling = field(default_factory=lambda: Sampling(chains=2, tune=300, draws=400))

    @cached_property
    def sampler(self) -> RepeatedMixture:
        return RepeatedMixture(self.prior, self.sampling)

    def cohorts(self, frequencies: Sequence[float], rng: np.random.Generator) -> list[MixtureCohort]:
        """Simulate mixtures of several frequencies, and find each of them.

        Everyone has a place from 0 to 1, and follows the second model where it is below the frequency. So mixtures of
        one call share those people who follow the same model in both, who need to be fitted only once.
        """
        candidates = [self._candidates(each, rng) for each in self.traces]
        place = rng.random(self.people)
        seeds = rng.integers(1 << 31, size=len(frequencies))

        @cache
        def fits_of(person: int, source: int) -> tuple[Posterior, Posterior]:
            learners, seed = candidates[source][person]
            first, second = (each.fit(learners, np.random.default_rng([seed, i])) for i, each in enumerate(self.traces))
            return first, second

        found = []
        for frequency, seed in zip(frequencies, seeds, strict=True):
            member = (place < frequency).astype(int)
            fits = [fits_of(person, int(source)) for person, source in enumerate(member)]
            found.append(self._cohort(frequency, member, fits, int(seed)))
        return found

    def _candidates(self, traces: SharedTraces, rng: np.random.Generator) -> list[tuple[tuple[Learner, ...], int]]:
        """Return everyone as they would be, if they followed this model, and a seed of their own."""
        space = traces.space
        group = draw_prior(scaled(self.prior, group_axes(space)), 1, rng)
        truth = draw_people(space.free, group.mean[0], group.spread[0], self.people, rng)
        return [
            (traces.simulate(position, f"s{number:02d}", rng), int(rng.integers(1 << 31)))
            for number, position in enumerate(truth)
        ]

    def _cohort(
        self, frequency: float, member: NDArray[np.int64], fits: Sequence[tuple[Posterior, Posterior]], seed: int
    ) -> MixtureCohort:
        names = [f"s{number:02d}" for number in range(self.people)]
        by_model = list(zip(*fits, strict=True))
        lattices = [
            as_lattices(each.space.model.name, names, own) for each, own in zip(self.traces, by_model, strict=True)
        ]
        found = self.sampler(lattices, seed)
        with_errors = found.imputed.frequency[:, 0, 1]
        lower, upper = np.quantile(with_errors, ENDS)
        lower_without, upper_without = np.quantile(found.sampled_frequency[:, 1], ENDS)
        return MixtureCohort(
            frequency=frequency,
            n_second=int(member.sum()),
            mean=float(with_errors.mean()),
            lower=float(lower),
            upper=float(upper),
            lower_without=float(lower_without),
            upper_without=float(upper_without),
            right=float(np.mean(found.imputed.probability.argmax(axis=1) == member)),
            k_hat_high=float(np.mean(found.imputed.k_hat > LARGEST_K_HAT)),
            evidence_error=np.array([[fit.log_evidence_error for fit in pair] for pair in fits]),
            divergences=found.diagnostics.divergences,
            r_hat=found.diagnostics.r_hat,
            ess=min(found.diagnostics.ess_bulk, found.diagnostics.ess_tail),
        )
