"""Whether the group layer is calibrated: groups from its own prior, people from the groups, choices from the people.

The rank of a group's true mean or spread among the draws of its posterior is then uniform over many cohorts. Beside it,
the estimates of people, pooled and separate.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray
from scipy.stats import truncnorm

from holmes_fit.fitting.lattice.posterior import Posterior
from holmes_fit.groups.pooling.draws import GroupDraws, People
from holmes_fit.groups.pooling.lattices import Lattices, MergedAxis, merge
from holmes_fit.groups.pooling.pool import pool_people
from holmes_fit.groups.pooling.priors import GroupPrior, draw_prior, scaled
from holmes_fit.groups.pooling.sampling import Sampling
from holmes_fit.runs.knowledge import Knowledge
from holmes_fit.settings.spaces import FreeParameter, Space
from holmes_fit.studies.recovery.shared_traces import SharedTraces, as_lattices
from holmes_fit.trials.cohorts import Learner

FOR_PEOPLE = 200  # draws of the group over which a person's posterior is averaged
RANKED = 59  # draws, far enough apart to be nearly independent, among which a truth is ranked


def group_axes(space: Space) -> tuple[MergedAxis, ...]:
    """Return the axes that a group's prior depends on: those of lattices that say nothing."""
    nothing, blank = np.zeros(1), np.zeros((1, *(axis.nodes for axis in space.free)), np.float32)
    return merge(Lattices(space.model.name, ("s00",), space.free, blank, nothing, nothing, nothing)).axes


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


@dataclass(frozen=True)
class GroupCohort:
    """One simulated cohort under its own model; most arrays are people x parameters."""

    rank: NDArray[np.int64]  # quantities (mean, spread) x parameters: how many of ``RANKED`` draws are below the truth
    truth: NDArray[np.float64]  # on the scales of search
    separate: NDArray[np.float64]  # posterior means under the fitting prior
    pooled: NDArray[np.float64]  # and under the group
    separate_below: NDArray[np.float64]  # the posterior probability below the truth
    pooled_below: NDArray[np.float64]
    evidence_error: NDArray[np.float64]  # the Monte Carlo error of each person's log evidence
    divergences: int
    r_hat: float
    ess: float  # the smaller of bulk and tail


@dataclass(frozen=True)
class GroupStudy:
    """Cohorts of one model."""

    traces: SharedTraces  # the model, and the trials that everyone sees
    people_each: int = 8  # in each cohort
    prior: GroupPrior = field(default_factory=GroupPrior)
    sampling: Sampling = field(default_factory=lambda: Sampling(chains=2, tune=300, draws=500))

    def draw_group(self, rng: np.random.Generator) -> GroupDraws:
        return draw_prior(scaled(self.prior, group_axes(self.traces.space)), 1, rng)

    def people(
        self, group: GroupDraws, rng: np.random.Generator
    ) -> tuple[NDArray[np.float64], list[tuple[Learner, ...]]]:
        """Draw the people of a group: their truth, people x parameters on the scales of search, and their choices."""
        truth = draw_people(self.traces.space.free, group.mean[0], group.spread[0], self.people_each, rng)
        return truth, [self.traces.simulate(position, f"s{i:02d}", rng) for i, position in enumerate(truth)]

    def cohort(self, group: GroupDraws, rng: np.random.Generator) -> GroupCohort:
        """Simulate a cohort of a group, fit everyone, and pool them."""
        truth, people = self.people(group, rng)
        return self.pooled(group, truth, [self.traces.fit(person, rng) for person in people], rng)

    def pooled(
        self, group: GroupDraws, truth: NDArray[np.float64], fits: Sequence[Posterior], rng: np.random.Generator
    ) -> GroupCohort:
        """Pool people who are fitted already, and hold what is found against the truth."""
        space = self.traces.space
        lattices = as_lattices(space.model.name, [f"s{i:02d}" for i in range(len(fits))], fits)
        sampling = replace(self.sampling, seed=int(rng.integers(1 << 31)))
        found = pool_people(lattices, prior=self.prior, sampling=sampling)
        under_group = People(lattices, found.draws.thinned(FOR_PEOPLE))
        separate, separate_below = _against_truth(fits, truth)
        pooled, pooled_below = _against_truth([Knowledge(space.free, mass) for mass in under_group.masses()], truth)
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
    known: Sequence[Knowledge], truth: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return posterior means, and the posterior probability below the truth: people x parameters each."""
    mean, below = np.empty(truth.shape), np.empty(truth.shape)
    for person, number in np.ndindex(truth.shape):
        marginal = known[person].marginal(number)
        mean[person, number] = marginal.moments[0]
        below[person, number] = marginal.below(truth[person, number])
    return mean, below
