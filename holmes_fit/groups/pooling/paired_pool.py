"""The group model of people in several conditions: sampled, checked, and its people under it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import pandas as pd

from holmes_fit._support.errors import Problems, Quoted
from holmes_fit._support.notebooks import InNotebook
from holmes_fit.groups.pooling.draws import population_median
from holmes_fit.groups.pooling.lattices import Lattices, RelativeLattices
from holmes_fit.groups.pooling.paired import LEAST, QUADRATURE, ConditionLattices, Group, PairedDensity, Quadrature
from holmes_fit.groups.pooling.paired_people import Axis, PairedPeople, likelihood_by_effect, some
from holmes_fit.groups.pooling.pool import (
    DRAWS_OF_PERSON,
    FOR_PEOPLE,
    LatticeErrors,
    check_enough,
    noise_of,
)
from holmes_fit.groups.pooling.priors import GroupPrior
from holmes_fit.groups.pooling.sampling import OnStep, Sampled, Sampling, nuts_once
from holmes_fit.groups.pooling.tables import Quantity, group_table, quantity
from holmes_fit.runs.workers.processes import one_thread
from holmes_fit.settings.spaces import named

if TYPE_CHECKING:
    from holmes_fit.groups.pooling.compiled import Scaled
    from holmes_fit.groups.pooling.lattices import MergedLattices
    from holmes_fit.groups.pooling.paired import Floats
    from holmes_fit.groups.posteriors import Posterior

FOR_ERRORS = 40  # draws of the group: everyone's whole lattices are summed over for each
FINER = 4  # more nodes of the quadrature, which the errors are found with


@dataclass(frozen=True, kw_only=True)
class PooledConditions(InNotebook, Sampled):
    """A group in several conditions, and its people under it."""

    main_table: ClassVar = ("group",)

    lattices: ConditionLattices
    prior: GroupPrior
    sampling: Sampling
    draws: Group  # chain after chain
    errors: LatticeErrors

    formulas: Sequence[str] = ()

    def __repr__(self) -> str:  # in a notebook; the arrays would take pages
        return f"<PooledConditions: {self.model}, {len(self.lattices.subjects)} people>"

    @property
    def model(self) -> str:
        return self.lattices.parts[0].model

    @property
    def merged(self) -> MergedLattices:
        """The lattices that NUTS walked on, of the first condition."""
        return self.lattices.merged[0]

    @property
    def scaled_prior(self) -> Scaled:
        """Its prior on the scales of search."""
        scaled: Scaled = self.density.scaled
        return scaled

    @property
    def names(self) -> tuple[str, ...]:
        """Of everyone's parameters, those that vary once for each condition."""
        own = self.lattices
        pairs = [(i, c) for i in range(len(own.axes)) for c in (own.conditions if i in own.varied else ("",))]
        return tuple(named(own.names[number], condition) for number, condition in pairs)

    @property
    def warnings(self) -> list[str]:
        """What a reader must know before using the results; nothing if all is well."""
        return self.diagnostics.warnings + self.errors.warnings

    def quantities(self) -> Iterator[Quantity]:
        """Give all quantities of the group; contrasts are paired within people."""
        own = self.lattices
        for number, axis in enumerate(own.axes):
            search, spread = axis.parameter.scale, self.draws.spread[:, number]
            varies = number in own.varied
            medians = []
            for c, name in enumerate(own.conditions if varies else ("",)):
                mean = self.draws.mean[:, number, c]
                medians.append(population_median(axis, mean, spread))
                yield quantity(axis.name, "mean", "", search, mean, condition=name)
                yield quantity(axis.name, "median", "", "natural", medians[-1], condition=name)
                yield quantity(axis.name, "spread", "", search, spread, condition=name)  # the same in all of them
            if not varies:
                continue
            shared = (self.draws.person[:, own.varied.index(number)] / spread) ** 2
            yield quantity(axis.name, "correlation", "", search, shared, condition="")
            for below, above in combinations(range(len(own.conditions)), 2):
                name = f"{own.by}: {own.conditions[above]} - {own.conditions[below]}"
                effect = self.draws.mean[:, number, above] - self.draws.mean[:, number, below]
                yield quantity(axis.name, "effect", name, search, effect, condition="")
                yield quantity(axis.name, "contrast", name, "natural", medians[above] - medians[below], condition="")

    group = cached_property(group_table)  # ``group.csv`` of this model

    @cached_property
    def people(self) -> pd.DataFrame:
        """``pooled.csv`` of this model."""
        own, people = self.lattices, self._people(FOR_PEOPLE)
        rows = []
        for person, subject in enumerate(own.subjects):
            known = people.known(person)
            for number, axis in enumerate(own.axes):
                for c, name in enumerate(own.conditions if number in own.varied else ("",)):
                    about = {"subject": subject, "model": self.model, "parameter": axis.name, "condition": name}
                    rows.append(about | known[c].marginal(number).described())
        return pd.DataFrame(rows)

    def draw_people(self, n: int = DRAWS_OF_PERSON) -> Floats:
        """Return people x draws x parameters, natural values; draws of one number have the same draw of the group."""
        people, rng = self._people(n), np.random.default_rng([self.sampling.seed, 1])
        return np.stack([people.draw(person, rng) for person in range(len(self.lattices.subjects))])

    @cached_property
    def log_likelihood(self) -> Floats:
        """Draws x people: log-likelihood of a person's choices under the group, on the lattices that NUTS walked on."""
        own = self.density
        by_effect = likelihood_by_effect(self.lattices, self.lattices.merged, self.draws, own.quadrature)
        total: Floats = np.log(np.maximum(by_effect.sum(axis=1), LEAST)) + own.highest
        return total

    def _people(self, n: int) -> PairedPeople:
        chosen = np.linspace(0, len(self.draws.mean) - 1, n).round().astype(np.intp)
        rng = np.random.default_rng([self.sampling.seed, 4])
        return PairedPeople.of(self.lattices, some(self.draws, chosen), self.density.quadrature, rng)


def pool_conditions(
    lattices: ConditionLattices,
    *,
    prior: GroupPrior | None = None,
    sampling: Sampling | None = None,
    kept: Posterior | None = None,
    on_step: OnStep | None = None,
) -> PooledConditions:
    """Fit the group model of one latent-cause model to people in several conditions."""
    prior, sampling = prior or GroupPrior(), sampling or Sampling()
    problems = Problems()
    check_enough(lattices.parts[0], problems)
    if len(lattices.varied) > max(QUADRATURE):
        seen = Quoted(f"{len(lattices.varied)} parameters that vary")
        problems.add(f"model {lattices.parts[0].model}", seen, f"at most {max(QUADRATURE)} in a group")
    problems.raise_if_any()
    density = PairedDensity(lattices, prior)
    with one_thread():  # each chain is a thread, and sums in another order would be other draws
        sampled = nuts_once(density, sampling, kept, on_step)
    points = {name: values.values for name, values in sampled.idata["posterior"].data_vars.items()}
    flat = {name: values.reshape(-1, *values.shape[2:]) for name, values in points.items()}
    nothing = np.empty((len(flat["mean"]), 0))
    draws = Group(flat["mean"], flat["spread"], flat.get("person", nothing), flat.get("rest", nothing))
    errors = _errors(density, draws)
    return PooledConditions(
        **vars(sampled), lattices=lattices, prior=prior, sampling=sampling, draws=draws, errors=errors
    )


def _errors(density: PairedDensity, draws: Group) -> LatticeErrors:
    """Measure what merging and the quadrature cost, and how large the Monte Carlo error is, at some draws."""
    own, n = density.lattices, len(density.quadrature.places)
    chosen = some(draws, np.unique(np.linspace(0, len(draws.mean) - 1, FOR_ERRORS).round().astype(np.intp)))
    finer = Quadrature.of(len(own.varied), n + FINER)

    def of_group(lattices: Sequence[RelativeLattices[Axis]], quadrature: Quadrature) -> Floats:
        summed = likelihood_by_effect(own, lattices, chosen, quadrature).sum(axis=1)
        return np.log(np.maximum(summed, LEAST)).sum(axis=1)

    whole = [RelativeLattices(part.axes, _relative(part), part.highest) for part in own.parts]
    merging = of_group(whole, finer) - of_group(own.merged, density.quadrature)
    sets = [of_group(each, density.quadrature) for each in zip(*(part.sets for part in own.parts), strict=True)]
    unique = chosen.mean.reshape(len(chosen.mean), -1)[:, _distinct(own)]
    return LatticeErrors(float(np.std(merging)), *noise_of(sets, [unique, np.log(chosen.spread)]))


def _relative(lattices: Lattices) -> Floats:
    return np.stack([lattices.likelihood_of(person) for person in range(len(lattices.subjects))])


def _distinct(lattices: ConditionLattices) -> list[int]:
    """Return the places of means that differ, among parameters x conditions."""
    n = len(lattices.conditions)
    return [i * n + c for i in range(len(lattices.axes)) for c in range(n if i in lattices.varied else 1)]
