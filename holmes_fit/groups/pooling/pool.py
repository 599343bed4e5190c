"""The group model of one latent-cause model: sampled, checked, and its people under it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import norm

from holmes_fit._support.errors import Problems, Quoted
from holmes_fit._support.notebooks import InNotebook
from holmes_fit.groups.pooling.compiled import Scaled
from holmes_fit.groups.pooling.density import Density, GroupTerm
from holmes_fit.groups.pooling.draws import Designs, GroupDraws, People
from holmes_fit.groups.pooling.lattices import Lattices, MergedLattices
from holmes_fit.groups.pooling.priors import GroupPrior
from holmes_fit.groups.pooling.sampling import OnStep, Sampled, Sampling, nuts_once
from holmes_fit.groups.pooling.tables import group_table, people_table, quantities_of
from holmes_fit.groups.posteriors import Posterior
from holmes_fit.runs.knowledge import Knowledge, within_cells
from holmes_fit.settings.distributions import FEWEST_IN_GROUP

if TYPE_CHECKING:
    from holmes_fit.groups.pooling.covariates import Design

FOR_PEOPLE = 500  # draws of the group over which a person's posterior is averaged
FOR_ERRORS = 200
DRAWS_OF_PERSON = 1000
LARGEST_ERROR = 0.5  # nats
LARGEST_SHIFT = 0.5  # SDs of the posterior; a 95% interval that is moved by it holds the truth in 92%


@dataclass(frozen=True)
class LatticeErrors:
    """How much the log-likelihood of the whole group depends on the lattice: SDs over draws of the group, in nats.

    What is the same for all draws does not matter for the group, so that SDs are what counts.
    """

    merging: float  # of the difference that merging cells makes
    # Of its Monte Carlo error, from what leaving out each of the disjoint shares of everyone's filters changes
    noise: float
    # How far that error moves the mean or spread of a parameter, or an effect, of all the one that it moves most: an
    # SD, in SDs of the posterior. This is what matters, as the error of a large group may be large and have little to
    # do with any one of them.
    shift: float

    @property
    def warnings(self) -> list[str]:
        """What a reader must know."""
        found = []
        if self.merging > LARGEST_ERROR:
            found.append(f"merging cells of the lattice changes the group's log-likelihood by {self.merging:.2f} nats")
        if self.shift > LARGEST_SHIFT:
            held = 2 * norm.cdf(norm.ppf(0.975) / np.hypot(1, self.shift)) - 1
            found.append(
                f"the Monte Carlo error of the likelihood moves a mean or spread of the group by {self.shift:.2f} SDs "
                f"of its posterior, so that a 95% interval holds the truth in some {held:.0%}; fit with more "
                "replicates (--preset careful)"
            )
        return found


@dataclass(frozen=True, kw_only=True)
class Pooled(InNotebook, Sampled):
    """A group, and its people under it."""

    main_table: ClassVar = ("group",)

    lattices: Lattices  # what everyone's choices say
    designs: Mapping[str, Design]  # by parameter, where its mean depends on covariates
    prior: GroupPrior  # how it was computed
    sampling: Sampling
    draws: GroupDraws  # the group's posterior, chain after chain
    errors: LatticeErrors

    def __repr__(self) -> str:  # in a notebook; the arrays would take pages
        return f"<Pooled: {self.model}, {len(self.lattices.subjects)} people>"

    @property
    def model(self) -> str:
        return self.lattices.model

    @property
    def names(self) -> tuple[str, ...]:
        """Of everyone's parameters."""
        return self.lattices.names

    @property
    def formulas(self) -> list[str]:
        """By which means depend on covariates."""
        return [design.formula for design in self.designs.values()]

    @property
    def scaled_prior(self) -> Scaled:
        """Its prior on the scales of search."""
        return self.density.terms[0].prior

    @property
    def merged(self) -> MergedLattices:
        """The lattices that NUTS walked on."""
        return self.density.terms[0].merged

    @property
    def warnings(self) -> list[str]:
        """What a reader must know before using the results; nothing if all is well."""
        return self.diagnostics.warnings + self.errors.warnings

    quantities = quantities_of  # of the group, as its table has them
    group = cached_property(group_table)  # ``group.csv`` of this model
    people = cached_property(people_table)  # ``pooled.csv`` of this model

    @property
    def matrices(self) -> Designs:
        """The designs by the number of the parameter."""
        return self.density.terms[0].designs

    @cached_property
    def log_likelihood(self) -> NDArray[np.float64]:
        """Draws x people: log-likelihood of a person's choices under the group, on the lattice as it was fitted."""
        return People(self.lattices, self.draws, self.matrices).log_likelihood()

    @cached_property
    def individuals(self) -> list[Knowledge]:
        """What is known of each person, averaged over the posterior of the group."""
        masses = People(self.lattices, self.draws.thinned(FOR_PEOPLE), self.matrices).masses()
        return [Knowledge(self.lattices.axes, mass) for mass in masses]

    def draw_people(self, n: int = DRAWS_OF_PERSON) -> NDArray[np.float64]:
        """Return people x draws x parameters, natural values: a node by its mass, then a place within its cell.

        Draws are joint: those of one number are of people under the same draw of the group, so that what is uncertain
        about the group is shared by all of them.
        """
        rng = np.random.default_rng([self.sampling.seed, 1])
        chosen = np.linspace(0, len(self.draws) - 1, n).round().astype(np.intp)
        people = People(self.lattices, self.draws.chosen(chosen), self.matrices)
        everyone = range(len(self.lattices.subjects))
        return np.stack([within_cells(self.lattices.axes, people.draw_nodes(person, rng), rng) for person in everyone])


def pool_people(
    lattices: Lattices,
    *,
    formulas: Sequence[str] = (),
    people: pd.DataFrame | None = None,
    prior: GroupPrior | None = None,
    sampling: Sampling | None = None,
    kept: Posterior | None = None,
    on_step: OnStep | None = None,
) -> Pooled:
    """Fit the group model of one latent-cause model.

    On the scales of search, people are normally distributed about a mean, which may depend on covariates, with a
    spread for each parameter. A person's likelihood under a group is a sum over the lattice, so that NUTS samples
    nothing but means, spreads and effects. ``people`` has a row of covariates for each; draws of an earlier time are
    ``kept`` if they are of the same people, prior and sampling.
    """
    prior, sampling = prior or GroupPrior(), sampling or Sampling()
    problems = Problems()
    check_enough(lattices, problems)
    if not lattices.axes:
        problems.add(f"model {lattices.model}", Quoted("no free parameters"), "a model with something to pool")
    problems.raise_if_any()
    designs = {}
    if formulas:
        from holmes_fit.groups.pooling.covariates import make_designs  # formulaic, which most groups do without

        table = pd.DataFrame({"subject": list(lattices.subjects)}) if people is None else people
        designs = make_designs(formulas, table, lattices.subjects, lattices.names)
    term = GroupTerm.of(lattices, prior, designs)
    sampled = nuts_once(Density([term]), sampling, kept, on_step)
    draws = term.draws(sampled.idata["posterior"])
    errors = lattice_errors(lattices, term.merged, draws, term.designs)
    return Pooled(
        **vars(sampled), lattices=lattices, designs=designs, prior=prior, sampling=sampling, draws=draws, errors=errors
    )


def lattice_errors(
    lattices: Lattices, merged: MergedLattices, draws: GroupDraws, designs: Designs | None = None
) -> LatticeErrors:
    """Measure what merging costs, and how large the Monte Carlo error is, at some draws of the group."""
    some = draws.thinned(FOR_ERRORS)
    people = People(lattices, some, designs)
    merging = people.log_likelihood().sum(axis=1) - People(merged, some, designs).log_likelihood().sum(axis=1)
    return LatticeErrors(float(np.std(merging)), *_noise(lattices, some, designs))


def _noise(lattices: Lattices, draws: GroupDraws, designs: Designs | None) -> tuple[float, float]:
    """Return ``noise`` and ``shift`` of the errors.

    By the jackknife: see ``lattice.posterior``. A small change of the log-likelihood moves the posterior mean of
    anything by their covariance over draws.
    """
    by_set = [People(each, draws, designs).log_likelihood().sum(axis=1) for each in lattices.sets]
    return noise_of(by_set, [draws.mean, np.log(draws.spread), *draws.effects.values()])


def noise_of(sets: Sequence[NDArray[np.float64]], moved_by: Sequence[NDArray[np.float64]]) -> tuple[float, float]:
    """Return both from log-likelihoods of the group without each share of the filters, and draws x quantities."""
    if len(sets) < 2:
        return 0.0, 0.0
    by_set = np.stack(sets)
    relative = by_set - by_set.mean(axis=1, keepdims=True)
    count = len(by_set)
    noise = (count - 1) * np.sqrt(relative.var(axis=0, ddof=1).mean() / count)
    quantities = np.column_stack(moved_by)
    standard = (quantities - quantities.mean(axis=0)) / quantities.std(axis=0)
    moved = relative @ standard / len(quantities)
    shift = (count - 1) * moved.std(axis=0, ddof=1) / np.sqrt(count)
    return float(noise), float(shift.max())


def check_enough(lattices: Lattices, problems: Problems) -> None:
    """Refuse too few people."""
    people = len(lattices.subjects)
    if people < FEWEST_IN_GROUP:
        seen = Quoted("one person" if people == 1 else f"{people} people")
        advice = "A group's spread cannot be seen from fewer."
        problems.add(f"model {lattices.model}", seen, f"at least {FEWEST_IN_GROUP} people", advice)
